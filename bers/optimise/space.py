"""Where to search: bounds, whole numbers, constraints, in scipy's words.

Enters: what users write, as for scipy's differential_evolution. Leaves: ends of a box, and `Limits`
where there is more to a point than the box. What cannot be meant is refused by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bers.errors import ConfigError
from bers.learners.limits import Constraint, Limits
from bers.optimise.inputs import box
from bers.text import printable


@dataclass(frozen=True)
class Space:
    """Bounds with whole numbers and constraints, for `minimize` and `Optimizer`.

    Their keywords `integrality` and `constraints` are short for it.

    Parameters
    ----------
    bounds
        Pairs (low, high), one per variable, or scipy's Bounds.
    integrality
        Whether each variable is a whole number: one truth value for each, or one for all.
    constraints
        scipy's LinearConstraint, NonlinearConstraint or Bounds: one, or a list. A feasible point
        counts as better than any that is not, and of two that are not the one that breaks less.
    vectorized
        Whether functions of constraints take many points at once, x of shape (D, S), and give
        (M, S).

    Examples
    --------
    >>> from scipy.optimize import LinearConstraint
    >>> from bers import minimize
    >>> few = Space([(0, 9)] * 2, integrality=[True, False],
    ...             constraints=LinearConstraint([[1, 1]], ub=4.5))
    >>> found = minimize(lambda x: -3 * x[0] - 2 * x[1], few, rng=0, maxfun=60)
    >>> found.x.round(6).tolist(), found.maxcv
    ([4.0, 0.5], 0.0)
    """

    bounds: Any
    integrality: ArrayLike | None = None
    constraints: Any = ()
    vectorized: bool = False


def space_of(bounds: Any) -> tuple[np.ndarray, np.ndarray, Limits | None]:
    """Low, high, and what else there is to a point; None: nothing.

    >>> low, high, limits = space_of(Space([(0.2, 3.9), (0, 1)], integrality=[True, False]))
    >>> low.tolist(), high.tolist(), limits.whole.tolist()
    ([1.0, 0.0], [3.0, 1.0], [True, False])
    """
    if not isinstance(bounds, Space):
        return *box(bounds), None
    low, high = box(bounds.bounds)
    whole = _whole(bounds.integrality, len(low))
    low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
    if np.any(low > high):
        raise ConfigError(
            f"there is no whole number within the bounds of variable {int(np.argmax(low > high))}. "
            "Widen them, or leave it out of integrality."
        )
    low, high = low + 0.0, high + 0.0  # -0 is 0
    constraints = _constraints(bounds.constraints, len(low), bounds.vectorized)
    if not whole.any() and not constraints:
        return low, high, None
    return low, high, Limits(low, high, whole, constraints)


def with_words(bounds: Any, integrality: Any, constraints: Any) -> Any:
    """Bounds and scipy's two words as one `Space`.

    >>> with_words([(0, 1)], True, ()).integrality
    True
    """
    space = bounds if isinstance(bounds, Space) else Space(bounds)
    for name, value in (("integrality", integrality), ("constraints", constraints)):
        if value is None:
            continue
        if bounds is space and not _empty(getattr(space, name)):
            raise ConfigError(f"{name}= is given twice. Set it in the Space only.")
        space = replace(space, **{name: value})
    return space


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, Sequence) and not len(value))


def _whole(integrality: Any, D: int) -> np.ndarray:
    if integrality is None:
        return np.zeros(D, bool)
    try:
        given = np.asarray(integrality)
        if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
            raise ValueError("no truth values")
        return np.broadcast_to(given.astype(bool), D).copy()
    except ValueError as error:
        raise ConfigError(
            f"integrality must be one truth value for each of the {D} variables, or one for all; "
            f"got {printable(repr(integrality), 60)}."
        ) from error


def _constraints(given: Any, D: int, many: bool) -> tuple[Constraint, ...]:
    if given is None:
        return ()
    several = isinstance(given, list | tuple)
    return tuple(_constraint(one, D, many) for one in (given if several else [given]))


def _constraint(one: Any, D: int, many: bool) -> Constraint:
    from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

    if isinstance(one, NonlinearConstraint):
        fun = one.fun
    elif isinstance(one, LinearConstraint):
        A: Any = one.A
        fun = np.atleast_2d(np.asarray(A.toarray() if hasattr(A, "toarray") else A, np.float64))
        if fun.shape[1] != D:
            raise ConfigError(
                f"a LinearConstraint has {fun.shape[1]} columns, and there are {D} variables. "
                "Give one column for each."
            )
    elif isinstance(one, Bounds):
        fun = np.eye(D)
    else:
        raise ConfigError(
            "constraints must be scipy.optimize's LinearConstraint, NonlinearConstraint or Bounds, "
            f"or a list of them; got {type(one).__name__}."
        )
    lb, ub = (np.atleast_1d(np.asarray(end, np.float64)) for end in (one.lb, one.ub))
    if np.isnan(lb).any() or np.isnan(ub).any():
        raise ConfigError("a constraint has ends that are not numbers. Use -inf and inf for none.")
    return Constraint(fun, lb, ub, many)


def limits_parts(limits: Limits | None) -> dict[str, np.ndarray]:
    """Arrays by name, for a file."""
    if limits is None:
        return {}
    if not all(one.linear for one in limits.constraints):
        raise ConfigError(
            "a run with a NonlinearConstraint cannot be saved: it is a function of yours. Keep "
            "x_all and fun_all of result(), and tell them to a new Optimizer."
        )
    arrays = {"whole": limits.whole}
    for i, one in enumerate(limits.constraints):
        arrays |= {f"constraint.{i}.A": one.fun, f"constraint.{i}.lb": one.lb}
        arrays |= {f"constraint.{i}.ub": one.ub}
    return arrays


def limits_of(arrays: dict[str, np.ndarray]) -> Limits | None:
    """What `limits_parts` took apart."""
    if "whole" not in arrays:
        return None
    several = sum(name.startswith("constraint.") for name in arrays) // 3
    constraints = tuple(
        Constraint(
            arrays[f"constraint.{i}.A"], arrays[f"constraint.{i}.lb"], arrays[f"constraint.{i}.ub"]
        )
        for i in range(several)
    )
    return Limits(arrays["low"], arrays["high"], arrays["whole"], constraints)
