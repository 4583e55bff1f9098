"""Which columns of a table are features and which is the label.

Enter: the schema of somebody's table (Arrow types) and the names the user gave, if any.
Leave: a `Choice`. Only numbers are taken: whole, real, decimal, boolean, and lists of those
that are equally long; a column of anything else is refused by name.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
"""Columns taken as the label where none is named, first match first."""


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


def choose(
    schema: Any,
    x: str | Sequence[str] | None,
    y: str | None,
    origin: str,
    list_width: Callable[[str], int],
) -> Choice:
    """Pick the columns; `list_width` tells how long the lists in a column are.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"a": pa.float32(), "who": pa.string(), "reward": pa.float64()})
    >>> choose(schema, None, None, "t.csv", len)
    Choice(x=(Column(name='a', width=None, small=True),), y='reward', guessed=True)
    """
    names, guessed = list(schema.names), x is None or y is None
    for name, count in Counter(names).items():
        if count > 1:
            raise FileError(f"{origin}: {count} columns are named {printable(name)!r}; rename one.")
    y_name = _label(names, y, origin)
    if x is None:
        x = [n for n in names if n != y_name and is_numeric(schema.field(n).type, lists=True)]
    wanted = [x] if isinstance(x, str) else list(x)
    if not wanted:
        raise FileError(
            f"{origin}: no numeric column but the label {printable(y_name)!r}. It has: "
            f"{_listed(names)}. Name the features with x=..."
        )
    for name in (*wanted, y_name):
        _refuse(schema, name, names, origin, lists=name != y_name)
    columns = []
    for name in wanted:
        kind = schema.field(name).type
        width = list_width(name) if _is_list(kind) else None
        columns.append(Column(name, width, _is_small(kind)))
    return Choice(tuple(columns), y_name, guessed)


def is_numeric(kind: Any, *, lists: bool = False) -> bool:
    """Whether an Arrow type is a number, or where `lists` says so a list of numbers.

    >>> import pyarrow as pa
    >>> is_numeric(pa.int8()), is_numeric(pa.string()), is_numeric(pa.list_(pa.int8()))
    (True, False, False)
    """
    import pyarrow.types as t

    if _is_list(kind):
        return lists and is_numeric(kind.value_type)
    return t.is_boolean(kind) or t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)


def _label(names: list[str], y: str | None, origin: str) -> str:
    if y is not None:
        return y
    lowered = {name.lower(): name for name in reversed(names)}
    for guess in LABEL_NAMES:
        if guess in names or guess in lowered:
            return guess if guess in names else lowered[guess]
    raise FileError(
        f"{origin}: cannot tell which column is the label. It has: {_listed(names)}. "
        "Name the label with y=..."
    )


def _refuse(schema: Any, name: str, names: list[str], origin: str, *, lists: bool) -> None:
    if name not in names:
        close = difflib.get_close_matches(str(name), names, 1)
        hint = f" Did you mean {printable(close[0])!r}?" if close else ""
        raise FileError(
            f"{origin}: there is no column {printable(str(name))!r}; it has: "
            f"{_listed(names)}.{hint}"
        )
    kind = schema.field(name).type
    if not is_numeric(kind, lists=lists):
        raise FileError(
            f"{origin}: column {printable(name)!r} has type {printable(str(kind))}, not "
            f"{'numbers' if lists else 'one number a row'}. Convert it, or leave it out with "
            "x=[...] and y=... (--x and --y)."
        )


def _is_list(kind: Any) -> bool:
    import pyarrow.types as t

    return t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)


def _is_small(kind: Any) -> bool:
    import pyarrow.types as t

    kind = kind.value_type if _is_list(kind) else kind
    return t.is_float32(kind) or t.is_float16(kind)


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(printable(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
