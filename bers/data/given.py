"""Whatever a caller has, as sources whose columns agree.

Enter: sources, data frames, names of files, pairs (x, y), in a list or a mapping by name; and a
target. Leave: sources that all have the same columns in the same order. Columns are matched by
name. Text becomes columns of 0 and 1, one for each value that any of the tables holds, so all
tables must be there at once. What has no names, such as arrays, is matched by position.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import (
    checked_name,
    column_name_or_none,
    column_places,
    data_error,
    dropping,
    flag,
    in_lines,
    named_columns,
    numbers,
    refuse_bad,
)
from bers.data.columns import is_numeric, listed
from bers.data.demonstrations import Demonstrations, record_of
from bers.data.encoding import (
    column_behind,
    encoded,
    kind_of,
    levels_of,
    refuse_kind,
    refuse_many,
    refuse_missing,
    refuse_nearly_numbers,
    warn_left_out,
)
from bers.data.formats import Options, check_path, format_of
from bers.data.formats.delimited import CSV
from bers.data.formats.tables import Table, label_name
from bers.data.frames import (
    column_block,
    column_floats,
    column_name,
    frame_table,
    is_column,
    is_frame,
)
from bers.data.shards import Shards
from bers.data.source import Source
from bers.data.storage import STREAM_BYTES, checked_csv, load
from bers.errors import DataError, FileError
from bers.text import printable

_WAY = dropping("bers.as_sources")


def as_sources(
    sources: Sequence[Any] | Mapping[str, Any],
    target: Any = None,
    *,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    drop_nonfinite: bool = False,
    categories: bool = False,
    csv: CSV | None = None,
) -> tuple[list[Source], Source | None]:
    """Sources of whatever you have, with the same columns in the same order.

    Columns are matched by name, and put in the order of the first source that names them; arrays
    without names are matched by position. Text and categories become columns of 0 and 1, named
    `column=value`, for all values in any of the tables given. `bers.rank` and `bers.Trust` do
    this themselves; call it to choose columns, or to drop rows.

    Parameters
    ----------
    sources : sequence, or mapping by name
        Each a `Demonstrations` or `Shards`, a frame of pandas, Polars or the like, the name of a
        file (or a list of those that are one source), a pair (x, y), or a pair of a frame or file
        and the name of its label.
    target : same as one source, optional
        Rows of the new task.
    x : str or sequence of str, optional
        Columns to use; all but the label, unless given. Of a file, text is used where it is named
        here or where a frame beside it has it.
    y : str, optional
        Column that is the label; guessed from its usual names, unless given.
    drop_nonfinite : bool, default False
        Drop rows with values that are missing or not finite, with a warning, instead of refusing
        them.
    categories : bool, default False
        Use all text of files, as categories.
    csv : CSV, optional
        How tables of text are written: separator, decimal mark, encoding.

    Returns
    -------
    sources : list of Source
        Those that needed no change are the same objects.
    target : Source or None
        None if none was given.

    Raises
    ------
    DataError
        If columns do not agree, or hold something else than numbers, text and categories.

    Examples
    --------
    >>> import pandas as pd
    >>> alice = pd.DataFrame({"speed": [1.0, 2.0], "gear": ["low", "high"], "reward": [3.0, 4.0]})
    >>> bob = pd.DataFrame({"reward": [5.0], "gear": ["off"], "speed": [6.0]})
    >>> (a, b), _ = as_sources({"alice": alice, "bob": bob})
    >>> a.x_names
    ('speed', 'gear=high', 'gear=low', 'gear=off')
    >>> b.x.tolist(), b.y.tolist()
    ([[6.0, 0.0, 0.0, 1.0]], [5.0])
    """
    chosen = None if x is None else named_columns(x)
    flag(drop_nonfinite, "drop_nonfinite")
    flag(categories, "categories")
    how = _How(chosen, column_name_or_none(y), drop_nonfinite, categories, checked_csv(csv))
    every = [
        _opened(given, name, f"source {i}", how) for i, (name, given) in enumerate(_listed(sources))
    ]
    if target is not None:
        every.append(_opened(target, None, "target", how.after(every)))
    sure = [isinstance(one, _Loose) for one in every]
    agreed = _agreed(_settled(every, how), sure, how.x, targets=int(target is not None))
    return (agreed, None) if target is None else (agreed[:-1], agreed[-1])


def as_source(
    given: Any,
    *,
    name: str | None = None,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    drop_nonfinite: bool = False,
) -> Source:
    """One source of whatever there is; `as_sources` fits several to one another.

    >>> import polars as pl
    >>> as_source(pl.DataFrame({"a": [1, 2], "cost": [3, 4]}), name="alice")
    Demonstrations('alice', n=2, k=1, y 3 to 4)
    """
    one = [given] if name is None else {checked_name(name): given}
    return as_sources(one, x=x, y=y, drop_nonfinite=drop_nonfinite)[0][0]


def as_rows(x: Any, y: Any = None, *, like: Sequence[Source]) -> tuple[Any, Any]:
    """Rows of a target, for sources that are there already: inputs in their order, and labels.

    A source stays one, with its columns in the sources' order, and has no labels beside it. A frame
    or a file gives its columns by the sources' names, and leaves the others out; its label is `y`
    or, if that is None, the column called as the sources' label, or by a usual name. Labels may be
    missing: rows that failed. Arrays pass as they are.

    >>> import pandas as pd
    >>> run = Demonstrations([[1, 2]], [3], "run", x_names=("a", "b"), y_name="pay")
    >>> x, y = as_rows(pd.DataFrame({"b": [5.0], "pay": [7.0], "a": [6.0]}), like=[run])
    >>> x.tolist(), y.tolist()
    ([[6.0, 5.0]], [7.0])
    """
    if isinstance(like, str | bytes) or not isinstance(like, Sequence):
        raise DataError(f"like must be a list of sources; got {type(like).__name__}.")
    if y is None and isinstance(x, tuple) and len(x) == 2:
        x, y = x
    how = _How(None, y if isinstance(y, str) else None, False).after(like)
    if _is_path(x):
        x = _opened(x, None, "target", how)
    if isinstance(x, Demonstrations | Shards) or (not is_frame(x) and isinstance(x, Source)):
        every = [*like, x]
        return _agreed(every, [False] * len(every), None, targets=1)[-1], None
    what = x.what if isinstance(x, _Loose) else "'target'"
    table = x.table if isinstance(x, _Loose) else _table_of(x, what) if is_frame(x) else None
    if table is not None:
        rest = list(table.schema.names)
        if y is None or isinstance(y, str):
            label = how.label(rest, what)
            with in_lines(table.line):
                y = _label_floats(table.read([label]).column(0), label, what)
            rest.remove(label)
        with in_lines(table.line):
            x = _by_names(table, rest, _columns_of(like), what)
    return x, _labels(y, what)


def as_inputs(x: Any, names: Sequence[str]) -> Any:
    """Rows of inputs in the order of `names`: a frame's by its names, arrays as they are.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"speed": [2.0], "gear": ["low"]})
    >>> as_inputs(frame, ("gear=high", "gear=low", "speed")).tolist()
    [[0.0, 1.0, 2.0]]
    """
    if not is_frame(x):
        return x
    table = _table_of(x, "x")
    return _by_names(table, table.schema.names, names, "x")


# what was given


@dataclass(frozen=True)
class _How:
    """What the caller asked for."""

    x: tuple[str, ...] | None
    y: str | None
    drop_nonfinite: bool
    categories: bool = False
    csv: CSV = field(default_factory=CSV)
    usual: tuple[str, ...] = ()
    """What the label may be called, since it is called so elsewhere."""

    def after(self, sources: Sequence[Any]) -> "_How":
        """The same for a target: its label may be called as the sources' is."""
        return replace(self, usual=tuple(str(getattr(one, "y_name", "")) for one in sources))

    def label(self, names: Sequence[str], what: str) -> str:
        """The label among these columns."""
        y = self.y or next((name for name in self.usual if name in names), None)
        if y is not None and y in names:
            return y
        if y is not None:
            raise DataError(
                f"{what}: there is no column {printable(y)!r} for the label; it has: "
                f"{listed(names)}. Name another with y=..."
            )
        with _as_data_error():
            return label_name(names, None, what)


