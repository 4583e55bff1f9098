"""Tables of simulators with few evaluations, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from bers_studies.report.curves import Runs, read_runs, table
from bers_studies.simulator.study import AT


def tables(folder: Path) -> str:
    """Mean ranks of all methods over all problems, then on each simulator after 100 evaluations."""
    runs = read_runs(folder)
    at = AT[: len(runs.records[0]["least"])]
    over = ranks(runs)
    methods = sorted(over, key=lambda m: over[m].mean())
    count = len(over[methods[0]])
    lines = [runs.heading, "", f"**Mean rank among {len(methods)} methods**, {count} problems", ""]
    rows = [[m, *(f"{v:.1f}" for v in over[m].mean(axis=0))] for m in methods]
    lines += [*table(["method", *(f"{n} evaluations" for n in at)], rows), ""]
    k = min(2, len(at) - 1)
    panels = runs.values("panel")
    lines += [f"**Mean rank on each simulator**, after {at[k]} evaluations", ""]
    single = {panel: ranks(runs, panel=panel) for panel in panels}
    rows = [[m, *(f"{single[p][m][:, k].mean():.1f}" for p in panels)] for m in methods]
    lines += [*table(["method", *panels], rows), ""]
    return "\n".join(lines)


def ranks(runs: Runs, **wanted: object) -> dict[str, np.ndarray]:
    """The rank of each method on each problem and at each budget, 1 for the least value.

    >>> records = [{"method": m, "panel": "a", "number": 0, "least": [v]} for m, v in
    ...            (("x", 3.0), ("y", 1.0))]
    >>> {m: r.tolist() for m, r in ranks(Runs(tuple(records), 1, 0, "runs/a")).items()}
    {'x': [[2.0]], 'y': [[1.0]]}
    """
    methods = runs.values("method")
    values = []
    for method in methods:
        found = runs.pick(method=method, **wanted)
        found.sort(key=lambda r: (r["panel"], r["number"]))
        values.append([r["least"] for r in found])
    return dict(zip(methods, rankdata(values, axis=0), strict=True))
