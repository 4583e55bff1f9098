"""Problems that the fast solver leaves in doubt, solved slowly and with more digits.

Enters: one problem of simplex.py. Leaves: weights, their gap, and the gap as a share of what the
sources can change. [Eq. gap]

A part of the target that no source can change is subtracted from the target, but its rounding
would remain: 1e12 out of reach leaves errors of 1e-4 in Mt. So Mt is found with twice the digits,
and from then on the target itself is not used. Equal sources are one source here.
"""

from collections.abc import Callable

import numpy as np

_MOST_STEPS = 400  # changes of the active set; a problem that needs more is given up
_MOST_NUMBERS = 200_000_000  # of X that are read in all these steps
_MOST_ACTIVE = 600
_MOST_DENSE = 2000  # sources whose N × N matrix is bearable here
_SMALLEST_S = 1e-13  # as a share of the row's own square, as in simplex.c

Fast = Callable[[np.ndarray, np.ndarray, np.ndarray, str], np.ndarray]
"""From M, t, s and the set to weights: the fast solver, without its checks."""


def solve_slowly(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: str, fast: Fast
) -> tuple[np.ndarray, float, float]:
    """Weights, gap and relative gap of one problem; an infinite gap if there are none."""
    known = np.flatnonzero(np.isfinite(s))
    a = np.zeros(len(s))
    if len(known) == 0:
        return a, 0.0, 0.0
    rows, inverse, penalty, share = _without_equals(M[known], s[known])
    with np.errstate(all="ignore"):  # what overflows leaves no finite gap, and is refused for that
        own, gap, relative = _one_set(rows, t, penalty, feasible, fast)
    a[known] = own[inverse] * share
    if feasible == "simplex":
        a /= max(a.sum(), 1e-300)
    return a, gap, relative


def free_slowly(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, fast: Fast
) -> tuple[np.ndarray, float, float]:
    """The same without any constraint; s is above 0, and may be infinite."""
    known = np.isfinite(s)
    X, penalty = M[known], s[known]
    a = np.zeros(len(s))
    with np.errstate(all="ignore"):
        h = _products(X, t, np.zeros_like(t))
        x = _stationary(X, h, penalty, False)[0] if len(X) <= _MOST_DENSE else None
        a[known] = fast(X, within_reach(X, t), penalty, "free") if x is None else x
        z = a[known] @ X
        g = penalty * a[known] + X @ z - h
        gap = 0.5 * float(np.sum(g * (g / penalty)))
        change = 0.25 * float(z @ z) + 0.5 * float(np.sum(penalty * a[known] ** 2))
    return a, gap, gap / max(change, 1e-300) if gap else 0.0


