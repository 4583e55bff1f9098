"""What a point must be besides inside the box: whole in some variables, and within constraints.

Enters: which variables are whole numbers, and scipy's constraints. Leaves: points as they are
handed to the function; by how much each breaks the constraints; and, for learners that take values
only, one value that puts a feasible point before an infeasible one, and of two that are infeasible
the one that breaks less first. The function is not called where constraints are broken.
[Eq. feasible_first]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from bers.data.checks import LARGEST
from bers.errors import BersError, ConfigError, ObjectiveError
from bers.text import printable

_UNIT = 1e250  # the value of a point whose violations sum to 1
_SPAN = 1e50  # smaller and larger sums are not told apart


def feasible(y: Float64[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Which values are the function's own; others stand for failures and broken constraints.

    >>> feasible(np.array([3.0, np.inf, 1e250])).tolist()
    [True, False, False]
    """
    return y <= LARGEST


@dataclass(frozen=True)
class Constraint:
    """Numbers that must lie between two ends: A x, or a function of x."""

    fun: Any
    """A matrix, or a function of one point."""
    lb: Float64[np.ndarray, " M"]
    ub: Float64[np.ndarray, " M"]
    many: bool = False
    """Whether the function takes points in columns, (D, S), and gives (M, S)."""

    @property
    def linear(self) -> bool:
        """Whether it is a matrix."""
        return isinstance(self.fun, np.ndarray)

    def values(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, "n M"]:
        """The numbers at rows of points."""
        if self.linear:
            return x @ self.fun.T
        try:
            if self.many:
                found = np.asarray(self.fun(x.T.copy()), np.float64)
                return np.atleast_2d(found).T
            rows = [np.atleast_1d(np.asarray(self.fun(row.copy()), np.float64)) for row in x]
        except BersError:
            raise
        except Exception as error:
            raise ObjectiveError(
                f"a constraint raised {type(error).__name__}: {printable(str(error), 200)}. "
                "Return nan where it has no value: such a point counts as infeasible."
            ) from error
        return np.array(rows).reshape(len(x), -1)

    def excess(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, "n M"]:
        """By how much each number is outside its ends; infinite where it is none.

        >>> one = Constraint(np.array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.9]))
        >>> one.excess(np.array([[1.0, 0.5], [1.5, 1.5]])).round(9).tolist()
        [[0.0], [1.1]]
        """
        values, ends = self.values(x), max(self.lb.size, self.ub.size)
        if len(values) != len(x) or ends not in (1, values.shape[1]):
            raise ConfigError(
                f"a constraint with {ends} lower or upper ends gave values of shape "
                f"{values.shape[1:]} for one point. Give one end for each value."
            )
        below, above = self.lb - values, values - self.ub
        return np.where(np.isnan(values), np.inf, np.maximum(below, 0) + np.maximum(above, 0))


@dataclass(frozen=True)
class Limits:
    """Whole variables and constraints over one box."""

    low: Float64[np.ndarray, " D"]
    high: Float64[np.ndarray, " D"]
    """Ends; whole numbers where the variable is."""
    whole: Bool[np.ndarray, " D"]
    constraints: tuple[Constraint, ...] = ()

    @property
    def ends(self) -> tuple[Float64[np.ndarray, " D"], Float64[np.ndarray, " D"]]:
        """A box for learners that know no whole numbers: each has as much room as any other.

        >>> low, high = Limits(np.zeros(2), np.ones(2), np.array([True, False])).ends
        >>> low.tolist(), high.tolist()
        ([-0.5, 0.0], [1.5, 1.0])
        """
        half = 0.5 * (self.whole & (self.low < self.high))
        return self.low - half, self.high + half

    def rounded(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, "n D"]:
        """Points as the function gets them.

        >>> Limits(np.zeros(2), np.ones(2), np.array([True, False])).rounded(np.full((1, 2), 0.7))
        array([[1. , 0.7]])
        """
        inside = np.clip(x, self.low, self.high)
        return np.where(self.whole, np.rint(inside) + 0.0, inside)  # -0 is 0

    def excesses(self, x: Float64[np.ndarray, "n D"]) -> list[Float64[np.ndarray, "n M"]]:
        """For each constraint by how much the points break it."""
        return [one.excess(x) for one in self.constraints]

    def broken(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, " n"]:
        """The sum of all that the points break; 0 where they are feasible."""
        if not len(x) or not self.constraints:
            return np.zeros(len(x))
        return np.sum([one.sum(axis=1) for one in self.excesses(x)], axis=0)

    def slack(self, x: Float64[np.ndarray, " D"]) -> Float64[np.ndarray, " ends"]:
        """How far one point is inside each end; below 0 outside. For solvers.

        >>> one = Constraint(np.eye(1), np.array([0.0]), np.array([np.inf]))
        >>> Limits(np.zeros(1), np.ones(1), np.zeros(1, bool), (one,)).slack(np.array([0.25]))
        array([0.25])
        """
        parts = []
        for one in self.constraints:
            values = np.nan_to_num(one.values(x[None])[0], nan=-_SPAN)
            parts += [values - one.lb, one.ub - values]
        every = np.concatenate(parts)
        return every[np.isfinite(every)]

    def coded(self, broken: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """Values that learners can compare with those of feasible points. [Eq. feasible_first]

        >>> limits = Limits(np.zeros(1), np.ones(1), np.zeros(1, bool))
        >>> limits.coded(np.array([1e-9, 2.0, np.inf]))
        array([1.e+241, 2.e+250, 1.e+300])
        """
        return _UNIT * np.clip(broken, 1 / _SPAN, _SPAN)

    def within(self, evaluate: Callable[[np.ndarray], np.ndarray]) -> "Within":
        """The function as a learner sees it that may ask for any point of `ends`."""
        return Within(self, evaluate)


@dataclass(frozen=True)
class Within:
    """Values of any points: rounded first, and not asked for where constraints are broken.

    >>> half = Constraint(np.eye(1), np.array([-np.inf]), np.array([1.0]))
    >>> limits = Limits(np.zeros(1), np.full(1, 3.0), np.array([True]), (half,))
    >>> limits.within(lambda x: x[:, 0])(np.array([[0.6], [2.2]]))
    array([1.e+000, 1.e+250])
    """

    limits: Limits
    evaluate: Callable[[np.ndarray], np.ndarray]

    def __call__(self, points: Float64[np.ndarray, "k D"]) -> Float64[np.ndarray, " values"]:
        """Values, up to the first feasible point that has none."""
        x = self.limits.rounded(points)
        broken = self.limits.broken(x)
        fine = np.flatnonzero(broken == 0)
        if len(fine) == len(x):
            return self.evaluate(x)
        values, found = self.limits.coded(broken), np.zeros(0)
        if len(fine):
            found = self.evaluate(x[fine])
        values[fine[: len(found)]] = found
        return values if len(found) == len(fine) else values[: fine[len(found)]]

    def one(self, point: Float64[np.ndarray, " D"]) -> float | None:
        """The value of a single point; None where there is none."""
        value = self(point[None])
        return float(value[0]) if len(value) else None
