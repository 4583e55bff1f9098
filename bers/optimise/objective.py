"""The user's function, called, counted and remembered.

Enters: points (k, D). Leaves: their values. A point that is known is never evaluated again; a value
that is not a finite number counts as the worst; when the budget is used up, fewer values come back
than points went in.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from bers.data.checks import flag, number
from bers.errors import BersError, ConfigError, ObjectiveError
from bers.parallel import Map, map_of
from bers.text import printable


@dataclass(frozen=True)
class _Raised:
    """What came back in place of a value."""

    error: Exception


@dataclass(frozen=True)
class _Caught:
    """A function whose exceptions come back as values, so that other workers' work is kept."""

    fun: Callable[..., Any]

    def __call__(self, x: np.ndarray) -> Any:
        try:
            return self.fun(x)
        except Exception as error:
            return _Raised(error)


def check_calls(
    args: Any, callback: Any, workers: int | Map | None, vectorized: Any, progress: Any = None
) -> None:
    """Refuse settings by which a function, or what is told of it, could not be called."""
    if not isinstance(args, tuple | list):
        raise ConfigError(f"args must be a tuple, as in (1, 2); got {type(args).__name__}.")
    if callback is not None and not callable(callback):
        raise ConfigError(f"callback must be callable; got {type(callback).__name__}.")
    flag(vectorized, "vectorized")
    map_of(workers)
    if progress is not None and not isinstance(progress, str):
        flag(progress, "progress")


class Objective:
    """Counts calls in `nfev`, and values that were not finite in `not_finite`.

    >>> objective = Objective(lambda x: x[0] ** 2, maxfun=2)
    >>> objective(np.array([[2.0], [2.0], [3.0], [4.0]])).tolist(), objective.nfev
    ([4.0, 4.0, 9.0], 2)
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...] = (),
        *,
        vectorized: bool = False,
        workers: int | Map | None = 1,
        maxfun: float = np.inf,
    ) -> None:
        if not callable(fun):
            raise ConfigError(f"fun must be callable; got {type(fun).__name__}.")
        if not number(maxfun, "maxfun") >= 1:
            raise ConfigError(f"maxfun must be at least 1; got {maxfun!r}.")
        self.fun = (lambda x: fun(x, *args)) if args else fun
        self.maxfun = maxfun
        self.nfev = 0
        self.not_finite = 0
        self.known: dict[bytes, float] = {}
        self._vectorized = vectorized
        self._map = None if vectorized else map_of(workers)

    def remember(self, x: Float64[np.ndarray, "k D"], y: Float64[np.ndarray, " k"]) -> None:
        """Points whose values are known from elsewhere."""
        self.known.update(zip((row.tobytes() for row in x), y.tolist(), strict=True))

    def __call__(self, points: Float64[np.ndarray, "k D"]) -> Float64[np.ndarray, " values"]:
        """Values of the points, up to the first that the budget does not cover."""
        points = np.ascontiguousarray(points)
        size = points.shape[1] * points.itemsize
        joined = points.tobytes()
        keys = [joined[i : i + size] for i in range(0, len(joined), size)]
        new = set(keys)
        if len(new) == len(keys) <= self.maxfun - self.nfev and self.known.keys().isdisjoint(new):
            values = self._checked_all(self._values(points))
            self.known.update(zip(keys, values.tolist(), strict=True))
            return values
        wanted: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self.known and key not in wanted:
                if self.nfev + len(wanted) >= self.maxfun:
                    keys = keys[:i]
                    break
                wanted[key] = i
        if wanted:
            values = self._checked_all(self._values(points[list(wanted.values())]))
            self.known.update(zip(wanted, values.tolist(), strict=True))
        return np.array([self.known[key] for key in keys])

    def one(self, point: Float64[np.ndarray, " D"]) -> float | None:
        """The value of a single point, the inner loop of updating in place; None without budget."""
        key = point.tobytes()
        value = self.known.get(key)
        if value is None:
            if self.nfev >= self.maxfun:
                return None
            value = float(self._values(point[None])[0])
        return value

    def recall(self, points: Float64[np.ndarray, "k D"]) -> Float64[np.ndarray, " values"]:
        """Values of the points, up to the first that is not known; nothing is evaluated."""
        values = [self.known.get(point.tobytes()) for point in points]
        return np.array(values[: values.index(None) if None in values else None], np.float64)

    def _checked_all(self, values: Any) -> Float64[np.ndarray, " values"]:
        if isinstance(values, np.ndarray) and values.dtype == np.float64:
            if not self._vectorized or np.isfinite(values).all():
                return values.copy()
            values = values.tolist()
        return np.array([self._checked(value) for value in values])

    def _values(self, points: np.ndarray) -> Any:
        """What fun says of points that are new; each call is counted, and kept, as it is made."""
        try:
            if self._vectorized:
                self.nfev += len(points)
                values = np.asarray(self.fun(points.T.copy()))
                if values.shape != (len(points),):
                    raise ConfigError(
                        f"with vectorized=True, fun(x) of shape {points.T.shape} must return shape "
                        f"({len(points)},); got {values.shape}."
                    )
                return values
            if self._map is None or len(points) == 1:
                values = []
                for point in points:
                    self.nfev += 1
                    values.append(self._checked(self.fun(point.copy())))
                    self.known[point.tobytes()] = values[-1]
                return np.array(values)
            self.nfev += len(points)
            values = list(self._map(_Caught(self.fun), [point.copy() for point in points]))
            self._keep_what_came(points, values)
        except (BersError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise ObjectiveError(
                f"fun raised {type(error).__name__}: {printable(str(error), 200)}. Return nan "
                "where an evaluation fails: it counts as the worst, and the search goes on. All "
                "values so far are in this error's `result`; the learner's init= goes on from it."
            ) from error
        if len(values) != len(points):
            raise ConfigError(
                f"workers must return one value per point; got {len(values)} for {len(points)}."
            )
        return values

    def _keep_what_came(self, points: np.ndarray, values: list[Any]) -> None:
        """If one of many evaluations raised, the values of the others are not lost."""
        raised = [value for value in values if isinstance(value, _Raised)]
        if raised:
            for point, value in zip(points, values, strict=False):
                if not isinstance(value, _Raised):
                    self.known[point.tobytes()] = self._checked(value)
            raise raised[0].error

    def _checked(self, value: Any) -> float:
        if isinstance(value, float):  # NumPy's too
            number = value
        else:
            try:
                array = np.asarray(value)
            except ValueError:  # a ragged list
                array = np.array(None)
            if array.dtype.kind not in "fiub" or array.size != 1:
                raise ObjectiveError(
                    f"fun must return one real number; got {printable(repr(value), 80)}. If it "
                    "takes many points at once, pass vectorized=True."
                )
            number = float(array.reshape(()))
        if math.isfinite(number):
            return float(number)
        if number == -np.inf:
            raise ObjectiveError(
                "fun returned -inf, below which nothing can be found. Return a finite number."
            )
        self.not_finite += 1
        return np.inf
