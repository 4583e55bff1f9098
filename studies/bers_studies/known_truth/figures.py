"""How often the answer is right, case by case, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.known_truth.tables import share
from bers_studies.report.curves import read_runs
from bers_studies.report.figures import save

_COLOURS = {
    "right": "#0072B2",
    "undecided": "#C7D3DC",
    "wrong": "#E69F00",
    "confidently wrong": "#A32A00",
}
_GAP = 0.7  # between kinds, in bars


def draw_cases(folder: Path, picture: Path) -> None:
    """One bar for each case, one panel for each half; cases of one kind stand together."""
    from matplotlib.figure import Figure

    records = [r for r in read_runs(folder).records if r["what"] == "ranking"]
    halves = {half: [r for r in records if r["half"] == half] for half in _in_order(records)}
    most = max(len({r["case"] for r in chosen}) for chosen in halves.values())
    figure = Figure(figsize=(13, 2 + 0.32 * most), layout="constrained")
    axes = figure.subplots(1, len(halves), squeeze=False)[0]
    for ax, (half, chosen) in zip(axes, halves.items(), strict=True):
        _panel(ax, chosen)
        good = share(chosen, "right", "undecided")
        ax.set_title(f"{half}: {good:.0%} right or undecided", loc="left", fontsize=12)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    save(figure, picture)


def _panel(ax: Any, records: Sequence[dict[str, Any]]) -> None:
    by_case: dict[str, list[dict[str, Any]]] = {}
    for r in records:
        by_case.setdefault(r["case"], []).append(r)
    kinds = [chosen[0]["kind"] for chosen in by_case.values()]
    new = np.cumsum([i > 0 and kind != kinds[i - 1] for i, kind in enumerate(kinds)])
    places = np.arange(len(kinds)) + _GAP * new
    left = np.zeros(len(kinds))
    for outcome, colour in _COLOURS.items():
        part = np.array([_part(chosen, outcome) for chosen in by_case.values()])
        ax.barh(places, part, left=left, height=0.8, color=colour, label=outcome)
        left += part
    ax.set_yticks(places, [case.partition(": ")[2] for case in by_case], fontsize=9)
    ax.set(xlim=(0, 1), ylim=(places[-1] + 0.7, -0.7))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


def _part(records: Sequence[dict[str, Any]], outcome: str) -> float:
    """Of a bar; what is wrong is either sure of it or not."""
    if outcome in ("right", "undecided"):
        return share(records, outcome)
    sure = outcome == "confidently wrong"
    return float(np.mean([r["outcome"] == "wrong" and r["confidently_wrong"] is sure
                          for r in records]))  # fmt: skip


def _in_order(records: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(r["half"] for r in records))


FIGURES = {"cases.png": draw_cases}
