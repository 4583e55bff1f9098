"""Straight lines on log-log paper: what was measured at a few sizes says what others will cost.

Enters: points (size, cost). Leaves: the slope of a line through the last three, where fixed costs
are small, and the cost at any size: between points that were measured, or from the last one on. A
slope of 1 says: twice as many cost twice as much. A slope below the expected one is a fixed cost
that fades, which does not go on for ever; so beyond the last point the steeper of both counts.
"""

from dataclasses import dataclass

import numpy as np

GROUP = 65536
"""Rows of a row group, unless `bers.save` is told otherwise."""
POOLED = 8
"""Row groups that one draw of batches reads, at most."""
HEADS = 64
"""Sources in a batch, at most."""
STRETCH = 100
"""Batches that one choice of sources, and one draw, serves."""
_LAST = 3


@dataclass(frozen=True)
class Series:
    """What is measured, over what, and which slope is to be expected."""

    what: str
    over: str
    expected: float
    upto: float = np.inf
    """From this size on the cost stays the same."""
    unit: str = "s"

    def slope(self, points: list) -> float:
        """Of the line through the last three points before the cost stays the same.

        >>> round(Series("a", "rows", 1.0).slope([(1, 9.0), (10, 1.0), (20, 2.0), (40, 4.0)]), 6)
        1.0
        """
        fitted = self._fitted(points)[-_LAST:]
        if len(fitted) < _LAST:
            raise ValueError(
                f"a slope of {self.what!r} needs {_LAST} points; got {len(fitted)}. Measure again: "
                "make bench ONLY=scaling."
            )
        return float(np.polyfit(*np.log(np.array(fitted, dtype=float)).T, 1)[0])

    def cost(self, points: list, size: float, *, as_measured: bool = False) -> float:
        """Between points, or beyond them; `as_measured` goes on by the measured slope alone.

        >>> Series("a", "rows", 2.0, upto=8).cost([(2, 4.0), (4, 16.0), (8, 64.0)], 9)
        64.0
        """
        fitted = self._fitted(points)
        size = min(size, self.upto)
        last, cost = fitted[-1]
        if size < last:
            sizes, costs = np.log(np.array(fitted, dtype=float)).T
            return float(np.exp(np.interp(np.log(size), sizes, costs)))
        slope = self.slope(points)
        return cost * (size / last) ** (slope if as_measured else max(slope, self.expected))

    def _fitted(self, points: list) -> list:
        return [point for point in points if point[0] <= self.upto]


SERIES: dict[str, Series] = {
    "read": Series("reading Parquet, 10 columns and a label", "rows", 1),
    "read_columns": Series("reading Parquet, a row", "columns", 1),
    "first_pass": Series("first pass: read, means and spreads", "rows", 1),
    "pass": Series("second pass: read, encoder, R factor", "rows", 1),
    "factor": Series("R factor, a row", "features", 2),
    "collinear": Series("R factor, a row, nearly collinear features", "features", 2),
    "factor_bytes": Series("R factor, in bytes", "features", 2, unit="B"),
    "merge": Series("merging R factors", "shards", 1),
    "head_features": Series("a head from its R factor", "features", 3),
    "heads": Series("all heads from their R factors", "sources", 1),
    "program": Series("weights: the quadratic program alone", "sources", 1),
    "odds": Series("weights: the default rule", "sources", 1),
    "draws": Series("intervals of the weights, 400 draws", "sources", 1),
    "training": Series("training, a batch", "sources", 1, upto=HEADS),
    "drawing": Series("drawing 100 batches from disk", "rows", 1, upto=POOLED * GROUP),
    "opening": Series("opening a file", "row groups", 1),
    "part_bytes": Series("what a worker is told of a part, in bytes", "row groups", 1, unit="B"),
    "trials": Series("trials of a study", "trials", 1),
}
"""In the order of the page."""
