"""Rows of which each follows one of several sources: how many follow whom.

Enters: the target's labels, and every source's function at its rows. Leaves: the sources' shares of
the rows, and how much better that explains the labels than a constant. [Eq. rows]

Two shifts of one operator, two models of one machine: no single source fits all rows, and no sum of
functions does. The shares are found by expectation and maximisation, one noise level for all.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float64

_STEPS = 20
_CANDIDATES = 8  # sources that share the rows, at most: those that come nearest to most rows
_ROWS = 256
_LEAST = 0.1  # of the rows, for a source to count


class Shares(NamedTuple):
    """How the rows are shared out."""

    shares: Float64[np.ndarray, " N"]
    """Of each source; their sum is one."""
    gain: float
    """Mean log density of a label, above that of a constant with noise."""

    @property
    def members(self) -> int:
        """Sources with a share that counts."""
        return int(np.sum(self.shares > 0))


def rows_of_several(
    y: Float64[np.ndarray, " n"],
    f: Float64[np.ndarray, "n N"],
    counts: Float64[np.ndarray, " n"],
    known: Bool[np.ndarray, " N"],
) -> Shares:
    """Expectation and maximisation from equal shares of the nearest sources.

    >>> x = np.linspace(-1, 1, 100)
    >>> f = np.stack([3 * x, -3 * x, x**2], axis=1)
    >>> y = np.where(np.arange(100) % 10 < 6, f[:, 0], f[:, 1]) + 0.1 * np.cos(7 * np.arange(100))
    >>> rows_of_several(y, f, np.ones(100), np.ones(3, bool)).shares.round(1).tolist()
    [0.6, 0.4, 0.0]
    """
    y, f, counts = y[:_ROWS], f[:_ROWS], counts[:_ROWS] / np.mean(counts[:_ROWS])
    n = len(y)
    square = (y[:, None] - f) ** 2
    near = counts @ (square <= square[:, known].min(1, keepdims=True))
    some = np.argsort(-np.where(known, near, -1.0), kind="stable")[:_CANDIDATES]
    some = np.sort(some[known[some]])
    square = square[:, some]
    variance = float(np.average((y - np.average(y, weights=counts)) ** 2, weights=counts))
    if not variance > 0:
        return Shares(np.zeros(f.shape[1]), 0.0)
    share, noise = np.full(len(some), 1 / len(some)), max(float(square.min(1) @ counts) / n, 1e-300)
    for step in range(_STEPS):
        r, total = _responsibility(square, share, noise)
        share = counts @ r / n
        if step == _STEPS // 2:
            share = np.where(share >= _LEAST, share, 0.0)
            share /= share.sum()
        noise = max(float(counts @ (r * square).sum(1)) / n, 1e-12 * variance)
    share = np.where(share >= _LEAST, share, 0.0)
    share /= share.sum()
    _, total = _responsibility(square, share, noise)
    gain = float(counts @ total) / n + 0.5 * (np.log(2 * np.pi * variance) + 1)
    shares = np.zeros(f.shape[1])
    shares[some] = share
    return Shares(shares, gain)


def _responsibility(
    square: np.ndarray, share: np.ndarray, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Whose each row is, and its log density."""
    with np.errstate(divide="ignore"):
        log = np.log(share) - 0.5 * square / noise
    largest = log.max(1)
    part = np.exp(log - largest[:, None])
    total = part.sum(1)
    log_density = largest + np.log(total) - 0.5 * np.log(2 * np.pi * noise)
    return part / total[:, None], log_density
