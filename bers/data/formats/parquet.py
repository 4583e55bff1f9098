"""Parquet files: opened once, read a row group at a time, and written so.

Enter: a path. `open_parquet` reads the footer only, and what it says about sizes. Leave: rows, a
block at a time, page checksums compared. A file that BERS wrote also carries the SHA-256 of every
row group and of the whole; a group whose rows differ is a named error.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import data_error
from bers.data.demonstrations import Demonstrations, record_digest
from bers.data.formats import Format, Options, files_of
from bers.data.formats.footer import Claim, claims, footer_bytes
from bers.data.formats.metadata import DTYPES, Metadata, from_json, metadata_of, to_json
from bers.data.formats.tables import (
    Choice,
    Column,
    Table,
    choose,
    exact,
    foreign_payload,
    labels_of,
    rows_of,
    table_columns,
)
from bers.errors import FileError
from bers.files import reading, write_atomically
from bers.integrity import ArrayDigest, text_digest, verify
from bers.text import printable

FIELD_ID, FIRST_ID = "PARQUET:field_id", 0x0BE50000
"""Columns of our own files are numbered from here: a second sign, should the first be damaged."""

Block = tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray]]
"""x, y and payload of some rows."""


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A Parquet file that was opened and not read yet.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     table = open_parquet(f"{folder}/t.parquet")
    >>> table.rows, table.row_bytes
    ((2,), 16)
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
    claimed: tuple[int, ...]
    """Bytes that each row group would take in memory, by what the footer says."""
    places: tuple[int, ...] | None = None
    """Which row groups of the file these are; None: all."""
    starts: tuple[int, ...] | None = None
    """The first row of each; None: as they follow one another."""

    @property
    def fingerprint(self) -> str:
        """Size and footer, which says where every page is, and how large."""
        some = "" if self.places is None else f" {self.places}"
        return f"{self.size} {self.footer_digest}{some}"

    def narrowed(self, groups: Sequence[int]) -> "ParquetTable":
        """Some of the row groups, to be sent elsewhere: without the footer, which is read again."""
        starts = self.starts or tuple(np.cumsum([0, *self.rows[:-1]]).tolist())
        own = self.own
        if own is not None:
            own = replace(own, groups=tuple(own.groups[j] for j in groups))
        return replace(
            self,
            footer=None,
            own=own,
            rows=tuple(self.rows[j] for j in groups),
            claimed=tuple(self.claimed[j] for j in groups),
            places=tuple(j if self.places is None else self.places[j] for j in groups),
            starts=tuple(starts[j] for j in groups),
        )

    @property
    def row_bytes(self) -> int:
        """Bytes that one row takes in memory."""
        payload = self.own.payload if self.own else ()
        parts = sum(part.width * DTYPES[part.dtype].itemsize for part in payload)
        return 8 + parts + len(self.choice.x_names) * np.dtype(self.choice.x_dtype).itemsize

    def refuse_large(self, max_bytes: int) -> None:
        """Raise for a row group that would not fit, before any of it is decoded."""
        for i, claimed in enumerate(self.claimed):
            if claimed > max_bytes:
                raise FileError(
                    f"{self.path.name}: row group {i} would take {claimed:,} bytes in memory, more "
                    f"than max_bytes = {max_bytes:,}. Write it with smaller row groups, or raise "
                    "max_bytes."
                )

    def blocks(
        self, group: int, rows: int = 65536, *, y_only: bool = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features and labels of one row group, at most `rows` rows at a time, in order.

        With `y_only` the features have no columns. The fingerprint of a group is compared before
        its last block is handed over.
        """
        totals, seen, waiting = (ArrayDigest(), ArrayDigest()), 0, None
        for batch in _batches(self, group, rows, y_only):
            if waiting is not None:
                yield waiting
            if y_only:
                y = labels_of(batch, self.choice, self.path.name)
                waiting = np.empty((len(y), 0), self.choice.x_dtype), y
            else:
                waiting = rows_of(batch, self.choice, self.path.name)
            seen += len(waiting[1])
            if self.own:
                for total, values in zip(totals, waiting, strict=True):
                    total.update(values)
        complaint = (
            f"{self.path.name}: row group {group} does not hold the rows that were saved. Restore "
            "it from a copy, or name x=... and y=... to read it as a plain table."
        )
        if seen != self.rows[group]:
            raise FileError(complaint)
        if self.own:
            skip = 64 if y_only else 0
            found = "".join(total.hexdigest() for total in totals)
            verify(found[skip:], self.own.groups[group][skip:], complaint)
        if waiting is not None:
            yield waiting

    def payload(self, wanted: Iterable[str] | None = None) -> dict[str, np.ndarray]:
        """Payload arrays: all of a file that BERS wrote, or columns that the user named."""
        import pyarrow.parquet as pq

        origin = self.path.name
        parts = self.own.payload if self.own else ()
        if wanted is None and not parts:
            return {}
        with reading(self.path), _file(self, pq) as file:
            if wanted is None:
                columns = file.read(columns=[part.column for part in parts if part.width])
                if not columns.num_columns:
                    columns = file.read(columns=[self.choice.y])
                return {part.name: exact(columns, part, origin) for part in parts}
            names = list(wanted)
            for name in names:
                if name not in file.schema_arrow.names:
                    raise data_error(f"there is no payload column {printable(name)!r}.", origin)
            columns = file.read(columns=names)
            return {name: foreign_payload(columns, name, origin) for name in names}


