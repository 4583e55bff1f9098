"""A table of the paper's four functions, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table

RIVALS = {
    "Rosenbrock": (1541, 1566, 4.49e-3, 3.15e-5),
    "Ackley": (1044, 1417, 1.89e-5, 1.08e-5),
    "Sphere": (1080, 1518, 7.59e-6, 1.38e-5),
    "Rastrigin": (551, 1309, 1.44e-4, 0.205),
}
"""Of the study `static`: median evaluations to the threshold, of AMTEA and of the better setting of
WS-CMA-ES; mean best value after 100 generations, likewise."""
THRESHOLD = {"Rastrigin": "1.0"}


def tables(folder: Path) -> str:
    """Beside what AMTEA and WS-CMA-ES needed in the study `static`."""
    runs = read_runs(folder)
    rows = []
    for panel in runs.values("panel"):
        to, least = reached(runs, panel), runs.array("least", panel=panel)
        known = RIVALS.get(panel.split(",")[0], ())
        rows.append(
            [
                panel,
                _count(np.median(to)),
                f"{int(np.isfinite(to).sum())} of {len(to)}",
                *(f"{n:,}" for n in known[:2]),
                f"{least.mean():.2g}",
                f"{np.median(least):.2g}",
                *(f"{v:.2g}" for v in known[2:]),
            ]
        )
    heads = ["function", "evaluations", "reached", "AMTEA", "WS-CMA-ES"]
    heads += ["value at 3,200", "median", "AMTEA", "WS-CMA-ES"]
    return "\n".join([runs.heading, "", *table(heads, rows), ""])


def reached(runs: Runs, panel: str) -> np.ndarray:
    """Evaluations to the threshold, infinite where it was not reached."""
    key = THRESHOLD.get(panel, "0.01")
    found = [r["evaluations_to"][key] for r in runs.pick(panel=panel)]
    return np.array([np.inf if n is None else n for n in found], np.float64)


def _count(number: float) -> str:
    return "never" if np.isinf(number) else f"{number:,.0f}"
