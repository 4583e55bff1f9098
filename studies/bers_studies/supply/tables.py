"""Tables of the supply chain's study, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table
from bers_studies.report.statistics import standard_error
from bers_studies.supply.figures import profits

_EPISODES = (5, 10, 20, 40, 100, 200)


def supply_tables(folder: Path) -> str:
    """For every truth and method: test profit after some episodes, and the mean over all."""
    runs = read_runs(folder)
    last = max(len(r["profit"]) for r in runs.records if "profit" in r)
    lines = [f"{runs.trials} trials. Test profit per episode, mean and standard error."]
    for truth in runs.values("truth"):
        rows = []
        for method in runs.values("method"):
            curve = profits(runs, truth, method)
            shown = [curve[:, m - 1] for m in _EPISODES if m <= last]
            every = curve.mean(axis=1)
            means = [_with_error(curve[:, :40].mean(axis=1)), _with_error(every)]
            rows.append([method, *(f"{x.mean():.0f}" for x in shown), *means])
        level = np.mean([r["sources"] for r in runs.pick(truth=truth)], axis=0)
        name = "Target" if truth == "target" else f"Scenario {truth}"
        said = ", ".join(f"{value:.0f}" for value in level)
        after = [f"after {m}" for m in _EPISODES if m <= last]
        lines += ["", f"**{name}** (demonstrations of 1, 2, 3 on their own scenario: {said})", ""]
        lines += table(["method", *after, "first 40", "all"], rows)
    return "\n".join(lines) + "\n"


def supply_options_tables(folder: Path) -> str:
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
            curve = profits(runs, truth, method)
            row += [f"{curve[:, m - 1].mean():.0f}" for m in times]
            row += [_with_error(curve.mean(axis=1)), _well_placed(runs, truth, method)]
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


def _with_error(values: np.ndarray) -> str:
    return f"{values.mean():.0f} ± {standard_error(values):.0f}"
