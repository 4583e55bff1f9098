"""Tables of the readings of the arm, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.paper_arm.claims import reported
from bers_studies.report.curves import read_runs, table, with_error


def tables(folder: Path) -> str:
    """For every goal: return over all episodes and last weights, of readings and of rivals."""
    runs = read_runs(folder)
    told = {r["trial"] for r in reported(runs).records}
    names = runs.records[0]["names"]
    rows = []
    for goal in runs.values("panel"):
        found: dict[tuple[bool, str], list[dict]] = {}
        for r in runs.pick(panel=goal):
            found.setdefault((r["trial"] in told, r.get("reading", r["method"])), []).append(r)
        for (report, name), records in sorted(found.items(), key=lambda item: item[0][0]):
            total = np.array([np.mean(r["returns"]) for r in records])
            last = [r["weights"][-1] for r in records if "weights" in r]
            shares = " : ".join(f"{x:.2f}" for x in np.mean(last, axis=0)) if last else ""
            kind = "reported" if report else "choosing"
            rows.append([goal, kind, name, str(len(records)), with_error(total), shares])
    heads = ["goal", "trials for", "reading or rival", "trials", "return, all episodes"]
    said = f"Last weights are {' : '.join(names)}."
    return "\n".join([said, "", *table([*heads, "last weights"], rows), ""])
