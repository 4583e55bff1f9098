"""Data frames as Arrow tables: pandas, Polars, PyArrow and whatever else narwhals reads.

Enter: a frame or a column of one. Leave: Arrow tables whose columns have names, each name once; the
index of a frame is ignored. Nothing is imported for what is plainly no frame.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bers.data.checks import checked_name
from bers.data.columns import (
    chunked,
    compute,
    floats,
    is_list,
    is_numeric,
    list_floats,
    listed,
    side_by_side,
)
from bers.errors import DataError
from bers.text import printable

_PLAIN = (np.ndarray, np.generic, str, bytes, int, float, os.PathLike, Mapping, Sequence)


def is_frame(given: Any) -> bool:
    """Whether this is a data frame, of whatever library.

    >>> import pyarrow as pa
    >>> is_frame(pa.table({"a": [1]})), is_frame([[1]])
    (True, False)
    """
    return _native(given) is not None


def is_column(given: Any) -> bool:
    """Whether this is one column of a data frame: a Series.

    >>> import pyarrow as pa
    >>> is_column(pa.chunked_array([[1]])), is_column([1])
    (True, False)
    """
    if given is None or isinstance(given, _PLAIN):
        return False
    import narwhals as nw

    return isinstance(_from(given, series_only=True), nw.Series)


def frame_table(frame: Any, what: str) -> Any:
    """A frame as an Arrow table; `what` says in errors whose it is.

    >>> import polars as pl
    >>> frame_table(pl.DataFrame({"a": [1, 2], "who": ["x", "y"]}), "it").column_names
    ['a', 'who']
    """
    import narwhals as nw
    import pyarrow as pa

    found = _native(frame)
    if isinstance(found, str):
        raise DataError(f"{what}: {found}")
    found = found.collect() if isinstance(found, nw.LazyFrame) else found
    names = [str(name) for name in found.columns]
    for name, count in Counter(names).items():
        checked_name(name, f"{what}: a column name")
        if count > 1:
            raise DataError(f"{what}: {count} columns are named {printable(name)!r}. Rename one.")
    columns = [
        _arrow(series, name, what) for series, name in zip(found.iter_columns(), names, strict=True)
    ]
    return pa.table(columns, names=names)


def column_floats(column: Any, name: str, what: str) -> np.ndarray:
    """A column of a frame as floats, NaN where a value is missing.

    >>> import pandas as pd
    >>> column_floats(pd.Series([1, None], dtype="Int64"), "a", "it")
    array([ 1., nan])
    """
    values = chunked(_arrow(_from(column, series_only=True), name, what))
    if not is_numeric(values.type):
        raise DataError(
            f"{what}: column {printable(name)!r} has type {printable(str(values.type))}, not one "
            "number a row. Convert it."
        )
    try:
        return floats(values, name, "")
    except DataError as error:
        raise DataError(f"{what}: {error}") from None


def column_name(column: Any) -> str | None:
    """The name of a column of a frame, if it has one.

    >>> import pandas as pd
    >>> column_name(pd.Series([1.0], name="reward"))
    'reward'
    """
    name = getattr(column, "name", None)
    return name if isinstance(name, str) and name else None


def number_columns(table: Any, what: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """All columns of an Arrow table as one array of floats, and their names.

    Lists in a column `s` that are equally long become `s.0`, `s.1`, ...

    >>> import pyarrow as pa
    >>> number_columns(pa.table({"a": [1, 2], "s": [[3, 4], [5, 6]]}), "it")[1]
    ('a', 's.0', 's.1')
    """
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if not is_numeric(kind, lists=True) and str(kind) != "null":
            raise DataError(
                f"{what}: column {printable(name)!r} has type {printable(str(kind))}, not numbers. "
                "Leave it out; or use bers.as_sources, which makes 0/1 columns of text."
            )
    if not table.num_columns:
        raise DataError(f"{what}: the frame has no columns. Give it one or more.")
    parts = [column_block(table.column(name), name, what) for name in table.column_names]
    names = tuple(part for block in parts for part in block[1])
    small = all(block.dtype.itemsize <= 4 for block, _ in parts)
    kind = np.float32 if small else np.float64
    return side_by_side([block for block, _ in parts], kind), names


def column_block(column: Any, name: str, what: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """One column of numbers as an array of one column or, of lists, several; and their names.

    >>> import pyarrow as pa
    >>> column_block(pa.chunked_array([[True, None]]), "a", "it")[0].tolist()
    [[1.0], [nan]]
    """
    values = chunked(column)
    try:
        if str(values.type) == "null":
            return np.full((len(values), 1), np.nan), (name,)
        if not is_list(values.type):
            return floats(values, name, "")[:, None], (name,)
        lengths = compute().list_value_length(values).drop_null()
        width = lengths[0].as_py() if len(lengths) else 0
        if not width:
            raise DataError(
                f"column {printable(name)!r} holds empty lists. Fill them, or leave it out."
            )
        return list_floats(values, name, width, ""), tuple(f"{name}.{j}" for j in range(width))
    except DataError as error:
        raise DataError(f"{what}: {error}") from None


def frame_rows(x: Any, y: Any, x_names: Sequence[str], y_name: str, what: str) -> dict[str, Any]:
    """Features of a frame and their labels as plain fields; names come from the frame.

    Names of one's own rename the columns, unless they are the frame's own in another order.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2], "b": [3, 4], "pay": [5, 6]})
    >>> fields = frame_rows(frame[["b", "a"]], frame["pay"], (), "y", "it")
    >>> fields["x_names"], fields["y_name"]
    (('b', 'a'), 'pay')
    """
    if is_frame(x):
        table = frame_table(x, what)
        if x_names and set(x_names) == set(table.column_names):
            table = table.select(list(x_names))
        x, own = number_columns(table, what)
        x_names = tuple(x_names) or own
    if is_frame(y):
        table = frame_table(y, what)
        if table.num_columns != 1:
            raise DataError(
                f"{what}: the labels have {table.num_columns} columns ({listed(table.column_names)}"
                "). Give one."
            )
        y_name = table.column_names[0] if y_name == "y" else y_name
        y = table.column(0)
    if is_column(y):
        y_name = (column_name(y) or y_name) if y_name == "y" else y_name
        y = column_floats(y, y_name, what)
    if y_name in x_names:
        raise DataError(
            f"{what}: column {printable(y_name)!r} is the label and an input. Leave it out of x."
        )
    return {"x": x, "y": y, "x_names": x_names, "y_name": y_name}


def _native(given: Any) -> Any:
    """A frame as narwhals sees it, a sentence on why it cannot, or None where it is no frame."""
    if given is None or isinstance(given, _PLAIN):
        return None
    import narwhals as nw

    try:
        found = _from(given)
    except nw.exceptions.DuplicateError:
        own = hasattr(type(given), "column_names")  # PyArrow's word
        names = given.column_names if own else given.columns
        twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
        return f"more than one column is named {printable(twice[0])!r}. Rename one."
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame) else None


def _from(given: Any, **how: bool) -> Any:
    """What narwhals makes of it; itself where that is nothing."""
    import narwhals as nw

    return nw.from_native(given, pass_through=True, **how)


def _arrow(series: Any, name: str, what: str) -> Any:
    """One column as an Arrow array."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        values = series.to_numpy()  # sparse columns, say
        if values.dtype.kind in "biuf":
            return pa.array(values)
        raise DataError(
            f"{what}: column {printable(name)!r} holds values of more than one kind, or of one "
            f"that is no number ({printable(str(error), 100)}). Convert it, or leave it out."
        ) from error
