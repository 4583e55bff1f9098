"""What one demonstrator did, too much for memory: rows that stay in files.

Enter: one file or many, of a format that keeps rows in groups, together one source. Opening reads
no rows. Leave: `Shards`, with the surface of `Demonstrations` that a model needs. Rows come a
group at a time, checked, trimmed and transformed on the way, so that memory stays bounded:
nothing here holds more than a block, but for a uniform sample of labels.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np

from bers.data.checks import (
    checked_name,
    column_name_or_none,
    column_places,
    dropping,
    flag,
    generator,
    good_rows,
    named_columns,
    refuse_bad,
    warn_dropped,
    whole,
)
from bers.data.demonstrations import Demonstrations
from bers.data.formats import MAX_BYTES, RowGroups, check_path, files_of, grouped_format
from bers.data.sampling import draw_parts, draw_rows, gathered, held_out
from bers.data.transforms import FEWEST, Chain, Transform, Trim
from bers.errors import DataError, DataWarning, FileError
from bers.integrity import digest
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
    """Files, and what is done to their rows on the way."""

    tables: tuple[RowGroups, ...]
    pending: tuple[Transform, ...]
    """Transforms applied to the labels, first to last."""
    drop_nonfinite: bool
    """Whether rows that are not finite are dropped; otherwise they are an error."""
    columns: tuple[int, ...] | None = None
    """Features that are handed on, in that order; None: all, as they are."""

    @property
    def x_names(self) -> tuple[str, ...]:
        """Names of the features that are handed on."""
        names = self.tables[0].choice.x_names
        return names if self.columns is None else tuple(names[j] for j in self.columns)

    def then(self, transform: Transform) -> "Reader":
        """The same with one more transform."""
        return replace(self, pending=(*self.pending, transform))

    def blocks(
        self, group: Group, rows: int, *, y_only: bool = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of one row group, checked and transformed; at most `rows` at a time."""
        table, row = self.tables[group[0]], _first_row(self.tables[group[0]], group[1])
        for x, y in table.blocks(group[1], rows, y_only=y_only):
            size = len(y)
            if self.drop_nonfinite:
                good = good_rows(x, y)
                x, y = x[good], y[good]
            if self.columns is not None and not y_only:
                x = np.take(x, self.columns, axis=1)
            names = (() if y_only else self.x_names, table.choice.y, table.path.name)
            refuse_bad(x, y, *names, first_row=row, way=dropping("bers.load"))
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
        """Rows that stay, their labels transformed."""
        for part in self.pending:
            if isinstance(part, Trim):
                # Not `keep`: its two rows at least are meant for a source, not for a block.
                keep = part.inside(y)
                x, y = x[keep], y[keep]
            y = part.forward(y)
        return x, y


def _first_row(table: RowGroups, group: int) -> int:
    """Where a row group starts in its file."""
    starts = getattr(table, "starts", None)
    return sum(table.rows[:group]) if starts is None else starts[group]


