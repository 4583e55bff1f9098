"""`BersSampler` on a task of LCBench.

Enters: a task, earlier studies as rows of the unit cube, and a seed. Leaves: values, trial by
trial. It stands apart from the rivals, so that their curves need not be found anew with it.
"""

import warnings
from collections.abc import Mapping

import numpy as np

from bers.integrations.optuna import BersSampler
from bers_studies.lcbench.methods import Rows, as_trials, in_optuna
from bers_studies.lcbench.problems import Tasks


def bers(
    tasks: Tasks, task: str, sources: Mapping[str, Rows], trials: int, seed: int
) -> np.ndarray:
    """`BersSampler` as it comes."""
    given = {name: as_trials(tasks, rows) for name, rows in sources.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = BersSampler(given, seed=seed)
        return in_optuna(tasks, task, sampler, trials)[0]
