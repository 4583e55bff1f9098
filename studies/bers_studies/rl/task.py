"""What a task of control is to a learner: pure functions of keys, states and actions.

A task is a frozen, hashable record, so that it can be a constant of a compiled episode. It ends
after `horizon` steps, which is a time limit and no terminal state: the future still counts.
"""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import numpy as np
from jaxtyping import Array, Float32, Int, PRNGKeyArray

from bers.data.transitions import Inputs
from bers.learners.base import Experience
from bers_studies.envs.one_hot import Ones
from bers_studies.rl.replay import Transitions


class AnyTask(Protocol):
    """What every task has; methods see one state at a time."""

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        ...

    def reset(self, key: PRNGKeyArray) -> Any:
        """A first state."""
        ...

    def observe(self, s: Any) -> Float32[Array, " k"] | Ones:
        """A state as an input of a network."""
        ...


class ChoiceTask(AnyTask, Protocol):
    """A problem with finitely many actions."""

    @property
    def actions(self) -> int:
        """How many there are."""
        ...

    def step(
        self, key: PRNGKeyArray, s_tm1: Any, a_tm1: Int[Array, ""]
    ) -> tuple[Any, Float32[Array, ""]]:
        """The next state, and the reward on the way to it."""
        ...


class Task(AnyTask, Protocol):
    """A problem with continuous actions."""

    @property
    def outputs(self) -> int:
        """Numbers that a policy's last layer must give."""
        ...

    def step(
        self, key: PRNGKeyArray, s_tm1: Any, a_tm1: Float32[Array, " A"]
    ) -> tuple[Any, Float32[Array, ""]]:
        """The next state, and the reward on the way to it."""
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


def totals(
    key: PRNGKeyArray,
    step: Callable[[Any, PRNGKeyArray], tuple[Any, Float32[Array, ""]]],
    *,
    task: AnyTask,
    episodes: int,
) -> Float32[Array, " episodes"]:
    """Returns of episodes side by side; `step` acts once: the next state, and the reward."""

    def run(key: PRNGKeyArray) -> Float32[Array, ""]:
        start_key, steps_key = jax.random.split(key)
        keys = jax.random.split(steps_key, task.horizon)
        return jax.lax.scan(step, task.reset(start_key), keys)[1].sum()

    return jax.vmap(run)(jax.random.split(key, episodes))


def experience_of(rows: Transitions, inputs: Inputs) -> Experience:
    """An episode as a model of the reward sees it."""
    seen = jax.tree.map(np.asarray, rows)
    x = inputs(seen.s_tm1, seen.a_tm1, seen.s_t)
    return Experience(np.asarray(x, np.float64), seen.r_t.astype(np.float64))
