"""How labels are spread that nothing foretells: is the target's spread like that of a source?

Enters: labels of a source that no head explains, and the target's. Leaves: by how much the spread
of the one is a better guess at the other than a normal distribution is. [Eq. shape]

A function may be too rough to be foretold from any of its rows. Moved a little, it says other
things everywhere, and still its labels are spread as before: with a long tail, in two heaps,
between two ends. Offset and scale drop out.
"""

import numpy as np
from jaxtyping import Float64

_QUANTILES = 64
_WIDTH = 0.35  # of the normal distribution around each quantile, in spreads of the labels
_STRAYS = 0.05  # of the labels, that may come from a normal distribution twice as wide
_ROWS = 256


def shape_of(y: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " q"] | None:
    """Quantiles of labels, with mean 0 and spread 1; None of a constant, or of nothing.

    >>> shape_of(np.array([3.0, 3.0])) is None
    True
    >>> shape_of(np.arange(1000.0))[[0, 31, 63]].round(1).tolist()
    [-1.7, -0.0, 1.7]
    """
    if not len(y) or not np.ptp(y) > 1e-12 * np.abs(y).max():
        return None
    quantiles = np.quantile(y, (np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    spread = quantiles.std()
    return (quantiles - quantiles.mean()) / spread if spread > 0 else None


def alike_in_shape(
    shape: Float64[np.ndarray, " q"],
    y: Float64[np.ndarray, " n"],
    counts: Float64[np.ndarray, " n"],
) -> float:
    """Mean log density of a label by that shape, above that by a normal distribution. [Eq. shape]

    >>> rng = np.random.default_rng(0)
    >>> long, y = shape_of(rng.exponential(size=500)), rng.exponential(size=200)
    >>> bool(alike_in_shape(long, y, np.ones(200)) > 0.1)
    True
    >>> bool(alike_in_shape(long, -y, np.ones(200)) < -0.1)
    True
    """
    y, counts = y[:_ROWS], counts[:_ROWS]
    mean = np.average(y, weights=counts)
    spread = np.sqrt(np.average((y - mean) ** 2, weights=counts))
    if not spread > 1e-12 * np.abs(y).max(initial=0.0):
        return 0.0
    t = (y - mean) / spread
    centres = np.sqrt(1 - _WIDTH**2) * shape  # so that all of it has a spread of 1
    density = _normal((t[:, None] - centres) / _WIDTH).mean(1) / _WIDTH
    density = (1 - _STRAYS) * density + _STRAYS * _normal(t / 2) / 2
    return float(np.average(np.log(density) - np.log(_normal(t)), weights=counts))


def _normal(t: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.minimum(t * t, 1200.0)) / np.sqrt(2 * np.pi)
