"""Tables of the readings of the paper's settings, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    at,
    every_generation,
    number,
    read_runs,
    table,
)


def tables(folder: Path) -> str:
    """Mean weight of each source on Rastrigin, and the best value, for everything tried."""
    runs = read_runs(folder)
    rows = []
    for method in runs.values("method"):
        g, a = runs.weights(panel="Rastrigin", method=method)
        sizes = np.mean([r["rows"] for r in runs.pick(method=method)], axis=0)
        best = at(runs.best(panel="Rastrigin", method=method), 100)
        mean = every_generation(g, a).mean((0, 1))
        shares = [" : ".join(f"{w:.2f}" for w in a[:, g == m].mean((0, 1))) for m in (4, 48, 100)]
        shares.append(" : ".join(f"{w:.2f}" for w in mean))
        rows.append([method, ", ".join(f"{n:,.0f}" for n in sizes), *shares, number(best.mean())])
    heads = ["variant", "rows", "generation 4", "48", "100", "all", "best at 100"]
    note = "Weights are Rosenbrock : Ackley : Sphere."
    return "\n".join([runs.heading, note, "", *table(heads, rows), ""])
