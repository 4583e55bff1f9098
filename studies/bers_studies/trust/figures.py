"""Whom each rule trusts, by generation, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs
from bers_studies.report.figures import save

_RULE_COLOURS = {
    "odds": "#0072B2",
    "weights": "#D55E00",
    "function": "#009E73",
    "shape": "#CC79A7",
    "evidence": "#E69F00",
    "ucb": "#56B4E9",
}
"""Rules that stand out in the picture; the first is the library's, the second the paper's."""


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


FIGURES = {"weights.png": draw_trust}
