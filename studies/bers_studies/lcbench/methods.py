"""Methods that tune a task of LCBench, with and without the studies of other tasks.

Enters: a task, earlier studies as rows of the unit cube, and a seed. Leaves: values, trial by
trial. All that propose by a model have the same candidates: good rows of the earlier studies,
neighbours of the best rows so far, and points at random.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bers_studies.lcbench.problems import Tasks
from bers_studies.rivals import ensembles
from bers_studies.rivals.gaussian_process import GP, fitted
from bers_studies.rivals.warm_cma import warm_cma

Rows = tuple[np.ndarray, np.ndarray]
Fun = Callable[[np.ndarray], np.ndarray]
_GOOD = 12  # rows of each earlier study among the candidates
_START = 3  # settings of the portfolio before an ensemble takes over
_COLD = 5  # random points before a process without sources takes over
_ENQUEUED = 5


def random_search(rng: np.random.Generator, fun: Fun, D: int, trials: int) -> np.ndarray:
    """Points at random."""
    return fun(rng.random((trials, D)))


def warm(rng: np.random.Generator, fun: Fun, sources: Sequence[Rows], trials: int) -> np.ndarray:
    """WS-CMA-ES with CMA-ES's usual population."""
    D = sources[0][0].shape[1]
    size = 4 + int(3 * np.log(D))
    run = warm_cma(
        rng, lambda x: fun(x[None])[0], np.zeros(D), np.ones(D), sources, population=size
    )
    found: list[float] = []
    while len(found) < trials:
        found += next(run).f.tolist()
    return np.array(found[:trials])


def ordered(
    fun: Fun, sources: Sequence[Rows], models: Sequence[GP], trials: int, how: str
) -> np.ndarray:
    """Settings of the sources in a fixed order: the greedy portfolio, or by their mean."""
    good = good_rows(sources)
    values = ensembles.believed_values(models, good)
    order = ensembles.mean_order(values)
    if how == "portfolio":
        order = ensembles.portfolio(values, trials)
    return fun(good[order[:trials]])


def modelled(
    rng: np.random.Generator,
    fun: Fun,
    sources: Sequence[Rows],
    models: Sequence[GP],
    trials: int,
    how: str,
    D: int,
) -> np.ndarray:
    """Expected improvement by RGPE, by TST-R, or by a process without sources."""
    good = good_rows(sources) if how != "GP" else np.zeros((0, D))
    if how == "GP":
        x = rng.random((_COLD, D))
    else:
        values = ensembles.believed_values(models, good)
        x = good[ensembles.portfolio(values, _START)]
    y, start = fun(x), None
    while len(y) < trials:
        target = fitted(x, y, start)
        start = np.log([*target.lengths, target.signal, target.noise])
        asked = np.concatenate([good, neighbours(rng, x, y), rng.random((600, D))])
        if how == "RGPE":
            mean, std = ensembles.rgpe(rng, models, target, asked)
        elif how == "TST-R":
            mean, std = ensembles.tst_r(models, target, asked)
        else:
            mean, std = target.predict(asked)
        new = asked[[ensembles.proposed(mean, std, target)]]
        x, y = np.concatenate([x, new]), np.append(y, fun(new))
    return y


def good_rows(sources: Sequence[Rows]) -> np.ndarray:
    """The best rows of each source."""
    return np.concatenate([x[np.argsort(y, kind="stable")[:_GOOD]] for x, y in sources])


def neighbours(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows around the best four, at three distances."""
    parts = []
    for best in np.argsort(y, kind="stable")[:4]:
        for far in (0.02, 0.08, 0.2):
            moved = rng.random((40, x.shape[1])) < 0.3
            step = far * rng.standard_normal(moved.shape) * moved
            parts.append(np.clip(x[best] + step, 0, 1))
    return np.concatenate(parts)


def in_optuna(
    tasks: Tasks, task: str, sampler: Any, trials: int, first: Sequence[Mapping[str, Any]] = ()
) -> tuple[np.ndarray, Any]:
    """A study with a sampler; `first` are settings to enqueue."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    for params in first:
        study.enqueue_trial(dict(params))
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, float(tasks.values(task, asked(tasks, trial)[None])[0]))
    return np.array([one.value for one in study.trials]), study


