"""Tables of the readings that are reported, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.paper_best.claims import claims
from bers_studies.report.curves import read_runs, table, with_error


def tables(folder: Path) -> str:
    """Test profit and weights of every method, then the paper's claims, reading by reading."""
    runs = read_runs(folder)
    lines = [f"{runs.trials} trials. Test profit per episode, mean and standard error.", ""]
    rows = []
    for truth in runs.values("truth"):
        shown = {(r.get("reading", ""), r["method"]): None for r in runs.pick(truth=truth)}
        for reading, method in shown:
            records = [
                r for r in runs.pick(truth=truth, method=method) if r.get("reading", "") == reading
            ]
            curve = np.array([r["profit"] for r in records])
            long = curve.shape[1] > 10
            rows.append(
                [
                    "target" if truth == "target" else f"scenario {truth}",
                    f"{method}: {reading}" if reading else method,
                    with_error(curve[:, :10].mean(axis=1)),
                    with_error(curve.mean(axis=1)) if long else "",
                    _weights(records),
                ]
            )
    lines += table(["truth", "method", "first 10", "all", "mean weights"], rows)
    found = list(claims(runs))
    rows = [[one.reading, "yes" if one.holds else "no", one.claim, one.measured] for one in found]
    return "\n".join([*lines, "", *table(["reading", "holds", "claim", "measured"], rows), ""])


def _weights(records: list[dict]) -> str:
    if "weights" not in records[0]:
        return ""
    a = np.array([r["weights"] for r in records]).mean(axis=(0, 1))
    return " : ".join(f"{x:.2f}" for x in a)
