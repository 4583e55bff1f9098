"""Tables of the readings of the functions, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.paper_functions.claims import claims, reported
from bers_studies.report.curves import at, every_generation, number, read_runs, table


def tables(folder: Path) -> str:
    """Weights on Rastrigin in each reading, then what the paper claims in the one reported."""
    runs = read_runs(folder)
    told = {r["trial"] for r in reported(runs).records}
    rows = []
    for reading in runs.values("reading"):
        tried = [r for r in runs.pick(panel="Rastrigin", reading=reading) if r["trial"] not in told]
        if not tried:
            continue
        g, a = np.array(tried[0]["weights_at"]), np.array([r["weights"] for r in tried])
        best = at(np.array([r["best"] for r in tried]), 100)
        mean = every_generation(g, a, 100).mean((0, 1))
        shares = [a[:, g <= 12].mean((0, 1)), mean]
        said = [" : ".join(f"{w:.2f}" for w in share) for share in shares]
        rows.append([reading, str(len(tried)), *said, number(best.mean())])
    heads = ["reading", "trials", "to generation 12", "all", "best at 100"]
    lines = ["Weights on Rastrigin are Rosenbrock : Ackley : Sphere.", "", *table(heads, rows)]
    rows = [["yes" if c.holds else "no", c.claim, c.measured, str(c.trials)] for c in claims(runs)]
    if rows:
        lines += ["", *table(["holds", "claim", "measured", "trials"], rows)]
    return "\n".join([*lines, ""])
