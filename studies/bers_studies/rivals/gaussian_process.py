"""A Gaussian process on the unit cube, for rivals that need one.

Enters: rows and values. Leaves: a fitted process with a Matérn kernel (5/2), a length per column,
whose settings are the most probable ones, and expected improvement. Written for comparison only:
the library's own model is another (`bers.model.process`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import ndtr

_BOUNDS = (np.log(0.03), np.log(30.0))
_NOISE = (np.log(1e-5), np.log(0.5))


@dataclass(frozen=True)
class GP:
    """A process given rows; values are standardised inside."""

    x: np.ndarray
    z: np.ndarray
    """Standardised values."""
    loc: float
    scale: float
    lengths: np.ndarray
    signal: float
    noise: float
    factor: np.ndarray
    """Lower Cholesky factor of the rows' covariance."""
    solved: np.ndarray

    def predict(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, in standardised units."""
        cross = self.signal * matern(x, self.x, self.lengths)
        V = solve_triangular(self.factor, cross.T, lower=True)
        variance = self.signal - np.sum(V * V, axis=0)
        return cross @ self.solved, np.sqrt(np.maximum(variance, 1e-12))

    def left_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation at every row by all others.

        >>> process = fitted(np.array([[0.0], [0.1], [0.2], [0.9]]), np.array([0.0, 1.0, 2.0, 5.0]))
        >>> mean, std = process.left_out()
        >>> others = np.array([0, 2, 3])
        >>> K = process.signal * matern(process.x, process.x, process.lengths)
        >>> K += process.noise * np.eye(4)
        >>> alone = K[1, others] @ np.linalg.solve(K[np.ix_(others, others)], process.z[others])
        >>> bool(np.isclose(mean[1], alone))
        True
        """
        inverse = cho_solve((self.factor, True), np.eye(len(self.z)))
        diagonal = np.diagonal(inverse)
        return self.z - self.solved / diagonal, np.sqrt(1.0 / diagonal)


def matern(a: np.ndarray, b: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Matérn correlations (5/2) between rows.

    >>> matern(np.zeros((1, 2)), np.array([[0.0, 0.0], [3.0, 4.0]]), np.ones(2)).round(5).tolist()
    [[1.0, 0.00075]]
    """
    a, b = a / lengths, b / lengths
    squares = np.sum(a * a, 1)[:, None] + np.sum(b * b, 1) - 2 * a @ b.T
    r = np.sqrt(5 * np.maximum(squares, 0))
    return (1 + r + r * r / 3) * np.exp(-r)


def fitted(x: np.ndarray, y: np.ndarray, start: np.ndarray | None = None) -> GP:
    """The process with the most probable settings, by L-BFGS from one start."""
    n, D = x.shape
    loc, scale = float(y.mean()), float(y.std())
    z = (y - loc) / (scale if scale > 0 else 1.0)
    apart = (x[:, None] - x[None]) ** 2
    middle = np.concatenate([np.full(D, np.log(0.5 * np.sqrt(D))), [0.0, np.log(1e-2)]])
    width = np.concatenate([np.full(D, 1.0), [1.0, 2.0]])

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        lengths, signal, noise = np.exp(t[:D]), np.exp(t[D]), np.exp(t[D + 1])
        r = np.sqrt(5 * (apart @ (1 / lengths**2)))
        e = np.exp(-r)
        C = (1 + r + r * r / 3) * e
        try:
            L = np.linalg.cholesky(signal * C + (noise + 1e-9) * np.eye(n))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(t)
        a = cho_solve((L, True), z)
        value = 0.5 * z @ a + np.sum(np.log(np.diagonal(L)))
        W = cho_solve((L, True), np.eye(n)) - np.outer(a, a)
        slope = np.empty_like(t)
        slope[:D] = 0.5 * np.einsum("ij,ijd->d", signal * 5 / 3 * (1 + r) * e * W, apart)
        slope[:D] /= lengths**2
        slope[D] = 0.5 * signal * np.sum(W * C)
        slope[D + 1] = 0.5 * noise * np.trace(W)
        off = (t - middle) / width
        return value + 0.5 * off @ off, slope + off / width

    bounds = [_BOUNDS] * D + [(-4.0, 4.0), _NOISE]
    first = middle if start is None else start
    t = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 40}).x
    lengths, signal, noise = np.exp(t[:D]), float(np.exp(t[D])), float(np.exp(t[D + 1]))
    K = signal * matern(x, x, lengths) + (noise + 1e-9) * np.eye(n)
    L = np.linalg.cholesky(K)
    return GP(x, z, loc, scale or 1.0, lengths, signal, noise, L, cho_solve((L, True), z))


def improvement(mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
    """Expected improvement below `best`.

    >>> improvement(np.array([0.0]), np.array([1.0]), 0.0).round(4).tolist()
    [0.3989]
    """
    u = (best - mean) / std
    return std * (u * ndtr(u) + np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi))
