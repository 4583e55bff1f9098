"""The table of how much nobody is trusted, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bers_studies.report.curves import read_runs


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return nobody_table(read_runs(folder).records)


def nobody_table(records: Sequence[dict[str, Any]]) -> str:
    """Share of nobody, mean and least over seeds, kinds of sources down, rules across.

    >>> r = {"kind": "noise", "rule": "odds", "nobody": 0.9}
    >>> print(nobody_table([r, {**r, "nobody": 1.0}]).splitlines()[2])
    | noise | 0.950 (0.900) |
    """
    rules = list(dict.fromkeys(r["rule"] for r in records))
    lines = [f"| sources | {' | '.join(rules)} |", "|---" * (len(rules) + 1) + "|"]
    for kind in dict.fromkeys(r["kind"] for r in records):
        cells = []
        for rule in rules:
            found = [r["nobody"] for r in records if (r["kind"], r["rule"]) == (kind, rule)]
            cells.append(f"{sum(found) / len(found):.3f} ({min(found):.3f})")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
