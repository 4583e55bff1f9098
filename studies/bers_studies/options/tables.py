"""Tables of what each part of reuse is worth, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    THRESHOLDS,
    log10_mean,
    number,
    read_runs,
    table,
)
from bers_studies.report.statistics import (
    interquartile_mean,
)


def tables(folder: Path) -> str:
    """Mean of log10 of the best value over 100 generations, and evaluations, for every option."""
    runs = read_runs(folder)
    panels = runs.values("panel")
    lines = [runs.heading]
    rows, counts = [], []
    for method in runs.values("method"):
        scores = [log10_mean(runs.best(panel=p, method=method)).mean() for p in panels]
        needed = [interquartile_mean(runs.evaluations(p, method=method)) for p in panels]
        rows.append([method, *(f"{score:.2f}" for score in scores), f"{np.mean(scores):.2f}"])
        counts.append([method, *(number(n, "{:.0f}") for n in needed)])
    lines += ["", "**Mean of log10 of the best value over 100 generations** (less is better)", ""]
    lines += table(["option", *panels, "mean"], rows)
    heads = [f"{p}, to {THRESHOLDS.get(p, '1.0')}" for p in panels]
    lines += ["", "**Evaluations until solved**, interquartile mean", ""]
    return "\n".join([*lines, *table(["option", *heads], counts), ""])
