"""Real rows of several groups: schools, reactions at several temperatures, aryl halides, firms,
tuning tasks.

Enters: the folder of the files. Leaves: inputs, labels and the group of every row. The firms come
with statsmodels; docs/sklearn.md says where the other files are from.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bers_studies.grunfeld.study import firms as grunfelds_firms
from bers_studies.lcbench.surrogate import accuracies, tuning_tasks
from bers_studies.public_data import file_of

_TASKS, _SETTINGS = 17, 100  # of LCBench


class Problem(NamedTuple):
    """Rows of several groups."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def school(folder: Path) -> Problem:
    """The exam score of the pupils of 139 schools."""
    from scipy.io import loadmat

    table = loadmat(file_of(folder, "school.mat"))
    parts = list(zip(table["X"][0], table["Y"][0], strict=True))
    X = np.concatenate([x for x, _ in parts]).astype(np.float64)
    y = np.concatenate([y[:, 0] for _, y in parts]).astype(np.float64)
    return Problem(X, y, np.repeat(np.arange(len(parts)), [len(y) for _, y in parts]))


def arylation(folder: Path) -> Problem:
    """The yield of direct arylations at three temperatures."""
    import pandas as pd

    table = pd.read_csv(file_of(folder, "direct_arylation.csv"), encoding="utf-8-sig")
    X = np.column_stack([_ones(table, ["Base", "Ligand", "Solvent"]), table["Concentration"]])
    return Problem(X, table["yield"].to_numpy(float), table["Temp_C"].to_numpy().astype(str))


def halides(folder: Path) -> Problem:
    """The yield of cross-couplings of fifteen aryl halides."""
    import pandas as pd

    table = pd.read_csv(file_of(folder, "aryl_halides.csv"))
    table = table.dropna(subset=["aryl_halide", "additive"])
    X = _ones(table, ["base", "ligand", "additive"])
    return Problem(X, table["yield"].to_numpy(float), table["aryl_halide"].to_numpy().astype(str))


def firms(folder: Path) -> Problem:
    """What eleven firms invested, by their value and capital."""
    every = grunfelds_firms()
    X, y = (np.concatenate([getattr(firm, part) for firm in every]) for part in ("x", "y"))
    return Problem(X, y, np.repeat([firm.name for firm in every], [firm.n for firm in every]))


def tuning(folder: Path) -> Problem:
    """The accuracy of a neural network on the last 17 data sets of LCBench, 100 settings each."""
    chosen = range(len(tuning_tasks(folder)))[-_TASKS:]  # those that the study orders reports
    rng = np.random.default_rng(0)
    X = rng.random((_TASKS, _SETTINGS, 7))
    y = [accuracies(folder, task, x) for task, x in zip(chosen, X, strict=True)]
    return Problem(np.concatenate(X), np.concatenate(y), np.repeat(chosen, _SETTINGS))


PROBLEMS: dict[str, Callable[[Path], Problem]] = {
    "school": school,
    "arylation": arylation,
    "halides": halides,
    "firms": firms,
    "tuning": tuning,
}
"""By name; one part of a trial each."""


def _ones(table, columns: list[str]) -> np.ndarray:
    """A column of zeros and ones for every word."""
    import pandas as pd

    return pd.get_dummies(table[columns].astype(str)).to_numpy(np.float64)
