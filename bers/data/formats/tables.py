"""Columns of tables: which are features and which is the label, and from Arrow to NumPy and back.

Enter: the schema of somebody's table (Arrow types) and the names the user gave, if any. Leave: a
`Choice`, and by it the rows as floats, NaN where a value was missing; or, for files that BERS
wrote, arrays of exactly the type that was saved. Only numbers are taken: whole, real, decimal,
boolean, and lists of those that are equally long; a column of anything else is refused by name.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.data.checks import data_error
from bers.data.columns import (
    chunked,
    compute,
    floats,
    is_list,
    is_numeric,
    is_small,
    list_floats,
    listed,
)
from bers.data.encoding import warn_left_out
from bers.data.formats.metadata import DTYPES, Metadata, Stored
from bers.errors import FileError
from bers.text import printable

LABEL_NAMES = (
    "y",
    "reward",
    "rewards",
    "value",
    "fitness",
    "objective",
    "target",
    "label",
    "cost",
)
"""Columns taken as the label where none is named. A table that has two of them is refused."""


@dataclass(frozen=True)
class Column:
    """One column of a file, which may hold a list of numbers in each row.

    >>> Column("s", 2).names
    ('s.0', 's.1')
    """

    name: str
    """Its name in the file."""
    width: int | None = None
    """Numbers in each row's list; None where each row holds one plain number."""
    small: bool = False
    """Whether float32 holds all its values exactly as the file does."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features it gives."""
        if self.width is None:
            return (self.name,)
        return tuple(f"{self.name}.{j}" for j in range(self.width))


@dataclass(frozen=True)
class Choice:
    """The columns of a table that a record is made of.

    >>> Choice((Column("a"), Column("s", 2)), "r", False).x_names
    ('a', 's.0', 's.1')
    """

    x: tuple[Column, ...]
    """Features."""
    y: str
    """Label."""
    guessed: bool
    """Whether the user named them, or BERS guessed some."""

    @property
    def x_names(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.x for name in column.names)

    @property
    def x_dtype(self) -> str:
        """float32 where that holds all features exactly as the file does."""
        return "float32" if all(column.small for column in self.x) else "float64"

    @property
    def wanted(self) -> list[str]:
        """Columns to read from the file."""
        return [*(column.name for column in self.x), self.y]


@dataclass(frozen=True)
class Table:
    """Somebody's table whose columns are not chosen yet.

    >>> import pyarrow as pa
    >>> rows = pa.table({"a": [1.0], "who": ["x"]})
    >>> Table(rows.schema, rows.num_rows, rows.select).read(["who"]).num_columns
    1
    """

    schema: Any
    """Names and Arrow types of all columns."""
    rows: int
    """How many."""
    read: Callable[[list[str]], Any]
    """Some of the columns, as an Arrow table."""
    line: Callable[[int], int | None] | None = None
    """In which line of a file of text a row is; None where that cannot be told."""


def choose(
    schema: Any,
    x: str | Sequence[str] | None,
    y: str | None,
    origin: str,
    list_width: Callable[[str], int],
    used: Sequence[str] = (),
) -> Choice:
    """Pick the columns; `list_width` tells how long the lists in a column are, `used` which
    columns are something else.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"a": pa.float32(), "reward": pa.float64()})
    >>> choose(schema, None, None, "t.csv", len)
    Choice(x=(Column(name='a', width=None, small=True),), y='reward', guessed=True)
    """
    names, guessed = list(schema.names), x is None or y is None
    for name, count in Counter(names).items():
        if count > 1:
            raise FileError(f"{origin}: {count} columns are named {printable(name)!r}; rename one.")
    y_name = label_name(names, y, origin)
    if x is None:
        kinds = {n: schema.field(n).type for n in names if n != y_name}
        x = [n for n, kind in kinds.items() if is_numeric(kind, lists=True)]
        if x:
            taken = {*x, *used}
            warn_left_out({n: kind for n, kind in kinds.items() if n not in taken})
    wanted = [x] if isinstance(x, str) else list(x)
    if not wanted:
        raise FileError(
            f"{origin}: no numeric column but the label {printable(y_name)!r}. It has: "
            f"{listed(names)}. Name the features with x=..."
        )
    places = {name: j for j, name in enumerate(names)}
    for name in (*wanted, y_name):
        _refuse(schema, name, places, origin, lists=name != y_name)
    columns = []
    for name in wanted:
        kind = schema.field(name).type
        width = list_width(name) if is_list(kind) else None
        columns.append(Column(name, width, is_small(kind)))
    return Choice(tuple(columns), y_name, guessed)


def label_name(names: Sequence[str], y: str | None, origin: str) -> str:
    """The label: as named, or the one column that has a usual name.

    >>> label_name(["speed", "Reward"], None, "t.csv")
    'Reward'
    """
    if y is not None:
        return y
    usual = [name for name in names if name.lower() in LABEL_NAMES]
    if len(usual) == 1:
        return usual[0]
    if usual:
        # a label that is taken for an input would tell the answer
        raise FileError(
            f"{origin}: each of the columns {listed(usual)} may be the label. Name it with y=..., "
            "and leave the others out of x=[...] if they are no inputs."
        )
    raise FileError(
        f"{origin}: cannot tell which column is the label. It has: {listed(names)}. "
        "Name the label with y=..."
    )


