"""Tables and curves of agents with several demonstrators, from their journals.

Enters: a folder of journals. Leaves: Markdown, and a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table
from bers_studies.report.figures import save
from bers_studies.report.statistics import standard_error

_COLUMNS = 3
_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "best source alone": {"color": "#0072B2", "lw": 1.3},
    "equal": {"color": "#E69F00", "lw": 1.3},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}


def agents_tables(folder: Path) -> str:
    """For every task and method: returns over the whole run and in the end, and the weights."""
    runs = read_runs(folder)
    lines = [
        f"{runs.trials} trials. Returns of test episodes: mean over all test points, and over the "
        "last quarter, each with its standard error. Right weight: mean weight of the sources "
        "that want the same or parts of it; where nobody does, of nobody."
    ]
    for task in runs.values("task"):
        rows = []
        for method in _methods(runs, task):
            curves = returns(runs, task, method)
            last = curves[:, -(curves.shape[1] // 4 or 1) :].mean(axis=1)
            share = _well_placed(runs, task, method)
            rows.append([method, _told(curves.mean(axis=1)), _told(last), share])
        lines += ["", f"**{task}**", ""]
        lines += table(["method", "all of the run", "last quarter", "right weight"], rows)
    return "\n".join(lines) + "\n"


def draw_agents(folder: Path, picture: Path) -> None:
    """Returns by step, one panel a task; means over trials, bands one standard error."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    tasks = runs.values("task")
    rows = -(-len(tasks) // _COLUMNS)
    figure = Figure(figsize=(3.6 * min(_COLUMNS, len(tasks)), 3.1 * rows), layout="constrained")
    grid = figure.subplots(rows, min(_COLUMNS, len(tasks)), squeeze=False)
    axes = grid.ravel()[: len(tasks)]
    for left_over in grid.ravel()[len(tasks) :]:
        left_over.set_visible(False)
    shown: dict[str, Any] = {}
    for ax, task in zip(axes, tasks, strict=True):
        for method in _methods(runs, task):
            curves, style = returns(runs, task, method), _STYLES[method]
            at, mean = np.array(runs.pick(task=task, method=method)[0]["at"]), curves.mean(axis=0)
            (shown[method],) = ax.plot(at, mean, **style)
            if len(curves) > 1:
                error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves))
                how = {"color": style["color"], "alpha": 0.12, "lw": 0}
                ax.fill_between(at, mean - error, mean + error, **how)
        ax.set_title(task, loc="left", fontsize=11)
        ax.set_xlabel("step")
        ax.grid(color="0.94")
        ax.spines[["top", "right"]].set_visible(False)
    for first in grid[:, 0]:
        first.set_ylabel("return of test episodes")
    handles, labels = list(shown.values()), list(shown)
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    save(figure, picture)


def _methods(runs: Runs, task: str) -> list[str]:
    return list(dict.fromkeys(r["method"] for r in runs.pick(task=task)))


def returns(runs: Runs, task: str, method: str) -> np.ndarray:
    """One row a trial, one column a test point."""
    return np.array([r["returns"] for r in runs.pick(task=task, method=method)])


def _well_placed(runs: Runs, task: str, method: str) -> str:
    records = runs.pick(task=task, method=method)
    if not records[0]["weights"]:
        return ""
    return f"{right_weights(records).mean():.2f}"


def right_weights(records: list[dict[str, Any]]) -> np.ndarray:
    """Of each trial: the mean weight, from the second test point on, of those it should go to."""
    right = records[0]["right"] or [-1]
    return np.array([r["weights"] for r in records])[:, 1:, right].sum(axis=2).mean(axis=1)


def _told(values: np.ndarray) -> str:
    return f"{values.mean():.0f} ± {standard_error(values):.0f}"
