"""Tables of what each part of control is worth, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table, with_error


def tables(folder: Path) -> str:
    """For every option: test profit over the first episodes, and the weight that is well placed."""
    runs = read_runs(folder)
    truths = runs.values("truth")
    episodes = len(runs.records[0]["profit"])
    times = [m for m in (1, 5, 10) if m <= episodes]
    heads = ["option"]
    for truth in truths:
        name = "target" if truth == "target" else f"scenario {truth}"
        heads += [f"{name}: after {times[0]}", *(f"after {m}" for m in times[1:])]
        heads += [f"mean of {episodes}", "right weight"]
    rows = []
    for method in runs.values("method"):
        row = [method]
        for truth in truths:
            curve = runs.array("profit", truth=truth, method=method)
            row += [f"{curve[:, m - 1].mean():.0f}" for m in times]
            row += [with_error(curve.mean(axis=1)), _well_placed(runs, truth, method)]
        rows.append(row)
    lines = [
        f"{runs.trials} trials. Test profit per episode, mean and standard error. Right weight: "
        "mean share of the sources that match the truth.",
        "",
    ]
    return "\n".join([*lines, *table(heads, rows), ""])


def _well_placed(runs: Runs, truth: str, method: str) -> str:
    """The mean weight of the sources that share routes with the truth."""
    records = runs.pick(truth=truth, method=method)
    if "weights" not in records[0]:
        return ""
    right = [0, 1] if truth == "target" else [int(truth) - 1]
    a = np.array([r["weights"] for r in records])
    return f"{a[:, :, right].sum(axis=2).mean():.2f}"
