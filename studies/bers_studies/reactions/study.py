"""Reactions in up to 100 experiments, in parts: one reaction that is new each.

Enters: settings and a number. Leaves: for every scenario and way of choosing, the number of
experiments to the top 1% of the conditions, and the best yield after 10, 30, 50 and 100. The
targets are not among those that the method was developed on; the sources of BayBE's scenarios are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.optimise.campaign import Campaign
from bers_studies.reactions.problems import REPORTED, Reaction, Scenario, reactions

AT = (10, 30, 50, 100)
TARGETS = tuple(dict.fromkeys((one.table, one.target) for one in REPORTED))
"""A part of a trial each."""
OWN, ALONE, ORDER, RANDOM = "BERS", "BERS alone", "sources' order", "random"

Way = Callable[[np.random.Generator, Reaction, Sequence[Reaction], int], list[int]]
"""From a reaction and those known before to the conditions that are tried, in order."""


@dataclass(frozen=True)
class ReactionsConfig:
    """One study."""

    data: str = "../shared/data"
    """Folder of the files; the environment variable BERS_DATA goes before."""
    targets: tuple[tuple[str, str], ...] = TARGETS
    budget: int = 100
    seeds: int = 0
    """Of the first trial; those before it were there to look at."""


def trial(config: ReactionsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One part: all scenarios of one target, and each of them without sources."""
    number, which = divmod(seed, len(config.targets))
    number += config.seeds
    table, name = config.targets[which]
    target, folder = reactions(table, Path(config.data))[name], Path(config.data)
    about = {"trial": number, "table": table, "target": name}
    for k, (method, way) in enumerate(((ALONE, by_campaign), (RANDOM, at_random))):
        tried = way(np.random.default_rng([number, which, k]), target, (), config.budget)
        yield about | {"scenario": "", "method": method} | _found(target, tried, config.budget)
    for i, scenario in enumerate(one for one in REPORTED if one.target == name):
        rng = np.random.default_rng([number, which, 10 + i])
        target, past = scenario.made(rng, folder)
        about |= {"scenario": scenario.name, "turned": scenario.turned}
        about |= {"alike": alike(scenario, folder), "rows": sum(len(s.yields) for s in past)}
        for method, way in ((OWN, by_campaign), (ORDER, in_order)):
            tried = way(rng, target, past, config.budget)
            yield about | {"method": method} | _found(target, tried, config.budget)


def by_campaign(
    rng: np.random.Generator, target: Reaction, past: Sequence[Reaction], budget: int
) -> list[int]:
    """One experiment after another by `bers.Campaign`, until nothing better is left."""
    sources = {one.name: (one.conditions, one.yields) for one in past}
    campaign = Campaign(target.conditions, sources, maximize=True, rng=rng)
    tried: list[int] = []
    while len(tried) < budget:
        rows = campaign.ask()
        tried.append(int(rows.index[0]))
        campaign.tell(rows, target.yields[tried[-1:]])
        if target.yields[tried[-1]] >= target.yields.max():
            break
    return tried


def at_random(
    rng: np.random.Generator, target: Reaction, past: Sequence[Reaction], budget: int
) -> list[int]:
    """In an order of chance."""
    return rng.permutation(len(target.yields))[:budget].tolist()


def in_order(
    rng: np.random.Generator, target: Reaction, past: Sequence[Reaction], budget: int
) -> list[int]:
    """By the sources' mean yield, as shares of each one's range; what none has tried comes last."""
    columns = list(target.conditions)
    total, count = np.zeros(len(target.yields)), np.zeros(len(target.yields))
    places = {row: i for i, row in enumerate(target.conditions.itertuples(index=False, name=None))}
    for one in past:
        share = (one.yields - one.yields.min()) / (np.ptp(one.yields) or 1.0)
        rows = one.conditions[columns].itertuples(index=False, name=None)
        for row, value in zip(rows, share, strict=True):
            if row in places:
                total[places[row]] += value
                count[places[row]] += 1
    mean = np.where(count > 0, total / np.maximum(count, 1), -1.0)
    return np.lexsort([rng.random(len(mean)), -mean])[:budget].tolist()


def alike(scenario: Scenario, folder: Path) -> float:
    """The largest rank correlation of a source with the target, over conditions that both have."""
    from scipy.stats import spearmanr

    every = reactions(scenario.table, folder)
    by_row = {name: _by_row(every[name]) for name in (scenario.target, *scenario.sources)}
    found = []
    for name in scenario.sources:
        both = [row for row in by_row[name] if row in by_row[scenario.target]]
        pair = [[by_row[one][row] for row in both] for one in (name, scenario.target)]
        found.append(float(spearmanr(*pair).statistic))
    return round(max(found) * (-1 if scenario.turned else 1), 3)


def _by_row(one: Reaction) -> dict[tuple[Any, ...], float]:
    rows = one.conditions.itertuples(index=False, name=None)
    return dict(zip(rows, one.yields.tolist(), strict=True))


def _found(target: Reaction, tried: list[int], budget: int) -> dict[str, Any]:
    """Experiments to the top, budget + 1 if it was not reached, and the best yields on the way."""
    yields = target.yields[tried]
    top = np.flatnonzero(yields >= target.top)
    best = np.maximum.accumulate(yields)
    return {
        "to_top": int(top[0]) + 1 if len(top) else budget + 1,
        "best": [round(float(best[min(n, len(best)) - 1]), 2) for n in AT if n <= budget],
        "most": round(float(target.yields.max()), 2),
    }


CONFIG = ReactionsConfig()
QUICK = ReactionsConfig(targets=TARGETS[:1], budget=15)