def rows_of(table: Any, choice: Choice, origin: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a table or record batch.

    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1, None], "y": [0.5, 1.5]})
    >>> rows_of(table, Choice((Column("a"),), "y", False), "t.csv")[0].tolist()
    [[1.0], [nan]]
    """
    # columns lie one after the other, as Arrow has them: filling rows would jump about in memory
    x = np.empty((table.num_rows, len(choice.x_names)), choice.x_dtype, order="F")
    start = 0
    for column in choice.x:
        values = chunked(table.column(column.name))
        if column.width is None:
            x[:, start] = floats(values, column.name, origin)
            start += 1
        else:
            x[:, start : start + column.width] = list_floats(
                values, column.name, column.width, origin
            )
            start += column.width
    return x, labels_of(table, choice, origin)


def labels_of(table: Any, choice: Choice, origin: str) -> np.ndarray:
    """Labels of a table or record batch.

    >>> import pyarrow as pa
    >>> labels_of(pa.table({"y": [True, False]}), Choice((), "y", False), "t.csv")
    array([1., 0.])
    """
    return floats(chunked(table.column(choice.y)), choice.y, origin).astype(np.float64)


def exact(table: Any, stored: Stored, origin: str) -> np.ndarray:
    """One payload array as it was saved: type, shape and bits.

    >>> import pyarrow as pa
    >>> exact(pa.table({"a": [1, 2]}), Stored("a", "a", "int64", ()), "t.parquet")
    array([1, 2])
    """
    n, pc = table.num_rows, compute()
    if stored.width == 0:
        return np.empty((n, *stored.shape), DTYPES[stored.dtype])
    values = chunked(table.column(stored.column))
    if stored.shape:
        values = pc.list_flatten(values)
    array = values.to_numpy() if len(values) else np.empty(0, DTYPES[stored.dtype])
    if values.null_count or array.dtype != DTYPES[stored.dtype] or len(array) != n * stored.width:
        raise data_error(
            f"column {printable(stored.column)!r} is not what was saved there "
            f"({n} rows of {stored.dtype}{list(stored.shape)}). Restore the file from a copy.",
            origin,
        )
    return array.reshape(n, *stored.shape)


def to_arrow(values: np.ndarray) -> Any:
    """A column from an array of one row or more numbers a row.

    >>> str(to_arrow(np.zeros((2, 3, 4))).type)
    'fixed_size_list<item: double>[12]'
    """
    import pyarrow as pa

    flat = pa.array(values.reshape(-1))
    if values.ndim == 1:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, int(np.prod(values.shape[1:])))


def table_columns(
    x: np.ndarray, y: np.ndarray, payload: Mapping[str, np.ndarray], metadata: Metadata
) -> dict[str, Any]:
    """Arrow columns by name, for writing; payload of no numbers is left out.

    >>> from bers.data.demonstrations import Demonstrations
    >>> from bers.data.formats.metadata import metadata_of
    >>> d = Demonstrations([[1.0, 2.0]], [3.0], "a")
    >>> list(table_columns(d.x, d.y, d.payload, metadata_of(d)))
    ['x0', 'x1', 'y']
    """
    columns = {
        name: to_arrow(np.ascontiguousarray(x[:, j])) for j, name in enumerate(metadata.x_names)
    }
    columns[metadata.y_name] = to_arrow(y)
    for part in metadata.payload:
        if part.width:
            columns[part.column] = to_arrow(payload[part.name])
    return columns


def foreign_payload(table: Any, name: str, origin: str) -> np.ndarray:
    """A column of somebody's table as payload: numbers without gaps, type kept.

    >>> import pyarrow as pa
    >>> foreign_payload(pa.table({"a": [[1, 2], [3, 4]]}), "a", "t.parquet").shape
    (2, 2)
    """
    import pyarrow.types as t

    pc = compute()
    values = chunked(table.column(name))
    kind, n = values.type, len(values)
    if not is_numeric(kind, lists=True) or t.is_decimal(kind):
        raise data_error(
            f"payload column {printable(name)!r} has type {kind}, not numbers.", origin
        )
    nested = hasattr(kind, "value_type")
    flat = pc.list_flatten(values) if nested else values
    width = len(flat) // n if n else 1
    even = (
        not nested or n == 0 or bool(pc.all(pc.equal(pc.list_value_length(values), width)).as_py())
    )
    if values.null_count or flat.null_count or not even:
        raise data_error(
            f"payload column {printable(name)!r} has gaps or unequal lists. Fill them.",
            origin,
        )
    array = flat.to_numpy()
    return array.reshape(n, width) if nested else array


def _refuse(schema: Any, name: str, places: Mapping[str, int], origin: str, *, lists: bool) -> None:
    """Raise for a column that is not there, or not of numbers."""
    if name not in places:
        names = list(places)
        close = difflib.get_close_matches(str(name), names, 1)
        hint = f" Did you mean {printable(close[0])!r}?" if close else ""
        raise FileError(
            f"{origin}: there is no column {printable(str(name))!r}; it has: {listed(names)}.{hint}"
        )
    kind = schema.field(places[name]).type
    if not is_numeric(kind, lists=lists):
        raise FileError(
            f"{origin}: column {printable(name)!r} has type {printable(str(kind))}, not "
            f"{'numbers' if lists else 'one number a row'}. Convert it, or leave it out with "
            "x=[...] and y=..."
        )
