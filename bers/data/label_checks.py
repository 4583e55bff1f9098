"""Checks that the transforms share.

Enter: labels or a transform. Leave: nothing, or an error that says which row or which number
is wrong.
"""

from typing import Any

import numpy as np

from bers.errors import ConfigError, DataError

TINY = 1e-150
"""Labels closer together than this count as all alike: 1 / TINY² would leave the floats."""


def refuse_labels(wrong: np.ndarray, needs: str, advice: str) -> None:
    """Raise where any label is wrong; say how many and where the first one is.

    >>> refuse_labels(np.array([False]), "sqrt needs labels of at least 0", "Shift them")
    """
    wrong = np.atleast_1d(wrong)
    if wrong.any():
        raise DataError(
            f"{needs}; {wrong.sum()} of {wrong.size} are not, the first in row "
            f"{int(wrong.argmax())}. {advice}, or use another transform."
        )


def known(transform: Any, *names: str) -> tuple:
    """The fitted numbers, or an error where there are none yet.

    >>> from bers.data.elementwise import Standardise
    >>> known(Standardise(1.0, 2.0), "scale")
    (2.0,)
    """
    if not transform.fitted:
        raise ConfigError(f"{transform.name} has not been fitted; call fit(y) first.")
    return tuple(getattr(transform, name) for name in names)


def finite_number(value: Any, what: str) -> float:
    """A finite float, or an error that names the setting.

    >>> finite_number(1, "Trim(low=...)")
    1.0
    """
    good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not good or not np.isfinite(value):
        raise ConfigError(f"{what} must be a finite number; got {value!r}.")
    return float(value)


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