def within_reach(M: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The part of t that rows of M can make up.

    >>> within_reach(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.5, 1e6])).tolist()
    [0.5, 0.0]
    """
    lengths = np.abs(M).max(axis=1, initial=0.0)
    M = M[lengths > 0] / lengths[lengths > 0, None]
    if len(M) == 0:
        return np.zeros_like(t)
    core = np.asarray(np.linalg.qr(M, mode="r")) if len(M) > len(t) else M
    _, sizes, V = np.linalg.svd(core, full_matrices=False)
    found = sizes > 1e-13 * sizes[0] * max(core.shape)
    V, squares = V[found], sizes[found] ** 2
    if len(V) == len(t):
        return t
    near, nowhere = V.T @ (V @ t), np.zeros_like(t)
    for _ in range(2):  # the rounding of what is far may be larger than what is near
        left = _products(M, t, nowhere) - _products(M, near, nowhere)
        near = near + V.T @ ((V @ (left @ M)) / squares)
    return near


def _without_equals(
    M: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows as one, in an order of their own; to whom each belongs, and its share.

    Rows with penalties s_i do together what one with 1 / Σ 1/s_i does; they share as 1/s_i.
    """
    rows, inverse = np.unique(M + 0.0, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    free = np.bincount(inverse, s == 0) > 0
    with np.errstate(divide="ignore"):
        weight = np.where(free[inverse], (s == 0) * 1.0, 1 / np.where(s > 0, s, 1.0))
    total = np.bincount(inverse, weight)
    return rows, inverse, np.where(free, 0.0, 1 / total), weight / total[inverse]


def _one_set(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: str, fast: Fast
) -> tuple[np.ndarray, float, float]:
    """At most one is the cone, or the simplex where the cone has more than one."""
    if feasible != "at_most_one":
        return _solve(M, t, s, feasible, fast)
    found = _solve(M, t, s, "nonnegative", fast)
    if found[0].sum() <= 1 and found[1] < np.inf:
        return found
    return _solve(M, t, s, "simplex", fast)


def _solve(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: str, fast: Fast
) -> tuple[np.ndarray, float, float]:
    """First the fast solver with what is within reach, then the active set, if need be."""
    origin = M[np.argmin(_far(M, t))] if feasible == "simplex" else np.zeros(len(t))
    X, h = M - origin, _products(M, t, origin)
    a = fast(X, within_reach(X, t - origin), s, feasible)
    best = (a, *_gap(X, h, t - origin, s, a, feasible))
    if best[2] <= 1e-10 and len(X) > _MOST_ACTIVE:
        return best
    a = _active_set(X, h, s, feasible == "simplex", a)
    other = (a, *_gap(X, h, t - origin, s, a, feasible))
    return other if other[2] <= best[2] or not best[2] < np.inf else best


def _far(M: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.max(np.abs(M - t), axis=1, initial=0.0)


# ---- twice the digits ----------------------------------------------------------------------------


def _products(M: np.ndarray, t: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """(M − origin)(t − origin), as if in twice the digits."""
    high, low = np.zeros(len(M)), np.zeros(len(M))
    for j in range(len(t)):
        x, x_rest = _sum(M[:, j], -origin[j])
        y, y_rest = _sum(t[j], -origin[j])
        product, rest = _product(x, y)
        high, lost = _sum(high, product)
        low += lost + rest + x * y_rest + x_rest * y
    return high + low


def _sum(a: np.ndarray, b: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """a + b, and what rounding took from it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: np.ndarray, b: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """ab, and what rounding took from it."""
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    wide = 134217729.0 * np.asarray(a)  # 2²⁷ + 1
    high = wide - (wide - a)
    return high, a - high


# ---- the active set ------------------------------------------------------------------------------


def _active_set(
    X: np.ndarray, h: np.ndarray, s: np.ndarray, sums: bool, start: np.ndarray
) -> np.ndarray:
    """min ½‖Xᵀa‖² + ½ Σ sᵢaᵢ² − hᵀa over a ≥ 0, and Σa = 1 if it sums: one source in or out a step.

    Each step lowers the objective, so no active set comes twice.
    """
    squares = np.sum(X * X, axis=1)
    s = np.maximum(s, _SMALLEST_S * squares)
    a = np.where(np.isfinite(start), start, 0.0)
    count = np.count_nonzero(a)
    if count > min(_MOST_ACTIVE, 2 * X.shape[1] + 20) or (sums and not a.sum() > 0.5):
        a = np.zeros(len(X))
        if sums:
            a[np.argmin(0.5 * (squares + s) - h)] = 1.0
    A, last = [int(i) for i in np.flatnonzero(a)], -1
    barred = np.zeros(len(X), bool)  # came in and had to leave at once: rounding, not gain
    for _ in range(min(_MOST_STEPS, 10 + _MOST_NUMBERS // (X.size + 1))):
        x, price = _stationary(X[A], h[A], s[A], sums)
        if x is None:
            return a
        if len(A) == 0 or x.min() >= 0:
            a = np.zeros(len(X))
            a[A] = x
            wanting = s * a + X @ (a @ X) - h + price
            noise = 4e-16 * (np.sqrt(squares) * np.linalg.norm(a @ X) + np.abs(h - price))
            wanting[A], wanting[barred] = 0.0, 0.0
            last = int(np.argmin(wanting + noise))
            if not wanting[last] < -noise[last] or len(A) >= _MOST_ACTIVE:
                return a
            A.append(last)
            continue
        own = a[A]
        falling = x < 0
        steps = np.where(falling, own / np.where(falling, own - x, 1.0), np.inf)
        out = int(np.argmin(steps))
        if steps[out] > 0:
            barred[:] = False
        elif A[out] == last:
            barred[last] = True
        a[A] = np.maximum(own + steps[out] * (x - own), 0.0)
        a[A[out]] = 0.0
        A.pop(out)
    return a


def _stationary(
    X: np.ndarray, h: np.ndarray, s: np.ndarray, sums: bool
) -> tuple[np.ndarray | None, float]:
    """The best x of any sign, and the price of Σx = 1; refined, as a small s amplifies rounding."""
    k = len(X)
    if k == 0:
        return np.zeros(0), 0.0
    G = X @ X.T + np.diag(s)
    unit = 1 / np.sqrt(np.maximum(np.diagonal(G), 1e-300))
    K = np.zeros((k + sums, k + sums))
    K[:k, :k] = G * np.outer(unit, unit)
    middle = np.max(unit)
    if sums:
        K[:k, k], K[k, :k] = unit / middle, unit / middle
    x, price = np.zeros(k), 0.0
    try:
        for _ in range(3):
            left = (h - price - X @ (x @ X) - s * x) * unit
            rest = np.append(left, (1 - x.sum()) / middle) if sums else left
            found = np.linalg.solve(K, rest)
            x = x + found[:k] * unit
            price += found[k] / middle if sums else 0.0
    except np.linalg.LinAlgError:
        return None, 0.0
    return (x, price) if np.isfinite(x).all() else (None, 0.0)


# ---- the certificate -----------------------------------------------------------------------------


def _gap(
    X: np.ndarray, h: np.ndarray, t: np.ndarray, s: np.ndarray, a: np.ndarray, feasible: str
) -> tuple[float, float]:
    """As `certify` in simplex.c; from h where t is far away, since that keeps more digits."""
    total = a.sum()
    if not np.isfinite(total) or (feasible == "simplex" and not total > 0.5):
        return np.inf, np.inf
    z, squares = a @ X, np.sum(X * X, axis=1)
    rest = t - z
    p = X @ rest if rest @ rest < z @ z else h - X @ z
    g = s * a - p
    penalty = np.sum(s * a * a)
    if feasible == "simplex":
        gap = g @ a - g.min()
        high, low = np.argmax(p), np.argmin(p)
        seen, apart = p[high] - p[low], np.linalg.norm(X[high] - X[low])
        own = max(0.0, a @ squares / total - z @ z)
    else:
        lengths = np.maximum(np.sqrt(squares), 1e-300)
        wanted = np.maximum(p, 0.0)
        most = (2 * np.sqrt(total * (a @ squares)) + wanted / lengths) / lengths
        best = np.minimum(wanted / np.where(s > 0, s, 1e-300), np.maximum(a, most))
        gap = np.sum(0.5 * s * a * a - a * p + p * best - 0.5 * s * best * best)
        at = np.argmax(np.abs(p))
        seen, apart = abs(p[at]), np.sqrt(squares[at])
        own = 0.5 * (z @ z)
    reach = a @ squares / total if total > 0 else 0.0
    if np.any(a == 0):
        reach = max(reach, squares[np.argmax(np.where(a == 0, p, -np.inf))])
    rho = seen / apart if apart > 0 else 0.0
    change = 0.5 * (own + penalty) + min(0.5 * rho * rho, rho * np.sqrt(reach))
    gap = max(0.0, float(gap)) if np.isfinite(gap) else np.inf
    return gap, gap / max(float(change), 1e-300) if gap > 0 else 0.0
