"""Records in .csv files, with what CSV cannot say in a second file, `<file>.bers.json`.

Enter: a path. Leave: a record. Numbers are written with as many digits as it takes to get
every bit back. The second file holds names, types, transforms and the SHA-256 of the first;
a CSV without one is somebody's table, whose columns are chosen by name.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import in_lines
from bers.data.columns import as_array, compute
from bers.data.demonstrations import Demonstrations
from bers.data.encoding import kind_of, refuse_nearly_numbers
from bers.data.formats import Format, Options
from bers.data.formats.delimited import CSV, line_of, read_delimited
from bers.data.formats.metadata import (
    DTYPES,
    flat_names,
    from_json,
    metadata_of,
    rebuilt,
    to_json,
)
from bers.data.formats.tables import (
    Choice,
    Table,
    choose,
    foreign_payload,
    rows_of,
    table_columns,
)
from bers.errors import DataError, FileError
from bers.files import reading, write_atomically
from bers.integrity import difference, file_digest, verify
from bers.text import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def sidecar(path: str | os.PathLike[str]) -> Path:
    """Where the metadata of a CSV file is.

    >>> sidecar("a.csv").name
    'a.csv.bers.json'
    """
    return Path(path).with_name(f"{Path(path).name}.bers.json")


def save_csv(d: Demonstrations, path: str | os.PathLike[str]) -> None:
    """Write a record and its second file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_csv(Demonstrations([0.1], [2.0], "a"), f"{folder}/a.csv")
    ...     Path(f"{folder}/a.csv").read_text(), load_csv(f"{folder}/a.csv", Options())
    ('"x0","y"\\n0.1,2\\n', Demonstrations('a', n=1, k=1, y 2 to 2))
    """
    import pyarrow as pa
    import pyarrow.csv

    metadata = metadata_of(d)
    columns = table_columns(d.x.astype(np.float64), d.y, {}, replace(metadata, payload=()))
    for part in metadata.payload:
        flat = _printable_numbers(d.payload[part.name], part.name).reshape(d.n, part.width)
        for j, name in enumerate(flat_names(part.column, part.shape)):
            columns[name] = pa.array(np.ascontiguousarray(flat[:, j]))
    for name in columns:
        if name.startswith(_FORMULA):
            raise DataError(
                f"column name {printable(name)!r} would run as a formula in a spreadsheet. "
                "Rename the column, or save as .npz or .parquet."
            )
    # The second file goes first: should the first then fail, the pair is an error and never a
    # plain table in which payload would pass for features.
    with write_atomically(path) as temporary:
        pyarrow.csv.write_csv(pa.table(columns), temporary)
        with write_atomically(sidecar(path)) as second:
            second.write_text(to_json(metadata, sha256=file_digest(temporary)), encoding="utf-8")


def load_csv(path: str | os.PathLike[str], options: Options) -> Demonstrations:
    """Read a record; the options name columns of a file that BERS did not write.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.csv").write_text("s,reward\\n1,2\\n3,4\\n")
    ...     load_csv(f"{folder}/a.csv", Options())
    Demonstrations('a', n=2, k=1, y 2 to 4)
    """
    path = Path(path)
    if sidecar(path).exists() and not options.names_columns:
        d = _own(path, options.max_bytes)
        return d if options.name is None else d.renamed(options.name)
    table = read_delimited(path, options.csv, options.max_bytes)
    with in_lines(lambda row: line_of(path, options.csv, table.num_rows, row)):
        choice = _choose(table, path, options)
        features, labels = rows_of(table, choice, path.name)
        return Demonstrations.build(
            features,
            labels,
            FORMAT.stem(path) if options.name is None else options.name,
            payload={each: _payload(table, each, path) for each in options.payload or ()},
            x_names=choice.x_names,
            y_name=choice.y,
            columns_guessed=choice.guessed,
            drop_nonfinite=options.drop_nonfinite,
            origin=path.name,
        )


def open_csv(path: str | os.PathLike[str], options: Options) -> Table | None:
    """The columns of a file that BERS did not write; an empty text counts as missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.csv").write_text("who,reward\\nann,2\\n,4\\n")
    ...     open_csv(f"{folder}/a.csv", Options()).read(["who"]).column(0).null_count
    1
    """
    path = Path(path)
    with reading(path):
        large = path.stat().st_size > options.max_bytes
    if large or sidecar(path).exists():
        return None
    table = read_delimited(path, options.csv, options.max_bytes)
    return Table(
        table.schema,
        table.num_rows,
        lambda names: _without_blanks(table.select(names)),
        lambda row: line_of(path, options.csv, table.num_rows, row),
    )


def _without_blanks(table: Any) -> Any:
    """Texts that are empty become nulls, as numbers that are not there are."""
    import pyarrow as pa

    pc = compute()
    for j, kind in enumerate(table.schema.types):
        if pa.types.is_string(kind):
            blank = pc.equal(table.column(j), "")
            column = pc.if_else(blank, pa.scalar(None, kind), table.column(j))
            table = table.set_column(j, table.column_names[j], column)
    return table


def _choose(table: Any, path: Path, options: Options) -> Choice:
    """Features and label of somebody's CSV."""
    schema = table.schema
    if table.num_rows == 0:
        # No row says what the type is; a header alone is a source with no rows.
        import pyarrow as pa

        schema = pa.schema([pa.field(column, pa.float64()) for column in table.column_names])
    named = (*([options.x] if isinstance(options.x, str) else options.x or ()), options.y)
    for j, field in enumerate(schema):
        wanted = options.x is None or field.name in named
        if wanted and kind_of(field.type) == "text":
            refuse_nearly_numbers(table.column(j), field.name, path.name)
    return choose(schema, options.x, options.y, path.name, lambda column: 0, options.payload or ())


