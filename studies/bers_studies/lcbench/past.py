"""Earlier studies of the tasks of LCBench, and a Gaussian process for each.

Enters: the table of tasks, how points are chosen, how many, and a seed. Leaves: rows of the unit
cube and values by task.
"""

from functools import cache, partial

import numpy as np

from bers_studies.lcbench.kept import kept
from bers_studies.lcbench.methods import Rows, in_optuna
from bers_studies.lcbench.problems import Tasks
from bers_studies.rivals.gaussian_process import GP, fitted

KINDS = ("random", "TPE")
"""Of the earlier studies: how their points were chosen."""


@cache
def modelled(table: Tasks, kind: str, count: int, seed: int) -> dict[str, GP]:
    """A process for every earlier study, for the rivals that need one."""
    return {name: fitted(*rows) for name, rows in earlier(table, kind, count, seed).items()}


@cache
def earlier(table: Tasks, kind: str, count: int, seed: int) -> dict[str, Rows]:
    """A study of every task: rows of the unit cube that the space really has, and values."""
    if kind == "random":
        return {name: _random(table, name, i, count, seed) for i, name in enumerate(table.names)}
    found = {}
    for i, name in enumerate(table.names):
        find = partial(_by_tpe, table, name, i, count, seed)
        x, y = kept("bers_studies.lcbench.methods", [name, i, kind, count, seed], find)
        found[name] = np.array(x), np.array(y)
    return found


def _random(table: Tasks, name: str, i: int, count: int, seed: int) -> Rows:
    x = np.random.default_rng([seed, i, 7]).random((count, len(table.space)))
    columns = zip(table.space.values(), x.T, strict=True)
    x = np.column_stack([of.place(of.value(u)) for of, u in columns])
    return x, table.values(name, x)


def _by_tpe(
    table: Tasks, name: str, i: int, count: int, seed: int
) -> tuple[list[list[float]], list[float]]:
    from optuna.samplers import TPESampler

    y, study = in_optuna(table, name, TPESampler(seed=1000 * (seed + 1) + i), count)
    rows = [[one.params[key] for key in table.space] for one in study.trials]
    columns = zip(table.space.values(), np.array(rows, float).T, strict=True)
    return np.column_stack([of.place(v) for of, v in columns]).tolist(), y.tolist()
