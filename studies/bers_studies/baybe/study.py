"""Reactions in few experiments, with earlier reactions: BERS in Optuna beside BayBE.

Enters: settings and a number. Leaves, for one scenario, a record for each method: the experiments
at which its best yield rose, and how many there were until one was among the top 1%.

BayBE runs in an environment of its own, named by the environment variable BERS_BAYBE. What it found
is kept in the folder that BERS_KEPT names, if any. A scenario's earlier rows are drawn by the
seed, the same ones for all methods. Words are categories for both: nobody sees molecules.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bers.integrations.optuna import BersSampler
from bers.integrity import file_digest
from bers_studies.lcbench.kept import kept
from bers_studies.reactions.problems import BAYBES as HALIDES
from bers_studies.reactions.problems import Reaction, Scenario, developed, temperatures
from bers_studies.rivals import baybe_apart


@dataclass(frozen=True)
class BaybeConfig:
    """One study."""

    targets: str = "reported"
    """Or "developed": other aryl halides, and no BayBE."""
    data: str = "../shared/data"
    """The folder of the files; the environment variable BERS_DATA goes before."""
    share: float = 0.1
    """Of the earlier reactions' conditions that were carried out."""
    experiments: int = 60
    """At most."""
    count: int = 6
    """Scenarios, the first of them."""
    methods: tuple[str, ...] = ()
    """Those that are run; all of them if empty."""


def trial(config: BaybeConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One scenario; seeds go round the scenarios."""
    number, which = divmod(seed, config.count)
    scenario = scenarios(config)[which]
    rng = np.random.default_rng([number, which, 5])
    target, sources = scenario.made(rng, Path(config.data))
    about = {"trial": number, "panel": target.table, "target": target.name}
    about |= {"scenario": scenario.name, "top": target.top}
    for method, run in methods(target, sources, config.experiments, number).items():
        if config.methods and method not in config.methods:
            continue
        if "BayBE" in method and config.targets != "reported":
            continue
        found = run()
        yield about | {"method": method, "needed": needed(found, target.top), "steps": steps(found)}


def scenarios(config: BaybeConfig) -> tuple[Scenario, ...]:
    """BayBE's own of aryl halides, and one temperature with the two others as sources."""
    if config.targets != "reported":
        return developed(Path(config.data), config.share)
    halides = tuple(one for one in HALIDES if one.share == config.share)
    return (*halides, *temperatures(config.share))


def methods(
    target: Reaction, sources: list[Reaction], experiments: int, seed: int
) -> dict[str, Callable[[], list[float]]]:
    """What each measures, experiment by experiment."""
    from optuna.samplers import TPESampler

    def rival(past: list[Reaction]) -> list[float]:
        given = {"enough": target.top, "trials": experiments, "seed": seed}
        key: list[Any] = [target.name, *(one.name for one in past), experiments, seed]
        key += [float(one.yields.sum()) for one in past]  # which rows they are
        key.append(file_digest(baybe_apart.PROGRAM))
        find = partial(baybe_apart.tried, told(target), [told(one) for one in past], **given)
        return target.yields[kept("bers_studies.rivals.baybe_apart", key, find)].tolist()

    def ours() -> list[float]:
        past = {one.name: as_trials(one, target) for one in sources}
        return searched(target, BersSampler(past, seed=seed), experiments)

    return {
        "TPE": lambda: searched(target, TPESampler(seed=seed), experiments),
        "BERS": ours,
        "BayBE": lambda: rival([]),
        "BayBE, TaskParameter": lambda: rival(sources),
    }


def told(one: Reaction) -> dict[str, Any]:
    """A reaction as numbers and words only."""
    return {
        "name": one.name,
        "columns": list(one.conditions.columns),
        "conditions": one.conditions.to_numpy(object).tolist(),
        "yields": one.yields.tolist(),
    }


def searched(target: Reaction, sampler: Any, experiments: int) -> list[float]:
    """Yields by a sampler of Optuna, until one is among the top; an experiment done twice is two.

    A combination that is not in the table was never carried out, and counts as no experiment.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    rows = target.conditions.to_numpy(object).tolist()
    table = {tuple(row): y for row, y in zip(rows, target.yields, strict=True)}
    study, found = optuna.create_study(sampler=sampler, direction="maximize"), []
    space = kinds(target)
    while len(found) < experiments and not (found and found[-1] >= target.top):
        trial = study.ask(space)
        value = table.get(tuple(trial.params[name] for name in target.conditions.columns))
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, float(value))
            found.append(float(value))
    return found


def kinds(target: Reaction) -> dict[str, Any]:
    """The search space: every column is a category."""
    from optuna.distributions import CategoricalDistribution

    columns = target.conditions
    return {name: CategoricalDistribution(sorted(set(columns[name].tolist()))) for name in columns}


def as_trials(past: Reaction, target: Reaction) -> list[Any]:
    """An earlier reaction as trials of Optuna."""
    from optuna.trial import create_trial

    space = kinds(target)
    found = []
    for row, y in zip(past.conditions.to_dict("records"), past.yields, strict=True):
        if all(value in space[name].choices for name, value in row.items()):
            found.append(create_trial(params=row, distributions=space, value=float(y)))
    return found


def needed(yields: list[float], top: float) -> int:
    """Experiments until one is among the top; one more than all if none is.

    >>> needed([1.0, 9.0, 3.0], 8.0), needed([1.0], 8.0)
    (2, 2)
    """
    good = [i for i, value in enumerate(yields) if value >= top]
    return good[0] + 1 if good else len(yields) + 1


def steps(yields: list[float]) -> list[list[float]]:
    """Experiments, counted from 1, at which the best yield rose, and the yield from then on.

    >>> steps([1.0, 0.5, 3.0])
    [[1, 1.0], [3, 3.0]]
    """
    best = np.maximum.accumulate(yields)
    rose = np.flatnonzero(np.append(True, np.diff(best) > 0))
    return [[int(i) + 1, round(float(best[i]), 3)] for i in rose]


CONFIG = BaybeConfig()
QUICK = BaybeConfig(count=1, experiments=5)
