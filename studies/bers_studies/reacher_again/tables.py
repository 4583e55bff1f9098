"""Tables of the arm by today's defaults, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

from bers_studies.reacher.tables import weights_told
from bers_studies.report.curves import read_runs, table, with_error


def tables(folder: Path) -> str:
    """For every goal: returns of test episodes, first, last and over all, and the last weights."""
    runs = read_runs(folder)
    rows = []
    for goal in runs.values("panel"):
        curve = runs.array("returns", panel=goal)
        spans = (curve[:, :10], curve[:, -10:], curve)
        totals = [with_error(span.mean(axis=1)) for span in spans]
        rows.append([goal, str(len(curve)), *totals, weights_told(runs.pick(panel=goal))])
    heads = ["goal", "trials", "first 10 episodes", "last 10", "all", "last weights"]
    said = "Return per test episode of BERS, mean and standard error."
    return "\n".join([said, "", *table(heads, rows), ""])
