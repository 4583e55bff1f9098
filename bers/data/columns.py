"""Columns of Arrow tables as arrays: which hold numbers, and those numbers as floats.

Enter: a column (Arrow array) and its name. Leave: float32 or float64, NaN where a value was
missing. Numbers are whole, real, decimal, boolean, and lists of those that are equally long.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bers.data.checks import data_error
from bers.text import printable

_EXACT = 2**53


def is_numeric(kind: Any, *, lists: bool = False) -> bool:
    """Whether an Arrow type is a number, or where `lists` says so a list of numbers.

    >>> import pyarrow as pa
    >>> is_numeric(pa.int8()), is_numeric(pa.string()), is_numeric(pa.list_(pa.int8()))
    (True, False, False)
    """
    import pyarrow.types as t

    if is_list(kind):
        return lists and is_numeric(kind.value_type)
    return t.is_boolean(kind) or t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)


def is_list(kind: Any) -> bool:
    """Whether each row holds a list.

    >>> import pyarrow as pa
    >>> is_list(pa.list_(pa.int8()))
    True
    """
    import pyarrow.types as t

    return t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)


def is_small(kind: Any) -> bool:
    """Whether float32 holds all of it.

    >>> import pyarrow as pa
    >>> is_small(pa.float32()), is_small(pa.int8())
    (True, False)
    """
    import pyarrow.types as t

    kind = kind.value_type if is_list(kind) else kind
    return t.is_float32(kind) or t.is_float16(kind)


def floats(values: Any, name: str, origin: str) -> np.ndarray:
    """Numbers of one plain column as float32 or float64; a null becomes NaN.

    >>> import pyarrow as pa
    >>> floats(pa.chunked_array([[1, None]]), "a", "t.csv")
    array([ 1., nan])
    """
    import pyarrow as pa
    import pyarrow.types as t

    pc = compute()
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
    # Arrow turns a null into NaN itself when a column of floats becomes an array.
    return as_array(values)


def as_array(column: Any) -> np.ndarray:
    """A column of numbers, without a copy where that can be.

    >>> import pyarrow as pa
    >>> as_array(pa.chunked_array([[1, 2]]))
    array([1, 2])
    """
    values = chunked(column)
    if values.null_count == 0 and values.num_chunks == 1:
        return np.from_dlpack(values.chunk(0))  # to_numpy would import pandas, if it is there
    return values.to_numpy()


def list_floats(values: Any, name: str, width: int, origin: str) -> np.ndarray:
    """Lists of equal length as an array; a list that is missing becomes NaN.

    >>> import pyarrow as pa
    >>> list_floats(pa.chunked_array([[[1, 2], None]]), "s", 2, "t.csv").tolist()
    [[1.0, 2.0], [nan, nan]]
    """
    pc = compute()
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


def side_by_side(blocks: Sequence[np.ndarray], kind: type) -> np.ndarray:
    """Arrays of as many rows as one, of the type given.

    >>> side_by_side([np.zeros((2, 1)), np.ones((2, 2))], np.float32)[0].tolist()
    [0.0, 1.0, 1.0]
    """
    widths = [block.shape[1] for block in blocks]
    # columns lie one after the other, as Arrow has them: filling rows would jump about in memory
    x = np.empty((len(blocks[0]), sum(widths)), kind, order="F")
    start = 0
    for block, width in zip(blocks, widths, strict=True):
        x[:, start : start + width] = block
        start += width
    return x


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names of columns, not too many.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(printable(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def compute() -> Any:
    """Arrow's functions: it makes them when it is imported, where type checkers cannot see them."""
    import pyarrow.compute

    return pyarrow.compute


def chunked(column: Any) -> Any:
    """A column of a table or of a record batch, in one shape."""
    import pyarrow as pa

    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
