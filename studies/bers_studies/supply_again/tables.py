"""Tables of the supply chain by today's defaults, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import read_runs, table, with_error


def tables(folder: Path) -> str:
    """For every truth: test profit over the first episodes and over all, and mean weights."""
    runs = read_runs(folder)
    rows = []
    for truth in runs.values("truth"):
        curve = runs.array("profit", truth=truth)
        a = np.array([r["weights"] for r in runs.pick(truth=truth)]).mean(axis=(0, 1))
        rows.append(
            [
                "target" if truth == "target" else f"scenario {truth}",
                str(len(curve)),
                with_error(curve[:, :10].mean(axis=1)),
                with_error(curve[:, :40].mean(axis=1)),
                with_error(curve.mean(axis=1)),
                " : ".join(f"{x:.2f}" for x in a),
            ]
        )
    heads = ["truth", "trials", "first 10 episodes", "first 40", "all", "mean weights"]
    said = "Test profit per episode of BERS, mean and standard error."
    return "\n".join([said, "", *table(heads, rows), ""])
