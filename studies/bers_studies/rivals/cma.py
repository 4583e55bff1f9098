"""CMA-ES by the package `cmaes`, restarted with doubled populations, from what past runs found.

Rivals for comparison. Enters: a function of rows of the unit cube, the dimension, and past runs as
pairs (X, y). Leaves: without end, the points tried and their values, a generation at a time.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bers_studies.rivals.amtea import Generation

COLD_SIGMA = 0.3
"""First step of a run without sources: about a third of the box, as is usual for CMA-ES."""

Fun = Callable[[np.ndarray], np.ndarray]
Runs = Sequence[tuple[np.ndarray, np.ndarray]]


def cma_es(
    rng: np.random.Generator,
    fun: Fun,
    D: int,
    *,
    mean: np.ndarray | None = None,
    sigma: float = COLD_SIGMA,
    cov: np.ndarray | None = None,
) -> Iterator[Generation]:
    """CMA-ES from a mean, else from a point drawn uniformly.

    A search that has converged starts again from a point drawn uniformly with the usual width, and
    with twice the population.

    >>> run = cma_es(np.random.default_rng(0), lambda x: np.sum((x - 0.3) ** 2, axis=1), 3)
    >>> min(float(next(run).f.min()) for _ in range(100)) < 1e-8
    True
    """
    from cmaes import CMA

    box = np.column_stack([np.zeros(D), np.ones(D)])
    size = 4 + int(3 * np.log(D))
    mean = rng.random(D) if mean is None else mean
    while True:
        seed = int(rng.integers(2**32))
        shape = np.eye(D) if cov is None else cov.copy()
        search = CMA(mean, sigma, box, seed=seed, population_size=size, cov=shape)
        while not search.should_stop():
            x = np.array([search.ask() for _ in range(size)])
            f = fun(x)
            yield Generation(x, f, None)
            search.tell(list(zip(x, f.tolist(), strict=True)))
        mean, sigma, cov, size = rng.random(D), COLD_SIGMA, None, 2 * size


def best_tried(
    rng: np.random.Generator, fun: Fun, D: int, sources: Runs, *, sigma: float
) -> Iterator[Generation]:
    """Each source's best point tried once, then CMA-ES from the best of them.

    >>> past = [(np.array([[0.3, 0.3], [0.9, 0.9]]), np.array([1.0, 2.0]))]
    >>> run = best_tried(np.random.default_rng(0), lambda x: np.sum(x, axis=1), 2, past, sigma=0.1)
    >>> next(run).x.tolist(), next(run).x.shape
    ([[0.3, 0.3]], (6, 2))
    """
    x = np.clip([points[np.argmin(values)] for points, values in sources], 0, 1)
    f = fun(x)
    yield Generation(x, f, None)
    yield from cma_es(rng, fun, D, mean=x[np.argmin(f)].copy(), sigma=sigma)


def warm_started(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> Iterator[Generation]:
    """WS-CMA-ES (Nomura and others, 2021): one Gaussian for the best tenth of each source.

    >>> past = np.random.default_rng(0).random((50, 2))
    >>> run = warm_started(np.random.default_rng(0), lambda x: x[:, 0], 2, [(past, past[:, 0])])
    >>> next(run).x.shape
    (6, 2)
    """
    from cmaes import get_warm_start_mgd

    tops = [x[np.argsort(y, kind="stable")[: max(1, len(x) // 10)]] for x, y in sources]
    pool = [(row, 0.0) for row in np.concatenate(tops)]
    mean, sigma, cov = get_warm_start_mgd(pool, gamma=1.0, alpha=0.1)
    yield from cma_es(rng, fun, D, mean=np.clip(mean, 0, 1), sigma=sigma, cov=cov)
