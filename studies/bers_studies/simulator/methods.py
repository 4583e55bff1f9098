"""All ways to minimise a simulator that the study compares, behind one signature.

Enters: a generator, a function of rows of the unit cube that raises `Enough` when the budget is
used up, the dimension, and past runs as pairs (X, y). Leaves: nothing; the function keeps count.
"""

from functools import partial
from typing import Any

import numpy as np

from bers_studies.bbob.methods import METHODS as FOR_ANY_BUDGET
from bers_studies.bbob.methods import Fun, Method, Runs

_TRIALS = 10**6  # more than any budget


def at_random(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """Points drawn at random."""
    while True:
        fun(rng.random((1, D)))


def optunas(
    rng: np.random.Generator, fun: Fun, D: int, sources: Runs, *, enqueued: bool = False
) -> None:
    """Optuna's TPE; `enqueued`: with the best point of each past run as first trials."""
    from optuna.samplers import TPESampler

    sampler = TPESampler(seed=int(rng.integers(2**31)))
    first = [x[np.argmin(y)] for x, y in sources] if enqueued else []
    _optimised(sampler, fun, D, first)


def bers_on_tpe(rng: np.random.Generator, fun: Fun, D: int, sources: Runs) -> None:
    """Our sampler for Optuna, with the past runs as earlier studies."""
    from bers.integrations.optuna import BersSampler

    past = {f"run {i}": _study_of(x, y) for i, (x, y) in enumerate(sources)}
    _optimised(BersSampler(past, seed=int(rng.integers(2**31))), fun, D, [])


def _study_of(x: np.ndarray, y: np.ndarray) -> Any:
    import optuna
    from optuna.distributions import FloatDistribution

    kinds: dict[str, Any] = {f"x{j}": FloatDistribution(0.0, 1.0) for j in range(x.shape[1])}
    study = optuna.create_study()
    study.add_trials(
        optuna.trial.create_trial(
            params={f"x{j}": float(v) for j, v in enumerate(row)},
            distributions=kinds,
            value=float(value),
        )
        for row, value in zip(np.clip(x, 0, 1), y, strict=True)
    )
    return study


def _optimised(sampler: Any, fun: Fun, D: int, first: list[np.ndarray]) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(sampler=sampler)
    for point in first:
        study.enqueue_trial({f"x{j}": float(v) for j, v in enumerate(np.clip(point, 0, 1))})

    def objective(trial: Any) -> float:
        x = np.array([trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(D)])
        return float(fun(x[None])[0])

    study.optimize(objective, n_trials=_TRIALS)


TOLD = "WS-CMA-ES, told which run"
METHODS: dict[str, Method] = {
    "BERS": FOR_ANY_BUDGET["BERS"],
    "BERS alone": FOR_ANY_BUDGET["BERS alone"],
    TOLD: FOR_ANY_BUDGET["WS-CMA-ES"],
    "WS-CMA-ES": FOR_ANY_BUDGET["WS-CMA-ES"],
    "best tried, .1": FOR_ANY_BUDGET["best tried, .1"],
    "best tried, .03": FOR_ANY_BUDGET["best tried, .03"],
    "CMA-ES": FOR_ANY_BUDGET["CMA-ES"],
    "DE": FOR_ANY_BUDGET["DE"],
    "DE, seeded": FOR_ANY_BUDGET["DE, seeded"],
    "AMTEA": FOR_ANY_BUDGET["AMTEA"],
    "BersSampler on TPE": bers_on_tpe,
    "TPE, best enqueued": partial(optunas, enqueued=True),
    "TPE": optunas,
    "random": at_random,
}
