"""Curves of all rivals on a task of LCBench.

Enters: a task, a kind of earlier studies and a seed. Leaves: for every rival, a function that gives
its values, trial by trial.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bers_studies.lcbench.kept import kept
from bers_studies.lcbench.methods import runs
from bers_studies.lcbench.past import earlier, modelled
from bers_studies.lcbench.problems import Tasks


def curves(
    table: Tasks, target: str, kind: str, count: int, trials: int, seed: int
) -> Mapping[str, Callable[[], np.ndarray]]:
    """Every rival by name; each is run, or read, when it is called."""

    def now(name: str) -> list[float]:
        sources = earlier(table, kind, count, seed)
        models = modelled(table, kind, count, seed)
        return runs(table, target, sources, models, trials, seed)[name]().tolist()

    def values(name: str) -> np.ndarray:
        key = [target, kind, count, trials, seed, name]
        found: Any = kept("bers_studies.lcbench.rivals", key, partial(now, name))
        return np.array(found)

    return {name: partial(values, name) for name in runs(table, target, {}, {}, trials, seed)}
