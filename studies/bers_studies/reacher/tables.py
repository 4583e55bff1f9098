"""Tables of the arm's study, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table
from bers_studies.report.statistics import probability_of_improvement, standard_error

_EPISODES = (1, 5, 10, 20, 40, 60)


def tables(folder: Path) -> str:
    """For every goal and method: returns of test episodes, their mean, and who beats plain DQN."""
    runs = read_runs(folder)
    lines = [
        f"{runs.trials} trials. Returns of test episodes of 500 steps, mean; over all episodes "
        "with standard error. Better than DQN: probability of improvement of that mean over None."
    ]
    for goal in runs.values("panel"):
        last = len(runs.pick(panel=goal)[0]["returns"])
        after = [m for m in _EPISODES if m <= last]
        plain, rows = runs.array("returns", panel=goal, method="None").mean(axis=1), []
        for method in runs.values("method"):
            curve = runs.array("returns", panel=goal, method=method)
            every = curve.mean(axis=1)
            better = probability_of_improvement(-every, -plain).value
            rows.append([
                method,
                *(f"{curve[:, m - 1].mean():.0f}" for m in after),
                f"{every.mean():.0f} ± {standard_error(every):.0f}",
                "" if method == "None" else f"{better:.2f}",
                _weights_told(runs, goal, method),
            ])  # fmt: skip
        heads = ["method", *(f"after {m}" for m in after), "all", "better than DQN"]
        lines += ["", f"**{goal}**", "", *table([*heads, "last weights"], rows)]
    return "\n".join(lines) + "\n"


def _weights_told(runs: Runs, goal: str, method: str) -> str:
    records = [r for r in runs.pick(panel=goal, method=method) if "weights" in r]
    found = [r["weights"][-1] for r in records]
    if not found or method not in ("BERS", "BERS, paper's recipe"):
        return ""
    mean = np.mean(found, axis=0)
    shares = zip(records[0]["names"], mean, strict=True)
    return ", ".join(f"{name} {w:.2f}" for name, w in shares if w >= 0.005)
