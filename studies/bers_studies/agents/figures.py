"""Curves of agents with several demonstrators, from their journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.agents.tables import methods_of
from bers_studies.report.curves import read_runs
from bers_studies.report.figures import save

_COLUMNS = 3
_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "best source alone": {"color": "#0072B2", "lw": 1.3},
    "equal": {"color": "#E69F00", "lw": 1.3},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}


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
        for method in methods_of(runs, task):
            curves, style = runs.array("returns", task=task, method=method), _STYLES[method]
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


FIGURES = {"agents.png": draw_agents}
