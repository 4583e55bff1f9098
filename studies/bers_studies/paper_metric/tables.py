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
    last = min(100, max(max(r["weights_at"]) for r in runs.pick(panel="Rastrigin")))
    shown = [m for m in (4, 48, 100) if m <= last]
    rows = []
    for method in runs.values("method"):
        g, a = runs.weights(panel="Rastrigin", method=method)
        sizes = np.mean([r["rows"] for r in runs.pick(method=method)], axis=0)
        best = at(runs.best(panel="Rastrigin", method=method), last)
        mean = every_generation(g, a, last).mean((0, 1))
        shares = [" : ".join(f"{w:.2f}" for w in a[:, g == m].mean((0, 1))) for m in shown]
        shares.append(" : ".join(f"{w:.2f}" for w in mean))
        rows.append([method, ", ".join(f"{n:,.0f}" for n in sizes), *shares, number(best.mean())])
    heads = ["variant", "rows", *(f"generation {m}" if m == 4 else str(m) for m in shown)]
    heads += ["all", f"best at {last}"]
    note = "Weights are Rosenbrock : Ackley : Sphere."
    return "\n".join([runs.heading, note, "", *table(heads, rows), ""])
