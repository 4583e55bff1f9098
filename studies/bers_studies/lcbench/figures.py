"""Regret by trial on LCBench, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path

import numpy as np

from bers_studies.lcbench.tables import curves, methods
from bers_studies.report.curves import read_runs
from bers_studies.report.figures import save
from bers_studies.report.statistics import band

_COLOURS = {
    "BERS": "#c0392b",
    "RGPE": "#2471a3",
    "TST-R": "#17a589",
    "TPE": "#7f8c8d",
    "GP": "#34495e",
    "greedy portfolio": "#d68910",
    "TPE, best enqueued": "#8e44ad",
}


def draw_regret(folder: Path, picture: Path) -> None:
    """Mean regret after each trial, one panel per kind of earlier studies, with 95% bands."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    panels = runs.values("panel")
    figure = Figure(figsize=(5.2 * len(panels), 4.0), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for ax, panel in zip(axes, panels, strict=True):
        for name in methods(runs):
            if name not in _COLOURS:
                continue
            found = band(curves(runs, panel, name), "mean")
            at = np.arange(1, len(found.value) + 1)
            ax.fill_between(at, found.low, found.high, color=_COLOURS[name], alpha=0.12, lw=0)
            ax.plot(at, found.value, color=_COLOURS[name], label=name, lw=2 if "B" in name else 1.4)
        ax.set(xlabel="trial", xlim=(1, None), ylim=(None, 0.35))
        ax.set_title(f"earlier studies of {panel} trials", loc="left", fontsize=11)
        ax.grid(color="0.92")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean regret")
    axes[-1].legend(frameon=False, fontsize=9)
    save(figure, picture)


FIGURES = {"lcbench.png": draw_regret}
