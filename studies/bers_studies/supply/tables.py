"""Tables of the supply chain's study, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import read_runs, table, with_error

_EPISODES = (5, 10, 20, 40, 100, 200)


def tables(folder: Path) -> str:
    """For every truth and method: test profit after some episodes, and the mean over all."""
    runs = read_runs(folder)
    last = max(len(r["profit"]) for r in runs.records if "profit" in r)
    lines = [f"{runs.trials} trials. Test profit per episode, mean and standard error."]
    for truth in runs.values("truth"):
        rows = []
        for method in runs.values("method"):
            curve = runs.array("profit", truth=truth, method=method)
            shown = [curve[:, m - 1] for m in _EPISODES if m <= last]
            every = curve.mean(axis=1)
            means = [with_error(curve[:, :40].mean(axis=1)), with_error(every)]
            rows.append([method, *(f"{x.mean():.0f}" for x in shown), *means])
        level = np.mean([r["sources"] for r in runs.pick(truth=truth)], axis=0)
        name = "Target" if truth == "target" else f"Scenario {truth}"
        said = ", ".join(f"{value:.0f}" for value in level)
        after = [f"after {m}" for m in _EPISODES if m <= last]
        lines += ["", f"**{name}** (demonstrations of 1, 2, 3 on their own scenario: {said})", ""]
        lines += table(["method", *after, "first 40", "all"], rows)
    return "\n".join(lines) + "\n"