@dataclass(frozen=True)
class _Loose:
    """A table whose columns wait for the other tables' before they are settled."""

    name: str
    what: str
    """How it is called in errors."""
    table: Table
    y_name: str
    labels: Any
    """Those handed over beside the table, if they were."""
    guessed: bool
    taken: tuple[str, ...]
    """Columns that are features for sure."""
    offered: tuple[str, ...] = ()
    """Columns that are features if another source has them."""

    def kind(self, column: str) -> str:
        """What a column holds."""
        return kind_of(self.table.schema.field(column).type)

    def columns(self, needed: set[str]) -> list[str]:
        """Those that become features, once it is known what others have."""
        chosen = [c for c in (*self.taken, *self.offered) if c in self.taken or c in needed]
        chosen = chosen or list(self.offered)
        if not chosen:
            raise DataError(
                f"{self.what}: there is no column but the label {printable(self.y_name)!r}. Give "
                "inputs too, or name the label with y=..."
            )
        return chosen

    def left_out(self, columns: Sequence[str]) -> dict[str, Any]:
        """Arrow types of the columns that do not become features; nearly numbers are refused."""
        left = [n for n in self.table.schema.names if n != self.y_name and n not in columns]
        for name in left:
            if self.kind(name) == "text":
                with in_lines(self.table.line):
                    refuse_nearly_numbers(self.table.read([name]).column(0), name, self.what)
        return {name: self.table.schema.field(name).type for name in left}

    def read(self, columns: Sequence[str]) -> Any:
        """These columns and, where it is one, the label, as an Arrow table."""
        return self.table.read([*columns, *([self.y_name] if self.labels is None else [])])


