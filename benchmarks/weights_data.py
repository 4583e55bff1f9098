"""Problems for the weights' benchmarks: M, t and s as `bers.trust.qp.simplex.solve` takes them."""

import numpy as np

from bers.model import nig

d = 21


def mixture(N: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M standard normal, t a mixture of three sources plus noise, s around 1."""
    rng = np.random.default_rng(N)
    M = rng.standard_normal((N, d))
    t = np.array([0.5, 0.3, 0.2]) @ M[:3] + 0.1 * rng.standard_normal(d)
    return M, t, rng.uniform(0.5, 2.0, N)


def outside(M: np.ndarray) -> np.ndarray:
    """A target that no mixture reaches: twice as far out as the farthest source."""
    lengths = np.linalg.norm(M, axis=1)
    return 2.0 * M[np.argmax(lengths)]


def dense(M: np.ndarray) -> np.ndarray:
    """A target for which most sources have weight: their mean."""
    return M.mean(axis=0)


def draws(size: int = 1000, N: int = 16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior draws of N heads of 200 rows, and of a target of 40 that mixes two of them.

    s is a ridge so small that it only makes the answer unique.
    """
    rng = np.random.default_rng(0)
    truths = rng.standard_normal((N, d))
    sources = nig.stack([_head(rng, truth, 200) for truth in truths])
    target = _head(rng, 0.6 * truths[0] + 0.4 * truths[1], 40)
    M = nig.draw(rng, sources, size)[0]
    t = nig.draw(rng, target, size)[0]
    ridge = 1e-6 * float(np.mean(np.sum(sources.mu**2, axis=-1)))
    return M, t, np.full(N, ridge)


def _head(rng: np.random.Generator, truth: np.ndarray, rows: int) -> nig.NIG:
    Phi = rng.standard_normal((rows, d))
    Phi[:, -1] = 1.0
    y = Phi @ truth + 0.5 * rng.standard_normal(rows)
    return nig.condition(nig.prior(d), nig.summarise(Phi, y))