def asked(tasks: Tasks, trial: Any) -> np.ndarray:
    """What a trial of Optuna suggests, as a row of the unit cube."""
    row = []
    for name, of in tasks.space.items():
        ask = trial.suggest_float
        low, high = of.low, of.high
        if of.whole:
            ask, low, high = trial.suggest_int, int(of.low), int(of.high)
        row.append(of.place(np.array(ask(name, low, high, log=of.log))))
    return np.array(row, float)


def as_trials(tasks: Tasks, rows: Rows) -> list[Any]:
    """Rows of an earlier study as trials of Optuna."""
    from optuna.distributions import FloatDistribution, IntDistribution
    from optuna.trial import create_trial

    kinds: dict[str, Any] = {
        name: IntDistribution(int(of.low), int(of.high), log=of.log)
        if of.whole
        else FloatDistribution(of.low, of.high, log=of.log)
        for name, of in tasks.space.items()
    }
    found = []
    for x, y in zip(*rows, strict=True):
        given = {
            name: int(of.value(u)) if of.whole else float(of.value(u))
            for (name, of), u in zip(tasks.space.items(), x, strict=True)
        }
        found.append(create_trial(params=given, distributions=kinds, value=float(y)))
    return found


def runs(
    tasks: Tasks,
    task: str,
    sources: Mapping[str, Rows],
    models: Mapping[str, GP],
    trials: int,
    seed: int,
) -> Mapping[str, Callable[[], np.ndarray]]:
    """Every method by name; each is run when it is called."""
    from optuna.samplers import TPESampler

    D = len(tasks.space)
    fun = partial(tasks.values, task)
    names = [name for name in sources if name != task]
    rows, fits = [sources[n] for n in names], [models[n] for n in names]

    def rng(k: int) -> np.random.Generator:
        return np.random.default_rng([seed, tasks.codes[task], k])

    def enqueued() -> np.ndarray:
        some = rng(0).permutation(len(rows))[:_ENQUEUED]
        best = [as_trials(tasks, rows[i])[int(np.argmin(rows[i][1]))].params for i in some]
        return in_optuna(tasks, task, TPESampler(seed=seed), trials, best)[0]

    found: dict[str, Callable[[], np.ndarray]] = {
        "random": lambda: random_search(rng(1), fun, D, trials),
        "TPE": lambda: in_optuna(tasks, task, TPESampler(seed=seed), trials)[0],
        "GP": lambda: modelled(rng(2), fun, (), (), trials, "GP", D),
        "WS-CMA-ES": lambda: warm(rng(3), fun, rows, trials),
        "TPE, best enqueued": enqueued,
        "mean order": lambda: ordered(fun, rows, fits, trials, "mean"),
        "greedy portfolio": lambda: ordered(fun, rows, fits, trials, "portfolio"),
        "TST-R": lambda: modelled(rng(4), fun, rows, fits, trials, "TST-R", D),
        "RGPE": lambda: modelled(rng(5), fun, rows, fits, trials, "RGPE", D),
    }
    return found


def misled(sources: Mapping[str, Rows], kind: str, count: int, seed: int) -> dict[str, Rows]:
    """Some of the sources, turned upside down or mirrored in every column.

    >>> rows = {"a": (np.array([[0.2]]), np.array([3.0]))}
    >>> misled(rows, "turned", 1, 0)["a"][1].tolist()
    [-3.0]
    >>> misled(rows, "mirrored", 1, 0)["a"][0].tolist()
    [[0.8]]
    """
    names = [list(sources)[i] for i in np.random.default_rng([seed, 9]).permutation(len(sources))]
    found = {}
    for name in names[:count]:
        x, y = sources[name]
        found[name] = (x, -y) if kind == "turned" else (1.0 - x, y)
    return found