def _listed(sources: Any) -> list[tuple[str | None, Any]]:
    """Sources with the names they were given under."""
    many = isinstance(sources, Mapping | Sequence) and not isinstance(sources, str | bytes)
    if not many or not sources:
        raise DataError(
            "sources must be a list of at least one source; got "
            f"{type(sources).__name__}. {'Give one or more.' if many else 'Put it in [ ].'}"
        )
    if not isinstance(sources, Mapping):
        return [(None, given) for given in sources]
    for name in sources:
        if not isinstance(name, str):
            raise DataError(f"names of sources must be text; got {name!r}. Rename it.")
    return list(sources.items())


def _is_path(given: Any) -> bool:
    """Whether this names a file, or several that are one source."""
    if isinstance(given, list):
        return bool(given) and all(isinstance(one, str | os.PathLike) for one in given)
    return isinstance(given, str | os.PathLike)


def _opened(given: Any, name: str | None, else_name: str, how: _How) -> Any:
    """One of those given: a source, or a table that waits for the others."""
    if isinstance(given, Demonstrations | Shards):
        return given if name in (None, given.name) else given.renamed(name)
    if is_frame(given):
        return _frame(given, None, name or else_name, how)
    if isinstance(given, Source):
        rename = getattr(given, "renamed", None)
        return given if name is None or rename is None else rename(name)
    if _is_path(given):
        return _file(given, name, how)
    if isinstance(given, tuple) and len(given) == 2:
        first, second = given
        if isinstance(second, str) and (is_frame(first) or _is_path(first)):
            return _opened(first, name, else_name, replace(how, y=second))
        if is_frame(first):
            return _frame(first, second, name or else_name, how)
        if not _is_path(first):
            with _whose(f"'{printable(name or else_name)}'"):
                how_to = {"drop_nonfinite": how.drop_nonfinite, "way": _WAY}
                return record_of(first, second, name or else_name, **how_to)
    raise DataError(
        f"{printable(name or else_name)} must be Demonstrations or Shards, a frame, a file or a "
        f"pair (x, y); got {type(given).__name__}. Make one by bers.load(path), or "
        "bers.Demonstrations(x, y, name)."
    )


def _frame(frame: Any, labels: Any, name: str, how: _How) -> _Loose:
    """A data frame: all its columns are features, but for the label."""
    what = f"'{printable(name)}'"
    table = _table_of(frame, what)
    names = list(table.schema.names)
    if labels is None:
        y_name = how.label(names, what)
        names.remove(y_name)
    else:
        y_name = column_name(labels) or "y"
        if y_name in names:
            raise DataError(
                f"{what}: column {printable(y_name)!r} is the label and an input. Leave it out of "
                "the inputs."
            )
    taken = tuple(names) if how.x is None else _named(how.x, table, what, y_name)
    for column in taken:
        refuse_kind(column, table.schema.field(column).type, what)
    guessed = labels is None and (how.x is None or how.y is None)
    return _Loose(name, what, table, y_name, _labels(labels, what), guessed, taken)


