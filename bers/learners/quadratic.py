"""A quadratic model of values near a search: which points are better, and where the least is.

Enters: rows near the centre of a search, in coordinates in which the search is round, and their
values; perhaps shapes of past runs. Leaves: what is expected elsewhere, and the model's own
minimum. With few rows it is a slope and one curvature, or a past run's shape, moved; with more
rows, each direction gets its own curvature. How much is left to the rows, and whether a past run's
shape is theirs, is decided by their evidence. [Eq. quadratic] [Eq. moved]
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_CURVATURES = (1e-3, 1e-2, 0.1, 1.0)
_NOISES = (1e-6, 1e-3, 1e-1)
_FLAT = 1e-6  # of the largest second derivative: none of a past run's is less
_ANY = 0.01  # share of slopes that no shift of a past run explains
_PRICE = 3.0  # in log evidence, of believing the shape of a past run
_WEAK = 1e-9  # prior precision of level and curvature: none to speak of


@dataclass(frozen=True)
class Trade:
    """How much of the values is left to curvatures of single directions, and how much to noise."""

    curvature: float
    noise: float
    valley: int = -1
    """Which past run's shape stands for the mean curvature; -1: a ball's."""


GRID = tuple(Trade(c, n) for c in _CURVATURES for n in _NOISES)


def grid_with(valleys: int) -> tuple[Trade, ...]:
    """The grid, with so many shapes of past runs to choose from."""
    own = (Trade(c, n, v) for v in range(valleys) for c in (*_CURVATURES, 1e-4) for n in _NOISES)
    return (*GRID, *own)


@dataclass(frozen=True)
class Valley:
    """The shape of a past run around its best point: what it costs to be elsewhere.

    >>> x = np.random.default_rng(0).normal(size=(60, 2))
    >>> valley = Valley.of(x, 7 + np.sum([1, 4] * (x - x[0]) ** 2, axis=1), reach=9.0, rows=60)
    >>> np.abs(valley.bend / valley.bend[0, 0]).round(2).tolist(), bool(valley.centre[0] == x[0, 0])
    ([[1.0, 0.0], [0.0, 4.0]], True)
    """

    centre: Float64[np.ndarray, " D"]
    bend: Float64[np.ndarray, "D D"]
    """Second derivatives; none is negative."""

    @classmethod
    def of(
        cls, x: Float64[np.ndarray, "n D"], y: Float64[np.ndarray, " n"], reach: float, rows: int
    ) -> "Valley | None":
        """Of a run's rows no farther than `reach` times √D from its best, the nearest `rows`."""
        D, centre = x.shape[1], x[np.argmin(y)]
        away = np.linalg.norm(x - centre, axis=1) / math.sqrt(D)
        near = np.argsort(away, kind="stable")[:rows]
        near = near[away[near] <= reach]
        if len(near) < D + 2 or not np.ptp(y[near]):
            return None
        scale = float(np.sqrt(np.mean(away[near] ** 2)))
        model = Quadratic.of((x[near] - centre) / scale, y[near])
        w, V = np.linalg.eigh(model.bend)
        if not w[-1] > 0:
            return None
        return cls(centre, (V * np.maximum(w, _FLAT * w[-1])) @ V.T)

    def seen_by(self, mean: Float64[np.ndarray, " D"], to: np.ndarray, fro: np.ndarray) -> "Valley":
        """In other coordinates z = (x - mean) @ to, x = mean + z @ fro."""
        return Valley((self.centre - mean) @ to, fro @ self.bend @ fro.T)


