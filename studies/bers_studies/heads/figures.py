"""How well the heads' intervals hold, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs
from bers_studies.report.figures import COLOURS, save


def draw_calibration(folder: Path, picture: Path) -> None:
    """Promised against measured share of held-out labels inside central intervals.

    One panel per setting and kind of head; one colour per head; thin lines are trials, the
    thick line is their mean. A calibrated head follows the diagonal.
    """
    from matplotlib.figure import Figure

    records = read_runs(folder).records
    panels = list(dict.fromkeys((r["setting"], r["kind"]) for r in records))
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.6 * columns, 4.4 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for ax, (setting, kind) in zip(axes, panels, strict=False):
        chosen = [r for r in records if (r["setting"], r["kind"]) == (setting, kind)]
        _calibration_panel(ax, chosen)
        ax.set_title(f"{setting}: {kind} heads", loc="left", fontsize=11)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[-columns:]:
        ax.set_xlabel("promised share")
    for ax in axes[::columns]:
        ax.set_ylabel("measured share of held-out labels")
    save(figure, picture)


def _calibration_panel(ax: Any, records: Sequence[dict[str, Any]]) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", zorder=1)
    ax.text(0.03, 0.97, "above the line: too wide", fontsize=8, color="0.4", va="top")
    ax.text(0.97, 0.03, "below: too sure", fontsize=8, color="0.4", ha="right")
    for head in dict.fromkeys(r["head"] for r in records):
        trials = [r for r in records if r["head"] == head]
        levels = [0.0, *trials[0]["levels"], 1.0]
        curves = np.array([[0.0, *r["coverage"], 1.0] for r in trials])
        colour = COLOURS.get(head, "0.3")
        if len(trials) > 1:
            ax.plot(levels, curves.T, color=colour, lw=0.6, alpha=0.35)
        r2 = np.mean([r["r2"] for r in trials])
        ax.plot(levels, curves.mean(axis=0), color=colour, lw=2, label=f"{head}  R² {r2:.3f}")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.grid(color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1.0, 0.25))


FIGURES = {"calibration.png": draw_calibration}
