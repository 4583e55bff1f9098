"""WS-CMA-ES: the evolution strategy CMA-ES, started where past runs did well.

A rival for comparison, after Nomura and others, "Warm starting CMA-ES for hyperparameter
optimization" (AAAI 2021), through the authors' package `cmaes`.

Enters: a function of one point, bounds, and the past runs as pairs (X, y).
Leaves: one record per generation: the points tried, and their values.

The best share of each past run is pooled, and one Gaussian on the unit box is fitted to all.
Values of different runs are not comparable, so none is chosen over another.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import SupportsFloat

import numpy as np

from bers.errors import ConfigError
from bers_studies.rivals.amtea import Generation, unit_sources

COLD_SIGMA = 0.3
"""First step of a run without sources: about a third of the box, as is usual for CMA-ES."""


def warm_cma(
    rng: np.random.Generator,
    fun: Callable[[np.ndarray], SupportsFloat],
    low: np.ndarray,
    high: np.ndarray,
    sources: Sequence[tuple[np.ndarray, np.ndarray]],
    *,
    population: int = 32,
    gamma: float = 0.1,
    alpha: float = 0.1,
) -> Iterator[Generation]:
    """Minimise without end, one record of `population` evaluations per generation.

    `gamma` is the share of each past run that is used, `alpha` the width that is added to it;
    both are the authors'. A search that has converged starts again from the same Gaussian.
    Without sources this is plain CMA-ES from the middle of the box.

    >>> def sphere(x): return np.sum(x**2)
    >>> rng, low, high = np.random.default_rng(0), np.full(2, -1.0), np.full(2, 1.0)
    >>> past = rng.uniform(low, high, (100, 2))
    >>> run = warm_cma(rng, sphere, low, high, [(past, np.sum(past**2, axis=1))])
    >>> first = next(run)
    >>> first.x.shape, bool(first.f.min() < 0.01), first.weights
    ((32, 2), True, None)
    """
    try:
        from cmaes import CMA, get_warm_start_mgd
    except ImportError as error:
        raise ConfigError(
            "warm_cma needs the package cmaes. Install it with `pip install cmaes`."
        ) from error
    if population < 4:
        raise ConfigError(f"warm_cma(population=...) must be at least 4; got {population}.")
    if not 0 < gamma <= 1:
        raise ConfigError(f"warm_cma(gamma=...) must be in (0, 1]; got {gamma}. Try 0.1.")
    if not alpha > 0:
        raise ConfigError(f"warm_cma(alpha=...) must be above 0; got {alpha}. Try 0.1.")
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    D = len(low)
    best = [x[: max(1, int(gamma * len(x)))] for x, _ in unit_sources(sources, low, high)]
    mean, sigma, cov = np.full(D, 0.5), COLD_SIGMA, np.eye(D)
    if best:
        # the best are chosen already, source by source: all of the pool is used
        pool = [(row, 0.0) for row in np.concatenate(best)]
        mean, sigma, cov = get_warm_start_mgd(pool, gamma=1.0, alpha=alpha)
        mean = np.clip(mean, 0, 1)  # a past run may have had other bounds
    box = np.column_stack([np.zeros(D), np.ones(D)])

    def start() -> CMA:
        seed = int(rng.integers(2**32))
        return CMA(mean, sigma, box, seed=seed, population_size=population, cov=cov.copy())

    def run() -> Iterator[Generation]:
        search = start()
        while True:
            x = np.array([search.ask() for _ in range(population)])
            points = np.clip(low + x * (high - low), low, high)  # rounding may leave the box
            f = np.array([float(fun(point)) for point in points])
            yield Generation(points, f, None)
            # only the order counts: a failed evaluation is the worst
            told = np.nan_to_num(f, nan=1e300, posinf=1e300).tolist()
            search.tell(list(zip(x, told, strict=True)))
            if search.should_stop():
                search = start()

    return run()
