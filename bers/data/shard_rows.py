"""Rows of Parquet files on their way to a model: read, checked, trimmed, transformed.

Enter: opened files and the transforms to apply. Leave: blocks of rows, or only labels where
only those are needed; counts of the rows that stay; a uniform sample of labels. Nothing here
holds more than a block, but for the sample.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bers.data.checks import good_rows, refuse_bad
from bers.data.parquet import ParquetTable, group_blocks
from bers.data.transforms import Transform, Trim
from bers.errors import DataWarning, FileError
from bers.progress import progress_bar
from bers.text import printable

SAMPLE = 200_000
"""Transforms are fitted on at most this many labels."""

POOL_GROUPS = 8
"""A call of `draw` mixes this many row groups."""

Group = tuple[int, int]
"""File and row group."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Files, and what is done to their rows on the way.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from bers.data.parquet import open_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    ...     [y.tolist() for _, y in Reader((table,), (), False).blocks((0, 0), 10)]
    [[3.0, 4.0]]
    """

    tables: tuple[ParquetTable, ...]
    pending: tuple[Transform, ...]
    """Transforms applied to the labels, first to last."""
    drop_nonfinite: bool
    """Whether rows that are not finite are dropped; otherwise they are an error."""

    def then(self, transform: Transform) -> "Reader":
        """The same with one more transform."""
        return replace(self, pending=(*self.pending, transform))

    def blocks(
        self, group: Group, rows: int, *, y_only: bool = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of one row group, checked and transformed; at most `rows` at a time."""
        table, row = self.tables[group[0]], sum(self.tables[group[0]].rows[: group[1]])
        for x, y in group_blocks(table, group[1], rows, y_only=y_only):
            size = len(y)
            if self.drop_nonfinite:
                good = good_rows(x, y)
                x, y = x[good], y[good]
            names = () if y_only else table.choice.x_names
            refuse_bad(x, y, names, table.choice.y, table.path.name, first_row=row)
            yield self._mapped(x, y)
            row += size

    def widened(self, trim: Trim, groups: Sequence[Group]) -> Trim:
        """Bounds that take in the two labels nearest to them; says so."""
        nearest = np.empty(0)
        for group in groups:
            for _, y in self.blocks(group, 65536, y_only=not self.drop_nonfinite):
                both = np.concatenate([nearest, y])
                distance = np.maximum(trim.low - both, both - trim.high)
                nearest = both[np.argsort(np.maximum(distance, 0.0), kind="stable")[:2]]
        warnings.warn(
            f"trimming to labels from {trim.low:g} to {trim.high:g} would leave fewer than 2 rows; "
            "the bounds were widened to the nearest labels.",
            DataWarning,
            stacklevel=4,
        )
        return trim.widened(nearest)

    def _mapped(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for part in self.pending:
            if isinstance(part, Trim):
                # Not `keep`: its two rows at least are meant for a source, not for a block.
                keep = part.inside(y)
                x, y = x[keep], y[keep]
            y = part.forward(y)
        return x, y


def counted(
    reader: Reader, groups: Sequence[Group], label: str, show: bool | None, y_only: bool
) -> tuple[int, ...]:
    """Rows that stay in each row group.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from bers.data.parquet import open_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    ...     counted(Reader((table,), (), False), [(0, 0)], "counting", False, True)
    (2,)
    """
    counts = []
    with progress_bar(label, len(groups), show=show) as advance:
        for group in groups:
            counts.append(sum(len(y) for _, y in reader.blocks(group, 65536, y_only=y_only)))
            advance()
    return tuple(counts)


def sampled_labels(
    reader: Reader, groups: Sequence[Group], rows: Sequence[int], most: int = SAMPLE
) -> np.ndarray:
    """All labels where there are few, otherwise a uniform sample, always the same one.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from bers.data.parquet import open_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    ...     sampled_labels(Reader((table,), (), False), [(0, 0)], [2])
    array([3., 4.])
    """
    n = sum(rows)
    chosen = np.arange(n)
    if n > most:
        chosen = np.sort(np.random.default_rng(0).choice(n, most, replace=False, shuffle=False))
    parts, start = [np.empty(0)], 0
    for group in groups:
        for _, y in reader.blocks(group, 65536, y_only=not reader.drop_nonfinite):
            low, high = np.searchsorted(chosen, [start, start + len(y)])
            parts.append(y[chosen[low:high] - start])
            start += len(y)
    return np.concatenate(parts)


def pooled_groups(
    rng: np.random.Generator, rows: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Row groups for one call of `draw`, and how many times each was picked.

    A group is picked as often as it has rows. With few groups or few rows all groups are
    taken, and there is nothing to pick.

    >>> pooled_groups(np.random.default_rng(0), np.array([5, 0, 5]), 4)
    (array([0, 2]), None)
    """
    n, filled = rows.sum(), np.flatnonzero(rows)
    if len(filled) <= POOL_GROUPS or n < 8 * size:
        return filled, None
    picked = rng.choice(len(rows), POOL_GROUPS, p=rows / n)
    while rows[np.unique(picked)].sum() < 4 * size:
        picked = np.append(picked, rng.choice(len(rows), len(picked), p=rows / n))
    return np.unique(picked, return_counts=True)


def same_columns(tables: Sequence[ParquetTable]) -> None:
    """Raise where files of one source differ in columns, types or transforms.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> from bers.data.parquet import open_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    >>> same_columns([table, table])
    """
    first = tables[0]
    for table in tables[1:]:
        a, b = first.choice, table.choice
        same = (a.x_names, a.y, a.x_dtype) == (b.x_names, b.y, b.x_dtype)
        done = [t.own.transforms if t.own else () for t in (first, table)]
        if not same or done[0] != done[1]:
            raise FileError(
                f"{table.path.name} and {first.path.name} do not belong together: features "
                f"{printable(str(b.x_names))} of {b.x_dtype} with label {printable(b.y)!r} against "
                f"{printable(str(a.x_names))} of {a.x_dtype} with label {printable(a.y)!r}. "
                "Load them as two sources, or name x=... and y=..."
            )
