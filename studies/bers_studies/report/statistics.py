"""Numbers that sum up trials: robust means, intervals, and who beats whom.

Enters: one score per trial, lower being better; infinity stands for "never got there". Leaves:
floats. Intervals are from a bootstrap with a seed, so the same scores give the same interval.
Where trials cannot tell (fewer than three, or all equal) an interval is (nan, nan), not a point.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bers.errors import ConfigError, DataError


class Interval(NamedTuple):
    """Two ends; (nan, nan) if there is none."""

    low: float
    high: float


class Improvement(NamedTuple):
    """A probability, and its interval."""

    value: float
    low: float
    high: float


NONE = Interval(math.nan, math.nan)
"""No interval can be given."""
FEWEST = 3
"""Trials that an interval needs; drawn from two, it would be these two."""


def interquartile_mean(values: ArrayLike) -> float:
    """The mean of the middle half: a quarter of the values is cut off at each end.

    As many whole values are cut as fit in a quarter. Infinity sorts last; if more than a quarter
    of the values are infinite, so is the mean.

    >>> interquartile_mean([1, 2, 3, 100])
    2.5
    >>> interquartile_mean([1, 2, 3, float("inf")])
    2.5
    >>> interquartile_mean([1, 2, float("inf"), float("inf")])
    inf
    """
    ordered = np.sort(_scores(values))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def standard_error(values: ArrayLike) -> float:
    """Of the mean; nan with one value, or if a value is infinite.

    >>> round(standard_error([1, 2, 3]), 4)
    0.5774
    """
    found = _scores(values)
    if len(found) < 2 or not np.isfinite(found).all():
        return math.nan
    return float(found.std(ddof=1) / math.sqrt(len(found)))


def spread(values: ArrayLike) -> float:
    """Standard deviation over trials; nan with one value, or if a value is infinite.

    >>> spread([1, 2, 3])
    1.0
    """
    return standard_error(values) * math.sqrt(len(_scores(values)))


def interval(
    values: ArrayLike,
    statistic: Callable[[Any], float] = interquartile_mean,
    level: float = 0.95,
    draws: int = 2000,
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Where a statistic of such trials would lie: percentile bootstrap over the trials.

    Its ends are drawn statistics, the next ones outwards, so an end may be infinite.

    >>> interval([1.0, 2.0, 3.0, 4.0, 5.0], statistic=max)
    Interval(low=3.0, high=5.0)
    >>> interval([1.0, 1.0])
    Interval(low=nan, high=nan)
    """
    _check(level, draws)
    found = _scores(values)
    if len(found) < FEWEST or np.all(found == found[0]):
        return NONE
    picks = np.random.default_rng(rng).integers(len(found), size=(draws, len(found)))
    return _ends(np.array([statistic(found[row]) for row in picks], dtype=float), level)


def probability_of_improvement(
    x: ArrayLike,
    y: ArrayLike,
    level: float = 0.95,
    draws: int = 2000,
    rng: int | np.random.Generator = 0,
) -> Improvement:
    """P(X < Y) + P(X = Y) / 2: how likely a trial of x has the lower, better score.

    The bootstrap draws trials of x and of y apart. There is no interval if either has fewer than
    three values, or if all values are equal. If every x is below every y it is (1, 1).

    >>> probability_of_improvement([1, 2], [2, 3]).value
    0.875
    """
    _check(level, draws)
    first, second = _scores(x, "x"), _scores(y, "y")
    better = (first[:, None] < second) + 0.5 * (first[:, None] == second)
    value = float(better.mean())
    if min(better.shape) < FEWEST or np.all(better == 0.5):
        return Improvement(value, *NONE)
    generator = np.random.default_rng(rng)
    n, m = better.shape
    counts_x = generator.multinomial(n, np.full(n, 1 / n), size=draws)
    counts_y = generator.multinomial(m, np.full(m, 1 / m), size=draws)
    drawn = ((counts_x @ better) * counts_y).sum(axis=1) / (n * m)
    return Improvement(value, *_ends(drawn, level))


def evaluations_to(curve: ArrayLike, evaluations: ArrayLike, threshold: float) -> float:
    """How many evaluations until the curve is at or below the threshold; inf if it never is.

    >>> evaluations_to([5.0, 2.0, 0.1], [40, 80, 120], 2.0)
    80.0
    >>> evaluations_to([5.0, 2.0, 0.1], [40, 80, 120], 0.01)
    inf
    """
    values, counts = np.asarray(curve, dtype=float), np.asarray(evaluations, dtype=float)
    if values.ndim != 1 or values.shape != counts.shape:
        raise DataError(
            f"curve and evaluations must be lists of one length; got shapes {values.shape} and "
            f"{counts.shape}. Give one count per value."
        )
    there = values <= threshold
    return float(counts[there.argmax()]) if there.any() else math.inf


class Band(NamedTuple):
    """A statistic of curves at each point, and its interval."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def band(
    curves: ArrayLike, statistic: str = "mean", level: float = 0.95, draws: int = 200, rng: int = 0
) -> Band:
    """ "mean" or "iqm" over trials, the first axis, with bootstrap intervals at each point.

    Whole trials are drawn, the same for all points. With one trial the interval is nan.

    >>> band([[1.0, 2.0], [3.0, 2.0]]).value.tolist()
    [2.0, 2.0]
    """
    _check(level, draws)
    found = np.asarray(curves, dtype=float)
    trials = len(found)
    value = _middle(found[None], statistic)[0]
    if trials < 2:
        none = np.full(value.shape, np.nan)
        return Band(value, none, none)
    picks = np.random.default_rng(rng).integers(trials, size=(draws, trials))
    if statistic == "mean":  # by how often each trial is drawn
        drawn = np.apply_along_axis(np.bincount, 1, picks, minlength=trials) @ found / trials
    else:
        drawn = _middle(found[picks], statistic)
    drawn = np.sort(drawn, axis=0)
    outside = (1 - level) / 2 * (draws - 1)
    return Band(value, drawn[math.floor(outside)], drawn[math.ceil(draws - 1 - outside)])


def _middle(curves: np.ndarray, statistic: str) -> np.ndarray:
    """Over the second axis."""
    if statistic == "mean":
        return curves.mean(axis=1)
    if statistic != "iqm":
        raise ConfigError(f"statistic must be mean or iqm; got {statistic!r}.")
    cut = curves.shape[1] // 4
    return np.sort(curves, axis=1)[:, cut : curves.shape[1] - cut].mean(axis=1)


def _scores(values: ArrayLike, name: str = "values") -> np.ndarray:
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or len(found) == 0:
        raise DataError(
            f"{name} must be a list of one or more scores; got shape {found.shape}. "
            "Give one score per trial."
        )
    bad = np.isnan(found) | np.isneginf(found)
    if bad.any():
        raise DataError(
            f"{name} has {bad.sum()} scores that are NaN or -inf, the first at position "
            f"{bad.argmax()}. Write inf for a trial that never got there; leave failed trials out, "
            "and say how many they are."
        )
    return found


def _check(level: float, draws: int) -> None:
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1; got {level}. 0.95 is usual.")
    if draws < 1:
        raise ConfigError(f"draws must be at least 1; got {draws}. 2000 is usual.")


def _ends(drawn: np.ndarray, level: float) -> Interval:
    """Order statistics, without interpolation: between a number and infinity there is nothing."""
    drawn = np.sort(drawn)
    outside = (1 - level) / 2 * (len(drawn) - 1)
    return Interval(
        float(drawn[math.floor(outside)]), float(drawn[math.ceil(len(drawn) - 1 - outside)])
    )
