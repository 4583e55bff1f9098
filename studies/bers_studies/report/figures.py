"""Pictures of results. They read files only, so drawing again never runs anything again.

Enters: a folder of journals, or a JSON file of records. Leaves: a PNG file. No display is needed,
and Matplotlib's global settings are left alone.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers.files import write_atomically
from bers_studies.report.curves import read_runs

COLOURS = {
    "Rosenbrock": "#0072B2",
    "Ackley": "#D55E00",
    "Sphere": "#009E73",
    "Rastrigin": "#CC79A7",
}
"""From Okabe and Ito's palette, which colour-blind readers can tell apart."""
QUICK = "QUICK"
"""A file of this name marks the folder of a quick look."""


def is_quick(folder: Path) -> bool:
    """Whether a folder holds a quick look, with few trials and short runs."""
    return (folder / QUICK).exists()


def save(figure: Any, picture: str | os.PathLike[str]) -> None:
    """A picture, marked if it is of a quick look."""
    if is_quick(Path(picture).parent):
        figure.text(
            0.5, 0.5, "quick look", fontsize=56, color="0.5", alpha=0.25, rotation=20,
            ha="center", va="center",
        )  # fmt: skip
    with write_atomically(picture) as temporary:
        figure.savefig(temporary, format="png", dpi=100)


def draw_band(ax: Any, values: np.ndarray, label: str | None, style: dict[str, Any]) -> None:
    """Mean over trials by episode, with a band of one standard error; trials are rows."""
    x, mean = np.arange(1, values.shape[1] + 1), values.mean(axis=0)
    ax.plot(x, mean, label=label, **style)
    if len(values) > 1:
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        ax.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.12, lw=0)
    ax.set_xlim(0, len(x))
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)


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


def draw_trust(folder: Path, picture: Path) -> None:
    """Mean weight on the right source, by generation: one panel per target, one line per rule.

    The band is a 95% interval of the mean over trials; grey lines are the other rules.
    """
    from matplotlib.figure import Figure

    records = read_runs(folder).records
    targets = list(dict.fromkeys(r["target"] for r in records))
    figure = Figure(figsize=(10, 7.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, target in zip(axes, targets, strict=False):
        _trust_panel(ax, [r for r in records if r["target"] == target])
        ax.set_title(target, loc="left", fontsize=12)
    axes[0].legend(frameon=False, fontsize=8, ncols=2, loc="lower right")
    for ax in axes[2:]:
        ax.set_xlabel("generation")
    for ax in axes[::2]:
        ax.set_ylabel("mean weight on the right source")
    save(figure, picture)


_RULE_COLOURS = {
    "odds": "#0072B2",
    "weights": "#D55E00",
    "function": "#009E73",
    "shape": "#CC79A7",
    "evidence": "#E69F00",
    "ucb": "#56B4E9",
}
"""Rules that stand out in the picture; the first is the library's, the second the paper's."""


def _trust_panel(ax: Any, records: Sequence[dict[str, Any]]) -> None:
    for rule in dict.fromkeys(r["rule"] for r in records):
        trials = [r for r in records if r["rule"] == rule]
        x = trials[0]["generations"]
        curves = np.array([[a[r["right"]] for a in r["weights"]] for r in trials])
        mean = curves.mean(axis=0)
        colour = _RULE_COLOURS.get(rule)
        if colour is None:
            ax.plot(x, mean, color="0.8", lw=1, zorder=1)
            continue
        ax.plot(x, mean, color=colour, lw=2.4 if rule == "odds" else 1.5, label=rule, zorder=3)
        if len(trials) > 1:
            half = 1.96 * curves.std(axis=0, ddof=1) / np.sqrt(len(trials))
            low, high = np.clip(mean - half, 0, 1), np.clip(mean + half, 0, 1)
            ax.fill_between(x, low, high, color=colour, alpha=0.15, lw=0, zorder=2)
    ax.axhline(0.9, color="0.6", lw=1, ls="--", zorder=1)
    ax.set(xscale="log", ylim=(-0.02, 1.02))
    ax.set_xticks([1, 2, 5, 10, 20, 50, 100], [1, 2, 5, 10, 20, 50, 100])
    ax.minorticks_off()
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)


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
