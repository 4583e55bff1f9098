"""LCBench's surrogate by numbers: accuracies of rows of the unit cube, at any epoch.

Enters: the folder of public data, the number of a task, rows. Leaves: percent of right answers.
`problems.py` beside it has the tasks by name, as what is to be minimised.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.public_data import file_of


@cache
def _surrogate(folder: Path) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    path = str(file_of(folder, "lcbench/model.onnx"))
    return onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


@cache
def tuning_tasks(folder: Path) -> tuple[int, ...]:
    """LCBench's data sets, as the surrogate counts them."""
    codes, space = (
        json.loads(Path(file_of(folder, f"lcbench/{name}")).read_text())
        for name in ("encoding.json", "config_space.json")
    )
    names = next(h["choices"] for h in space["hyperparameters"] if h["name"] == "OpenML_task_id")
    return tuple(codes["OpenML_task_id"][name] for name in names)


def accuracies(folder: Path, task: int, x: np.ndarray, epoch: int = 52) -> np.ndarray:
    """Of settings, rows of the unit cube, on one of the tasks, counted from 0; in percent."""
    low, high, log, whole = _ranges(folder)
    ratio = np.where(log, high / np.where(log, low, 1.0), 1.0)
    values = np.where(log, low * ratio**x, low + x * (high - low))
    values = np.where(whole, np.rint(values), values)
    rows = np.column_stack([np.full(len(x), epoch), values]).astype(np.float32)
    code = np.full((len(x), 1), tuning_tasks(folder)[task], np.int32)
    session = _surrogate(folder)
    names = [one.name for one in session.get_inputs()]
    given = dict(zip(names, (code, rows) if "cat" in names[0] else (rows, code), strict=True))
    return np.asarray(session.run(None, given)[0])[:, 1].astype(np.float64)


_HYPERPARAMETERS = (
    "batch_size",
    "learning_rate",
    "momentum",
    "weight_decay",
    "num_layers",
    "max_units",
    "max_dropout",
)


@cache
def _ranges(folder: Path) -> tuple[np.ndarray, ...]:
    space = json.loads(Path(file_of(folder, "lcbench/config_space.json")).read_text())
    by_name = {one["name"]: one for one in space["hyperparameters"]}
    some = [by_name[name] for name in _HYPERPARAMETERS]
    return (
        np.array([one["lower"] for one in some]),
        np.array([one["upper"] for one in some]),
        np.array([one["log"] for one in some]),
        np.array(["int" in one["type"] for one in some]),
    )
