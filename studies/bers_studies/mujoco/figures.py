"""Runs of HalfCheetah with logs, from their journals: what they earn, and who is followed.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.agents.tables import methods_of
from bers_studies.report.curves import Runs, read_runs
from bers_studies.report.figures import save

_STYLES: dict[str, dict[str, Any]] = {
    "BERS": {"color": "black", "lw": 2.2, "zorder": 5},
    "behaviour cloning, then SAC": {"color": "#0072B2", "lw": 1.3},
    "RLPD, right log": {"color": "#E69F00", "lw": 1.3},
    "None": {"color": "0.55", "lw": 1.5, "ls": ":"},
}
_SOURCES = ("#0072B2", "#009E73", "#D55E00", "0.6")


def draw_runs(folder: Path, picture: Path) -> None:
    """Above: returns by step. Below: the weights, and how free the agent is of its leader."""
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    tasks = runs.values("task")
    figure = Figure(figsize=(4.6 * len(tasks), 5.2), layout="constrained")
    axes = figure.subplots(
        2, len(tasks), squeeze=False, sharex=True, sharey="row", height_ratios=(3, 2)
    )
    for k, task in enumerate(tasks):
        _returns(axes[0, k], runs, task)
        _trust(axes[1, k], runs, task)
    axes[0, 0].set_ylabel("return of test episodes")
    axes[1, 0].set_ylabel("weight, and freedom")
    for row in axes:
        row[0].legend(frameon=False, fontsize=8)
    save(figure, picture)


def _returns(ax: Any, runs: Runs, task: str) -> None:
    for method in methods_of(runs, task):
        curves = runs.array("returns", task=task, method=method)
        ax.plot(runs.pick(task=task)[0]["at"], curves.mean(axis=0), label=method, **_STYLES[method])
    led = [r["led"] for r in runs.pick(task=task, method="BERS")]
    theirs = [now[2] for one in led for now in one if now[0] >= 0 and now[2] is not None]
    if theirs:
        ax.axhline(np.mean(theirs), color="0.3", lw=0.8, ls="--")
        ax.annotate(
            "what the leader earns", (0.99, np.mean(theirs)), (0, -3), fontsize=8, ha="right",
            va="top", xycoords=("axes fraction", "data"), textcoords="offset points",
        )  # fmt: skip
    ax.set_title(f"HalfCheetah should run at {task}", loc="left", fontsize=11)
    _plain(ax)


def _trust(ax: Any, runs: Runs, task: str) -> None:
    records = runs.pick(task=task, method="BERS")
    at = records[0]["at"]
    weights = np.mean([r["weights"] for r in records], axis=0)
    for name, color, weight in zip(records[0]["names"], _SOURCES, weights.T, strict=True):
        told = name if name == "nobody" else f"log of one who ran {name}"
        ax.plot(at, weight, color=color, label=told, lw=1.5)
    free = [[1.0 if now[1] is None else min(1.0, now[1]) for now in r["led"]] for r in records]
    ax.plot(at, np.mean(free, axis=0), color="black", ls="--", lw=1.2, label="freedom")
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("step")
    _plain(ax)


def _plain(ax: Any) -> None:
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)


FIGURES = {"mujoco.png": draw_runs}
