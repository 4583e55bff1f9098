"""Tables of the arm's study, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs, table
from bers_studies.report.statistics import probability_of_improvement, standard_error

_EPISODES = (1, 5, 10, 20, 40, 60)
_TOLD = ("BERS", "BERS, paper's recipe")


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
                weights_told(runs.pick(panel=goal, method=method)) if method in _TOLD else "",
            ])  # fmt: skip
        heads = ["method", *(f"after {m}" for m in after), "all", "better than DQN"]
        lines += ["", f"**{goal}**", "", *table([*heads, "last weights"], rows)]
    return "\n".join(lines) + "\n"


def weights_told(records: list[dict[str, Any]]) -> str:
    """Who had a weight at the end, in the mean over trials.

    >>> weights_told([{"names": ["left", "top"], "weights": [[0.5, 0.5], [1.0, 0.0]]}])
    'left 1.00'
    """
    mean = np.mean([record["weights"][-1] for record in records], axis=0)
    shares = zip(records[0]["names"], mean, strict=True)
    return ", ".join(f"{name} {w:.2f}" for name, w in shares if w >= 0.005)
