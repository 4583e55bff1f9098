"""Tables of BBOB's functions with past runs, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.bbob.problems import FAMILIES
from bers_studies.bbob.study import AT
from bers_studies.report.curves import Runs, read_runs, table


def tables(folder: Path) -> str:
    """For every dimension: the mean log10 of the gap after 100, 300, 1,000 and 3,000."""
    runs = read_runs(folder)
    lines = [runs.heading, ""]
    for D in sorted(runs.values("dimension")):
        families = [f for f in FAMILIES if f in runs.values("family")]
        rows = [
            [method, *(_cell(runs, D, family, method) for family in families)]
            for method in runs.values("method")
        ]
        count = len({(r["panel"], r["number"]) for r in runs.pick(dimension=D)})
        lines += [f"**D = {D}**, {count} targets of each family", ""]
        lines += [*table(["method", *families], rows), ""]
    return "\n".join(lines)


def _cell(runs: Runs, D: int, family: str, method: str) -> str:
    found = gaps(runs, method, family=family, dimension=D)
    return " / ".join(f"{v:.2f}" for v in found.mean(axis=0)) if len(found) else ""


def gaps(runs: Runs, method: str, **wanted: object) -> np.ndarray:
    """log10 of the gaps, (targets, evaluations), in the order of function and trial.

    >>> record = {"method": "a", "panel": "f1", "number": 0, "dimension": 5, "log10_gap": [1.0]}
    >>> gaps(Runs((record,), 1, 0, "runs/a"), "a").tolist()
    [[1.0]]
    """
    found = runs.pick(method=method, **wanted)
    found.sort(key=lambda r: (r["dimension"], r["panel"], r["number"]))
    return np.array([r["log10_gap"][: len(AT)] for r in found])
