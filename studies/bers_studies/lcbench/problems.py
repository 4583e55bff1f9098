"""LCBench: a neural network's tuning on 34 data sets, by the surrogate that YAHPO Gym made of it.

Enters: the folder with `model.onnx`, `config_space.json` and `encoding.json`. Leaves: tasks
that answer rows of the unit cube with the percent of wrong classes after 52 epochs.

The folder is that of YAHPO Gym's data (slds-lmu/yahpo_data, Apache 2.0), named by a setting of the
study or by the environment variable BERS_LCBENCH.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import FileError

VARIABLE = "BERS_LCBENCH"
"""Of the environment; names the folder."""
_ORDER = (
    "batch_size",
    "learning_rate",
    "momentum",
    "weight_decay",
    "num_layers",
    "max_units",
    "max_dropout",
)
"""As the model takes them, after the epoch."""
_EPOCHS = 52
_DENSE = 20_000  # random points that say what the best and the worst of a task are


@dataclass(frozen=True)
class Range:
    """A parameter's range."""

    low: float
    high: float
    log: bool
    whole: bool

    def value(self, u: np.ndarray) -> np.ndarray:
        """Values at places between 0 and 1.

        >>> Range(1, 100, log=True, whole=True).value(np.array([0.0, 0.5, 1.0])).tolist()
        [1.0, 10.0, 100.0]
        """
        low, high = (np.log([self.low, self.high])) if self.log else (self.low, self.high)
        found = low + np.clip(u, 0, 1) * (high - low)
        found = np.exp(found) if self.log else found
        found = np.rint(found) if self.whole else found
        return np.clip(found, self.low, self.high)

    def place(self, value: np.ndarray) -> np.ndarray:
        """Where values lie between 0 and 1.

        >>> Range(1, 100, log=True, whole=True).place(np.array([10.0])).round(9).tolist()
        [0.5]
        """
        turn = np.log if self.log else np.asarray
        low, high = turn(self.low), turn(self.high)
        return (turn(np.asarray(value, float)) - low) / (high - low)


@dataclass(frozen=True)
class Tasks:
    """All tasks of the table."""

    names: tuple[str, ...]
    space: Mapping[str, Range]
    session: Any
    codes: Mapping[str, int]

    def values(self, task: str, rows: np.ndarray) -> np.ndarray:
        """Percent of wrong classes at rows of the unit cube, (n, 7)."""
        columns = [of.value(u) for of, u in zip(self.space.values(), rows.T, strict=True)]
        inputs = np.column_stack([np.full(len(rows), float(_EPOCHS)), *columns])
        codes = np.full((len(rows), 1), self.codes[task], np.int32)
        given = {"x_cat": codes, "x_cont": inputs.astype(np.float32)}
        return 100.0 - self.session.run(None, given)[0][:, 1].astype(float)

    @cache  # noqa: B019  a study has one such object
    def ends(self, task: str) -> tuple[float, float]:
        """The best and the worst of a dense random search."""
        rows = np.random.default_rng(0).random((_DENSE, len(self.space)))
        y = self.values(task, rows)
        return float(y.min()), float(y.max())

    def regret(self, task: str, y: np.ndarray) -> np.ndarray:
        """How far values are from the best of a dense random search, as a share of its range."""
        least, most = self.ends(task)
        return (np.asarray(y) - least) / (most - least)

    def __hash__(self) -> int:
        return id(self)


def developed(tasks: Tasks) -> tuple[str, ...]:
    """Those that the method was developed on: every other one, from the first, in file order."""
    return tasks.names[::2]


def reported(tasks: Tasks) -> tuple[str, ...]:
    """Those that results are reported on: every other one, from the second."""
    return tasks.names[1::2]


def folder(given: str = "") -> Path:
    """Where the data are."""
    path = given or os.environ.get(VARIABLE, "")
    if not path or not (Path(path) / "model.onnx").is_file():
        raise FileError(
            f"LCBench needs a folder with model.onnx; got {path!r}. Set {VARIABLE} to the folder "
            "lcbench of github.com/slds-lmu/yahpo_data."
        )
    return Path(path)


@cache
def tasks(given: str = "") -> Tasks:
    """The table in a folder."""
    import onnxruntime

    path = folder(given)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path / "model.onnx"), options)
    listed = json.loads((path / "config_space.json").read_text())["hyperparameters"]
    by_name = {one["name"]: one for one in listed}
    space = {
        name: Range(
            float(by_name[name]["lower"]),
            float(by_name[name]["upper"]),
            bool(by_name[name]["log"]),
            by_name[name]["type"] == "uniform_int",
        )
        for name in _ORDER
    }
    codes = json.loads((path / "encoding.json").read_text())["OpenML_task_id"]
    return Tasks(tuple(by_name["OpenML_task_id"]["choices"]), space, session, codes)
