"""The contract between Algorithm 1 and a base learner.

A learner explores the target for one iteration (a generation, an episode), trains itself on
what the guide hands over, and reports what it saw. It knows nothing of models and weights.

A learner of points is two things: a record of settings, such as `DE()`, which users hand over, and
a `Search` over one box. An iteration of a search has two halves. `begin` makes all choices that are
left to chance; `advance` evaluates, and makes no others. So the same half can be gone through again
when more values have come in, which is how points can be asked for and told days later, in parts
and in any order, whether a search replaces its points one by one or all at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int
from numpy.typing import ArrayLike

State = TypeVar("State")

Evaluate = Callable[[Float64[np.ndarray, "k D"]], Float64[np.ndarray, " k"]]
"""Values of some points. Fewer values than points: no more are known, or the budget is used up. An
attribute `one`, for a single point, saves time; it gives None when there is no value."""


@dataclass(frozen=True)
class Experience:
    """What one iteration saw of the target, row by row."""

    x: Float64[np.ndarray, "n D"]
    y: Float64[np.ndarray, " n"]
    sources: Int[np.ndarray, " n"] | None = None
    """The source that each row was made with, or -1 where it was none."""
    paid: Bool[np.ndarray, " n"] | None = None
    """Whether the row was a success for the learner."""
    tried: Int[np.ndarray, " n"] | None = None
    """Which of the source's points the row is itself, or -1 where it is a new point."""


@runtime_checkable
class Learner(Protocol[State]):
    """Any O_base."""

    def iterate(
        self, rng: np.random.Generator, state: State, guide: Any
    ) -> tuple[State, Experience]:
        """Explore and train once; the new state, and what was seen.

        The guide is what suits the learner: bers.reuse has one for points and one for batches.
        """
        ...


@runtime_checkable
class Search(Learner[State], Protocol[State]):
    """A learner of points at work in one box.

    It may also have `adopted(state, x, f)`: the state after points that somebody else evaluated.
    """

    def opened(self, x: Float64[np.ndarray, "k D"], f: Float64[np.ndarray, " known"]) -> State:
        """The state after the first points and their values, perhaps fewer; a state has x and f."""
        ...

    def begin(self, rng: np.random.Generator, state: State, guide: Any) -> Any:
        """All choices of one iteration; its `size` is the number of values that it needs."""
        ...

    def advance(self, begun: Any) -> tuple[State, Experience]:
        """The iteration, as far as there are values."""
        ...

    def converged(self, state: State) -> bool:
        """Whether going on is of no use."""
        ...


@runtime_checkable
class PointLearner(Protocol):
    """Settings of a learner of points: what `minimize(learner=...)` takes."""

    def first(
        self,
        rng: np.random.Generator,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
        x0: ArrayLike | None,
    ) -> tuple[Float64[np.ndarray, "k D"], Float64[np.ndarray, " k"] | None]:
        """Points to evaluate before the first iteration, perhaps none; their values, if known."""
        ...

    def on(
        self,
        evaluate: Evaluate,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
    ) -> Search[Any]:
        """The search over a box.

        With whole numbers or constraints, `evaluate` rounds, and has values for points that break
        a constraint as well: finite ones, above those of all feasible points.
        """
        ...
