"""The contract between Algorithm 1 and a base learner.

A learner explores the target for one iteration (a generation, an episode), trains itself on
what the guide hands over, and reports what it saw. It knows nothing of models and weights.
"""

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int

State = TypeVar("State")


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
