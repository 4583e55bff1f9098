"""What a task of control is to a learner: pure functions of keys, states and actions.

A task is a frozen, hashable record, so that it can be a constant of a compiled episode. It ends
after `horizon` steps, which is a time limit and no terminal state: the future still counts.
"""

from typing import Any, Protocol

from jaxtyping import Array, Float32, PRNGKeyArray

from bers.problems.ones import Ones


class Task(Protocol):
    """A problem with continuous actions; methods see one state at a time."""

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        ...

    @property
    def outputs(self) -> int:
        """Numbers that a policy's last layer must give."""
        ...

    def reset(self, key: PRNGKeyArray) -> Any:
        """A first state."""
        ...

    def step(
        self, key: PRNGKeyArray, s_tm1: Any, a_tm1: Float32[Array, " A"]
    ) -> tuple[Any, Float32[Array, ""]]:
        """The next state, and the reward on the way to it."""
        ...

    def observe(self, s: Any) -> Float32[Array, " k"] | Ones:
        """A state as an input of a network."""
        ...

    def action(self, outputs: Float32[Array, " outputs"]) -> Float32[Array, " A"]:
        """A valid action from the outputs of a policy's last layer."""
        ...

    def explore(
        self, key: PRNGKeyArray, action: Float32[Array, " A"], sigma: Float32[Array, ""] | float
    ) -> Float32[Array, " A"]:
        """A valid action near another one; itself if sigma is 0."""
        ...

    def surprise(
        self, outputs: Float32[Array, " outputs"], action: Float32[Array, " A"]
    ) -> Float32[Array, ""]:
        """How little a policy with these outputs expected an action: what cloning lowers."""
        ...
