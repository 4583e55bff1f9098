"""Tables of the readings of the supply chain, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.paper_readings.bench import OURS
from bers_studies.report.curves import Runs, read_runs, table, with_error


def tables(folder: Path) -> str:
    """For each reading: profit over the first ten episodes and over all, and mean weights."""
    runs = read_runs(folder)
    lines = ["Test profit per episode of the paper's recipe, mean and standard error.", ""]
    for truth in runs.values("truth"):
        name = "Target" if truth == "target" else f"Scenario {truth}"
        rows = [_row(runs, truth, reading) for reading in runs.values("reading")]
        heads = ["reading", "trials", "first 10 episodes", "all", "mean weights", "alone, all"]
        lines += [f"**{name}**", "", *table(heads, rows), ""]
    return "\n".join(lines)


def _row(runs: Runs, truth: str, reading: str) -> list[str]:
    chosen = runs.pick(truth=truth, reading=reading)
    ours = [r for r in chosen if r["method"] == OURS]
    curve = np.array([r["profit"] for r in ours])
    a = np.array([r["weights"] for r in ours]).mean(axis=(0, 1))
    alone = {r["method"]: [] for r in chosen if r["method"] != OURS}
    for r in chosen:
        if r["method"] in alone:
            alone[r["method"]].append(np.mean(r["profit"]))
    return [
        reading,
        str(len(ours)),
        with_error(curve[:, :10].mean(axis=1)),
        with_error(curve.mean(axis=1)),
        " : ".join(f"{x:.2f}" for x in a),
        ", ".join(f"{single} {np.mean(profits):.0f}" for single, profits in alone.items()),
    ]
