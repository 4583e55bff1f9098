"""Tables of real groups, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return regression_tables(read_runs(folder).records)


def regression_tables(records: Sequence[dict[str, Any]]) -> str:
    """Explained variance of the schools; errors over that of learning alone for the others.

    >>> r = {"trial": 5, "problem": "firms", "group": "A", "share": 0.2, "explained": 0.5}
    >>> both = [{**r, "method": "alone", "error": 2.0}, {**r, "method": "adapted", "error": 1.0}]
    >>> print(regression_tables(both).splitlines()[-2])
    | adapted | 0.500 (0.500) |
    """
    lines: list[str] = []
    for problem in dict.fromkeys(r["problem"] for r in records):
        chosen = [r for r in records if r["problem"] == problem]
        lines += _schools(chosen) if problem == "school" else _new_groups(problem, chosen)
    return "\n".join([*lines, ""])


def _schools(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "**school**: explained variance of held-out pupils in percent, mean (standard deviation)"
    yield ""
    yield "| method | explained |"
    yield "|---|---|"
    for method in dict.fromkeys(r["method"] for r in records):
        found = [100 * r["explained"] for r in records if r["method"] == method]
        yield f"| {method} | {np.mean(found):.1f} ({np.std(found):.1f}) |"
    yield ""


def _new_groups(problem: str, records: Sequence[dict[str, Any]]) -> Iterator[str]:
    shares = sorted({r["share"] for r in records})
    yield f"**{problem}**: error over that of learning alone, mean over groups (worst group)"
    yield ""
    yield f"| method | {' | '.join(f'{share:.0%} of rows' for share in shares)} |"
    yield "|---" * (len(shares) + 1) + "|"
    for method in dict.fromkeys(r["method"] for r in records):
        if method != "alone":
            found = [ratios(records, method, share) for share in shares]
            cells = [f"{np.mean(v):.3f} ({np.max(v):.3f})" if len(v) else "" for v in found]
            yield f"| {method} | {' | '.join(cells)} |"
    yield ""


def ratios(records: Sequence[dict[str, Any]], method: str, share: float) -> np.ndarray:
    """For each group, a method's root mean square error over that of learning alone.

    >>> r = {"trial": 5, "group": "A", "share": 0.2}
    >>> both = [{**r, "method": "alone", "error": 2.0}, {**r, "method": "adapted", "error": 1.0}]
    >>> ratios(both, "adapted", 0.2).tolist()
    [0.5]
    """
    chosen = [r for r in records if r["share"] == share]
    groups = dict.fromkeys(r["group"] for r in chosen if r["method"] == method)
    found = []
    for group in groups:
        own = {m: _error(chosen, group, m) for m in (method, "alone")}
        found.append(own[method] / own["alone"])
    return np.array(found)


def _error(records: Sequence[dict[str, Any]], group: str, method: str) -> float:
    """Root of the mean over trials of the squared error."""
    found = [r["error"] for r in records if (r["group"], r["method"]) == (group, method)]
    return float(np.sqrt(np.mean(np.square(found))))