@dataclass(frozen=True, eq=False, repr=False)
class Shards:
    """Rows (x, y) of one demonstrator, on disk; open them with `Shards.open` or `bers.load`.

    Attributes
    ----------
    name : str
        Whose rows these are.
    reader : Reader
        The files, and what is done to rows on the way.
    groups : tuple of pairs of int
        File and row group of each part.
    rows : tuple of int
        Rows of each part, without those that are dropped.
    stored : tuple of Transform
        Transforms that had been applied to the labels on disk.

    Examples
    --------
    >>> import bers, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bers.save(Demonstrations([1.0, 2.0], [3.0, 4.0], "alice"), f"{folder}/a.parquet")
    ...     Shards.open(f"{folder}/a.parquet")
    Shards('alice', n=2, k=1, 1 row groups in 1 files)
    """

    name: str
    reader: Reader
    groups: tuple[Group, ...]
    rows: tuple[int, ...]
    stored: tuple[Transform, ...] = ()

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

        Only footers are read, unless `drop_nonfinite` asks to count the rows that stay. The files
        stay where they are and must not change.

        Parameters
        ----------
        path : path, or sequence of paths
            A file, a folder of files, or a list of files.
        x : str or sequence of str, optional
            Columns that are features, in files that BERS did not write.
        y : str, optional
            Column that is the label.
        name : str, optional
            Whose rows these are; the stored name, or the file's, unless given.
        drop_nonfinite : bool, default False
            Drop rows that are not finite, with a warning, instead of refusing them.
        max_bytes : int, default 4 GiB
            Refuse a row group that would take more memory.
        show : bool, optional
            Whether to draw a progress bar; by default on a terminal only.

        Returns
        -------
        Shards
            One source, whatever the number of files.

        Raises
        ------
        FileError
            If a file cannot be read, or the files do not belong together.

        Examples
        --------
        >>> import bers, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bers.save(Demonstrations([1.0, 2.0], [3.0, 4.0], "alice"), f"{folder}/a.parquet")
        ...     Shards.open(folder).n
        2
        """
        check_path(path)
        x = x if x is None or isinstance(x, str) else named_columns(x)
        flag(drop_nonfinite, "drop_nonfinite")
        found = opened(path, x, column_name_or_none(y), name)
        return checked(found, drop_nonfinite, whole(max_bytes, "max_bytes"), show)

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
        return self.reader.x_names

    @property
    def x_dtype(self) -> str:
        """Type of the features, float32 or float64."""
        return self.reader.tables[0].choice.x_dtype

    @property
    def y_name(self) -> str:
        """Name of the label."""
        return self.reader.tables[0].choice.y

    @property
    def columns_guessed(self) -> bool:
        """Whether it was guessed which columns are features and which is the label."""
        return self.reader.tables[0].choice.guessed

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
        files = {str(i): table.fingerprint for i, table in enumerate(self.reader.tables)}
        transforms = str([t.to_dict() for t in self.transforms])
        parts = f"{self.groups} {self.rows} {self.x_names} {self.y_name}"
        return digest({**files, "name": self.name, "transforms": transforms, "parts": parts})

    def blocks(
        self, rows: int = 65536, show: bool | None = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All rows once, in order, a block at a time; never all in memory.

        Parameters
        ----------
        rows : int, default 65536
            At most this many rows a block.
        show : bool or None, default False
            Whether to draw a progress bar; None draws one on a terminal.

        Yields
        ------
        x : array of shape (b, k)
            Features of a block.
        y : array of shape (b,)
            Labels of a block.
        """
        rows = whole(rows, "rows")
        with progress_bar(f"reading {printable(self.name, 30)}", self.n, show=show) as advance:
            for group in self.groups:
                for x, y in self.reader.blocks(group, rows):
                    if len(y):
                        yield x, y
                    advance(len(y))

    def parts(self, most: int = 64) -> list["Shards"]:
        """Sources that together are this one, to be read side by side.

        Parameters
        ----------
        most : int, default 64
            At most this many.

        Returns
        -------
        list of Shards
            Some row groups each, in order.
        """
        places = np.array_split(np.arange(len(self.groups)), min(most, max(len(self.groups), 1)))
        if len(places) == 1:
            return [self]
        return [self._narrowed(some.tolist()) for some in places]

    def draw(
        self, rng: np.random.Generator, batches: int, size: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random batches of rows; no row comes twice in a batch.

        A call picks eight row groups by their number of rows, more only where they are smaller
        than a batch, and draws each row from one of those: a group picked, then a row of it.
        So every row is equally likely, but rows of one call come from few groups: shuffle rows
        before writing them. With eight groups or fewer the draw is that of `Demonstrations`.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of chance.
        batches : int
            How many.
        size : int
            Rows of each. With fewer rows than this every row comes once, in the first slots.

        Returns
        -------
        x : array of shape (batches, size, k)
            Features; zero in unused slots.
        y : array of shape (batches, size)
            Labels; zero in unused slots.
        used : array of bool, of shape (batches, size)
            Which slots hold a row.
        """
        generator(rng)
        batches, size = whole(batches, "batches", 0), whole(size, "size")
        chosen, times = _pooled_groups(rng, np.array(self.rows, np.int64), size)
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
        """Keep some row groups, hold out the others; no row group is cut.

        Parameters
        ----------
        rng : numpy.random.Generator
            Chooses the row groups.
        fraction : float
            About this share of them is held out.

        Returns
        -------
        kept : Shards
            The row groups kept.
        out : Shards
            The row groups held out.

        Raises
        ------
        DataError
            If there is only one row group.
        """
        out = held_out(rng, len(self.groups), fraction)
        if len(self.groups) < 2:
            raise DataError(
                f"{printable(self.name)!r} has {len(self.groups)} row group, which cannot be "
                "split. Save it again with a smaller rows_per_group, or load it in memory with "
                "stream=False."
            )
        return self._take(~out), self._take(out)

    def select(self, columns: str | Sequence[str]) -> "Shards":
        """Some of the features, by name.

        Parameters
        ----------
        columns : str or sequence of str
            Names out of `x_names`.

        Returns
        -------
        Shards
            The same files; of every row those features, in that order.

        Raises
        ------
        DataError
            If there is no such feature, or one is named twice.

        Examples
        --------
        >>> import bers, tempfile
        >>> d = Demonstrations([[1.0, 2.0]], [3.0], "alice", x_names=("load", "speed"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bers.save(d, f"{folder}/a.parquet")
        ...     Shards.open(folder).select(["speed", "load"]).in_memory().x.tolist()
        [[2.0, 1.0]]
        """
        before = self.reader.columns
        places = column_places(columns, self.x_names, self.name)
        chosen = tuple(j if before is None else before[j] for j in places)
        return replace(self, reader=replace(self.reader, columns=chosen))

    def transformed(self, *transforms: Transform, show: bool | None = False) -> "Shards":
        """Apply transforms to the labels on the way; rows that `Trim` drops are left out.

        Parameters
        ----------
        *transforms : Transform
            First to last. One that is not fitted yet is fitted on a uniform sample of at most
            200,000 labels. Trimming reads all labels once, to count the rows that stay.
        show : bool or None, default False
            Whether to draw a progress bar; None draws one on a terminal.

        Returns
        -------
        Shards
            The same files, with labels in the new units.
        """
        result = self
        for part in _flattened(transforms):
            if not part.fitted:
                part = part.fit(sampled_labels(result.reader, result.groups, result.rows))
            result = result._with(part, show)
        return result

    def renamed(self, name: str) -> "Shards":
        """The same rows under another name.

        Parameters
        ----------
        name : str
            The other name.

        Returns
        -------
        Shards
            Of the same files.
        """
        return replace(self, name=checked_name(name))

    def in_memory(self, show: bool | None = False) -> Demonstrations:
        """All rows as a record in memory; the payload stays on disk.

        Parameters
        ----------
        show : bool or None, default False
            Whether to draw a progress bar; None draws one on a terminal.

        Returns
        -------
        Demonstrations
            With all rows, transforms and names.
        """
        x, y = self._joined(self.blocks(show=show))
        heads = {"transforms": self.transforms, "x_names": self.x_names, "y_name": self.y_name}
        heads["columns_guessed"] = self.columns_guessed
        return Demonstrations.build(x, y, self.name, **heads)

    def _joined(
        self, blocks: Iterable[tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Blocks as one."""
        empty = np.empty((0, self.dim), self.x_dtype), np.empty(0)
        x, y = zip(empty, *blocks, strict=True)
        return np.concatenate(x), np.concatenate(y)

    def _take(self, chosen: np.ndarray) -> "Shards":
        """Some of the row groups."""
        places = np.flatnonzero(chosen)
        groups = tuple(self.groups[i] for i in places)
        return replace(self, groups=groups, rows=tuple(self.rows[i] for i in places))

    def _narrowed(self, places: Sequence[int]) -> "Shards":
        """Some of the row groups, with what they need of their files and nothing else."""
        wanted: dict[int, list[int]] = {}
        for i in places:
            wanted.setdefault(self.groups[i][0], []).append(self.groups[i][1])
        tables, new = [], []
        for file, groups in wanted.items():
            table = self.reader.tables[file]
            narrow = getattr(table, "narrowed", None)  # what a format need not have
            tables.append(table if narrow is None else narrow(groups))
            inside = groups if narrow is None else range(len(groups))
            new += [(len(tables) - 1, group) for group in inside]
        return replace(
            self,
            reader=replace(self.reader, tables=tuple(tables)),
            groups=tuple(new),
            rows=tuple(self.rows[i] for i in places),
        )

    def _with(self, part: Transform, show: bool | None) -> "Shards":
        """One more transform, and the rows counted again where it drops any."""
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
        """The same with the rows that stay."""
        label = f"counting {printable(self.name, 30)}"
        return replace(self, rows=_counted(self.reader, self.groups, label, show, y_only))

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        parts = f"{len(self.groups)} row groups in {len(self.reader.tables)} files"
        done = "".join(f", {t.name}" for t in self.transforms)
        return f"Shards('{printable(self.name)}', n={self.n}, k={self.dim}, {parts}{done})"


def opened(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    name: str | None = None,
) -> Shards:
    """Open files as one source; no row is read, and no size is refused yet."""
    kind = grouped_format(path)
    opens = cast("Callable[..., RowGroups]", kind.open_groups)
    files = files_of(path, kind)
    first = opens(files[0], x, y)
    tables = (first, *(_opened_like(first, opens, each, x, y) for each in files[1:]))
    _same_columns(tables)
    groups = tuple((i, j) for i, table in enumerate(tables) for j in range(len(table.rows)))
    rows = tuple(count for table in tables for count in table.rows)
    name = _name(path, tables) if name is None else checked_name(name)
    own = tables[0].own
    return Shards(name, Reader(tables, (), False), groups, rows, own.transforms if own else ())


def checked(shards: Shards, drop_nonfinite: bool, max_bytes: int, show: bool | None) -> Shards:
    """Refuse row groups that are too large; count the rows that stay, where some may not."""
    tables = shards.reader.tables
    for table in tables:
        table.refuse_large(max_bytes)
    if not drop_nonfinite:
        return shards
    clean = replace(shards, reader=replace(shards.reader, drop_nonfinite=True))
    clean = clean._recounted(show, y_only=False)
    if clean.n < shards.n:
        first = tables[0].path
        origin = first.name if len(tables) == 1 else first.parent.name
        warn_dropped(shards.name, shards.n - clean.n, shards.n, origin)
    return clean


def _flattened(transforms: Sequence[Any]) -> Iterator[Transform]:
    """Parts of chains, one by one."""
    for part in transforms:
        if isinstance(part, Chain):
            yield from _flattened(part.transforms)
        else:
            yield Chain(part).transforms[0]


def _name(path: Any, tables: tuple[RowGroups, ...]) -> str:
    """The stored name where all files agree, else that of the file or folder."""
    stored = {table.own.name for table in tables if table.own}
    if len(stored) == 1 and all(table.own for table in tables):
        return stored.pop()
    return Path(path).stem if isinstance(path, (str, os.PathLike)) else tables[0].path.stem


def _counted(
    reader: Reader, groups: Sequence[Group], label: str, show: bool | None, y_only: bool
) -> tuple[int, ...]:
    """Rows that stay in each row group."""
    counts = []
    with progress_bar(label, len(groups), show=show) as advance:
        for group in groups:
            counts.append(sum(len(y) for _, y in reader.blocks(group, 65536, y_only=y_only)))
            advance()
    return tuple(counts)


def sampled_labels(
    reader: Reader, groups: Sequence[Group], rows: Sequence[int], most: int = SAMPLE
) -> np.ndarray:
    """All labels where there are few, otherwise a uniform sample, always the same one."""
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


def _pooled_groups(
    rng: np.random.Generator, rows: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Row groups for one call of `draw`, and how many times each was picked.

    A group is picked as often as it has rows. With few groups or few rows all groups are
    taken, and there is nothing to pick.
    """
    n, filled = rows.sum(), np.flatnonzero(rows)
    if len(filled) <= POOL_GROUPS or n < 8 * size:
        return filled, None
    picked = rng.choice(len(rows), POOL_GROUPS, p=rows / n)
    while rows[np.unique(picked)].sum() < 4 * size:
        picked = np.append(picked, rng.choice(len(rows), len(picked), p=rows / n))
    return np.unique(picked, return_counts=True)


def _opened_like(
    first: RowGroups, opens: Callable[..., RowGroups], path: Path, x: Any, y: Any
) -> RowGroups:
    """Another file of a source: its columns in the order of the first file's, if it has those."""
    table = opens(path, x, y)
    one, other = first.choice, table.choice
    shuffled = one.x_names != other.x_names and set(one.x_names) == set(other.x_names)
    if not shuffled or table.own or one.y != other.y:
        return table
    return opens(path, [column.name for column in one.x], one.y)


def _same_columns(tables: Sequence[RowGroups]) -> None:
    """Raise where files of one source differ in columns, types or transforms."""
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
