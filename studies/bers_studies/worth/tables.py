"""Tables of how well worth is foretold, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs, table


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return worth_tables(read_runs(folder).records)


def worth_tables(records: Sequence[dict[str, Any]]) -> str:
    """Error, correlation, the best found and intervals, for every set of sources and episodes.

    >>> r = {"sources": "all", "truth": "1", "episodes": 1, "true": [0.0, 3.0], "low": [-1.0, 3.5]}
    >>> both = [{**r, "method": m, "mean": [0.0, 4.0], "high": [1, 5]} for m in ("BERS", "neutral")]
    >>> print(worth_tables(both).splitlines()[2])
    | all | 1 | 0.7 | 0.7 | 1.000 | 1.000 | 100% | 50% |
    """
    heads = ["sources", "episodes", "error", "neutral", "correlation", "neutral", "best", "holds"]
    rows = []
    for name in dict.fromkeys(r["sources"] for r in records):
        for count in dict.fromkeys(r["episodes"] for r in records):
            some = [r for r in records if (r["sources"], r["episodes"]) == (name, count)]
            ours, neutral = ([r for r in some if r["method"] == m] for m in ("BERS", "neutral"))
            rows.append(
                [
                    name,
                    str(count),
                    *(f"{np.mean([error(r) for r in part]):.1f}" for part in (ours, neutral)),
                    *(f"{np.mean([correlation(r) for r in p]):.3f}" for p in (ours, neutral)),
                    f"{np.mean([best_found(r) for r in ours]):.0%}",
                    f"{np.mean([held(r) for r in ours]):.0%}",
                ]
            )
    return "\n".join([*table(heads, rows), ""])


def error(record: dict[str, Any]) -> float:
    """Root mean square over the demonstrators.

    >>> round(error({"mean": [1.0, 2.0], "true": [1.0, 4.0]}), 3)
    1.414
    """
    return float(np.sqrt(np.mean(np.subtract(record["mean"], record["true"]) ** 2)))


def correlation(record: dict[str, Any]) -> float:
    """Of what is foretold with what is true."""
    return float(np.corrcoef(record["mean"], record["true"])[0, 1])


def best_found(record: dict[str, Any]) -> bool:
    """Whether the best demonstrator is foretold to be the best."""
    return int(np.argmax(record["mean"])) == int(np.argmax(record["true"]))


def held(record: dict[str, Any]) -> float:
    """Share of the intervals that hold what is true."""
    true = np.array(record["true"])
    return float(np.mean((true >= record["low"]) & (true <= record["high"])))
