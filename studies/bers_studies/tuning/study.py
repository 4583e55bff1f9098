"""Earlier studies for tuning: how many trials do they save, and what do misleading ones cost?

Enters: settings and a seed. Leaves: records of plain TPE, of BERS, of WS-CMA-ES and of TPE with the
best points enqueued by hand, for every problem of five families of tuning problems. The earlier
studies are those of the family's other problems; in the misleading kinds they are turned (their
worst trials look best) or mirrored (their good points lie at the other end of every range).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers_studies.tuning.problems import FAMILIES, Number, Problem, family

PARTS = len(FAMILIES)
"""Of a trial, run one by one: a family each."""


@dataclass(frozen=True)
class TuningConfig:
    """One study."""

    families: tuple[str, ...] = FAMILIES
    problems: int = 3
    """Of each family; each is the target once, the others are the earlier studies."""
    earlier: int = 50
    """Trials of an earlier study."""
    trials: int = 50
    """After which TPE's value is the goal of all."""
    more: int = 60
    """Of all methods, so that a goal can be reached late."""


def trial(config: TuningConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All targets of one family; seeds go round the families."""
    number, which = divmod(seed, len(config.families))
    name = config.families[which]
    problems = family(name)[: config.problems]
    past = {
        one.name: searched(one, _tpe(1000 * (number + 1) + i), config.earlier)
        for i, one in enumerate(problems)
    }
    for target in problems:
        others = {key: study for key, study in past.items() if key != target.name}
        about = {"trial": number, "panel": name, "target": target.name, "budget": config.trials}
        for method, study in _runs(target, others, config, number):
            yield about | {
                "method": method,
                "best": [float(f"{value:.6g}") for value in best(study)],
                "at": list(range(1, config.more + 1)),
                "along": "trial",
                "nobody": _nobody(study),
                "used": _used(study),
            }


def _runs(
    target: Problem, others: Mapping[str, Any], config: TuningConfig, seed: int
) -> Iterator[tuple[str, Any]]:
    from bers.integrations.optuna import BersSampler

    yield "TPE", searched(target, _tpe(seed), config.more)
    yield "BERS", searched(target, BersSampler(others, seed=seed), config.more)
    points = [study.best_params for study in others.values()]
    yield "TPE, best enqueued", searched(target, _tpe(seed), config.more, points)
    yield "WS-CMA-ES", searched(target, _warm_cma(others, seed), config.more)
    for kind, mislead in MISLEADING.items():
        wrong = {key: mislead(study.trials, target) for key, study in others.items()}
        yield f"BERS, {kind}", searched(target, BersSampler(wrong, seed=seed), config.more)


def searched(problem: Problem, sampler: Any, trials: int, first: Any = ()) -> Any:
    """A study of a problem; `first`: parameters to enqueue."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    for params in first:
        study.enqueue_trial(params)
    study.optimize(problem, n_trials=trials)
    return study


def turned(trials: list[Any], problem: Problem) -> list[Any]:
    """The same trials with the sign of their values turned."""
    return [_made(one, one.params, -one.value) for one in trials]


def mirrored(trials: list[Any], problem: Problem) -> list[Any]:
    """The same values at the other end of every range; the next choice of every category."""
    return [_made(one, opposite(one.params, problem), one.value) for one in trials]


MISLEADING: dict[str, Callable[[list[Any], Problem], list[Any]]] = {
    "turned": turned,
    "mirrored": mirrored,
}


def opposite(params: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    """Parameters mirrored in the middle of their ranges.

    >>> space = {"C": Number(0.01, 100, 5), "kernel": ("rbf", "poly")}
    >>> found = opposite({"C": 0.1, "kernel": "poly"}, Problem("a", space, len))
    >>> round(found["C"], 9), found["kernel"]
    (10.0, 'rbf')
    """
    found = {}
    for name, of in problem.space.items():
        value = params[name]
        if isinstance(of, Number):
            other = of.low * of.high / value if of.log else of.low + of.high - value
            found[name] = round(other) if of.whole else float(np.clip(other, of.low, of.high))
        else:
            found[name] = of[(of.index(value) + 1) % len(of)]
    return found


def best(study: Any) -> np.ndarray:
    """The least value after each trial."""
    return np.minimum.accumulate([one.value for one in study.trials])


def _made(one: Any, params: Mapping[str, Any], value: float) -> Any:
    from optuna.trial import create_trial

    kinds = {name: one.distributions[name] for name in params}
    return create_trial(params=dict(params), distributions=kinds, value=value)


def _tpe(seed: int) -> Any:
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed)


def _warm_cma(others: Mapping[str, Any], seed: int) -> Any:
    """It takes no categories: these are left to TPE."""
    import warnings

    from optuna.samplers import CmaEsSampler

    numbers = [
        _made(one, {k: v for k, v in one.params.items() if not isinstance(v, str)}, one.value)
        for study in others.values()
        for one in study.trials
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an experimental argument
        return CmaEsSampler(
            seed=seed,
            source_trials=numbers,
            independent_sampler=_tpe(seed),
            warn_independent_sampling=False,
        )


def _nobody(study: Any) -> list[float]:
    """The weight of nobody before trials 1, 6, 11, ..."""
    told = [one.user_attrs.get("bers") for one in study.trials[::5]]
    return [round(one["weights"]["nobody"], 3) for one in told if one is not None]


def _used(study: Any) -> list[int]:
    """Trials that took a point of an earlier study, counted from 1."""
    told = [(one.number + 1, one.user_attrs.get("bers")) for one in study.trials]
    return [number for number, one in told if one is not None and one["source"] is not None]


CONFIG = TuningConfig()
QUICK = TuningConfig(problems=2, earlier=15, trials=15, more=20)
