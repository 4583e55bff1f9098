"""The table of how well orders are foretold, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs, table


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return orders_table(read_runs(folder).records)


def orders_table(records: Sequence[dict[str, Any]]) -> str:
    """Mean correlation of the order foretold with the true one, for each way and number of rows.

    >>> print(orders_table([{"rule": "odds", "rows": 5, "spearman": 0.5}]).splitlines()[2])
    | odds | 0.500 |
    """
    rows = list(dict.fromkeys(r["rows"] for r in records))
    lines = [
        [rule, *(f"{correlations(records, rule, n).mean():.3f}" for n in rows)]
        for rule in dict.fromkeys(r["rule"] for r in records)
    ]
    return "\n".join([*table(["foretold by", *(f"{n} rows" for n in rows)], lines), ""])


def correlations(records: Sequence[dict[str, Any]], rule: str, rows: int) -> np.ndarray:
    """Of the order that is foretold in one way with the true one, for every data set."""
    return np.array([r["spearman"] for r in records if (r["rule"], r["rows"]) == (rule, rows)])
