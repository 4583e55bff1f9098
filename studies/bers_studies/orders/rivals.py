"""Ways to weigh many earlier tasks by a few rows of a new one.

Enters: what is believed, every source's standardised function at the rows, and the labels. Leaves:
weights of these functions.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import nnls

from bers.trust.trust import Trust

_PULLS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def by_rule(name: str) -> "Weigh":
    """A rule of the library."""
    return lambda trust, f, y: trust.weights_by(name)


def best_single(trust: Trust, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The source whose function goes best with the labels."""
    away = f - f.mean(0)
    size = np.linalg.norm(away, axis=0)
    match = (y - y.mean()) @ away / np.where(size > 0, size, 1.0)
    return np.eye(f.shape[1])[int(np.argmax(match))]


def ridge_towards_equal(trust: Trust, f: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares with weights of 0 or above, pulled to equal ones; how far, left-out rows say.

    >>> f = np.random.default_rng(0).normal(size=(30, 3))
    >>> ridge_towards_equal(None, f, 2 * f[:, 0] + 5).round(1).tolist()
    [1.0, 0.0, 0.0]
    """
    f, y = f - f.mean(0), (y - y.mean()) / (y.std() or 1.0)
    folds = np.arange(len(y)) % min(len(y), 5)
    errors = np.zeros(len(_PULLS))
    for k in np.unique(folds):
        out = folds == k
        found = [_pulled(f[~out], y[~out], pull) for pull in _PULLS]
        errors += [np.sum((y[out] - f[out] @ a) ** 2) for a in found]
    a = _pulled(f, y, _PULLS[int(np.argmin(errors))])
    return a / a.sum() if a.sum() > 0 else np.full(f.shape[1], 1 / f.shape[1])


def _pulled(f: np.ndarray, y: np.ndarray, pull: float) -> np.ndarray:
    """Weights near those equal ones that fit best, by so much."""
    N = f.shape[1]
    mean = f.mean(1)
    equal = max(float(mean @ y) / max(float(mean @ mean), 1e-12), 0.0) / N
    root = np.sqrt(pull * len(y)) * np.eye(N)
    found, _ = nnls(np.vstack([f, root]), np.r_[y, root @ np.full(N, equal)])
    return found


Weigh = Callable[[Trust, np.ndarray, np.ndarray], np.ndarray]

WEIGHTS: dict[str, Weigh] = {
    "odds": by_rule("odds"),
    "equal": by_rule("equal"),
    "best single": best_single,
    "RGPE": by_rule("ranking"),
    "ridge towards equal": ridge_towards_equal,
}
"""By name."""
