"""What a learner is handed: from whom to take experience, how often, and which.

Enters: weights a, the chance p_m, the sources' points, a guard. Leaves: for each of a learner's
steps a source and a point of it, or nothing: then the learner uses its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int

from bers.reuse.guard import Guard


@dataclass(frozen=True)
class Drawn:
    """One draw for each of n steps."""

    sources: Int[np.ndarray, " n"]
    """Whose point is used, or -1."""
    which: Int[np.ndarray, " n"]
    """Which of that source's points."""
    points: Float64[np.ndarray, "n D"]
    """The points; without meaning where `sources` is -1."""
    values: Float64[np.ndarray, " n"]
    """The target's value there; not a number where it is not known yet."""

    @property
    def reused(self) -> Bool[np.ndarray, " n"]:
        """Where a source is used."""
        return self.sources >= 0


@dataclass(frozen=True)
class Guide:
    """Weights, chance and points of one iteration.

    >>> points = [np.zeros((1, 2)), np.ones((1, 2))]
    >>> guide = Guide(np.random.default_rng(0), np.array([0.0, 1.0]), 0.5, points)
    >>> guide.draw(6).sources.tolist()
    [-1, 1, 1, 1, -1, -1]
    """

    rng: np.random.Generator
    a: Float64[np.ndarray, " N"]
    p_m: float
    """Chance to reuse at all; what `a` is short of one lowers it further."""
    points: Sequence[Float64[np.ndarray, "_ D"]]
    """Of every source, the points it can hand over."""
    values: Sequence[Float64[np.ndarray, " _"]] | None = None
    """Their values on the target, as far as known. With them, a point is tried before it is
    trusted, and used only where it is better than what it replaces; None: used blindly (paper)."""
    guard: Guard | None = None
    open: Sequence[Int[np.ndarray, " _"]] | None = None
    """Which of the points may be drawn; None: all."""

    @property
    def share(self) -> float:
        """Expected share of guided steps."""
        return self.p_m * min(1.0, float(np.sum(self.a)))

    def draw(self, n: int) -> Drawn:
        """Whose point each of n steps gets, if any."""
        coin, u, v = self.rng.random((3, n))
        sources = np.searchsorted(np.cumsum(self.a), u, side="right")
        # beyond the last edge is "nobody"
        sources = np.where((coin < self.p_m) & (sources < len(self.a)), sources, -1)
        if self.guard is not None:
            sources = self.guard.allowed(self.rng, sources)
        counts = np.array([len(own) for own in self.open or self.points])
        sources = np.where(counts[sources] > 0, sources, -1)
        which = (v * counts[sources]).astype(np.intp)
        if self.open is not None:
            pairs = zip(sources, which, strict=True)
            which = np.array([self.open[i][k] if i >= 0 else 0 for i, k in pairs], np.intp)
        points = np.zeros((n, self.points[0].shape[1]))
        values = np.full(n, -np.inf)
        for j in np.flatnonzero(sources >= 0):
            points[j] = self.points[sources[j]][which[j]]
            if self.values is not None:
                values[j] = self.values[sources[j]][which[j]]
        return Drawn(sources, which, points, values)
