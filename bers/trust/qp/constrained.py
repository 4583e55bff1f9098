"""Weights under upper bounds, or under any further linear constraints.

Enters: the quadratic program of simplex.py, the largest weight of each source, rows of linear
constraints. Leaves: a `Solution` with the same certificate.

Upper bounds alone are met by fixing the weights that would exceed them and solving for the rest,
at any number of sources. Other constraints go to DAQP, an exact active-set solver that works with
a dense N × N matrix.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from bers.errors import ConfigError, DataError, SolverError
from bers.trust.qp.reach import within_reach
from bers.trust.qp.simplex import Feasible, Solution, checked, solve

_MOST = 4000  # sources for which DAQP's dense matrix is bearable
_FAILURES = {
    -1: "no weights satisfy the bounds and constraints; loosen them.",
    -2: "the solver cycles; loosen equal or almost equal constraints.",
    -4: "the solver took too many steps; loosen the constraints.",
}


def solve_constrained(
    M: ArrayLike,
    t: ArrayLike,
    s: ArrayLike,
    *,
    feasible: Feasible = "simplex",
    upper: ArrayLike | None = None,
    constraints: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
) -> Solution:
    """One problem as in `solve`, with aᵢ ≤ upperᵢ and low ≤ Aa ≤ high.

    upper: one number, or one per source. constraints: (A, low, high), A with a column per source.

    >>> M = [[1.0], [1.0]]
    >>> solve_constrained(M, [1.0], [0.1, 10.0], upper=0.7).a.round(6).tolist()
    [0.7, 0.3]
    >>> equal = ([[1.0, -1.0]], 0, 0)
    >>> solve_constrained(M, [1.0], [0.1, 10.0], constraints=equal).a.round(6).tolist()
    [0.5, 0.5]
    """
    M, t, s = (np.asarray(value, np.float64) for value in (M, t, s))
    if max(M.ndim - 1, t.ndim, s.ndim) > 1:
        raise DataError(
            "solve_constrained(M, t, s) takes one problem at a time: M (N, d), t (d,) and s (N,); "
            f"got {M.shape}, {t.shape} and {s.shape}."
        )
    free = solve(M, t, s, feasible=feasible)  # also checks M, t and s
    most = _upper(upper, s, feasible)
    if constraints is None and np.all(free.a <= most):
        return free
    rows = _rows(len(M), constraints)
    largest = max(np.abs(M).max(), np.abs(t).max(initial=0.0))
    if not largest < 1e140 or not np.min(s) < 1e280:
        raise SolverError(
            f"means and target of up to {largest:.0e}, or their penalties, are too large for "
            "bounds and constraints. Bring them to a smaller unit."
        )
    near_M, near_t = _near(M, t, feasible)
    found = None
    if constraints is None and feasible != "free":
        found = _by_fixing(near_M, near_t, s, feasible, most)
    found = found or _daqp(near_M, near_t, s, feasible, most, rows)
    rest = t - found.a @ M
    value = 0.5 * (rest @ rest + np.sum(np.where(found.a != 0, s, 0.0) * found.a * found.a))
    return replace(found, value=np.asarray(value))


def _near(M: np.ndarray, t: np.ndarray, feasible: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and target without what no source can change, which would drown all else.

    Where weights sum to 1, this is also what all sources have in common.
    """
    origin = M[0] if feasible == "simplex" else np.zeros_like(t)
    near = within_reach(M - origin, t - origin)
    far = t - origin - near
    if far @ far <= 1e4 * (near @ near + np.max(np.sum((M - origin) ** 2, axis=1))):
        return M, t
    return M - origin, near


def _upper(upper: ArrayLike | None, s: np.ndarray, feasible: str) -> Float64[np.ndarray, " N"]:
    most = np.asarray(np.inf if upper is None else upper, np.float64)
    if most.ndim > 1 or (most.ndim == 1 and len(most) != len(s)) or not np.all(most >= 0):
        raise ConfigError(
            f"solve_constrained(upper=...) must be one number of 0 or above, or {len(s)} of them."
        )
    most = np.broadcast_to(most, s.shape)
    allowed = float(np.sum(most[np.isfinite(s)]))
    if feasible == "simplex" and allowed < 1 - 1e-12:  # N bounds of 1/N are meant to be enough
        raise ConfigError(
            f"solve_constrained(upper=...) allows a sum of {allowed:.3g}, but the weights must sum "
            "to 1. Raise the bounds, or use feasible='at_most_one'."
        )
    return most


