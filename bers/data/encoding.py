"""Columns of somebody's table as features: numbers as they are, text as columns of 0 and 1.

Enter: Arrow columns, and for text the values that count. Leave: one array of floats, and a name
for each of its columns: `speed`, `gear=low`, or `s.0` for lists. A missing value is NaN.
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bers.data.checks import data_error
from bers.data.columns import chunked, compute, is_list, is_numeric, listed, side_by_side
from bers.data.frames import column_block
from bers.errors import DataError, DataWarning
from bers.text import printable

MOST_LEVELS = 50
"""Text of more different values than this is refused."""
_MOSTLY = 0.8  # of a column's texts that are numbers: then the others are slips, not categories
_NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
_SIGN = "[%‰€$£¥°]"  # letters are not among them: "gear 2" is a name, not a number
_SIGNED = rf"^\s*[-+]?({_SIGN}\s*[-+]?[0-9.,]+|[0-9.,]+([eE][-+]?[0-9]+)?\s*{_SIGN})\s*$"


def kind_of(kind: Any) -> str:
    """What an Arrow type holds: number, text, empty, date or other.

    >>> import pyarrow as pa
    >>> kind_of(pa.bool_()), kind_of(pa.string()), kind_of(pa.date32()), kind_of(pa.null())
    ('number', 'text', 'date', 'empty')
    """
    import pyarrow.types as t

    if is_numeric(kind, lists=True):
        return "number"
    if t.is_null(kind):
        return "empty"
    if t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind):
        return "text"
    if t.is_dictionary(kind):
        return "text"
    return "date" if t.is_temporal(kind) else "other"


def refuse_kind(name: str, kind: Any, what: str) -> None:
    """Raise for a column that cannot be a feature.

    >>> import pyarrow as pa
    >>> refuse_kind("a", pa.int8(), "it")
    """
    leave = "or leave it out: bers.as_sources(..., x=[...])."
    if kind_of(kind) == "date":
        raise DataError(
            f"{what}: column {printable(name)!r} holds dates or times ({printable(str(kind))}). "
            f"Turn it into numbers, such as days since a start, {leave}"
        )
    if kind_of(kind) == "other":
        raise DataError(
            f"{what}: column {printable(name)!r} has type {printable(str(kind))}, neither numbers "
            f"nor text. Convert it, {leave}"
        )


def refuse_nearly_numbers(column: Any, name: str, what: str) -> None:
    """Raise for a column of text that would be numbers but for some cells, naming the first.

    >>> import pyarrow as pa
    >>> refuse_nearly_numbers(pa.chunked_array([["low", "7"]]), "gear", "it")
    """
    values = _given(_texts(column))
    _refuse_signs(values, name, what)
    odd, given = _odd_cells(values), len(values) - values.null_count
    if odd is None:
        return
    row = int(odd.argmax())
    word = json.dumps(printable(values[row].as_py(), 30), ensure_ascii=False)
    raise data_error(
        f"{what}: column {printable(name)!r} holds numbers but for {odd.sum()} of {given} cells, "
        f"the first in row {row}: {printable(repr(values[row].as_py()), 30)}. Write a number "
        f"there; or, if it stands for a missing value, pass csv=bers.CSV(missing={word}) and "
        "drop_nonfinite=True.",
        row=row,
    )


def _refuse_signs(values: Any, name: str, what: str) -> None:
    """Raise for text that is numbers with a sign beside them, such as 45.3%."""
    pc = compute()
    signed = pc.match_substring_regex(values, _SIGNED).fill_null(False)
    count, given = pc.sum(signed).as_py() or 0, len(values) - values.null_count
    if not count or count < _MOSTLY * given:
        return
    row = int(signed.to_numpy(zero_copy_only=False).argmax())
    cell = values[row].as_py().strip()
    sign = next(letter for letter in cell if letter in _SIGN)
    raise data_error(
        f"{what}: column {printable(name)!r} holds numbers with a sign, such as "
        f"{printable(repr(cell), 30)} in row {row}. Take the sign off; or, to read this as "
        f'{printable(cell.replace(sign, "").strip(), 30)}, pass csv=bers.CSV(units="{sign}").',
        row=row,
    )


def warn_left_out(kinds: Mapping[str, Any]) -> None:
    """Name columns of files that are not used because they hold no numbers, and why.

    >>> warn_left_out({})
    """
    if not kinds:
        return
    shown = [f"{printable(name, 30)!r} ({kind_of(kind)})" for name, kind in kinds.items()]
    more = f" and {len(shown) - 10} more" if len(shown) > 10 else ""
    text = any(kind_of(kind) == "text" for kind in kinds.values())
    use = " Text is used by bers.as_sources(..., categories=True)." if text else ""
    warnings.warn(
        f"left out, since they hold no numbers: columns {', '.join(shown[:10])}{more}.{use}",
        DataWarning,
        stacklevel=2,
    )


def _odd_cells(values: Any) -> np.ndarray | None:
    """Which cells of a text that holds mostly numbers are none; None where it is plain text."""
    is_number = compute().match_substring_regex(values, _NUMBER).fill_null(True)
    odd = ~is_number.to_numpy(zero_copy_only=False)
    given = len(odd) - values.null_count
    return odd if odd.any() and given - odd.sum() >= _MOSTLY * given else None


def in_words(column: Any, line: Callable[[int], int | None] | None = None) -> tuple[str, str, str]:
    """What a column holds, its range or some of its values, and how many are missing.

    `line` tells the line of a file in which a row is.

    >>> import pyarrow as pa
    >>> in_words(pa.chunked_array([[1.5, None, 3.0]]))
    ('numbers', '1.5 to 3', '1')
    >>> in_words(pa.chunked_array([["low", "high", "low"]]))
    ('text', 'high, low', '0')
    >>> in_words(pa.chunked_array([[*"12345", "ERR"]]))
    ('numbers but for 1', "'ERR' in row 5", '0')
    """
    pc, kind = compute(), kind_of(column.type)
    missing = str(column.null_count)
    if kind == "text":
        values = _given(_texts(column))
        odd = _odd_cells(values)
        if odd is not None:
            row = int(odd.argmax())
            found = None if line is None else line(row)
            place = f"row {row}" if found is None else f"line {found}"
            first = f"{printable(values[row].as_py(), 15)!r} in {place}"
            return f"numbers but for {odd.sum()}", first, missing
        levels = sorted(levels_of(column))
        some = ", ".join(printable(level, 15) for level in levels[:3])
        return kind, some + (f", ... ({len(levels)})" if len(levels) > 3 else ""), missing
    if kind == "number" and not is_list(column.type):
        ends = pc.min_max(pc.cast(column, "double", safe=False)).as_py()
        span = "" if ends["min"] is None else f"{ends['min']:.4g} to {ends['max']:.4g}"
        return "numbers", span, missing
    names = {"number": "lists of numbers", "date": "dates", "empty": "nothing"}
    return names.get(kind, printable(str(column.type), 20)), "", missing


def levels_of(column: Any) -> set[str]:
    """The different values of a column of text or categories, without those that are missing.

    >>> import pyarrow as pa
    >>> sorted(levels_of(pa.chunked_array([["b", "a", None, "b"]])))
    ['a', 'b']
    """
    return {value for value in _texts(column).unique().to_pylist() if value is not None}


def refuse_many(name: str, levels: Sequence[str]) -> None:
    """Raise for text of too many values.

    >>> refuse_many("gear", ["high", "low"])
    """
    if len(levels) > MOST_LEVELS:
        some = ", ".join(repr(printable(level, 20)) for level in levels[:3])
        raise DataError(
            f"column {printable(name)!r} holds {len(levels)} different texts ({some}, ...); at "
            f"most {MOST_LEVELS} become columns. Join some of them, or leave the column out: "
            "bers.as_sources(..., x=[...])."
        )


def indicators(column: Any, levels: Sequence[str], name: str, what: str) -> np.ndarray:
    """One column of 0 and 1 for each level; NaN in rows where the value is missing.

    >>> import pyarrow as pa
    >>> indicators(pa.chunked_array([["b", None]]), ["a", "b"], "gear", "it").tolist()
    [[0.0, 1.0], [nan, nan]]
    """
    import pyarrow as pa

    values = _texts(column)
    found = compute().index_in(values, value_set=pa.array(levels, pa.large_string()))
    places = found.fill_null(-1).to_numpy()
    missing = values.is_null().to_numpy(zero_copy_only=False)
    new = (places < 0) & ~missing
    if new.any():
        row = int(new.argmax())
        raise data_error(
            f"{what}: column {printable(name)!r} holds {printable(repr(values[row].as_py()))} in "
            f"row {row}, which no source has; they have: {listed(levels)}. Leave such rows out, or "
            "give sources that have it.",
            row=row,
        )
    result = np.zeros((len(places), len(levels)))
    rows = np.flatnonzero(places >= 0)
    result[rows, places[rows]] = 1.0
    result[missing] = np.nan
    return result


def refuse_missing(column: Any, name: str, what: str, way: str) -> None:
    """Raise where text is missing, naming column, row and count.

    >>> import pyarrow as pa
    >>> refuse_missing(pa.chunked_array([["b"]]), "gear", "it", "drop them")
    """
    missing = chunked(column).is_null().to_numpy()
    if missing.any():
        row = int(missing.argmax())
        raise data_error(
            f"{what}: column {printable(name)!r}: {missing.sum()} of {len(missing)} values are "
            f"missing, the first in row {row}. Repair the rows, or {way}.",
            row=row,
        )


def encoded(
    rows: Any, columns: Sequence[str], levels: Mapping[str, Sequence[str]], what: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Columns of an Arrow table as features, and their names; `levels` says which are text.

    >>> import pyarrow as pa
    >>> rows = pa.table({"gear": ["low", "high"], "speed": [1, 2]})
    >>> x, names = encoded(rows, ["speed", "gear"], {"gear": ["high", "low"]}, "it")
    >>> names, x.tolist()
    (('speed', 'gear=high', 'gear=low'), [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    """
    blocks: list[np.ndarray] = []
    names: list[str] = []
    for column in columns:
        values = rows.column(column)
        if column in levels:
            blocks.append(indicators(values, levels[column], column, what))
            names += [f"{column}={level}" for level in levels[column]]
        else:
            block, own = column_block(values, column, what)
            blocks.append(block)
            names += own
    sizes = {
        block.dtype.itemsize
        for block, column in zip(blocks, columns, strict=True)
        if column not in levels  # 0 and 1 fit into any
    }
    kind = np.float32 if sizes and max(sizes) <= 4 else np.float64
    return side_by_side(blocks, kind), tuple(names)


def column_behind(feature: str, schema: Any) -> str | None:
    """The column that a feature is made of: itself, or one of text or lists.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"speed": pa.int8(), "gear": pa.string()})
    >>> column_behind("gear=low", schema), column_behind("load", schema)
    ('gear', None)
    """
    if feature in schema.names:
        return feature
    found = [
        field.name
        for field in schema
        if (kind_of(field.type) in ("text", "empty") and feature.startswith(f"{field.name}="))
        or (
            is_list(field.type)
            and feature.startswith(f"{field.name}.")
            and feature[len(field.name) + 1 :].isdigit()
        )
    ]
    return max(found, key=len) if found else None


def _given(values: Any) -> Any:
    """Texts without those that stand for nothing in tables of text."""
    import pyarrow as pa
    import pyarrow.csv

    words = pa.array(pyarrow.csv.ConvertOptions().null_values, values.type)
    pc = compute()
    return pc.if_else(pc.is_in(values, words), pa.scalar(None, values.type), values)


def _texts(column: Any) -> Any:
    """Text or categories as text, in one chunk."""
    import pyarrow as pa

    values = chunked(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values.cast(pa.large_string()).combine_chunks()
