"""Tables of BBOB's functions with past runs, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bers_studies.bbob.methods import UP_TO
from bers_studies.bbob.problems import FAMILIES
from bers_studies.report.curves import Runs, read_runs, table

MENDED = "f5"
"""The linear slope: an error of the search at the bounds was found on it, and mended."""
_FOUND = -8.0
"""The floor of all gaps."""


def tables(folder: Path) -> str:
    """For every dimension: the mean log10 of the gap after 100, 300, 1,000 and 3,000."""
    runs = read_runs(folder)
    lines = [runs.heading, ""]
    for D in sorted(runs.values("dimension")):
        for some, said in ((unseen(runs), f", without {MENDED}"), (runs, "")):
            lines += [*_of_dimension(some, D, said), ""]
    many = [r for r in runs.records if "many" in r]
    if many:
        right = sum(r["right"] for r in many)
        lines += [
            f"Of {many[0]['many']} sources, the right one is used first in {right} of {len(many)}"
            f"{from_its_point(many)}.",
            "",
        ]
    return "\n".join(lines)


def from_its_point(many: list[dict]) -> str:
    """How often the search starts from its point, where that was recorded."""
    if not all("started" in r for r in many):
        return ""
    return f"; the search starts from its point in {sum(r['started'] for r in many)}"


def unseen(runs: Runs) -> Runs:
    """Without the function on which the search was mended before it was reported.

    >>> unseen(Runs(({"panel": "f5"}, {"panel": "f7"}), 1, 0, "runs/a")).records
    ({'panel': 'f7'},)
    """
    return replace(runs, records=tuple(r for r in runs.records if r.get("panel") != MENDED))


def _of_dimension(runs: Runs, D: int, said: str) -> list[str]:
    families = [f for f in FAMILIES if f in runs.values("family")]
    measured = [r for r in runs.records if r.get("dimension") == D and "method" in r]
    rows = [
        [method, *(_cell(runs, D, family, method) for family in families)]
        for method in dict.fromkeys(r["method"] for r in measured)
    ]
    count = len({(r["panel"], r["number"]) for r in measured})
    heading = f"**D = {D}**, {count} targets of each family{said}"
    return [heading, "", *table(["method", *families], rows)]


def _cell(runs: Runs, D: int, family: str, method: str) -> str:
    wanted = {"method": method, "family": family, "dimension": D}
    if not any(all(r.get(k) == v for k, v in wanted.items()) for r in runs.records):
        return ""
    found = gaps(runs, method, family=family, dimension=D)
    return " / ".join(f"{v:.2f}" for v in found.mean(axis=0))


def gaps(runs: Runs, method: str, **wanted: object) -> np.ndarray:
    """log10 of the gaps, (targets, evaluations), in the order of function and trial.

    A method that stops before the budget is used up has found the minimum to the last bit: Optuna's
    apart, none stops for another reason.

    >>> record = {"method": "a", "panel": "f1", "number": 0, "dimension": 5, "log10_gap": [1.0]}
    >>> longer = record | {"panel": "f2", "log10_gap": [1.0, 0.5]}
    >>> gaps(Runs((record, longer), 1, 0, "runs/a"), "a").tolist()
    [[1.0, -8.0], [1.0, 0.5]]
    """
    found = runs.pick(method=method, **wanted)
    found.sort(key=lambda r: (r["dimension"], r["panel"], r["number"]))
    rows = [r["log10_gap"] for r in found]
    if method in UP_TO:
        return np.array([row[: min(map(len, rows))] for row in rows])
    longest = max(len(r["log10_gap"]) for r in runs.records if "log10_gap" in r)
    return np.array([row + [_FOUND] * (longest - len(row)) for row in rows])