def _rows(
    N: int, constraints: tuple[ArrayLike, ArrayLike, ArrayLike] | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if constraints is None:
        return np.zeros((0, N)), np.zeros(0), np.zeros(0)
    A = np.atleast_2d(np.asarray(constraints[0], np.float64))
    if A.ndim != 2 or A.shape[1] != N or not np.isfinite(A).all():
        raise ConfigError(f"constraints=(A, low, high) need finite rows of {N} numbers in A.")
    low, high = (np.asarray(c, np.float64) for c in constraints[1:])
    if not {low.shape, high.shape} <= {(), (1,), (len(A),)}:
        raise ConfigError(
            f"constraints=(A, low, high) need one number or {len(A)} in low and in high; "
            f"got {low.shape} and {high.shape}."
        )
    low, high = np.broadcast_to(low, len(A)), np.broadcast_to(high, len(A))
    if not np.all(low <= high):
        raise ConfigError("constraints=(A, low, high) need low <= high in every row.")
    return A, low, high


def _by_fixing(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: Feasible, most: np.ndarray
) -> Solution | None:
    """Fix what exceeds its bound, solve for the rest, release what no longer wants its bound."""
    known = np.isfinite(s)
    if feasible == "simplex" and (allowed := float(most[known].sum())) <= 1 + 1e-12:
        only = np.where(known, most, 0.0) / allowed  # the bounds leave one point
        return _certified(M, t, s, feasible, most, only, 0)
    fixed = np.zeros(len(s), bool)
    steps = 0
    for _ in range(60):
        a = np.where(fixed, most, 0.0)
        rest = 1.0 if feasible == "nonnegative" else 1 - a.sum()
        if rest < 0:
            return None
        open_ = ~fixed
        if rest > 0 and known[open_].any():
            part = solve(rest * M[open_], t - a @ M, rest * rest * s[open_], feasible=feasible)
            a[open_] = rest * part.a
            steps += int(part.steps)
        found = _certified(M, t, s, feasible, most, np.minimum(a, most), steps)
        if found.relative_gap <= 1e-11 and np.all(a <= most * (1 + 1e-12)):
            return found
        g = _gradient(M, t, s, a)
        inside = (a > 0) & (a < most) & ~fixed
        price = np.max(g[inside]) if inside.any() and feasible != "nonnegative" else 0.0
        fixed = (a >= most) & (~fixed | (g <= price))
    return None


def _gradient(M: np.ndarray, t: np.ndarray, s: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(s), s, 0.0) * a - M @ (t - a @ M)


def _certified(
    M: np.ndarray,
    t: np.ndarray,
    s: np.ndarray,
    feasible: str,
    most: np.ndarray,
    a: np.ndarray,
    steps: int,
) -> Solution:
    """With the gap gᵀa − min gᵀx over the set: the cheapest sources are filled up first."""
    known = np.isfinite(s)
    g = _gradient(M, t, s, a)
    order = np.flatnonzero(known)[np.argsort(g[known], kind="stable")]
    cost = g[order] if feasible == "simplex" else np.minimum(g[order], 0.0)
    room = np.minimum(most[order], 1.0 if feasible != "nonnegative" else 1e30)
    if feasible != "nonnegative":
        room = np.minimum(room, np.maximum(0.0, 1.0 - (np.cumsum(room) - room)))
    gap = max(0.0, float(g @ a - cost @ room))
    return _solution(M, t, s, a, gap, steps)


def _solution(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, a: np.ndarray, gap: float, steps: int
) -> Solution:
    u = t - a @ M
    value = 0.5 * (u @ u + np.sum(np.where(a != 0, s, 0.0) * a * a))
    relative = gap / max(value + 0.5 * float(t @ t), 1e-300)
    return Solution(a, *(np.asarray(x) for x in (gap, relative, value, steps)))


def _daqp(
    M: np.ndarray,
    t: np.ndarray,
    s: np.ndarray,
    feasible: str,
    most: np.ndarray,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> Solution:
    """The gap is what DAQP's multipliers leave of the first-order conditions."""
    try:
        import daqp
    except ImportError as error:
        raise ConfigError(
            "limits of this kind need DAQP: pip install 'bers[constrained]'."
        ) from error

    if len(M) > _MOST:
        raise ConfigError(
            f"these constraints are solved for up to {_MOST:,} sources; got {len(M):,}. Rank fewer."
        )
    known, huge = np.flatnonzero(np.isfinite(s)), 1e30
    k = len(known)
    scale = max(np.abs(M).max(initial=0.0), np.abs(t).max(initial=0.0), 1e-300)
    M1, t1, s1 = M[known] / scale, t / scale, np.maximum(s[known] / scale / scale, 1e-13)
    A, low, high = rows[0][:, known], rows[1], rows[2]
    sense = np.zeros(k + len(A), np.int32)
    if feasible in ("simplex", "at_most_one"):
        A = np.concatenate([np.ones((1, k)), A])
        low = np.concatenate([[1.0 if feasible == "simplex" else -huge], low])
        high = np.concatenate([[1.0], high])
        sense = np.zeros(k + len(A), np.int32)
    sense[k:][low == high] = 5  # an equality
    floor = np.full(k, -huge if feasible == "free" else 0.0)
    H = M1 @ M1.T + np.diag(s1)
    x, _, flag, info = daqp.solve(
        H,
        -(M1 @ t1),
        np.ascontiguousarray(A),
        np.concatenate([np.minimum(most[known], huge), high]).clip(-huge, huge),
        np.concatenate([floor, low]).clip(-huge, huge),
        sense,
        primal_tol=1e-12,
    )
    if flag <= 0:
        raise SolverError(_FAILURES.get(flag, f"DAQP ended with code {flag}; loosen the bounds."))
    a = np.zeros(len(M))
    a[known] = np.clip(x, floor, most[known])
    short = 1 - a.sum()
    if feasible == "simplex" and abs(short) > 1e-12:  # earlier DAQPs end some 1e-11 off
        room = np.where(np.isfinite(s), np.minimum(most, 1.0) - a, 0.0) if short > 0 else a
        a += short * room / room.sum()
    multipliers = np.asarray(info["lam"])
    left = H @ a[known] - M1 @ t1 + multipliers[:k] + A.T @ multipliers[k:]
    gap = float(np.abs(left).max(initial=0.0)) * scale**2
    return checked(_solution(M, t, s, a, gap, int(info["iterations"])))
