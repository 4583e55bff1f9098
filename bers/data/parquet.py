"""One Parquet file: what is in it, its rows group by group, and how it is written.

Enter: a path. `open_parquet` reads the footer only and checks the sizes it claims. Leave:
rows, a block at a time, page checksums compared. A file that BERS wrote also carries the
SHA-256 of every row group and of the whole; a group whose rows differ is a named error.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.arrow import exact, foreign_payload, labels_of, rows_of
from bers.data.checks import data_error
from bers.data.columns import Choice, Column, choose
from bers.data.metadata import DTYPES, Metadata, from_json
from bers.data.parquet_footer import footer_digest, list_width, refuse_large
from bers.errors import FileError
from bers.files import reading
from bers.integrity import ArrayDigest, verify
from bers.text import printable

MAX_BYTES = 4 << 30
"""Larger than this in memory is refused, unless the caller raises it."""

FIELD_ID, FIRST_ID = "PARQUET:field_id", 0x0BE50000
"""Columns of our own files are numbered from here: a second sign, should the first be damaged."""


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A Parquet file that was opened and not read yet.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    >>> table.n, table.row_bytes
    (2, 16)
    """

    path: Path
    size: int
    """Bytes of the file when it was opened."""
    modified: int
    """When it had been changed last, in nanoseconds."""
    footer: Any
    """Arrow's metadata."""
    footer_digest: str
    """SHA-256 of the footer's bytes."""
    choice: Choice
    """Features and label."""
    own: Metadata | None
    """What BERS wrote beside the rows, if it did and the columns are those."""
    rows: tuple[int, ...]
    """Rows of each row group."""

    @property
    def n(self) -> int:
        """Rows of the file."""
        return sum(self.rows)

    @property
    def row_bytes(self) -> int:
        """Bytes that one row takes in memory."""
        payload = self.own.payload if self.own else ()
        parts = sum(part.width * DTYPES[part.dtype].itemsize for part in payload)
        return 8 + parts + len(self.choice.x_names) * np.dtype(self.choice.x_dtype).itemsize


