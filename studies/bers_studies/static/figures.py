"""Pictures of the static study, from its journals: the paper's first figure, and one more.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, by_method, read_runs
from bers_studies.report.figures import COLOURS, save

_SHOWN = 100  # generations, as in the paper
_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.4, "zorder": 5},
    "BERS, paper's metric": {"color": "black", "lw": 1.6, "ls": (0, (4, 2)), "zorder": 4},
    "UCB": {"color": "#CC79A7", "lw": 1.6},
    "Equal": {"color": "#E69F00", "lw": 1.4},
    "S1": {"color": COLOURS["Rosenbrock"], "lw": 1.2},
    "S2": {"color": COLOURS["Ackley"], "lw": 1.2},
    "S3": {"color": COLOURS["Sphere"], "lw": 1.2},
    "None": {"color": "0.55", "lw": 1.6, "ls": ":"},
}
_MORE: dict[str, dict[str, Any]] = {
    "BERS": _STYLES["BERS"],
    "evidence": {"color": "#0072B2", "lw": 1.5},
    "RGPE": {"color": "#56B4E9", "lw": 1.5},
    "AMTEA": {"color": "#D55E00", "lw": 1.7},
    "AMTEA, no sources": {"color": "#D55E00", "lw": 1.2, "ls": ":"},
    "WS-CMA-ES": {"color": "#009E73", "lw": 1.5},
    "WS-CMA-ES, alpha 0.02": {"color": "#009E73", "lw": 1.2, "ls": (0, (4, 2))},
    "None": _STYLES["None"],
}
_SOURCES = ("Rosenbrock", "Ackley", "Sphere")


def draw_functions(folder: Path, picture: Path) -> None:
    """The paper's function figure: best value above, weights below, one column per panel.

    Lines are means over trials, bands one standard error. Below, full lines are BERS, broken
    lines the paper's metric.
    """
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    panels = runs.values("panel")
    figure = Figure(figsize=(3.5 * len(panels), 6.6), layout="constrained")
    axes = figure.subplots(2, len(panels), sharex=True, squeeze=False)
    for column, panel in enumerate(panels):
        top, bottom = axes[:, column]
        _curves(top, by_method(runs, panel, list(_STYLES)), _STYLES)
        _weights(bottom, runs, panel)
        top.set_title(panel, loc="left", fontsize=12)
        bottom.set_xlabel("generation")
    axes[0, 0].set_ylabel("best value")
    axes[1, 0].set_ylabel("weight")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    names = dict(zip(("S1", "S2", "S3"), _SOURCES, strict=True))
    labels = [f"{x} ({names[x]} alone)" if x in names else x for x in labels]
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    save(figure, picture)


def draw_more(folder: Path, picture: Path) -> None:
    """Other methods beside BERS: best value by generation, one panel per target."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    panels = [panel for panel in runs.values("panel") if "multi" not in panel]
    figure = Figure(figsize=(3.9 * len(panels), 4.2), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        _curves(ax, by_method(runs, panel, list(_MORE)), _MORE)
        ax.set_title(panel, loc="left", fontsize=12)
        ax.set_xlabel("generation of 32 evaluations")
    axes[0].set_ylabel("best value")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    save(figure, picture)


def _curves(ax: Any, curves: Any, styles: dict[str, dict[str, Any]]) -> None:
    for method, best in curves.items():
        best = best[:, : _SHOWN + 1]
        mean = best.mean(axis=0)
        x = np.arange(len(mean))
        style = {"zorder": 3, **styles[method]}
        ax.plot(x, mean, label=method, **style)
        if len(best) > 1:
            error = best.std(axis=0, ddof=1) / np.sqrt(len(best))
            low = np.maximum(mean - error, mean / 10)
            ax.fill_between(x, low, mean + error, color=style["color"], alpha=0.15, lw=0)
    ax.set_yscale("log")
    ax.set_xlim(0, _SHOWN)
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)


def _weights(ax: Any, runs: Runs, panel: str) -> None:
    for method, line in (("BERS", "-"), ("BERS, paper's metric", (0, (4, 2)))):
        g, a = runs.weights(panel=panel, method=method)
        for i, name in enumerate(_SOURCES):
            mean = a[:, :, i].mean(axis=0)
            colour = COLOURS[name]
            label = name if method == "BERS" else None
            ax.plot(g, mean, color=colour, ls=line, lw=1.8 if line == "-" else 1.2, label=label)
            if len(a) > 1:
                error = a[:, :, i].std(axis=0, ddof=1) / np.sqrt(len(a))
                ax.fill_between(g, mean - error, mean + error, color=colour, alpha=0.12, lw=0)
    ax.set(xlim=(0, _SHOWN), ylim=(-0.02, 1.02))
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)
    if panel == _SOURCES[0]:
        ax.legend(frameon=False, fontsize=8, loc="center right")


FIGURES = {"functions.png": draw_functions, "more-methods.png": draw_more}
