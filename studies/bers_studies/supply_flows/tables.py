"""The table of what goes along routes of each price, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import read_runs, table
from bers_studies.report.views import place_name
from bers_studies.supply_flows.view import COSTS, kinds_of


def tables(folder: Path) -> str:
    """For every truth and method: the profit, and how much goes along routes of each price."""
    runs = read_runs(folder)
    rows = []
    for record in runs.records:
        flows, kinds = np.asarray(record["flows"], float), kinds_of(record)
        units = [float(flows[kinds == kind].sum()) for kind in range(len(COSTS))]
        where = place_name({"truth": record["truth"]})
        shares = [f"{share:.1f}" for share in units]
        rows.append([where, record["method"], f"{record['earned']:,.0f}", *shares])
    heads = ["ground truth", "method", "profit", *(f"on {kind} routes" for kind in COSTS)]
    said = (
        f"{runs.trials} trial. Mean units per period that the policy ships, by what a truck costs."
    )
    return "\n".join([said, "", *table(heads, rows), ""])