@dataclass(frozen=True)
class Quadratic:
    """The posterior mean of a Gaussian process whose kernel is zᵀz' + c (zᵀz')², on D.

    Level and mean curvature are free.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(40, 3))
    >>> model = Quadratic.of(z, np.sum((z - 0.5) ** 2, axis=1) + 7)
    >>> model(np.array([[0.5, 0.5, 0.5], [1.5, 0.5, 0.5]])).round(2).tolist()
    [7.0, 8.0]
    >>> model.minimum(9.0).round(2).tolist()
    [0.5, 0.5, 0.5]
    """

    level: float
    slope: Float64[np.ndarray, " D"]
    bend: Float64[np.ndarray, "D D"]
    trade: Trade
    evidence: float

    @classmethod
    def of(
        cls,
        z: Float64[np.ndarray, "n D"],
        y: Float64[np.ndarray, " n"],
        grid: tuple[Trade, ...] = GRID,
        valleys: tuple[Valley, ...] = (),
    ) -> "Quadratic":
        """The best of a grid, by evidence."""
        D = z.shape[1]
        level = float(np.mean(y))
        scale = float(np.std(y)) or 1.0
        t, S = (y - level) / scale, z @ z.T / D
        S2, basis, best = S * S, {}, None
        for trade in grid:
            if trade.valley not in basis:
                valley = None if trade.valley < 0 else valleys[trade.valley]
                basis[trade.valley] = _Basis.of(z, S, valley)
            on = basis[trade.valley]
            found = _fitted(t, on, S2, trade)
            if found is not None and (best is None or found[0] > best[0]):
                best = (*found, trade, on)
        if best is None:
            raise ValueError("no quadratic model could be solved")
        evidence, beta, alpha, trade, on = best
        curved = beta[1] * on.bend
        slope = on.slopes @ (z.T @ alpha) / D - curved @ on.middle
        base = beta[0] + 0.5 * float(on.middle @ curved @ on.middle)
        curved = curved + 2 * trade.curvature * (z.T * alpha) @ z / D**2
        return cls(level + scale * float(base), scale * slope, scale * curved, trade, evidence)

    def __call__(self, z: Float64[np.ndarray, "k D"]) -> Float64[np.ndarray, " k"]:
        """What is expected at rows."""
        return self.level + z @ self.slope + 0.5 * np.einsum("ni,ni->n", z @ self.bend, z)

    def seen_by(self, mean: Float64[np.ndarray, " D"], to: np.ndarray) -> "Quadratic":
        """In other coordinates z' with z = mean + z' @ to.

        >>> z = np.random.default_rng(0).normal(size=(9, 2))
        >>> model = Quadratic.of(z, np.sum(z**2, axis=1))
        >>> other = model.seen_by(np.ones(2), 2 * np.eye(2))
        >>> bool(np.isclose(other(np.ones((1, 2))), model(3 * np.ones((1, 2)))).all())
        True
        """
        slope = to @ (self.slope + self.bend @ mean)
        level = float(self(mean[None])[0])
        return replace(self, level=level, slope=slope, bend=to @ self.bend @ to.T)

    def minimum(self, radius: float) -> Float64[np.ndarray, " D"]:
        """The least of the model no farther than `radius` from the centre."""
        w, V = np.linalg.eigh(self.bend)
        g = V.T @ self.slope
        tiny = 1e-12 * max(float(np.max(np.abs(w))), float(np.linalg.norm(g)), 1e-300)
        if w[0] > tiny and np.linalg.norm(g / w) <= radius:
            return V @ (-g / w)
        lo = max(0.0, -float(w[0])) + tiny
        hi = lo + float(np.linalg.norm(g)) / radius + tiny
        for _ in range(60):  # the step grows shorter the more is added to all curvatures
            middle = 0.5 * (lo + hi)
            if np.linalg.norm(g / (w + middle)) > radius:
                lo = middle
            else:
                hi = middle
        return V @ (-g / (w + hi))


@dataclass(frozen=True)
class _Basis:
    """What is the same for all trades with one shape."""

    free: Float64[np.ndarray, "n 2"]
    """Level and curvature of the rows, which no prior holds back."""
    L: Float64[np.ndarray, "n n"]
    """Covariance of the slopes' part."""
    bend: Float64[np.ndarray, "D D"]
    middle: Float64[np.ndarray, " D"]
    slopes: Float64[np.ndarray, "D D"]
    """Covariance of slopes, times D."""
    price: float

    @classmethod
    def of(cls, z: np.ndarray, S: np.ndarray, valley: Valley | None) -> "_Basis":
        """A ball's shape; or a past run's, moved: its slopes are its curvatures times a shift."""
        n, D = z.shape
        if valley is None:
            free = np.stack([np.ones(n), np.mean(z * z, axis=1)], axis=1)
            return cls(free, S, 2 / D * np.eye(D), np.zeros(D), np.eye(D), 0.0)
        away = z - valley.centre
        worth = 0.5 * np.einsum("ni,ni->n", away @ valley.bend, away)
        size = float(np.std(worth)) or 1.0
        root = valley.bend * math.sqrt(D) / np.linalg.norm(valley.bend)
        u = z @ root
        free = np.stack([np.ones(n), worth / size], axis=1)
        slopes = root @ root + _ANY * np.eye(D)
        return cls(free, u @ u.T / D + _ANY * S, valley.bend / size, valley.centre, slopes, _PRICE)


def _fitted(
    t: np.ndarray, on: _Basis, S2: np.ndarray, trade: Trade
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Evidence, the free part and the weights of rows; None if it cannot be solved.

    A past run's shape upside down is none.
    """
    n, H = len(t), on.free
    try:
        K = on.L + trade.curvature * S2
        K.flat[:: n + 1] += trade.noise
        root = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(root, np.column_stack([H, t]), check_finite=False)
        A = H.T @ solved[:, :2] + _WEAK * np.eye(2)
        beta = np.linalg.solve(A, H.T @ solved[:, 2])
    except (LinAlgError, ValueError):
        return None
    if trade.valley >= 0 and not beta[1] > 0:
        return None
    alpha = solved[:, 2] - solved[:, :2] @ beta
    fit = max(float((t - H @ beta) @ alpha) / n, 1e-300)
    spread = np.log(np.diag(root[0])).sum() + 0.5 * np.linalg.slogdet(A)[1]
    return float(-0.5 * n * np.log(fit) - spread) - on.price, beta, alpha


def agreement(a: Float64[np.ndarray, " n"], b: Float64[np.ndarray, " n"]) -> float:
    """Kendall's correlation: in how many pairs both have the same order, less the others.

    >>> round(agreement(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.333
    """
    i, j = np.triu_indices(len(a), 1)
    return float(np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])))
