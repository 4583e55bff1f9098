"""From Arrow's columns to NumPy's arrays and back.

Enter: columns of a table that was read, nulls and all. Leave: floats, NaN where a value was
missing; or, for files that BERS wrote, arrays of exactly the type that was saved.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bers.data.checks import data_error
from bers.data.columns import Choice, is_numeric
from bers.data.metadata import DTYPES, Stored
from bers.text import printable

_EXACT = 2**53


def rows_of(table: Any, choice: Choice, origin: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a table or record batch.

    >>> import pyarrow as pa
    >>> from bers.data.columns import Column
    >>> table = pa.table({"a": [1, None], "y": [0.5, 1.5]})
    >>> rows_of(table, Choice((Column("a"),), "y", False), "t.csv")[0].tolist()
    [[1.0], [nan]]
    """
    # columns lie one after the other, as Arrow has them: filling rows would jump about in memory
    x = np.empty((table.num_rows, len(choice.x_names)), choice.x_dtype, order="F")
    start = 0
    for column in choice.x:
        values = _chunked(table.column(column.name))
        if column.width is None:
            x[:, start] = floats(values, column.name, origin)
            start += 1
        else:
            x[:, start : start + column.width] = _lists(values, column.name, column.width, origin)
            start += column.width
    return x, labels_of(table, choice, origin)


def labels_of(table: Any, choice: Choice, origin: str) -> np.ndarray:
    """Labels of a table or record batch.

    >>> import pyarrow as pa
    >>> labels_of(pa.table({"y": [True, False]}), Choice((), "y", False), "t.csv")
    array([1., 0.])
    """
    return floats(_chunked(table.column(choice.y)), choice.y, origin).astype(np.float64)


def floats(values: Any, name: str, origin: str) -> np.ndarray:
    """Numbers of one plain column as float32 or float64; a null becomes NaN.

    >>> import pyarrow as pa
    >>> floats(pa.chunked_array([[1, None]]), "a", "t.csv")
    array([ 1., nan])
    """
    import pyarrow as pa
    import pyarrow.types as t

    pc = _compute()
    kind = values.type
    if t.is_integer(kind) and len(values):
        span = pc.min_max(values).as_py()
        if span["min"] is not None and (span["max"] > _EXACT or span["min"] < -_EXACT):
            raise data_error(
                f"column {printable(name)!r} holds integers beyond ±2**53, which a float cannot "
                "hold exactly. Subtract an offset, or store them as floats.",
                origin,
            )
    if t.is_boolean(kind):
        values = values.cast(pa.uint8())
    if not t.is_float16(kind) and not t.is_float32(kind):
        values = pc.cast(values, pa.float64(), safe=False)
    values = _chunked(values)
    if values.null_count == 0 and values.num_chunks == 1:
        return np.from_dlpack(values.chunk(0))  # to_numpy would import pandas, if it is there
    # Arrow turns a null into NaN itself when a column of floats becomes an array.
    return values.to_numpy()


def exact(table: Any, stored: Stored, origin: str) -> np.ndarray:
    """One payload array as it was saved: type, shape and bits.

    >>> import pyarrow as pa
    >>> exact(pa.table({"a": [1, 2]}), Stored("a", "a", "int64", ()), "t.parquet")
    array([1, 2])
    """
    n, pc = table.num_rows, _compute()
    if stored.width == 0:
        return np.empty((n, *stored.shape), DTYPES[stored.dtype])
    values = _chunked(table.column(stored.column))
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
    x: np.ndarray, y: np.ndarray, payload: Mapping[str, np.ndarray], metadata: Any
) -> dict[str, Any]:
    """Arrow columns by name, for writing; payload of no numbers is left out.

    >>> from bers.data.demonstrations import Demonstrations
    >>> from bers.data.metadata import metadata_of
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


def _lists(values: Any, name: str, width: int, origin: str) -> np.ndarray:
    pc = _compute()
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((lengths != width) & ~np.isnan(lengths.astype(np.float64)))
    if len(wrong):
        raise data_error(
            f"column {printable(name)!r}: {len(wrong)} rows do not hold {width} numbers, the first "
            f"is row {int(wrong[0])} with {int(lengths[wrong[0]])}. Make all lists equally long.",
            origin,
        )
    flat = floats(pc.list_flatten(values), name, origin)
    present = ~np.isnan(lengths.astype(np.float64))
    result = np.full((len(lengths), width), np.nan, flat.dtype)
    result[present] = flat.reshape(-1, width)
    return result


def _compute() -> Any:
    # Arrow makes these functions when it is imported, where type checkers cannot see them.
    import pyarrow.compute

    return pyarrow.compute


def _chunked(column: Any) -> Any:
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def foreign_payload(table: Any, name: str, origin: str) -> np.ndarray:
    """A column of somebody's table as payload: numbers without gaps, type kept.

    >>> import pyarrow as pa
    >>> foreign_payload(pa.table({"a": [[1, 2], [3, 4]]}), "a", "t.parquet").shape
    (2, 2)
    """
    import pyarrow.types as t

    pc = _compute()
    values = _chunked(table.column(name))
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
