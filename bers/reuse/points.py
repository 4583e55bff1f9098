"""What past runs can hand to a search for points: which points, from whom, how often.

Enters: the best points of every source; then weights, a chance p_m, and what the search reports.
Leaves: a guide that gives each of a learner's steps a source and a point of it, or nothing, in
which case the learner uses its own. Two guards keep bad points out: a point is tried before it is
trusted, or a source is used only while that pays. [Eq. try_first] [Eq. guard]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

_DISCOUNT = 0.8  # of old counts, per iteration
_MORE = 8  # times as many points to choose from, if the target's head picks them


@dataclass(frozen=True)
class Guard:
    """Discounted counts; the learner's own way comes last.

    >>> guard = Guard.new(1)
    >>> for _ in range(5):
    ...     guard = guard.after(np.array([0] * 16 + [-1] * 16), np.arange(32) >= 16)
    >>> guard.allowed(np.random.default_rng(0), np.zeros(8, int)).tolist()
    [-1, -1, -1, -1, -1, -1, -1, -1]
    """

    paid: Float64[np.ndarray, " ways"]
    failed: Float64[np.ndarray, " ways"]

    @classmethod
    def new(cls, N: int) -> "Guard":
        """Nothing known of N sources."""
        return cls(np.zeros(N + 1), np.zeros(N + 1))

    def allowed(
        self, rng: np.random.Generator, sources: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """The sources that look better than the own way, by a draw of both rates; -1 elsewhere."""
        rates = rng.beta(1 + self.paid, 1 + self.failed, (len(sources), len(self.paid)))
        better = rates[np.arange(len(sources)), sources] > rates[:, -1]
        return np.where(better, sources, -1)

    def after(self, sources: Int[np.ndarray, " n"], paid: Bool[np.ndarray, " n"]) -> "Guard":
        """One iteration later."""
        ways = len(self.paid)
        won = np.bincount(sources[paid] % ways, minlength=ways)  # -1 is the last
        lost = np.bincount(sources[~paid] % ways, minlength=ways)
        return replace(
            self, paid=_DISCOUNT * self.paid + won, failed=_DISCOUNT * self.failed + lost
        )


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
class PointGuide:
    """Weights, chance and points of one iteration.

    >>> points = [np.zeros((1, 2)), np.ones((1, 2))]
    >>> guide = PointGuide(np.random.default_rng(0), np.array([0.0, 1.0]), 0.5, points)
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
    runs: Sequence[tuple[np.ndarray, np.ndarray]] = ()
    """All rows (x, y) of every source, for learners that look at more than its best points."""

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


@runtime_checkable
class Expects(Protocol):
    """What a point's worth can be asked of: a `Trust`."""

    @property
    def weights(self) -> Float64[np.ndarray, " N"]:
        """Of the sources."""
        ...

    @property
    def has_target(self) -> bool:
        """Whether there is anything to ask yet."""
        ...

    def relabel(self, x: Any) -> Any:
        """What is expected at some points."""
        ...


@dataclass(frozen=True)
class PointReuse:
    """The points of all sources, and what became of those that were tried.

    >>> runs = [(np.array([[0.0], [1.0]]), np.array([5.0, 3.0]))]
    >>> PointReuse.of(runs, elites=1).points[0].tolist()
    [[1.0]]
    """

    points: tuple[Float64[np.ndarray, "_ D"], ...]
    """What each source can hand over, best first."""
    values: tuple[Float64[np.ndarray, " _"], ...]
    """What these are worth on the target; not a number before they are tried."""
    guard: Guard
    """How often each source paid."""
    how: Literal["trial", "success", "none"] = "trial"
    """When a point may be used: "trial", if it was tried and is better than the agent it replaces;
    "success", while its source's trials win more often than others; "none", always (paper)."""
    pick: Literal["best", "predicted"] = "best"
    """Which points are handed over: a source's own best, or those that the target's head expects
    to be best on the target."""
    elites: int = 16
    runs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    """All rows of every source, in the units in which they came."""

    @classmethod
    def of(
        cls,
        runs: Sequence[tuple[np.ndarray, np.ndarray]],
        *,
        elites: int = 16,
        how: Literal["trial", "success", "none"] = "trial",
        pick: Literal["best", "predicted"] = "best",
        low: Float64[np.ndarray, " D"] | float = -np.inf,
        high: Float64[np.ndarray, " D"] | float = np.inf,
    ) -> "PointReuse":
        """The rows of the least labels of every run (x, y), clipped to [low, high]."""
        count = elites * (1 if pick == "best" else _MORE)
        points = tuple(np.clip(best_points(x, y, count), low, high) for x, y in runs)
        values = tuple(np.full(len(own), np.nan) for own in points)
        return cls(points, values, Guard.new(len(points)), how, pick, elites, tuple(runs))

    def guide(self, rng: np.random.Generator, trust: Expects, p_m: float) -> PointGuide:
        """What the learner may take in the next iteration."""
        return PointGuide(
            rng,
            trust.weights,
            p_m,
            self.points,
            values=self.values if self.how == "trial" else None,
            guard=self.guard if self.how == "success" else None,
            open=self._open(trust),
            runs=self.runs,
        )

    def _open(self, trust: Expects) -> list[np.ndarray] | None:
        """The points that may be drawn: those that the target's head expects to be best."""
        if self.pick == "best" or not trust.has_target:
            return None
        expected = [trust.relabel(own) for own in self.points]
        return [np.argsort(e, kind="stable")[: self.elites] for e in expected]

    def after(self, seen: Any) -> "PointReuse":
        """One iteration later; `seen` is the learner's report, an `Experience`."""
        if seen.sources is None:
            return self
        values = [own.copy() for own in self.values]
        tried = np.full(len(seen.y), -1) if seen.tried is None else seen.tried
        for row in np.flatnonzero(tried >= 0):
            values[seen.sources[row]][tried[row]] = seen.y[row]
        guard = self.guard if seen.paid is None else self.guard.after(seen.sources, seen.paid)
        return replace(self, values=tuple(values), guard=guard)

    def gain(self, before: Float64[np.ndarray, " n"], seen: Any) -> float | None:
        """How far the best value fell in an iteration that could use sources."""
        return None if seen.sources is None else fall(before, seen.y)


def best_points(
    x: Float[np.ndarray, "n D"], y: Float64[np.ndarray, " n"], count: int
) -> Float64[np.ndarray, "k D"]:
    """The rows of the least labels, best first.

    >>> best_points(np.array([[0.0], [1.0]]), np.array([5.0, 3.0]), 1).tolist()
    [[1.0]]
    """
    return x[np.argsort(y, kind="stable")[:count]].astype(np.float64)


def fall(before: Float64[np.ndarray, " n"], now: Float64[np.ndarray, " k"]) -> float | None:
    """How far the least value fell; None if there was none before.

    >>> fall(np.array([5.0, np.inf]), np.array([3.0])), fall(np.zeros(0), np.array([3.0]))
    (2.0, None)
    """
    before, now = before[np.isfinite(before)], now[np.isfinite(now)]
    return float(max(0.0, before.min() - now.min(initial=np.inf))) if len(before) else None
