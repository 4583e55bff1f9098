"""A neural network's tuning on 17 data sets, with the studies of 33 others.

Enters: settings and a number. Leaves, for every task and method, the trials at which its best value
improved, as regret: how far it is from the best of a dense random search, as a share of its range.
The method was developed on 17 tasks; those that are reported are the 17 others. Curves of rivals
are kept in a folder, if the environment variable BERS_KEPT names one (kept.py).
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers_studies.lcbench.methods import misled
from bers_studies.lcbench.ours import bers
from bers_studies.lcbench.past import KINDS, earlier
from bers_studies.lcbench.problems import VARIABLE, Tasks, developed, reported, tasks
from bers_studies.lcbench.rivals import curves

MISLEADING = ("turned", "mirrored")
OURS = "BERS"


@dataclass(frozen=True)
class LcbenchConfig:
    """One study."""

    targets: str = "reported"
    """Or "developed": those that the method was developed on."""
    data: str = ""
    """The folder with the data; unless given, what the environment variable BERS_LCBENCH says."""
    count: int = 17
    """Targets, the first of them."""
    earlier: int = 40
    """Trials of each earlier study."""
    trials: int = 50
    misleading: tuple[int, ...] = (2, 10, 33)
    """How many misleading studies; none leaves that part out."""
    methods: tuple[str, ...] = ()
    """Those that are run; all of them if empty."""


def trial(config: LcbenchConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One target with earlier studies of one kind, or with misleading ones."""
    number, part = divmod(seed, config.count * (len(KINDS) + 1))
    which, at = divmod(part, config.count)
    table = tasks(config.data or os.environ.get(VARIABLE, ""))
    target = (reported if config.targets == "reported" else developed)(table)[at]
    kind = KINDS[which % len(KINDS)]  # misleading ones are made of the first kind
    about = {"trial": number, "panel": kind, "target": target}
    if which < len(KINDS):
        found = curves(table, target, kind, config.earlier, config.trials, number)
        for method, run in found.items():
            if not config.methods or method in config.methods:
                yield about | {"method": method, "steps": steps(table, target, run())}
    sources = earlier(table, kind, config.earlier, number)
    others = {name: rows for name, rows in sources.items() if name != target}
    if which < len(KINDS):
        if not config.methods or OURS in config.methods:
            y = bers(table, target, others, config.trials, number)
            yield about | {"method": OURS, "steps": steps(table, target, y)}
        return
    for how in MISLEADING:
        for count in config.misleading:
            y = bers(table, target, misled(others, how, count, number), config.trials, number)
            yield about | {"method": f"BERS, {count} {how}", "steps": steps(table, target, y)}


def steps(table: Tasks, task: str, y: np.ndarray) -> list[list[float]]:
    """Trials, counted from 1, at which the best value improved, and the regret from then on."""
    regret = table.regret(task, np.minimum.accumulate(y))
    better = np.flatnonzero(np.append(True, np.diff(regret) < 0))
    return [[int(i) + 1, round(float(regret[i]), 5)] for i in better]


CONFIG = LcbenchConfig()
QUICK = LcbenchConfig(count=1, earlier=12, trials=10, misleading=(2,))
