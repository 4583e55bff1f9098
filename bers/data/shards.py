"""What one demonstrator did, too much for memory: rows that stay in Parquet files.

Enter: one Parquet file or many, together one source. Opening reads footers only. Leave:
`Shards`, with the surface of `Demonstrations` that a model needs; rows come a row group at a
time, so that memory stays bounded. Label transforms are applied on the way.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import checked_name, generator, warn_dropped, whole
from bers.data.demonstrations import Demonstrations
from bers.data.parquet import MAX_BYTES, ParquetTable, open_parquet
from bers.data.sampling import draw_parts, draw_rows, gathered, held_out
from bers.data.shard_rows import Reader, counted, pooled_groups, same_columns, sampled_labels
from bers.data.transforms import FEWEST, Chain, Transform, Trim
from bers.errors import DataError, FileError
from bers.integrity import digest
from bers.progress import progress_bar
from bers.text import printable


@dataclass(frozen=True, eq=False, repr=False)
class Shards:
    """Rows (x, y) of one demonstrator, on disk; open them with `Shards.open`.

    >>> import tempfile
    >>> from bers.data.storage import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Demonstrations([1.0, 2.0], [3.0, 4.0], "alice"), f"{folder}/a.parquet")
    ...     Shards.open(f"{folder}/a.parquet")
    Shards('alice', n=2, k=1, 1 row groups in 1 files)
    """

    name: str
    """Whose rows these are."""
    reader: Reader
    """The files, and what is done to rows on the way."""
    groups: tuple[tuple[int, int], ...]
    """File and row group of each part."""
    rows: tuple[int, ...]
    """Rows of each part, without those that are dropped."""
    stored: tuple[Transform, ...] = ()
    """Transforms that had been applied to the labels on disk."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        x: str | Sequence[str] | None = None,
        y: str | None = None,
        name: str | None = None,
        *,
        drop_nonfinite: bool = False,
        max_bytes: int = MAX_BYTES,
        show: bool | None = None,
    ) -> "Shards":
        """Open a Parquet file, a folder of them, or a list of them as one source.

        Only footers are read, unless `drop_nonfinite` asks to count the rows that stay.
        `max_bytes` bounds one row group in memory. The files stay where they are and must not
        change.
        """
        paths = _paths(path)
        tables = tuple(open_parquet(each, x, y, max_bytes) for each in paths)
        same_columns(tables)
        groups = tuple((i, j) for i, table in enumerate(tables) for j in range(len(table.rows)))
        rows = tuple(count for table in tables for count in table.rows)
        reader = Reader(tables, (), drop_nonfinite)
        name = _name(path, tables) if name is None else checked_name(name)
        made = cls(name, reader, groups, rows, tables[0].own.transforms if tables[0].own else ())
        if not drop_nonfinite:
            return made
        clean = made._recounted(show, y_only=False)
        if clean.n < made.n:
            origin = paths[0].name if len(paths) == 1 else paths[0].parent.name
            warn_dropped(name, made.n - clean.n, made.n, origin)
        return clean

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.rows)

    @property
    def dim(self) -> int:
        """Number of features, k."""
        return len(self.x_names)

    @property
    def x_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.reader.tables[0].choice.x_names

    @property
    def x_dtype(self) -> str:
        """Type of the features, float32 or float64."""
        return self.reader.tables[0].choice.x_dtype

    @property
    def y_name(self) -> str:
        """Name of the label."""
        return self.reader.tables[0].choice.y

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """Transforms of the labels, on disk and on the way, first to last."""
        return (*self.stored, *self.reader.pending)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, transforms, and each file's size and footer.

        The footer of a file that BERS wrote holds the SHA-256 of every row group, so this
        covers the rows as well. A foreign footer covers places and sizes of the rows only.
        """
        files = {str(i): f"{t.size} {t.footer_digest}" for i, t in enumerate(self.reader.tables)}
        transforms = str([t.to_dict() for t in self.transforms])
        parts = f"{self.groups} {self.rows} {self.x_names} {self.y_name}"
        return digest({**files, "name": self.name, "transforms": transforms, "parts": parts})

    def blocks(
        self, rows: int = 65536, show: bool | None = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All rows once, in order, as (x, y) of at most `rows` rows; never all in memory.

        `show=None` draws a progress bar on a terminal.
        """
        rows = whole(rows, "rows")
        with progress_bar(f"reading {printable(self.name, 30)}", self.n, show=show) as advance:
            for group in self.groups:
                for x, y in self.reader.blocks(group, rows):
                    if len(y):
                        yield x, y
                    advance(len(y))

    def parts(self, most: int = 64) -> list["Shards"]:
        """At most `most` sources that together are this one, to be read side by side."""
        places = np.array_split(np.arange(len(self.groups)), min(most, max(len(self.groups), 1)))
        return [self._take(np.isin(np.arange(len(self.groups)), some)) for some in places]

    def draw(
        self, rng: np.random.Generator, batches: int, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random batches, as `Demonstrations.draw` gives them.

        A call picks eight row groups by their number of rows, more only where they are smaller
        than a batch, and draws each row from one of those: a group picked, then a row of it.
        So every row is equally likely, but rows of one call come from few groups: shuffle rows
        before writing them. With eight groups or fewer the draw is that of `Demonstrations`.
        """
        generator(rng)
        batches, size = whole(batches, "batches", 0), whole(size, "size")
        chosen, times = pooled_groups(rng, np.array(self.rows, np.int64), size)
        lengths = np.array([self.rows[i] for i in chosen], np.int64)
        if times is None:
            rows, used = draw_rows(rng, int(lengths.sum()), batches, size)
        else:
            rows = draw_parts(rng, lengths, times, batches, size)
            used = np.ones(rows.shape, dtype=bool)
        blocks = (block for i in chosen for block in self.reader.blocks(self.groups[i], 65536))
        x = np.zeros((*rows.shape, self.dim), self.x_dtype)
        y = np.zeros(rows.shape)
        x[used], y[used] = gathered(blocks, rows[used], self.dim, self.x_dtype)
        return x, y, used

    def split(self, rng: np.random.Generator, fraction: float) -> tuple["Shards", "Shards"]:
        """Keep some row groups, hold out about `fraction` of them; no row group is cut."""
        out = held_out(rng, len(self.groups), fraction)
        if len(self.groups) < 2:
            raise DataError(
                f"{printable(self.name)!r} has {len(self.groups)} row group, which cannot be "
                "split. Save it again with a smaller rows_per_group, or load it in memory with "
                "stream=False."
            )
        return self._take(~out), self._take(out)

    def transformed(self, *transforms: Transform, show: bool | None = False) -> "Shards":
        """Apply transforms to the labels on the way; rows that `Trim` drops are left out.

        One that is not fitted yet is fitted on a uniform sample of at most 200,000 labels.
        Trimming reads all labels once, to count the rows that stay.
        """
        result = self
        for part in _flattened(transforms):
            if not part.fitted:
                part = part.fit(sampled_labels(result.reader, result.groups, result.rows))
            result = result._with(part, show)
        return result

    def renamed(self, name: str) -> "Shards":
        """The same rows under another name."""
        return replace(self, name=checked_name(name))

    def in_memory(self, show: bool | None = False) -> Demonstrations:
        """All rows as a record in memory; the payload stays on disk."""
        x, y = self._joined(self.blocks(show=show))
        heads = {"transforms": self.transforms, "x_names": self.x_names, "y_name": self.y_name}
        return Demonstrations.build(x, y, self.name, **heads)

    def _joined(
        self, blocks: Iterable[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        empty = np.empty((0, self.dim), self.x_dtype), np.empty(0)
        x, y = zip(empty, *blocks, strict=True)
        return np.concatenate(x), np.concatenate(y)

    def _take(self, chosen: np.ndarray) -> "Shards":
        places = np.flatnonzero(chosen)
        groups = tuple(self.groups[i] for i in places)
        return replace(self, groups=groups, rows=tuple(self.rows[i] for i in places))

    def _with(self, part: Transform, show: bool | None) -> "Shards":
        reader = self.reader.then(part)
        result = replace(self, reader=reader)
        if not isinstance(part, Trim):
            return result
        result = result._recounted(show, y_only=not self.reader.drop_nonfinite)
        if result.n < min(FEWEST, self.n):
            wider = self.reader.widened(part, self.groups)
            result = replace(self, reader=self.reader.then(wider))._recounted(show, y_only=True)
        return result

    def _recounted(self, show: bool | None, *, y_only: bool) -> "Shards":
        label = f"counting {printable(self.name, 30)}"
        return replace(self, rows=counted(self.reader, self.groups, label, show, y_only))

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        parts = f"{len(self.groups)} row groups in {len(self.reader.tables)} files"
        done = "".join(f", {t.name}" for t in self.transforms)
        return f"Shards('{printable(self.name)}', n={self.n}, k={self.dim}, {parts}{done})"


def _flattened(transforms: Sequence[Any]) -> Iterator[Transform]:
    for part in transforms:
        if isinstance(part, Chain):
            yield from _flattened(part.transforms)
        else:
            yield Chain(part).transforms[0]


def _paths(path: Any) -> list[Path]:
    if not isinstance(path, (str, os.PathLike)):
        paths = [Path(each) for each in path]
    elif Path(path).is_dir():
        paths = sorted(Path(path).glob("*.parquet"))
    else:
        paths = [Path(path)]
    if not paths:
        raise FileError(f"no Parquet file in {path}. Give a file, a folder or a list of files.")
    return paths


def _name(path: Any, tables: tuple[ParquetTable, ...]) -> str:
    stored = {table.own.name for table in tables if table.own}
    if len(stored) == 1 and all(table.own for table in tables):
        return stored.pop()
    return Path(path).stem if isinstance(path, (str, os.PathLike)) else tables[0].path.stem
