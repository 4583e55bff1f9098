"""Rows as laboratories tell them: numbers or nothing, in the precision that they were written in.

Enters: points and values from a table, a sheet of paper, another program. Leaves: float64 arrays,
and which of the points that were asked for a row is. What is no number is refused with its row.
"""

import math
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float64

from bers.errors import DataError
from bers.text import printable

_COARSEST = 0.01  # of a variable's range: with fewer digits a point is not told from its neighbours


def told_rows(
    x: Any, y: Any, low: Float64[np.ndarray, " D"], high: Float64[np.ndarray, " D"]
) -> tuple[Float64[np.ndarray, "n D"], Float64[np.ndarray, " n"]]:
    """Points and values, checked; a failure (nan or inf) is infinite.

    >>> told_rows([0.5, 0.25], np.nan, np.zeros(2), np.ones(2))
    (array([[0.5 , 0.25]]), array([inf]))
    """
    points, values = (
        np.atleast_2d(told_numbers(x, "x")),
        np.atleast_1d(told_numbers(y, "y")).ravel(),
    )
    if points.shape != (len(values), len(low)):
        raise DataError(
            f"tell(x, y) needs points of shape ({len(values)}, {len(low)}) for "
            f"{len(values)} values; got {points.shape}."
        )
    if not np.isfinite(points).all():
        at = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise DataError(f"tell: point {at} is {points[at].tolist()}. Give finite numbers.")
    if np.isneginf(values).any():
        raise DataError(
            f"tell: value {int(np.argmax(np.isneginf(values)))} is -inf, below which nothing "
            "can be found. Tell a finite number, or nan where an evaluation failed."
        )
    return np.ascontiguousarray(points), np.where(np.isfinite(values), values, np.inf)


def told_numbers(given: Any, what: str) -> np.ndarray:
    """Numbers of whatever kind as float64; None, text and masked entries are refused.

    >>> told_numbers([1, np.nan], "y").tolist()
    [1.0, nan]
    """
    if np.ma.is_masked(given):
        raise DataError(
            f"tell: {what} has masked entries. Leave these rows out, or tell nan as the value of "
            "an evaluation that failed."
        )
    try:
        array = np.asarray(given)
    except ValueError:  # a ragged list
        array = np.array(None)
    if array.dtype == object:
        for one in array.ravel():
            if not isinstance(one, Real):
                raise _no_number(one, what)
    elif array.dtype.kind not in "fiu":
        raise _no_number(array.ravel()[0] if array.size else given, what)
    return np.asarray(array, np.float64)


def _no_number(one: Any, what: str) -> DataError:
    return DataError(
        f"tell: {what} must hold numbers; got {printable(repr(one), 60)}. Tell nan as the value of "
        "an evaluation that failed, and leave out what has not been evaluated yet."
    )


def recognised(
    given: Any,
    wanted: Float64[np.ndarray, "k D"],
    low: Float64[np.ndarray, " D"],
    high: Float64[np.ndarray, " D"],
    coarsest: float = _COARSEST,
) -> int | None:
    """Which of the wanted points a row is, by the digits that it was told with; None: no one.

    Rows are written with so many decimals or so many digits, or are copies in single precision. Of
    several points that a row may be, it is the nearest. Digits that are coarser than this share of
    a variable's range tell no points apart.

    >>> wanted = np.array([[0.123456789, 0.5], [0.2, 0.7]])
    >>> box = np.zeros(2), np.ones(2)
    >>> recognised([0.1235, 0.5], wanted, *box), recognised([0.1236, 0.5], wanted, *box)
    (0, None)
    """
    if not len(wanted):
        return None
    row = np.asarray(given)
    x, width = row.astype(np.float64), high - low
    ways = _roundings(x)
    if row.dtype.kind == "f":
        single = np.finfo(np.float16 if row.dtype == np.float16 else np.float32).eps
        ways.append(single * np.maximum(np.abs(low), np.abs(high)))
    away, fits = np.abs(wanted - x), np.zeros(len(wanted), bool)
    for near in ways:
        if np.all((near <= coarsest * width) | (width == 0)):
            fits |= np.all(away <= near + np.spacing(np.abs(x)), axis=1)
    if not fits.any():
        return None
    scaled = np.max(away / np.where(width > 0, width, 1.0), axis=1)
    return int(np.argmin(np.where(fits, scaled, np.inf)))


def _roundings(x: Float64[np.ndarray, " D"]) -> list[np.ndarray]:
    """Half of the last place of each number: if all have so many decimals, or so many digits.

    >>> [near.tolist() for near in _roundings(np.array([12.34, 0.5]))]
    [[0.005, 0.005], [0.005, 5e-05]]
    """
    numbers = x.tolist()
    written = [_digits(one) for one in numbers]
    decimals = max(places for places, _ in written)
    digits = max(count for _, count in written)
    if digits >= 15:  # not rounded at all
        return []
    size = [math.floor(math.log10(abs(one))) + 1 if one else 0 for one in numbers]
    by_digits = [0.5 * 10.0 ** (s - digits) for s in size]
    return [np.full(len(numbers), 0.5 * 10.0**-decimals), np.array(by_digits)]


def _digits(number: float) -> tuple[int, int]:
    """Decimals and significant digits of a number as it is written."""
    mantissa, _, exponent = f"{number!r}".lstrip("-").partition("e")
    before, _, after = mantissa.partition(".")
    after = "" if after == "0" else after
    places = len(after) - int(exponent or 0)
    return places, len((before + after).lstrip("0"))
