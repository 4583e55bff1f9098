"""All ways to minimise that the study compares, behind one signature.

Enters: a generator, a function of rows of the unit cube that raises `Enough` when the budget is
used up, the dimension, and past runs as pairs (X, y). Leaves: nothing; the function keeps count.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bers.algorithm import ReuseConfig
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.optimise.minimize import minimize
from bers_studies.rivals.amtea import amtea
from bers_studies.rivals.cma import best_tried, cma_es, warm_started

Fun = Callable[[np.ndarray], np.ndarray]
Runs = Sequence[tuple[np.ndarray, np.ndarray]]
Method = Callable[[np.random.Generator, Fun, int, Runs], None]

_PER_SOURCE = 4
_SMALL, _SMALLER = 300, 100  # evaluations that Optuna's samplers are given


class Enough(Exception):
    """The budget is used up."""


class Counted:
    """Remembers the least gap after every evaluation, and raises `Enough` after the last.

    >>> counted = Counted(lambda x: x[:, 0], 3)
    >>> try:
    ...     counted(np.array([[2.0], [1.0], [3.0], [0.0]]))
    ... except Enough:
    ...     print(counted.least.tolist())
    [2.0, 1.0, 1.0]
    """

    def __init__(self, fun: Fun, budget: int) -> None:
        self.fun, self.budget, self._seen = fun, budget, []

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values of rows."""
        values = self.fun(x)
        self._seen.extend(values.tolist())
        if len(self._seen) >= self.budget:
            raise Enough("the budget is used up")
        return values

    @property
    def least(self) -> np.ndarray:
        """After every evaluation within the budget."""
        return np.minimum.accumulate(self._seen[: self.budget])


def ours(rng: np.random.Generator, fun: Fun, D: int, sources: Runs, *, learner: Any = None) -> None:
    """`bers.minimize` as it is.

    Up to eight past runs are all tried, whatever their weights; so none are found here, which
    saves time and changes no start.
    """
    _enough(rng, fun, D, sources, learner or CMAES())


def _enough(rng: np.random.Generator, fun: Fun, D: int, sources: Runs, learner: Any) -> None:
    reached: list[Enough] = []

    def one(x: np.ndarray) -> float:
        try:
            return float(fun(x[None])[0])
        except Enough as error:
            reached.append(error)
            return np.nan

    minimize(
        one,
        [(0.0, 1.0)] * D,
        sources=list(sources),
        learner=learner,
        reuse=ReuseConfig(rule="equal"),
        rng=rng,
        maxfun=10**6,
        maxiter=10**6,
        callback=lambda now: bool(reached),
    )


def first_used(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> tuple[int, int]:
    """Of the sources, the one that `bers.minimize` uses first, and the one that it starts from.

    The first is the source whose best point was worth most when all were tried: its rows give the
    shape of the valley. The search starts from its point, unless the middle of the box, which is
    tried beside them, is better; then the second is -1.

    >>> past = [(np.array([[at, at], [0.9, 0.9]]), np.array([1.0, 2.0])) for at in (0.4, 0.3)]
    >>> first_used(np.random.default_rng(0), lambda x: np.sum(x, axis=1), 2, past)
    (1, 1)
    """
    tops = np.array([np.clip(x[np.argmin(y)], 0, 1) for x, y in sources])
    counted = Counted(fun, len(tops) + 1)
    seen: list[np.ndarray] = []

    def kept(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        return counted(x)

    with suppress(Enough):
        ours(rng, kept, D, sources)
    x = np.concatenate(seen)
    tried = np.flatnonzero(np.abs(tops[:, None] - x).max(axis=2).min(axis=1) < 1e-9)
    if not len(tried):
        return -1, -1
    values = fun(tops[tried])
    first = int(tried[np.argmin(values)])
    return first, first if values.min() <= fun(np.full((1, D), 0.5))[0] else -1


def alone(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """The same without past runs."""
    ours(rng, fun, D, ())


def plain_de(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """Differential Evolution, which never thinks that it has converged."""
    _enough(rng, fun, D, (), DE(tol=-1.0))


def seeded_de(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """The same with the best points of every source in its first population."""
    tops = [x[np.argsort(y, kind="stable")[:_PER_SOURCE]] for x, y in sources]
    first = rng.random((32, D))
    best = np.concatenate(tops)[:32]
    first[: len(best)] = np.clip(best, 0, 1)
    _enough(rng, fun, D, (), replace(DE(tol=-1.0), init=first))


def scipys_de(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """scipy's, as it comes, started again when it has converged."""
    from scipy.optimize import differential_evolution

    while True:
        differential_evolution(lambda x: float(fun(x[None])[0]), [(0, 1)] * D, rng=rng)


def amteas(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """AMTEA, as its authors have it."""
    _exhaust(amtea(rng, lambda x: fun(x[None])[0], np.zeros(D), np.ones(D), sources))


def _of(
    run: Callable[..., Iterator[Any]],
    rng: np.random.Generator,
    fun: Fun,
    D: int,
    sources: Runs,
    *,
    reuses: bool = True,
    **settings: Any,
) -> None:
    _exhaust(run(rng, fun, D, sources, **settings) if reuses else run(rng, fun, D, **settings))


def _exhaust(run: Iterator[Any]) -> None:
    for _ in run:
        pass


def optunas(rng: np.random.Generator, fun: Fun, D: int, sources: Runs, *, sampler: str) -> None:
    """A sampler of Optuna's, for at most 300 trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    seed = int(rng.integers(2**31))
    kind = {"cma": optuna.samplers.CmaEsSampler, "gp": optuna.samplers.GPSampler}[sampler]
    study = optuna.create_study(sampler=kind(seed=seed))

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(D)])
        return float(fun(x[None])[0])

    study.optimize(objective, n_trials=_SMALL)


METHODS: dict[str, Method] = {
    "BERS": ours,
    "BERS alone": alone,
    "CMA-ES": partial(_of, cma_es, reuses=False),
    "WS-CMA-ES": partial(_of, warm_started),
    "best tried, .1": partial(_of, best_tried, sigma=0.1),
    "best tried, .03": partial(_of, best_tried, sigma=0.03),
    "DE": plain_de,
    "DE, seeded": seeded_de,
    "scipy's DE": scipys_de,
    "AMTEA": amteas,
    "Optuna's CMA-ES": partial(optunas, sampler="cma"),
    "Optuna's GP": partial(optunas, sampler="gp"),
}
UP_TO = {"Optuna's CMA-ES": _SMALL, "Optuna's GP": _SMALLER}
"""Evaluations of methods that are too slow for more."""
ONLY = {"Optuna's GP": ("displaced 10%",)}
"""Families of methods that are slower still. They know no past runs, so one tells of the others."""