def open_parquet(
    path: str | os.PathLike[str],
    x: str | Sequence[str] | None = None,
    y: str | None = None,
) -> ParquetTable:
    """Read the footer, and choose the columns.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 4.0]}), f"{folder}/t.parquet")
    ...     open_parquet(f"{folder}/t.parquet").rows
    (2,)
    """
    import pyarrow.parquet as pq

    path = Path(path)
    with reading(path):
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            with pq.ParquetFile(stream) as file:
                footer, schema = file.metadata, file.schema_arrow
            content = footer_bytes(stream)
        rows, groups = _rows(footer), _claims(content, footer, path)
        if min(rows, default=0) < 0 or sum(rows) != footer.num_rows:
            raise FileError(f"{path.name}: its row groups do not add up. The file is damaged.")
        own = _own(footer, schema, path, rows) if x is None and y is None else None
        if own:
            small = own.x_dtype == "float32"
            choice = Choice(tuple(Column(n, None, small) for n in own.x_names), own.y_name, False)
        else:
            choice = choose(
                schema, x, y, path.name, lambda n: _list_width(n, schema, groups, rows, path)
            )
        size, modified = status.st_size, status.st_mtime_ns
        digest = text_digest(content)
        table = ParquetTable(path, size, modified, footer, digest, choice, own, rows, ())
        return replace(table, claimed=_claimed(table, schema, groups))


