"""What every loader and constructor asks of rows and settings before they are used.

Enter: whatever the caller had, plus the names of the columns and, for files, the origin to
name in errors. Leave: private, read-only, native-endian copies. Features are float32 or
float64, labels float64; a payload keeps its type to the bit. A setting that is wrong is an error
that names it and says what it must be.
"""

import difflib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from bers.errors import ConfigError, DataError, DataWarning, FileError
from bers.text import printable

LARGEST = 1e150
"""Larger values are refused: their squares would overflow further on."""

MOST_COLUMNS = 1_000_000
"""A row of more numbers than this is refused; without rows, its width costs a file nothing."""

_EXACT = 2**53


def usable(y: np.ndarray) -> np.ndarray:
    """Where a label can be modelled: finite, and not too large.

    >>> usable(np.array([1.0, np.inf, 1e200])).tolist()
    [True, False, False]
    """
    return np.abs(y) <= LARGEST


def far_labels(y: np.ndarray) -> np.ndarray:
    """Rows whose label lies far from the rest: more than 20 interquartile ranges outside them.

    >>> far_labels(np.array([1.0, 2.0, 3.0, 1e6, 2.5]))
    array([3])
    """
    if len(y) < 4:
        return np.empty(0, dtype=np.int64)
    low, high = np.quantile(y, [0.25, 0.75])
    reach = 20 * (high - low)
    far = np.flatnonzero((y < low - reach) | (y > high + reach))
    # many of them are a kind of their own, such as rare rewards
    return far if len(far) <= max(1, len(y) // 100) else far[:0]


def data_error(message: str, origin: str = "", row: int | None = None) -> DataError:
    """Make an error, naming the file the rows came from where there is one; `row` if it names one.

    >>> str(data_error("column 'y' is empty.", "a.csv"))
    "a.csv: column 'y' is empty."
    """
    error = FileError(f"{origin}: {message}") if origin else DataError(message)
    error.row = row
    return error


@contextmanager
def in_lines(line: Callable[[int], int | None] | None) -> Iterator[None]:
    """Errors that name a row name the line of its file instead, where `line` knows it.

    >>> try:
    ...     with in_lines(lambda row: row + 2):
    ...         raise data_error("a gap, the first in row 4.", row=4)
    ... except DataError as error:
    ...     print(error)
    a gap, the first in line 6 of the file.
    """
    try:
        yield
    except DataError as error:
        found = None if line is None or error.row is None else line(error.row)
        if found is None:
            raise
        said = str(error).replace(f"in row {error.row}", f"in line {found} of the file", 1)
        raise type(error)(said) from error


def checked_name(name: object, what: str = "name", origin: str = "") -> str:
    """A string that can be written to any file; an empty one is fine.

    >>> checked_name("alice")
    'alice'
    """
    if not isinstance(name, str):
        raise data_error(f"{what} must be a string; got {type(name).__name__}.", origin)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise data_error(f"{what} {name[:60]!a} is not valid text. Rename it.", origin) from None
    return str(name)


def named_columns(names: Any, what: str = "x") -> tuple[str, ...]:
    """Names of columns, of which one may be given alone.

    >>> named_columns("speed"), named_columns(["speed", "load"])
    (('speed',), ('speed', 'load'))
    """
    if isinstance(names, str):
        return (names,)
    found: list[Any] = [None]
    if isinstance(names, np.ndarray):
        found = names.tolist() if names.ndim == 1 else [None]
    elif not isinstance(names, bytes | Mapping):
        with suppress(TypeError):  # it cannot be gone through
            found = list(names)
    if not all(isinstance(name, str) for name in found):
        raise ConfigError(
            f"{what} must be names of columns, such as ['speed', 'load']; got "
            f"{printable(repr(names))}."
        )
    return tuple(found)


def given_names(x_names: Any, origin: str = "") -> tuple[Any, ...]:
    """Names for the features, which are looked at one by one later; None stands for none.

    >>> given_names(None), given_names("speed")
    ((), ('speed',))
    """
    if x_names is None or isinstance(x_names, str):
        return () if x_names is None else (x_names,)
    try:
        return tuple(x_names)
    except TypeError:
        kind = type(x_names).__name__
        raise data_error(f"x_names must be names of columns; got {kind}.", origin) from None


def flag(value: Any, what: str) -> bool:
    """True or False, or an error that names the setting.

    >>> flag(np.True_, "drop_nonfinite")
    True
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ConfigError(f"{what} must be True or False; got {printable(repr(value))}.")


def column_name_or_none(value: Any, what: str = "y") -> str | None:
    """The name of one column, if it is given.

    >>> column_name_or_none("reward")
    'reward'
    """
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(
        f"{what} must be the name of a column, such as 'reward'; got {printable(repr(value))}."
    )


def column_names(x_names: Sequence[str], y_name: str, k: int, origin: str = "") -> tuple[str, ...]:
    """Names of the feature columns: one each, all different, none equal to the label's.

    >>> column_names((), "y", 2)
    ('x0', 'x1')
    """
    names = given_names(x_names, origin) or tuple(f"x{j}" for j in range(k))
    for name in (*names, y_name):
        if not checked_name(name, "a column name", origin) or "\0" in name:
            raise data_error(f"column name {name!a} is empty or holds a zero. Rename it.", origin)
    if len(names) != k:
        raise data_error(f"x has {k} columns but x_names has {len(names)}; give one each.", origin)
    seen = set()
    for name in (*names, y_name):
        if name in seen:
            raise data_error(f"two columns are named {printable(name)!r}. Rename one.", origin)
        seen.add(name)
    return names


def column_places(columns: str | Sequence[str], names: Sequence[str], whose: str) -> list[int]:
    """Where the columns named are among all names; each may be named once.

    >>> column_places(["c", "a"], ("a", "b", "c"), "alice")
    [2, 0]
    """
    wanted = list(named_columns(columns, "columns"))
    if not wanted:
        raise DataError(f"{printable(whose)!r}: no column was named. Name one or more.")
    place = {name: j for j, name in enumerate(names)}
    for i, name in enumerate(wanted):
        if name not in place:
            close = difflib.get_close_matches(str(name), names, 1)
            hint = f" Did you mean {printable(close[0])!r}?" if close else ""
            has = printable(", ".join(names), 200)
            raise DataError(
                f"{printable(whose)!r} has no column {printable(str(name))!r}; it has: {has}.{hint}"
            )
        if name in wanted[:i]:
            raise DataError(f"column {printable(name)!r} is named twice. Name it once.")
    return [place[name] for name in wanted]


def numbers(values: Any, what: str, names: Sequence[str] = (), origin: str = "") -> np.ndarray:
    """An array of booleans, integers or floats; anything else is refused, its column named.

    Masked entries become NaN, so that the check for missing values sees them.

    >>> numbers([[1, 2]], "x").shape
    (1, 2)
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise data_error(
            f"{what} is not a rectangular array of numbers ({error}). "
            "Give every row the same number of numbers.",
            origin,
        ) from error
    if array.dtype.kind not in "biuf":
        raise data_error(_not_numbers(array, what, names), origin)
    return array


def features(x: Any, x_names: Sequence[str], y_name: str, origin: str = "") -> np.ndarray:
    """Check the features; return them as (n, k), or (n, 1) where one column was given.

    >>> features([1, 2, 3], (), "y").shape
    (3, 1)
    """
    array = numbers(x, "x", x_names, origin)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise data_error(
            f"x must have shape (rows, columns) with a column or more; got {array.shape}. "
            "Flatten each row first.",
            origin,
        )
    refuse_wide(array.shape, "x", origin)
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    names = column_names(x_names, y_name, array.shape[1], origin)
    return _as_float(array, np.float32 if small else np.float64, names, origin)


def refuse_wide(shape: Sequence[int], what: str, origin: str = "") -> None:
    """Raise for an array whose rows hold too many numbers, before anything is made of them.

    >>> refuse_wide((3, 4, 5), "x")
    """
    width = prod(shape[1:])
    if width > MOST_COLUMNS:
        raise data_error(
            f"{what} has {width:,} numbers a row; at most {MOST_COLUMNS:,} are taken. Leave some "
            "out, or turn the array if rows and columns are swapped.",
            origin,
        )


def labels(y: Any, y_name: str, n: int, origin: str = "") -> np.ndarray:
    """Check the labels, one for each of the `n` rows of features.

    >>> labels([1, 2], "y", 2)
    array([1., 2.])
    """
    array = numbers(y, "y", (y_name,), origin)
    if array.ndim != 1:
        raise data_error(
            f"y must have shape (rows,); got {array.shape}. Use y.ravel() if it is one column.",
            origin,
        )
    if len(array) != n:
        raise data_error(f"x has {n} rows but y has {len(array)}. Give one label a row.", origin)
    return _as_float(array, np.float64, (y_name,), origin)


def payloads(
    payload: Mapping[str, Any] | None, n: int, origin: str = ""
) -> Mapping[str, np.ndarray]:
    """Check what the learner consumes: named arrays of `n` rows, types kept.

    >>> payloads({"done": [True, False]}, 2)["done"]
    array([ True, False])
    """
    if payload is not None and not isinstance(payload, Mapping):
        kind = type(payload).__name__
        raise data_error(f"payload must map names to arrays; got {kind}.", origin)
    kept = {}
    for name, values in (payload or {}).items():
        if not checked_name(name, "a payload name", origin) or "\0" in name:
            raise data_error(f"payload name {name!a} is empty or holds a zero. Rename it.", origin)
        array = numbers(values, f"payload {printable(name)!r}", origin=origin)
        if array.dtype.itemsize > 8:
            raise data_error(
                f"payload {printable(name)!r} has type {array.dtype}. Convert it to float64.",
                origin,
            )
        if array.ndim == 0 or len(array) != n:
            raise data_error(
                f"payload {printable(name)!r} has shape {array.shape}, but x has {n} rows. "
                "Give one entry a row.",
                origin,
            )
        refuse_wide(array.shape, f"payload {printable(name)!r}", origin)
        kept[name] = read_only(array.astype(array.dtype.newbyteorder("="), order="C"))
    return MappingProxyType(kept)


def good_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which rows are finite and small enough to be used.

    >>> good_rows(np.array([[1.0], [2.0]]), np.array([0.0, np.nan]))
    array([ True, False])
    """
    return _usable(x).all(axis=1) & _usable(y)


def refuse_bad(
    x: np.ndarray,
    y: np.ndarray,
    x_names: Sequence[str],
    y_name: str,
    origin: str = "",
    first_row: int = 0,
    way: str = "leave them out",
) -> None:
    """Raise for the first column with a value that is not finite, or too large.

    `first_row` is where these rows start in the file they come from, `way` how to be rid of them.

    >>> refuse_bad(np.ones((2, 1)), np.ones(2), ("x0",), "y")
    """
    if _in_range(x) and _in_range(y):
        return
    for name, column in [*zip(x_names, x.T, strict=True), (y_name, y)]:
        bad = ~np.isfinite(column)
        advice = f"Repair the rows, or {way}."
        problem = "not finite (NaN, infinite or missing)"
        if not bad.any():
            bad = ~_usable(column)
            problem = f"beyond ±{LARGEST:g}"
            advice = f"Rescale the column, or {way.replace('them', 'the rows')}."
        if bad.any():
            row = first_row + int(bad.argmax())
            raise data_error(
                f"column {printable(name)!r}: {bad.sum()} of {len(column)} values are {problem}, "
                f"the first in row {row}. {advice}",
                origin,
                row,
            )


def dropping(function: str = "") -> str:
    """How to be rid of rows with missing values, by the word that a function takes.

    >>> dropping("bers.as_sources"), dropping()
    ('drop them: bers.as_sources(..., drop_nonfinite=True)', 'drop them: drop_nonfinite=True')
    """
    word = "drop_nonfinite=True"
    return f"drop them: {function}(..., {word})" if function else f"drop them: {word}"


def read_only(array: np.ndarray) -> np.ndarray:
    """Forbid writing to an array that is ours.

    >>> read_only(np.zeros(2)).flags.writeable
    False
    """
    array.flags.writeable = False
    return array


def warn_dropped(name: str, count: int, n: int, origin: str) -> None:
    """Say how many rows were left out.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_dropped("alice", 1, 5, "a.csv")
    >>> str(caught[0].message)
    "a.csv: 'alice': dropped 1 of 5 rows with values that are not finite or beyond ±1e+150."
    """
    where = f"{origin}: " if origin else ""
    warnings.warn(
        f"{where}{printable(name)!r}: dropped {count} of {n} rows with values that are "
        f"not finite or beyond ±{LARGEST:g}.",
        DataWarning,
        stacklevel=4,
    )


MOST_POINTS = 10**6
"""Of a population; more are not held in memory."""
MOST_BATCHES = 10**9
"""Of training; more would take days."""
MOST_DRAWS = 10**6
"""Of the posteriors; more would not be done in a day."""


def whole(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """A whole number of at least `least`, or an error that names the setting.

    >>> whole(3, "size")
    3
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        if most is not None and value > most:
            raise ConfigError(f"{what} must be at most {most:,}; got {value}.")
        return int(value)
    raise ConfigError(f"{what} must be a whole number of at least {least}; got {value!r}.")


def one_of(value: Any, what: str, *known: str | None) -> Any:
    """One of a few words, or an error that names the setting and the words.

    >>> one_of("raw", "labels", "standardised", "raw")
    'raw'
    """
    if (value is None or isinstance(value, str)) and value in known:
        return value
    words = [str(word) if word is None else f'"{word}"' for word in known]
    listed = f"{', '.join(words[:-1])} or {words[-1]}"
    raise ConfigError(f"{what} must be {listed}; got {printable(repr(value), 80)}.")


def number(value: Any, what: str, words: str = "a number") -> float:
    """A float that may be infinite but not NaN, or an error that names the setting.

    >>> number(np.inf, "tol")
    inf
    """
    good = isinstance(value, int | float | np.integer | np.floating)
    if not good or isinstance(value, bool) or value != value:
        raise ConfigError(f"{what} must be {words}; got {printable(repr(value), 80)}.")
    try:
        return float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf") if value > 0 else -float("inf")


def share(value: Any, what: str) -> float:
    """A number between 0 and 1, or an error that names the setting.

    >>> share(0.9, "level")
    0.9
    """
    good = isinstance(value, float | np.floating)
    if not good or not 0 < value < 1:
        raise ConfigError(f"{what} must lie between 0 and 1; got {printable(repr(value), 80)}.")
    return float(value)


def generator(rng: Any) -> np.random.Generator:
    """A NumPy generator, or an error that says how to make one.

    >>> generator(np.random.default_rng(0)) is not None
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    raise ConfigError(
        f"rng must be a NumPy Generator; got {type(rng).__name__}. "
        "Make one with numpy.random.default_rng(seed)."
    )


def random_numbers(rng: Any) -> np.random.Generator:
    """A generator of whatever NumPy makes one of: nothing, a whole number, a generator.

    >>> random_numbers(0).integers(100) == random_numbers(np.random.default_rng(0)).integers(100)
    np.True_
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"rng must be a whole number of at least 0, a NumPy Generator or None; got {rng!r:.80}."
        ) from error