def _file(path: Any, name: str | None, how: _How) -> Any:
    """A file: one that BERS wrote as it is, another as a table whose text is offered."""
    check_path(path)
    kind = format_of(path)
    options = Options(max_bytes=STREAM_BYTES, csv=how.csv)
    table = kind.open_table(path, options) if kind.open_table else None
    if table is None:
        more = {"name": name, "drop_nonfinite": how.drop_nonfinite}
        more |= {"csv": how.csv} if kind.is_text else {}
        found = load(path, **more)
        return found if how.y in (None, found.y_name) else load(path, x=how.x, y=how.y, **more)
    first = Path(path[0] if isinstance(path, list) else path)
    what, name = first.name, kind.stem(first) if name is None else name
    names = list(table.schema.names)
    _refuse_twice(names, what)
    y_name = how.label(names, what)
    rest = [column for column in names if column != y_name]
    kinds = {column: kind_of(table.schema.field(column).type) for column in rest}
    if how.x is not None:
        taken, offered = _named(how.x, table, what, y_name), ()
        for column in taken:
            refuse_kind(column, table.schema.field(column).type, what)
    else:
        # without rows, nothing says what a column of a CSV file holds
        open_kinds = ("text",) if table.rows else ("text", "empty")
        sure = ("number", "text") if how.categories else ("number",)
        taken = tuple(column for column in rest if kinds[column] in sure)
        offered = tuple(c for c in rest if kinds[c] in open_kinds and c not in taken)
    guessed = how.x is None or how.y is None
    return _Loose(name, what, table, y_name, None, guessed, taken, offered)


def _table_of(frame: Any, what: str) -> Table:
    """A frame as a table."""
    rows = frame_table(frame, what)
    if not rows.num_columns:
        raise DataError(f"{what}: the frame has no columns. Give it inputs and a label.")
    return Table(rows.schema, rows.num_rows, rows.select)