def open_table(path: Any, options: Options) -> Table | None:
    """The columns of files that BERS did not write, if their rows fit into memory.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"who": ["ann"], "y": [3.0]}), f"{folder}/t.parquet")
    ...     open_table(f"{folder}/t.parquet", Options()).read(["who"]).num_rows
    1
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files, schemas, rows, total = files_of(path, FORMAT), [], 0, 0
    for file in files:
        with reading(file), open(file, "rb") as stream:
            with pq.ParquetFile(stream) as opened:
                footer, schema = opened.metadata, opened.schema_arrow
            if _own(footer, schema, Path(file), _rows(footer)):
                return None
            groups = _claims(footer_bytes(stream), footer, Path(file))
        schemas.append(schema.remove_metadata())
        rows += footer.num_rows
        total += sum(max(one.size, 8 * one.values) for group in groups for one in group)
    if total > options.max_bytes or any({*schema} != {*schemas[0]} for schema in schemas):
        return None

    def read(names: list[str]) -> Any:
        parts = []
        for file in files:
            with reading(file), pq.ParquetFile(file, page_checksum_verification=True) as opened:
                parts.append(opened.read(columns=names).select(names))
        return pa.concat_tables(parts)

    return Table(schemas[0], rows, read)


def save_parquet(source: Any, path: str | os.PathLike[str], rows_per_group: int = 65536) -> None:
    """Write a source, in memory or on disk; of one on disk, the payload is left out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_parquet(Demonstrations([1.0], [2.0], "a"), f"{folder}/a.parquet")
    ...     open_parquet(f"{folder}/a.parquet").own.name
    'a'
    """
    rows = rows_per_group
    if isinstance(source, Demonstrations):
        d, metadata = source, metadata_of(source)
        parts = (d.take(slice(i, i + rows)) for i in range(0, d.n, rows))
        none = d.take(slice(0, 0))
        empty = none.x, none.y, none.payload
        blocks = ((part.x, part.y, part.payload) for part in parts)
    else:
        heads = (source.name, source.n, source.x_names, source.x_dtype, source.y_name)
        metadata = Metadata(*heads, source.transforms, (), "")
        empty = np.empty((0, source.dim), source.x_dtype), np.empty(0), {}
        blocks = ((x, y, {}) for x, y in source.blocks(rows, show=None))
    write_parquet(path, metadata, empty, blocks)


def write_parquet(
    path: str | os.PathLike[str], metadata: Metadata, empty: Block, blocks: Iterable[Block]
) -> None:
    """Write blocks as row groups; `empty` holds no rows and shows types and shapes.

    >>> import tempfile
    >>> d = Demonstrations([[1.0]], [2.0], "a")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet(f"{folder}/a.parquet", metadata_of(d), (d.x[:0], d.y[:0], {}),
    ...                   [(d.x, d.y, {})])
    ...     open_parquet(f"{folder}/a.parquet").own.name
    'a'
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: column.type for name, column in table_columns(*empty, metadata).items()}
    schema = pa.schema(
        [
            pa.field(name, kind, nullable=False, metadata={FIELD_ID: str(FIRST_ID + i)})
            for i, (name, kind) in enumerate(kinds.items())
        ]
    )
    arrays = {"x": empty[0], "y": empty[1]}
    arrays |= {f"payload/{name}": values for name, values in empty[2].items()}
    totals, groups, n = {name: ArrayDigest() for name in arrays}, [], 0
    with (
        write_atomically(path) as temporary,
        pq.ParquetWriter(
            temporary,
            schema,
            use_dictionary=False,
            write_statistics=False,
            write_page_checksum=True,
        ) as writer,
    ):
        for x, y, payload in blocks:
            columns = table_columns(x, y, payload, metadata)
            writer.write_table(pa.table(columns, schema=schema), row_group_size=max(len(y), 1))
            parts = {"x": x, "y": y, **{f"payload/{k}": v for k, v in payload.items()}}
            for name, values in parts.items():
                totals[name].update(values)
            groups.append("".join(ArrayDigest(values).hexdigest() for values in (x, y)))
            n += len(y)
        sealed = {
            name: totals[name].text(values.dtype, (n, *values.shape[1:]))
            for name, values in arrays.items()
        }
        m = metadata
        whole = record_digest(m.name, m.x_names, m.y_name, m.transforms, sealed)
        final = replace(metadata, n=n, digest=whole, groups=tuple(groups))
        writer.add_key_value_metadata({"bers": to_json(final)})


