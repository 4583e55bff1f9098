"""Tables of agents with several demonstrators, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table, with_error


def tables(folder: Path) -> str:
    """For every task and method: returns over the whole run and in the end, and the weights."""
    runs = read_runs(folder)
    lines = [
        f"{runs.trials} trials. Returns of test episodes: mean over all test points, and over the "
        "last quarter, each with its standard error. Right weight: mean weight of the sources "
        "that want the same or parts of it; where nobody does, of nobody."
    ]
    for task in runs.values("task"):
        rows = []
        for method in methods_of(runs, task):
            curves = runs.array("returns", task=task, method=method)
            last = curves[:, -(curves.shape[1] // 4 or 1) :].mean(axis=1)
            share = _well_placed(runs, task, method)
            rows.append([method, with_error(curves.mean(axis=1)), with_error(last), share])
        lines += ["", f"**{task}**", ""]
        lines += table(["method", "all of the run", "last quarter", "right weight"], rows)
    return "\n".join(lines) + "\n"


def _well_placed(runs: Runs, task: str, method: str) -> str:
    records = runs.pick(task=task, method=method)
    if not records[0]["weights"]:
        return ""
    return f"{right_weights(records).mean():.2f}"


def right_weights(records: list[dict[str, Any]]) -> np.ndarray:
    """Of each trial: the mean weight, from the second test point on, of those it should go to."""
    right = records[0]["right"] or [-1]
    return np.array([r["weights"] for r in records])[:, 1:, right].sum(axis=2).mean(axis=1)


def methods_of(runs: Runs, task: str) -> list[str]:
    """Those that learn a task."""
    return list(dict.fromkeys(r["method"] for r in runs.pick(task=task)))