def _refuse_twice(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise DataError(
                f"{what}: {names.count(name)} columns are named {printable(name)!r}. Rename one."
            )


def _named(x: Sequence[str], table: Table, what: str, y_name: str) -> tuple[str, ...]:
    """Columns behind the names that the caller chose."""
    behind = {name: column_behind(name, table.schema) for name in x}
    lost = [name for name, column in behind.items() if column is None]
    if lost:
        column_places(lost, table.schema.names, what.strip("'"))
    if y_name in behind.values():
        raise DataError(
            f"{what}: column {printable(y_name)!r} is the label and an input. Leave it out of x, "
            "or name another label with y=..."
        )
    return tuple(dict.fromkeys(column for column in behind.values() if column is not None))


def _labels(y: Any, what: str) -> Any:
    """Labels of a frame's kind as floats; others as they are."""
    if is_frame(y):
        rows = frame_table(y, what)
        if rows.num_columns != 1:
            raise DataError(
                f"{what}: the labels have {rows.num_columns} columns "
                f"({listed(rows.column_names)}). Give one."
            )
        return column_floats(rows.column(0), rows.column_names[0], what)
    return column_floats(y, column_name(y) or "y", what) if is_column(y) else y


def _label_floats(column: Any, name: str, what: str) -> np.ndarray:
    """One column of a table as labels."""
    if not is_numeric(column.type) and kind_of(column.type) != "empty":
        if kind_of(column.type) == "text":
            refuse_nearly_numbers(column, name, what)
        raise DataError(
            f"{what}: the label {printable(name)!r} has type {printable(str(column.type))}, not "
            "one number a row. Convert it, or name another with y=..."
        )
    return column_block(column, name, what)[0][:, 0].astype(np.float64)


# what they have in common


@dataclass(frozen=True)
class _Read:
    """The columns of a table that become features, read."""

    table: _Loose
    columns: list[str]
    rows: Any

    def kind(self, column: str) -> str | None:
        """What a column holds; None if it does not become a feature."""
        return self.table.kind(column) if column in self.columns else None


def _settled(every: Sequence[Any], how: _How) -> list[Source]:
    """Tables as records, their text by the values that any of them holds."""
    tables = [one for one in every if isinstance(one, _Loose)]
    others = [name for one in every if not isinstance(one, _Loose) for name in _names(one)]
    needed = {column for table in tables for column in table.taken}
    needed |= {
        column
        for table in tables
        for column in table.offered
        if any(name == column or name.startswith(f"{column}=") for name in others)
    }
    read, left = [], {}
    for table in tables:
        columns = table.columns(needed)
        read.append(_Read(table, columns, table.read(columns)))
        left |= table.left_out(columns) if how.x is None else {}
    warn_left_out(left)
    texts = {column for one in read for column in one.columns if one.kind(column) == "text"}
    levels = {column: _levels(column, read, others, how.x or ()) for column in sorted(texts)}
    made = iter([_record_in_lines(one, levels, how) for one in read])
    return [next(made) if isinstance(one, _Loose) else one for one in every]


def _levels(
    column: str, read: Sequence[_Read], others: Sequence[str], x: Sequence[str]
) -> list[str]:
    """All values of a column of text, in order; or those that the caller named."""
    for one in read:
        if one.kind(column) == "text":
            with in_lines(one.table.table.line):
                refuse_nearly_numbers(one.rows.column(column), column, one.table.what)
    holds = {one.kind(column): one.table.what for one in read}
    if "number" in holds:
        raise DataError(
            f"column {printable(column)!r} holds text in {holds['text']} and numbers in "
            f"{holds['number']}. Make them alike, or rename one."
        )
    start, found = f"{column}=", set()
    for one in read:
        if one.kind(column):
            found |= levels_of(one.rows.column(column))
    found |= {name.removeprefix(start) for name in others if name.startswith(start)}
    named = [name.removeprefix(start) for name in x if name.startswith(start)]
    levels = named if named and column not in x else sorted(found)
    refuse_many(column, levels)
    return levels


def _record_in_lines(one: _Read, *how: Any) -> Demonstrations:
    """A table as a record; of a file of text, errors name lines."""
    with in_lines(one.table.table.line):
        return _record(one, *how)


def _record(one: _Read, levels: Mapping[str, Sequence[str]], how: _How) -> Demonstrations:
    """A table as a record, checked."""
    table, rows, y = one.table, one.rows, one.table.labels
    if not how.drop_nonfinite:
        for column in one.columns:
            if column in levels:
                refuse_missing(rows.column(column), column, table.what, _WAY)
    x, x_names = encoded(rows, one.columns, levels, table.what)
    if y is None:
        y = _label_floats(rows.column(table.y_name), table.y_name, table.what)
    with _whose(table.what):
        y = numbers(y, "y", (table.y_name,))
        return record_of(
            x,
            y,
            table.name,
            x_names=x_names,
            y_name=table.y_name,
            columns_guessed=table.guessed,
            drop_nonfinite=how.drop_nonfinite,
            way=_WAY,
        )


def _by_names(table: Table, rest: Sequence[str], names: Sequence[str], what: str) -> np.ndarray:
    """Inputs of a table by the names that sources have; by position, where those have none."""
    behind = {name: column_behind(name, table.schema) for name in names}
    lost = [name for name, column in behind.items() if column is None]
    if not names or (lost and _by_default(names)):
        columns: list[str] = list(rest)
        texts = [column for column in columns if kind_of(table.schema.field(column).type) == "text"]
        if texts or (names and len(columns) != len(names)):
            raise DataError(
                f"{what} has the columns {listed(columns)}; the sources have {len(names)} columns "
                "of numbers without names. Give as many, or name those of the sources: "
                "bers.Demonstrations(..., x_names=[...])."
            )
        names = columns
        behind = dict(zip(columns, columns, strict=True))
    elif lost:
        raise DataError(
            f"{what} lacks the column {_either(lost)}; it has: {listed(rest)}. Give the columns "
            "that the sources have."
        )
    columns = list(dict.fromkeys(column for column in behind.values() if column is not None))
    levels: dict[str, list[str]] = {}
    for name, column in behind.items():
        if column is not None and name != column and name.startswith(f"{column}="):
            levels.setdefault(column, []).append(name.removeprefix(f"{column}="))
    rows = table.read(columns)
    for column in columns:
        refuse_kind(column, table.schema.field(column).type, what)
        if column in levels:
            refuse_missing(rows.column(column), column, what, "leave them out")
        elif kind_of(table.schema.field(column).type) == "text":
            raise DataError(
                f"{what}: column {printable(column)!r} holds text, the sources' holds numbers. "
                "Make them alike."
            )
    x, found = encoded(rows, columns, levels, what)
    x = x if found == tuple(names) else np.take(x, column_places(names, found, what), axis=1)
    with _whose(what):
        refuse_bad(x, np.zeros(len(x)), names, "y", way="leave them out")
    return np.ascontiguousarray(x)


def _agreed(
    every: Sequence[Source], sure: Sequence[bool], x: Sequence[str] | None, targets: int
) -> list[Source]:
    """All with the columns of the first that names them; `sure` says whose names are not ours."""
    if x is not None:
        every = [_picked(one, known, x) for one, known in zip(every, sure, strict=True)]
    named = [
        one
        for one, known in zip(every, sure, strict=True)
        if _names(one) and (known or not _by_default(_names(one)))
    ]
    first = named[0] if named else every[0]
    return [
        _fitted(one, known, first, bool(named), target=i >= len(every) - targets)
        for i, (one, known) in enumerate(zip(every, sure, strict=True))
    ]


def _picked(one: Source, sure: bool, x: Sequence[str]) -> Source:
    """A source with the columns that the caller chose, text by its values."""
    own = _names(one)
    chosen = []
    for name in x:
        parts = [each for each in own if each == name] or [
            each
            for each in own
            if each.startswith(f"{name}=")
            or (each.startswith(f"{name}.") and each[len(name) + 1 :].isdigit())
        ]
        if not parts and (not own or (_by_default(own) and not sure)):
            return one
        chosen += parts or [name]
    return one if tuple(chosen) == own else _selected(one, chosen)


def _fitted(one: Source, sure: bool, first: Source, named: bool, *, target: bool) -> Source:
    """A source with its columns in the order of the first's."""
    own, like = _names(one), _names(first)
    if named and own and set(own) == set(like):
        return one if own == like else _selected(one, like)
    if named and own and (sure or not _by_default(own)):
        raise DataError(_difference(one, first))
    if one.dim == first.dim:
        return one
    if target:
        raise DataError(
            f"the target has {_counted(one)} inputs, the sources have {_counted(first)}. Give the "
            "same columns."
        )
    raise DataError(
        f"all sources must have the same inputs; {printable(first.name)!r} has {_counted(first)}, "
        f"{printable(one.name)!r} has {_counted(one)}. Choose columns that all have, by x=[...] "
        "when loading."
    )


def _selected(one: Any, names: Sequence[str]) -> Source:
    if not hasattr(one, "select"):
        raise DataError(
            f"{printable(one.name)!r} has its columns in another order and no select(columns). "
            f"Give them in this order: {listed(names)}."
        )
    return one.select(names)


def _difference(one: Source, first: Source) -> str:
    """Which columns only one of two sources has, in words."""
    own, like = _names(one), _names(first)
    lacks = [(one, _whole_columns([c for c in like if c not in own], own))]
    lacks += [(first, _whole_columns([c for c in own if c not in like], like))]
    words = [f"{printable(who.name)!r} lacks {_either(lost)}" for who, lost in lacks if lost]
    return (
        f"columns differ: {', and '.join(words)}. Rename or drop columns, or choose those that all "
        "have: bers.as_sources(..., x=[...])."
    )


def _whole_columns(lost: Sequence[str], own: Sequence[str]) -> list[str]:
    """Names of columns; one of text by its own name, where all of its values are lost."""
    starts = {name: name.partition("=")[0] for name in lost}
    return list(
        dict.fromkeys(
            start if start != name and not any(c.startswith(f"{start}=") for c in own) else name
            for name, start in starts.items()
        )
    )


def _names(one: Any) -> tuple[str, ...]:
    return tuple(getattr(one, "x_names", ()))


def _columns_of(like: Sequence[Source]) -> tuple[str, ...]:
    """Names that sources have, given by somebody if by anybody."""
    every = [_names(one) for one in like if _names(one)]
    return next((names for names in every if not _by_default(names)), every[0] if every else ())


def _by_default(names: Sequence[str]) -> bool:
    """Whether these are the names of what has no names."""
    return tuple(names) == tuple(f"x{j}" for j in range(len(names)))


def _counted(one: Source) -> str:
    names = _names(one)
    return f"{one.dim} ({printable(', '.join(names), 60)})" if names else str(one.dim)


def _either(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(repr(printable(name)) for name in names[:most]) + (
        f" and {len(names) - most} more" if len(names) > most else ""
    )


@contextmanager
def _whose(what: str) -> Iterator[None]:
    """Errors that say whose rows they are about."""
    try:
        yield
    except DataError as error:
        raise data_error(f"{what}: {error}", row=error.row) from None


@contextmanager
def _as_data_error() -> Iterator[None]:
    """What readers of files say, of what is no file."""
    try:
        yield
    except FileError as error:
        raise DataError(str(error)) from None