def _file(table: ParquetTable, pq: Any) -> Any:
    """The file again, for its rows; it must be as it was."""
    status = table.path.stat()
    if (status.st_size, status.st_mtime_ns) != (table.size, table.modified):
        raise FileError(
            f"{table.path.name}: changed since it was opened. Open it again, and start over: "
            "results from before and after must not be mixed."
        )
    if table.footer is None:
        with open(table.path, "rb") as stream:
            verify(
                text_digest(footer_bytes(stream)),
                table.footer_digest,
                f"{table.path.name}: is another file than the one that was opened. Open it again.",
            )
    return pq.ParquetFile(
        table.path,
        metadata=table.footer,
        page_checksum_verification=True,
        pre_buffer=False,
        buffer_size=1 << 18,  # or the columns of a whole row group are fetched at once
    )


def _batches(table: ParquetTable, group: int, rows: int, y_only: bool) -> Iterator[Any]:
    """Record batches of one row group."""
    import pyarrow.parquet as pq

    wanted = [table.choice.y] if y_only else table.choice.wanted
    place = group if table.places is None else table.places[group]
    # Not `with reading(...)` around a yield: errors of the caller's own must pass untouched.
    with reading(table.path):
        file = _file(table, pq)
        # one thread: parts of a source are read side by side instead
        batches = file.iter_batches(
            batch_size=rows, row_groups=[place], columns=wanted, use_threads=False
        )
    with file:
        while True:
            with reading(table.path):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


def _own(footer: Any, schema: Any, path: Path, rows: tuple[int, ...]) -> Metadata | None:
    """What BERS wrote into the footer, if it did."""
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


def _leaves(kind: Any) -> int:
    """Columns that one field takes in a Parquet file."""
    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields)) or 1


def _leaf_places(schema: Any) -> dict[str, range]:
    """Where the columns of each field are."""
    places, start = {}, 0
    for field in schema:
        places[field.name] = range(start, start + _leaves(field.type))
        start += _leaves(field.type)
    return places


def _rows(footer: Any) -> tuple[int, ...]:
    """Rows of each row group."""
    return tuple(footer.row_group(i).num_rows for i in range(footer.num_row_groups))


def _claims(content: bytes, footer: Any, path: Path) -> list[list[Claim]]:
    """What the footer says of the columns of each row group; as many as Arrow sees."""
    try:
        groups = claims(content)
    except ValueError as error:
        raise _damaged(path, str(error)) from error
    seen = [footer.row_group(i).num_columns for i in range(footer.num_row_groups)]
    if [len(group) for group in groups] != seen or {*seen} - {footer.num_columns}:
        raise _damaged(path, "its row groups have other columns than the file")
    return groups


def _damaged(path: Path, why: str) -> FileError:
    return FileError(
        f"{path.name}: its footer is damaged: {why}. Restore it from a copy, or write it anew."
    )


def _list_width(
    name: str, schema: Any, groups: Sequence[Sequence[Claim]], rows: Sequence[int], path: Path
) -> int:
    """How long the lists in a column are, from the counts in the footer."""
    kind = schema.field(name).type
    if hasattr(kind, "list_size"):
        width = kind.list_size
    else:
        place = _leaf_places(schema)[name][0]
        values, n = sum(group[place].values for group in groups), sum(rows)
        width = values // n if n and values % n == 0 else 0
    if width < 1:
        raise FileError(
            f"{path.name}: column {printable(name)!r} holds lists that are empty or not equally "
            "long. Make them equal, or leave the column out with x=[...]."
        )
    return width


def _claimed(
    table: ParquetTable, schema: Any, groups: Sequence[Sequence[Claim]]
) -> tuple[int, ...]:
    """Bytes of each row group in memory: what it says, or what its counts come to."""
    places = _leaf_places(schema)
    claimed = []
    for group, rows in zip(groups, table.rows, strict=True):
        chunks = [group[j] for name in table.choice.wanted for j in places[name]]
        stored = sum(chunk.size for chunk in chunks)
        values = 8 * sum(chunk.values for chunk in chunks)
        claimed.append(max(stored, values, table.row_bytes * rows))
    return tuple(claimed)


FORMAT = Format(
    "Parquet",
    (".parquet",),
    open_groups=open_parquet,
    save_groups=save_parquet,
    open_table=open_table,
)
