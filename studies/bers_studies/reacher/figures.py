"""Pictures of the arm's study, from its journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs
from bers_studies.report.figures import draw_band, save

COLOURS = {"right": "#0072B2", "left": "#D55E00", "top": "#009E73", "bottom": "#CC79A7"}
"""Of the four demonstrators."""
_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "BERS, paper's recipe": {"color": "black", "lw": 1.4, "ls": (0, (4, 2)), "zorder": 4},
    **{f"S{i + 1}": {"color": COLOURS[name], "lw": 1.1} for i, name in enumerate(COLOURS)},
    "RLPD": {"color": "#E69F00", "lw": 1.3},
    "PPR": {"color": "#56B4E9", "lw": 1.3},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}


def draw_reacher(folder: Path, picture: Path) -> None:
    """Returns by episode above, weights of BERS below, one column for each goal."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    goals = runs.values("panel")
    figure = Figure(figsize=(5.2 * len(goals), 7.0), layout="constrained")
    axes = figure.subplots(2, len(goals), sharex=True, squeeze=False)
    for column, goal in enumerate(goals):
        top, bottom = axes[:, column]
        for method, style in _STYLES.items():
            draw_band(top, runs.array("returns", panel=goal, method=method), method, style)
        for method, line in (("BERS", "-"), ("BERS, paper's recipe", (0, (4, 2)))):
            a = np.array([r["weights"] for r in runs.pick(panel=goal, method=method)])
            for i, name in enumerate(runs.records[0]["names"]):
                label = name if line == "-" else None
                draw_band(
                    bottom, a[:, :, i], label, {"color": COLOURS[name], "ls": line, "lw": 1.6}
                )
        top.set_title(goal, loc="left", fontsize=12)
        bottom.set(xlabel="episode", ylim=(-0.02, 1.02))
    axes[0, 0].set_ylabel("return of test episodes")
    axes[1, 0].set_ylabel("weight")
    axes[1, 0].legend(frameon=False, fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    save(figure, picture)


FIGURES = {"reacher.png": draw_reacher}