def finite_number(value: Any, what: str) -> float:
    """A finite float, or an error that names the setting.

    >>> finite_number(1, "Trim(low=...)")
    1.0
    """
    good = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        found = float(value) if good else float("nan")
    except OverflowError:  # a whole number of hundreds of digits
        found = float("inf")
    if not np.isfinite(found):
        raise ConfigError(f"{what} must be a finite number; got {printable(repr(value))}.")
    return found


def _in_range(values: np.ndarray) -> bool:
    """Whether all are usable, in two quick passes that make no array."""
    if values.size == 0:
        return True
    limit = LARGEST if values.dtype == np.float64 else float(np.finfo(values.dtype).max)
    return bool(-limit <= values.min() and values.max() <= limit)


def _usable(values: np.ndarray) -> np.ndarray:
    # float32 ends long before the limit, which it could not even hold.
    return np.isfinite(values) if values.dtype == np.float32 else np.abs(values) <= LARGEST


def _as_float(array: np.ndarray, dtype: type, names: Iterable[str], origin: str) -> np.ndarray:
    if array.dtype.kind in "iu" and array.size:
        columns = array[:, None] if array.ndim == 1 else array
        for name, column in zip(names, columns.T, strict=True):
            if column.max() > _EXACT or column.min() < -_EXACT:
                raise data_error(
                    f"column {printable(name)!r} holds integers beyond ±2**53, which a float "
                    "cannot hold exactly. Subtract an offset, or convert them to floats yourself.",
                    origin,
                )
    with np.errstate(over="ignore"):
        return array.astype(dtype, order="C")


def _not_numbers(array: np.ndarray, what: str, names: Sequence[str]) -> str:
    columns = array[:, None] if array.ndim == 1 else array
    for j in range(columns.shape[1] if columns.ndim == 2 else 0):
        name = names[j] if j < len(names) else f"x{j}" if what == "x" else str(j)
        for row, value in enumerate(columns[:, j]):
            if array.dtype.kind != "O" or not isinstance(value, (bool, int, float, np.number)):
                return (
                    f"{what} has type {array.dtype}: column {printable(str(name))!r} holds "
                    f"{printable(repr(value))} ({type(value).__name__}) in row {row}. "
                    "Convert it to real numbers, or leave the column out."
                )
    return f"{what} has type {array.dtype}, not real numbers. Convert it to float64."
