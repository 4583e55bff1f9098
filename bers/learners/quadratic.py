"""A quadratic model of values near a search: which points are better, and where the least is.

Enters: rows near the centre of a search, in coordinates in which the search is round, and their
values. Leaves: what is expected elsewhere, and the model's own minimum. With few rows it is a slope
and one curvature; with more rows, each direction gets its own. How much is left to the rows is
decided by their evidence. [Eq. quadratic]
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_CURVATURES = (1e-3, 1e-2, 0.1, 1.0)
_NOISES = (1e-6, 1e-3, 1e-1)
_WEAK = 1e-9  # prior precision of level and curvature: none to speak of


@dataclass(frozen=True)
class Trade:
    """How much of the values is left to curvatures of single directions, and how much to noise."""

    curvature: float
    noise: float


GRID = tuple(Trade(c, n) for c in _CURVATURES for n in _NOISES)


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

    z: Float64[np.ndarray, "n D"]
    level: float
    scale: float
    beta: Float64[np.ndarray, " 2"]
    """Level and mean curvature."""
    alpha: Float64[np.ndarray, " n"]
    trade: Trade
    evidence: float

    @classmethod
    def of(
        cls,
        z: Float64[np.ndarray, "n D"],
        y: Float64[np.ndarray, " n"],
        grid: tuple[Trade, ...] = GRID,
    ) -> "Quadratic":
        """The best of a grid, by evidence."""
        level = float(np.mean(y))
        scale = float(np.std(y)) or 1.0
        t, S = (y - level) / scale, z @ z.T / z.shape[1]
        found = [_fitted(z, t, S, trade) for trade in grid]
        best = max((one for one in found if one is not None), key=lambda one: one[0])
        evidence, beta, alpha, trade = best
        return cls(z, level, scale, beta, alpha, trade, evidence)

    def __call__(self, z: Float64[np.ndarray, "k D"]) -> Float64[np.ndarray, " k"]:
        """What is expected at rows."""
        S = z @ self.z.T / z.shape[1]
        at = _free(z) @ self.beta + (S + self.trade.curvature * S * S) @ self.alpha
        return self.level + self.scale * at

    def minimum(self, radius: float) -> Float64[np.ndarray, " D"]:
        """The least of the model no farther than `radius` from the centre."""
        D = self.z.shape[1]
        slope = self.z.T @ self.alpha / D
        bend = 2 * self.trade.curvature * (self.z.T * self.alpha) @ self.z / D**2
        bend += 2 * self.beta[1] / D * np.eye(D)
        w, V = np.linalg.eigh(bend)
        g = V.T @ slope
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


def _free(z: np.ndarray) -> np.ndarray:
    return np.stack([np.ones(len(z)), np.mean(z * z, axis=1)], axis=1)


def _fitted(
    z: np.ndarray, t: np.ndarray, S: np.ndarray, trade: Trade
) -> tuple[float, np.ndarray, np.ndarray, Trade] | None:
    n, H = len(t), _free(z)
    try:
        root = cho_factor(S + trade.curvature * S * S + trade.noise * np.eye(n), lower=True)
        on = cho_solve(root, np.column_stack([H, t]))
        A = H.T @ on[:, :2] + _WEAK * np.eye(2)
        beta = np.linalg.solve(A, H.T @ on[:, 2])
    except (LinAlgError, ValueError):
        return None
    alpha = on[:, 2] - on[:, :2] @ beta
    fit = max(float((t - H @ beta) @ alpha) / n, 1e-300)
    spread = np.log(np.diag(root[0])).sum() + 0.5 * np.linalg.slogdet(A)[1]
    return float(-0.5 * n * np.log(fit) - spread), beta, alpha, trade


def agreement(a: Float64[np.ndarray, " n"], b: Float64[np.ndarray, " n"]) -> float:
    """Kendall's correlation: in how many pairs both have the same order, less the others.

    >>> agreement(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])).round(3)
    np.float64(0.333)
    """
    i, j = np.triu_indices(len(a), 1)
    return np.mean(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]))
