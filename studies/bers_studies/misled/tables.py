"""The table of what misleading sources cost, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs, table


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return misled_table(read_runs(folder).records)


def misled_table(records: Sequence[dict[str, Any]]) -> str:
    """Errors over those of the two to compare with, mean over trials (worst), and nobody.

    >>> r = {"kind": "noise", "sources": 1, "rows": 20, "nobody": 0.9}
    >>> print(misled_table([{**r, "BERS": 1.0, "neutral": 2.0, "alone": 1.0}]).splitlines()[2])
    | noise | 1 | 20 | 0.50 (0.50) | 1.00 (1.00) | 0.90 |
    """
    heads = ["sources", "how many", "rows", "over neutral", "over alone", "nobody"]
    rows = []
    for kind, count, n in dict.fromkeys((r["kind"], r["sources"], r["rows"]) for r in records):
        some = [r for r in records if (r["kind"], r["sources"], r["rows"]) == (kind, count, n)]
        over = [ratios(some, rival) for rival in ("neutral", "alone")]
        cells = [f"{v.mean():.2f} ({v.max():.2f})" for v in over]
        nobody = float(np.mean([r["nobody"] for r in some]))
        rows.append([kind, str(count), str(n), *cells, f"{nobody:.2f}"])
    return "\n".join([*table(heads, rows), ""])


def ratios(records: Sequence[dict[str, Any]], rival: str) -> np.ndarray:
    """Of errors, one for each record.

    >>> ratios([{"BERS": 1.0, "neutral": 2.0}], "neutral").tolist()
    [0.5]
    """
    return np.array([r["BERS"] / r[rival] for r in records])
