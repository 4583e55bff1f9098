"""Tables of what was claimed and what was right, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bers_studies.report.curves import read_runs

BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)


class Seen(NamedTuple):
    """One entry for each target and number of rows."""

    claimed: np.ndarray
    """Weight of the source on top."""
    right: np.ndarray
    """Whether that source is right; no source is where all mislead."""
    nobody: np.ndarray
    misleading: np.ndarray
    kind: np.ndarray
    rows: np.ndarray

    def some(self, chosen: np.ndarray) -> "Seen":
        """Those that are chosen."""
        return Seen(*(part[chosen] for part in self))


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return reliability_tables(read_runs(folder).records)


def reliability_tables(records: Sequence[dict[str, Any]]) -> str:
    """Claimed against right, in bins, by kind and by rows.

    >>> r = {"kind": "bbob", "right": 0, "rows": ["5"], "top": [0], "claimed": [0.95]}
    >>> text = reliability_tables([{**r, "nobody": [0.05]}])
    >>> print(text.splitlines()[2])
    | 0.9 to 0.99 | 1 | 0.95 | 1.00 |
    """
    every = seen(records)
    return "\n".join([*_bins(every), "", *_by(every), ""])


def seen(records: Sequence[dict[str, Any]]) -> Seen:
    """Of all records of targets; older journals hold others, too."""
    rows = [
        (
            claimed,
            r["right"] is not None and top == r["right"],
            nobody,
            r["right"] is None,
            r["kind"],
            n,
        )
        for r in records
        if "right" in r
        for n, top, claimed, nobody in zip(
            r["rows"], r["top"], r["claimed"], r["nobody"], strict=True
        )
    ]
    return Seen(*(np.array(part) for part in zip(*rows, strict=True)))


def calibration_error(some: Seen) -> float:
    """Mean distance of what is claimed from how often it is right, over ten bins of equal width.

    >>> half = np.full(4, 0.5)
    >>> calibration_error(Seen(half, np.array([1, 1, 1, 0]), half, half, half, half))
    0.25
    """
    bins = np.minimum((some.claimed * 10).astype(int), 9)
    gaps = [
        np.sum(bins == k) * abs(np.mean((some.claimed - some.right)[bins == k]))
        for k in np.unique(bins)
    ]
    return float(np.sum(gaps) / len(bins))


def right_between(some: Seen, low: float, high: float) -> tuple[float, int]:
    """How often a weight above `low`, up to `high`, is on the right source; and how many."""
    chosen = (some.claimed > low) & (some.claimed <= high)
    return (float(np.mean(some.right[chosen])) if chosen.any() else np.nan), int(chosen.sum())


def _bins(every: Seen) -> Iterator[str]:
    yield "| claimed | times | mean claim | right |"
    yield "|---|---|---|---|"
    for low, high in itertools.pairwise(BINS):
        chosen = (every.claimed > low) & (every.claimed <= high)
        if chosen.any():
            some = every.some(chosen)
            yield (
                f"| {low:g} to {high:g} | {chosen.sum()} | {some.claimed.mean():.2f} | "
                f"{some.right.mean():.2f} |"
            )


def _by(every: Seen) -> Iterator[str]:
    yield (
        "| targets | looks | calibration error | right above 0.99 | right from 0.9 to 0.99 | "
        "right source on top | nobody if all mislead | nobody else |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    yield _line("all", every)
    for kind in dict.fromkeys(every.kind):
        yield _line(str(kind), every.some(every.kind == kind))
    for rows in dict.fromkeys(every.rows):
        name = f"{rows} rows" if str(rows).isdigit() else str(rows)
        yield _line(name, every.some(every.rows == rows))


def _line(name: str, some: Seen) -> str:
    related = some.some(~some.misleading)
    cells = [
        name,
        str(len(some.claimed)),
        f"{calibration_error(some):.3f}",
        *(
            f"{share:.1%} of {count}" if count else ""
            for share, count in (right_between(some, 0.99, 1.0), right_between(some, 0.9, 0.99))
        ),
        f"{related.right.mean():.1%}",
        f"{some.nobody[some.misleading].mean():.2f}" if some.misleading.any() else "",
        f"{related.nobody.mean():.2f}",
    ]
    return f"| {' | '.join(cells)} |"
