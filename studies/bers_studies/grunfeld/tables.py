"""Tables of eleven firms, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bers_studies.report.curves import read_runs


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return grunfeld_tables(read_runs(folder).records)


def grunfeld_tables(records: Sequence[dict[str, Any]]) -> str:
    """Error of the ranked mixture over that of equal weights, firms down, rules across.

    >>> r = {"years": "first ten", "firm": "A", "rule": "odds", "error": 1.0, "equal": 2.0}
    >>> print(grunfeld_tables([r]).splitlines()[-1])
    | better than equal | 1 of 1 |
    """
    rules = list(dict.fromkeys(r["rule"] for r in records))
    lines = []
    for years in dict.fromkeys(r["years"] for r in records):
        chosen = [r for r in records if r["years"] == years]
        lines += [f"**{years} years seen**", "", f"| firm | {' | '.join(rules)} |"]
        lines += ["|---" * (len(rules) + 1) + "|"]
        firms = list(dict.fromkeys(r["firm"] for r in chosen))
        for firm in firms:
            ratio = {r["rule"]: r["error"] / r["equal"] for r in chosen if r["firm"] == firm}
            lines += [f"| {firm} | {' | '.join(f'{ratio[rule]:.2f}' for rule in rules)} |"]
        wins = [sum(r["error"] < r["equal"] for r in chosen if r["rule"] == x) for x in rules]
        lines += [f"| better than equal | {' | '.join(f'{w} of {len(firms)}' for w in wins)} |", ""]
    return "\n".join(lines)