def open_parquet(
    path: str | os.PathLike[str],
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> ParquetTable:
    """Read the footer, choose the columns, and refuse a row group that is too large.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     open_parquet(f"{folder}/t.parquet").rows
    (2,)
    """
    import pyarrow.parquet as pq

    path = Path(path)
    with reading(path):
        status = path.stat()
        with pq.ParquetFile(path) as file:
            footer, schema = file.metadata, file.schema_arrow
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        rows = tuple(group.num_rows for group in groups)
        if min(rows, default=0) < 0 or sum(rows) != footer.num_rows:
            raise FileError(f"{path.name}: its row groups do not add up. The file is damaged.")
        own = _own(footer, schema, path, rows) if x is None and y is None else None
        if own:
            small = own.x_dtype == "float32"
            choice = Choice(tuple(Column(n, None, small) for n in own.x_names), own.y_name, False)
        else:
            choice = choose(schema, x, y, path.name, lambda n: list_width(n, schema, groups, path))
        table = ParquetTable(
            path,
            status.st_size,
            status.st_mtime_ns,
            footer,
            footer_digest(path),
            choice,
            own,
            rows,
        )
        refuse_large(path, choice.wanted, table.row_bytes, schema, groups, max_bytes)
        return table


def group_blocks(
    table: ParquetTable, group: int, rows: int = 65536, *, y_only: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Features and labels of one row group, at most `rows` rows at a time, in order.

    With `y_only` the features have no columns. The seal of a group is compared before its
    last block is handed over.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     [y.tolist() for x, y in group_blocks(open_parquet(f"{folder}/t.parquet"), 0)]
    [[3.0, 4.0]]
    """
    totals, seen, waiting = (ArrayDigest(), ArrayDigest()), 0, None
    for batch in _batches(table, group, rows, y_only):
        if waiting is not None:
            yield waiting
        if y_only:
            y = labels_of(batch, table.choice, table.path.name)
            waiting = np.empty((len(y), 0), table.choice.x_dtype), y
        else:
            waiting = rows_of(batch, table.choice, table.path.name)
        seen += len(waiting[1])
        if table.own:
            for total, values in zip(totals, waiting, strict=True):
                total.update(values)
    complaint = (
        f"{table.path.name}: row group {group} does not hold the rows that were saved. Restore "
        "it from a copy, or name x=... and y=... to read it as a plain table."
    )
    if seen != table.rows[group]:
        raise FileError(complaint)
    if table.own:
        skip = 64 if y_only else 0
        found = "".join(total.hexdigest() for total in totals)
        verify(found[skip:], table.own.groups[group][skip:], complaint)
    if waiting is not None:
        yield waiting


def read_rows(table: ParquetTable) -> tuple[np.ndarray, np.ndarray]:
    """All features and labels of the file, as they are.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     read_rows(open_parquet(f"{folder}/t.parquet"))[1]
    array([3., 4.])
    """
    x = np.empty((table.n, len(table.choice.x_names)), table.choice.x_dtype)
    y, start = np.empty(table.n), 0
    for group in range(len(table.rows)):
        for block_x, block_y in group_blocks(table, group):
            end = start + len(block_y)
            x[start:end], y[start:end] = block_x, block_y
            start = end
    return x, y


def read_payload(table: ParquetTable, wanted: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """Payload arrays: all of a file that BERS wrote, or columns that the user named.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0], "y": [3.0], "z": [5]}), f"{folder}/t.parquet")
    ...     read_payload(open_parquet(f"{folder}/t.parquet"), ["z"])["z"]
    array([5])
    """
    import pyarrow.parquet as pq

    origin = table.path.name
    with reading(table.path), _file(table, pq) as file:
        if wanted is None:
            parts = table.own.payload if table.own else ()
            columns = file.read(columns=[part.column for part in parts if part.width])
            if not columns.num_columns:
                columns = file.read(columns=[table.choice.y])
            return {part.name: exact(columns, part, origin) for part in parts}
        names = list(wanted)
        for name in names:
            if name not in file.schema_arrow.names:
                raise data_error(f"there is no payload column {printable(name)!r}.", origin)
        columns = file.read(columns=names)
        return {name: foreign_payload(columns, name, origin) for name in names}


def _file(table: ParquetTable, pq: Any) -> Any:
    status = table.path.stat()
    if (status.st_size, status.st_mtime_ns) != (table.size, table.modified):
        raise FileError(
            f"{table.path.name}: changed since it was opened. Open it again, and start over: "
            "results from before and after must not be mixed."
        )
    return pq.ParquetFile(
        table.path,
        metadata=table.footer,
        page_checksum_verification=True,
        pre_buffer=False,
        buffer_size=1 << 18,  # or the columns of a whole row group are fetched at once
    )


def _batches(table: ParquetTable, group: int, rows: int, y_only: bool) -> Iterator[Any]:
    import pyarrow.parquet as pq

    wanted = [table.choice.y] if y_only else table.choice.wanted
    # Not `with reading(...)` around a yield: errors of the caller's own must pass untouched.
    with reading(table.path):
        file = _file(table, pq)
        # one thread: parts of a source are read side by side instead
        batches = file.iter_batches(
            batch_size=rows, row_groups=[group], columns=wanted, use_threads=False
        )
    with file:
        while True:
            with reading(table.path):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


def _own(footer: Any, schema: Any, path: Path, rows: tuple[int, ...]) -> Metadata | None:
    text = (footer.metadata or {}).get(b"bers")
    ids = [int((field.metadata or {}).get(FIELD_ID.encode(), -1)) for field in schema]
    if text is None and any(FIRST_ID <= number < FIRST_ID + len(ids) for number in ids):
        raise FileError(
            f"{path.name}: was written by BERS, but its metadata are lost. Restore it from a copy, "
            "or name x=... and y=... to read it as a plain table."
        )
    if text is None:
        return None
    own, _ = from_json(text, path.name)
    missing = {*own.x_names, own.y_name} - set(schema.names)
    if missing or own.n != sum(rows) or len(own.groups) != len(rows):
        raise FileError(
            f"{path.name}: its columns or rows do not match the BERS metadata in it. Restore it "
            "from a copy, or name x=... and y=... to read it as a plain table."
        )
    return own