def _own(path: Path, max_bytes: int) -> Demonstrations:
    """The record of a file that BERS wrote."""
    import pyarrow as pa

    with reading(sidecar(path)):
        text = sidecar(path).read_bytes()
    metadata, more = from_json(text, sidecar(path).name, sha256=str)
    with reading(path):
        found = file_digest(path)
    complaint = (
        f"{path.name}: changed since it was saved ({difference(found, more['sha256'])}). "
        f"Restore it, or delete {sidecar(path).name} to read it as a plain table."
    )
    verify(found, more["sha256"], complaint)
    kinds = {column: pa.float64() for column in (*metadata.x_names, metadata.y_name)}
    for part in metadata.payload:
        whole = DTYPES[part.dtype].kind in "iu"
        kind = pa.from_numpy_dtype(DTYPES[part.dtype]) if whole else pa.float64()
        kinds |= dict.fromkeys(flat_names(part.column, part.shape), kind)
    table = read_delimited(path, CSV(sep=","), max_bytes, kinds)
    with reading(path):
        x = np.stack([_numbers(table, column) for column in metadata.x_names], axis=1)
        payload = {
            part.name: _stacked(table, part).astype(DTYPES[part.dtype]) for part in metadata.payload
        }
        y = _numbers(table, metadata.y_name)
    return rebuilt(metadata, x.astype(metadata.x_dtype), y, payload, path.name)


def _stacked(table: Any, part: Any) -> np.ndarray:
    """A payload array from its columns."""
    names = flat_names(part.column, part.shape)
    columns = [_numbers(table, name) for name in names]
    flat = np.stack(columns, axis=1) if columns else np.empty((table.num_rows, 0))
    return flat.reshape(table.num_rows, *part.shape)


def _numbers(table: Any, name: str) -> np.ndarray:
    """One column."""
    return as_array(table.column(name))


def _payload(table: Any, name: str, path: Path) -> np.ndarray:
    """A column that the user named as payload."""
    if name not in table.column_names:
        raise FileError(f"{path.name}: there is no payload column {printable(name)!r}.")
    return foreign_payload(table, name, path.name)


def _printable_numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Booleans as 0 and 1, floats in double precision; both give every bit back."""
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    if values.dtype.kind != "f":
        return values
    odd = np.isnan(values) & (
        values.view(f"u{values.dtype.itemsize}")
        != np.array(np.nan, values.dtype).view(f"u{values.dtype.itemsize}")
    )
    if odd.any():
        raise DataError(
            f"payload {printable(name)!r} holds {int(odd.sum())} NaN with bits of their own, which "
            "text cannot hold. Save as .npz or .parquet."
        )
    return values.astype(np.float64)


FORMAT = Format(
    "CSV",
    (".csv",),
    (".tsv", ".csv.gz", ".tsv.gz"),
    load=load_csv,
    save=save_csv,
    open_table=open_csv,
    is_text=True,
)
