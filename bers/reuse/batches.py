"""What a learner that trains on batches is handed: for every slot a source's row, or none.

Enters: weights a, the chance p_m, how many rows each source has. Leaves: for each of an episode's
batches the rows of the sources' pool that are in it; slots that are left free are filled from the
learner's own experience. [Algorithm bers]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Float64, Int

Mix = Literal["batch", "row", "half"]
"""Decide per batch (paper), per row, or give every batch a fixed half (RLPD)."""


@dataclass(frozen=True)
class BatchGuide:
    """Weights, chance and sizes of one iteration.

    >>> rng, a, counts = np.random.default_rng(0), np.array([0.0, 1.0]), np.array([5, 3])
    >>> guide = BatchGuide(rng, a, 1.0, counts, rewards=np.arange(8.0).take)
    >>> guide.draw(2, 4).tolist()
    [[7, 7, 6, 7], [6, 7, 7, 5]]
    """

    rng: np.random.Generator
    a: Float64[np.ndarray, " N"]
    p_m: float
    """Chance to reuse at all; what `a` is short of one lowers it further."""
    counts: Int[np.ndarray, " N"]
    """Rows of each source; the pool holds them one source behind the other."""
    rewards: Callable[[Int[np.ndarray, " rows"]], Float[np.ndarray, " rows"]]
    """The rewards to learn from at some rows of the pool."""
    mix: Mix = "batch"
    clone: float = 0.0
    """How much to imitate the actions in these rows."""

    @property
    def share(self) -> float:
        """Expected share of rows that come from sources."""
        return self.p_m * min(1.0, float(np.sum(self.a)))

    def draw(self, batches: int, size: int) -> Int[np.ndarray, "batches size"]:
        """Rows of the pool, or -1 where the learner uses its own."""
        decisions = (batches, 1) if self.mix == "batch" else (batches, size)
        coin, u = self.rng.random((2, *decisions))
        sources = np.cumsum(self.a).searchsorted(u, side="right")  # beyond the last: nobody
        counts = np.append(self.counts, 0)
        starts = np.cumsum(counts) - counts
        held = counts.take(sources)
        known = held > 0
        if self.mix == "half":
            known &= np.arange(size) < size // 2
        else:
            known &= coin < self.p_m
        rows = starts.take(sources) + (self.rng.random((batches, size)) * held).astype(np.int64)
        return np.where(known, rows, -1)
