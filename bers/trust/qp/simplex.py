"""The quadratic program: from means, a target and penalties to weights, with a certificate.

Enters: rows mᵢ (one per source), a target t, penalties sᵢ. Leaves: a `Solution` that minimises
½‖t − Σ aᵢmᵢ‖² + ½ Σ sᵢaᵢ² over one of four sets, and says by how much it could be wrong.
[Eq. qp] [Eq. nnqp] [Eq. gap]

The work is done by simplex.c, whose cost grows linearly with the number of sources: a million of
them take less than a second. Problems of one shape are solved together in one call.
"""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64, Int
from numpy.typing import ArrayLike

from bers.errors import ConfigError, DataError, SolverError
from bers.trust.qp.reach import free_slowly, solve_slowly

Feasible = Literal["simplex", "at_most_one", "nonnegative", "free"]
FEASIBLE: tuple[Feasible, ...] = ("simplex", "at_most_one", "nonnegative", "free")
"""Sum of one (the paper); sum of at most one, the rest is "nobody"; any a ≥ 0; any a at all."""

_MODES = {"nonnegative": 0, "simplex": 1, "at_most_one": 2}
_PROBLEMS = {
    1: "there is not enough memory for the solver; rank fewer sources at once.",
    2: "means and target of the weights must be finite; a posterior has NaN or infinite entries.",
    3: "penalties s must be 0 or above (infinite for a source without data); one is not.",
    4: "no source has data: all penalties s are infinite, so no weights sum to 1. "
    "Leave the problem out, or use feasible='at_most_one'.",
}
_TOO_MUCH = (
    "the weights could not be found with a bearable amount of work: some rows of M are far longer "
    "than others. Bring the sources to one scale, leave out the longest, or use "
    "feasible='nonnegative'."
)
_TOO_FAR = (
    "the weights could not be found: means and target differ in size by more than 1e100. Bring "
    "them to one scale."
)
_MOST_SLOWLY = 4_000_000  # numbers in M
_WORST_GAP = 1e-6  # relative; beyond it an answer is not handed out
_NOISE = 1e-12  # rounding, as a share of the objective, from which a small gap says little
_SMALL = 4000  # so few numbers in M are copied sooner than their address is found
_THREADS = min(os.cpu_count() or 1, 8)


@dataclass(frozen=True)
class Solution:
    """Weights with their certificate. A batch of problems has a leading axis everywhere."""

    a: Float64[np.ndarray, "*batch N"]
    gap: Float64[np.ndarray, "*batch"]
    """The objective at `a` is at most this much above its minimum."""
    relative_gap: Float64[np.ndarray, "*batch"]
    """The gap as a share of what the sources can change; a part of t beyond them does not count."""
    value: Float64[np.ndarray, "*batch"]
    """The objective at `a`."""
    steps: Int[np.ndarray, "*batch"]
    """Newton steps that were taken."""

    @property
    def nobody(self) -> Float64[np.ndarray, "*batch"]:
        """What is left of 1: the weight that no source earned."""
        return np.maximum(0.0, 1.0 - self.a.sum(-1))


def solve(
    M: ArrayLike,
    t: ArrayLike,
    s: ArrayLike,
    *,
    feasible: Feasible = "simplex",
    start: ArrayLike | None = None,
) -> Solution:
    """The weights a that make Σ aᵢmᵢ the best stand-in for t. [Eq. qp]

    M: (N, d), one row per source; s: (N,), 0 or above, infinite for a source without data, whose
    weight is then 0; t: (d,). All three may lead with a batch axis. feasible: see `FEASIBLE`.
    start: the weights of an earlier, similar problem, to save steps. Bounds and other linear
    constraints: see constrained.py.

    >>> solution = solve([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [0.8, 0.2], [0.1, 0.1, 0.1])
    >>> solution.a.round(3).tolist(), bool(solution.relative_gap < 1e-12)
    ([0.772, 0.217, 0.01], True)
    >>> solve([[-1.0, 0.0]], [1.0, 0.0], [0.1], feasible="at_most_one").nobody.item()
    1.0
    """
    M, t, s = np.asarray(M, np.float64), np.asarray(t, np.float64), np.asarray(s, np.float64)
    batch = _batch(M, t, s)
    if feasible not in FEASIBLE:
        raise ConfigError(
            f"solve(feasible=...) must be one of {', '.join(FEASIBLE)}; got {feasible!r}."
        )
    if feasible == "free":
        return _closed_form(M, t, s, batch)
    if start is not None:
        start = np.asarray(start, np.float64)
        if start.shape != (*batch, M.shape[-2]):
            raise DataError(
                f"solve(start=...) must have the shape {(*batch, M.shape[-2])} of the weights; "
                f"got {start.shape}."
            )
    try:
        if not batch and M.size < _SMALL:
            return _run_small(M, t, s, feasible, start)
        return _run(M, t, s, batch, feasible, start)
    except _NoScaleError:
        return _rescaled(M, t, s, batch, feasible)


def _batch(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> tuple[int, ...]:
    """The common leading axis, or none; shapes that do not fit are refused."""
    if M.ndim == 2 and t.ndim == 1 and s.ndim == 1:
        if t.shape[0] == M.shape[1] and s.shape[0] == M.shape[0] > 0:
            return ()
    elif 2 <= M.ndim <= 3 and 1 <= t.ndim <= 2 and 1 <= s.ndim <= 2:
        sizes = {x.shape[0] for x, own in ((M, 2), (t, 1), (s, 1)) if x.ndim > own}
        if len(sizes) == 1 and t.shape[-1] == M.shape[-1] and s.shape[-1] == M.shape[-2] > 0:
            return (sizes.pop(),)
    raise DataError(
        "solve(M, t, s) needs M (N, d), t (d,) and s (N,) with N at least 1, each with one leading "
        f"batch axis or none; got {M.shape}, {t.shape} and {s.shape}."
    )


def checked(solution: Solution) -> Solution:
    """The solution, if its certificate is good enough to hand it out."""
    worst = solution.relative_gap.max(initial=0.0)
    if not worst <= _WORST_GAP:
        raise SolverError(
            f"the weights could not be found: a relative gap of {worst:.1e} is left. Rescale the "
            "features, or report the problem with its M, t and s."
        )
    return solution


# ---- the library behind it -----------------------------------------------------------------------


def _library() -> ctypes.CDLL:
    for ending in EXTENSION_SUFFIXES:
        path = Path(__file__).with_name(f"_simplex{ending}")
        if path.exists():
            library = ctypes.CDLL(str(path))
            size, where, number = ctypes.c_longlong, ctypes.c_void_p, ctypes.c_int
            arrays = [where, size, where, size, where, size]  # M, t and s, each with its step
            inputs = [size, size, size, *arrays, number, number]
            library.bers_weights.argtypes = [*inputs, where, where]
            return library
    raise SolverError(
        "the compiled solver is missing. Install BERS again, with a C compiler: pip install -e ."
    )


_weights = _library().bers_weights


def _run(
    M: np.ndarray,
    t: np.ndarray,
    s: np.ndarray,
    batch: tuple[int, ...],
    feasible: Feasible,
    start: np.ndarray | None,
) -> Solution:
    N, d = M.shape[-2:]
    mode = _MODES[feasible]
    B = batch[0] if batch else 1
    a = np.empty((B, N)) if start is None else np.array(start).reshape(B, N)
    info = np.empty((B, 7))
    some = max(-(-B // _THREADS), 64)

    def work(first: int) -> None:
        rows = slice(first, first + some)
        Mi, ti, si = (x[rows] if x.ndim > own else x for x, own in ((M, 2), (t, 1), (s, 1)))
        size, warm = min(some, B - first), start is not None
        _call(size, N, d, Mi, ti, si, mode, warm, a[rows], info[rows])

    if some >= B:
        _call(B, N, d, M, t, s, mode, start is not None, a, info)
    else:
        with ThreadPoolExecutor(_THREADS - 1) as pool:  # this thread works, too
            others = pool.map(work, range(some, B, some))
            work(0)
            list(others)
    for i in info[:, 6].nonzero()[0]:
        Mi, ti, si = (x[i] if x.ndim > own else x for x, own in ((M, 2), (t, 1), (s, 1)))
        _again(Mi, ti, si, feasible, a[i], info[i])
    if not batch:
        a, info = a[0], info[0]
    gap, value, steps, relative = info.T[:4]
    return checked(Solution(a, gap, relative, value, steps.astype(np.int64)))


def _call(
    B: int,
    N: int,
    d: int,
    M: np.ndarray,
    t: np.ndarray,
    s: np.ndarray,
    mode: int,
    warm: bool,
    a: np.ndarray,
    info: np.ndarray,
) -> None:
    M, t, s = np.ascontiguousarray(M), np.ascontiguousarray(t), np.ascontiguousarray(s)
    M_at, t_at, s_at, a_at, info_at = [x.ctypes.data for x in (M, t, s, a, info)]
    steps = (N * d if M.ndim == 3 else 0, d if t.ndim == 2 else 0, N if s.ndim == 2 else 0)
    _raise(
        _weights(B, N, d, M_at, steps[0], t_at, steps[1], s_at, steps[2], mode, warm, a_at, info_at)
    )


def _run_small(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: Feasible, start: np.ndarray | None
) -> Solution:
    """One small problem, where not the solver but all around it takes the time.

    As bytes, arrays are copied, but passed on sooner than NumPy finds the address of one. Likewise
    numbers are taken out of an array faster all at once.
    """
    N, d = M.shape
    room = np.empty(N + 7)  # the weights, then what is known of them
    if start is not None:
        room[:N] = start
    at, warm = ctypes.addressof(ctypes.c_char.from_buffer(room.data)), start is not None
    inputs = (M.tobytes(), 0, t.tobytes(), 0, s.tobytes(), 0)
    _raise(_weights(1, N, d, *inputs, _MODES[feasible], warm, at, at + 8 * N))
    gap, value, steps, relative, _, _, doubt = room[N:].tolist()
    if doubt:
        _again(M, t, s, feasible, room[:N], room[N:])
        gap, value, steps, relative = room[N : N + 4].tolist()
    numbers: tuple[Any, ...] = (*map(np.float64, (gap, relative, value)), np.int64(steps))
    solution = Solution(room[:N], *numbers)
    return solution if relative <= _WORST_GAP else checked(solution)


def _again(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: Feasible, a: np.ndarray, info: np.ndarray
) -> None:
    """Solve one problem slowly, in the place of weights and numbers that leave it in doubt.

    Where some s is 0 there may be many answers, and the order of the sources must not choose.
    """
    if info[5] > 1:
        raise SolverError(_TOO_MUCH)

    def fast(M: np.ndarray, t: np.ndarray, s: np.ndarray, feasible: str) -> np.ndarray:
        own, numbers = np.empty(len(M)), np.empty(7)
        N, d = M.shape
        _call(1, N, d, M, t, s, _MODES[feasible], False, own, numbers)
        return own

    if M.size > _MOST_SLOWLY:
        return
    other, gap, relative = solve_slowly(M, t, s, feasible, fast)
    trusted = info[4] <= _NOISE and np.all(s > 0)
    if relative < info[3] or np.isnan(info[3]) or (not trusted and relative <= _WORST_GAP):
        a[:] = other
        info[[0, 1, 3, 4]] = gap, _value(M, t, s, other), relative, 0.0
    elif info[4] > _NOISE:
        info[3] = np.inf  # a gap that rounding has made small


def _value(M: np.ndarray, t: np.ndarray, s: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The objective of one problem, with what no source can change."""
    rest = t - a @ M
    return 0.5 * (rest @ rest + np.sum(np.where(a != 0, s, 0.0) * a * a))


def _rescaled(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, batch: tuple[int, ...], feasible: Feasible
) -> Solution:
    """Problems whose squares over- or underflow, each in a unit of its own."""
    if batch:
        return _one_by_one(M, t, s, batch, feasible)
    finite = s[np.isfinite(s)]
    sizes = [*np.abs(M).max(axis=-1, initial=0.0), np.abs(t).max(initial=0.0)]
    unit = max(*sizes, float(np.sqrt(finite.min(initial=np.inf)) if len(finite) else 0.0))
    unit = 2.0 ** np.clip(np.round(np.log2(unit)), -1000, 1000)
    some = [size / unit for size in sizes if size > 0]
    if some and not min(some) > 1e-100:
        raise SolverError(_TOO_FAR)
    small = np.where(np.isfinite(s), np.minimum(s / unit / unit, 1e100), np.inf)
    one = _run(M / unit, t / unit, small, (), feasible, None)
    with np.errstate(over="ignore", under="ignore"):
        gap, value = one.gap * unit * unit, one.value * unit * unit
    return Solution(one.a, gap, one.relative_gap, value, one.steps)


def _one_by_one(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, batch: tuple[int, ...], feasible: Feasible
) -> Solution:
    every = [np.broadcast_to(x, (*batch, *x.shape[-own:])) for x, own in ((M, 2), (t, 1), (s, 1))]
    each = [solve(*one, feasible=feasible) for one in zip(*every, strict=True)]
    names = ("a", "gap", "relative_gap", "value", "steps")
    return Solution(*(np.stack([getattr(one, name) for one in each]) for name in names))


class _NoScaleError(Exception):
    """The squares of the numbers over- or underflow."""


def _raise(code: int) -> None:
    if code == 5:
        raise _NoScaleError
    if code == 1:
        raise SolverError(_PROBLEMS[code])
    if code:
        raise DataError(_PROBLEMS[code])


# ---- the other sets ------------------------------------------------------------------------------


def _closed_form(M: np.ndarray, t: np.ndarray, s: np.ndarray, batch: tuple[int, ...]) -> Solution:
    """a = (MMᵀ + S)⁻¹ M t, in N or d dimensions, whichever are fewer."""
    if not np.all(s > 0):
        raise DataError(
            "solve(feasible='free') needs penalties s above 0, or it has no one answer."
        )
    if not (np.isfinite(M).all() and np.isfinite(t).all()):
        raise DataError(_PROBLEMS[2])
    solution, noise = _ridge_certified(M, t, s, batch)
    if not batch and not noise <= _NOISE and np.abs(M).max() < 1e140 and np.abs(t).max() < 1e140:
        a, gap, relative = free_slowly(M, t, s, lambda M, t, s, _: _ridge(M, t, s))
        value = _value(M, t, s, a)
        solution = Solution(a, np.asarray(gap), np.asarray(relative), value, solution.steps)
    elif batch and not np.all(noise <= _NOISE):
        return _one_by_one(M, t, s, batch, "free")
    return checked(solution)


def _ridge_certified(
    M: np.ndarray, t: np.ndarray, s: np.ndarray, batch: tuple[int, ...]
) -> tuple[Solution, np.ndarray]:
    """Also rounding, as a share of what the sources change."""
    with np.errstate(all="ignore"):  # what overflows leaves no finite gap, and is refused for that
        scale = max(np.abs(M).max(initial=0.0), float(np.sqrt(s.min(initial=1e300))), 1e-300)
        try:
            a = _ridge(M / scale, t, s / scale / scale) / scale
        except np.linalg.LinAlgError:
            a = np.full(M.shape[-2], np.nan)
        a = np.broadcast_to(a, (*batch, M.shape[-2]))
        z = np.einsum("...n,...nd->...d", a, M)
        u = t - z
        finite = np.where(np.isfinite(s), s, 0.0)
        g = finite * a - np.einsum("...nd,...d->...n", M, u)
        # quadratic, so the distance to the minimum is ½ gᵀ(MMᵀ + S)⁻¹g ≤ ½ Σ g²/s
        gap = 0.5 * np.sum(np.where(np.isfinite(s), g * (g / s), 0.0), -1)
        penalty = np.sum(finite * a * a, -1)
        value = 0.5 * (np.sum(u * u, -1) + penalty)
        change = 0.25 * np.sum(z * z, -1) + 0.5 * penalty
        relative = np.where(gap == 0, 0.0, gap / np.maximum(change, 1e-300))
        row = np.sqrt(np.max(np.sum(M * M, -1), axis=-1, initial=0.0))
        noise = 2.2e-16 * row * np.sqrt(np.sum(u * u, -1)) / np.maximum(change, 1e-300)
    solution = Solution(a, gap, relative, value, np.ones(batch, np.int64))
    return solution, np.where(gap == 0, 0.0, noise)


def _ridge(M: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray:
    N, d = M.shape[-2:]
    if d >= N and np.isfinite(s).all():
        G = M @ np.swapaxes(M, -1, -2) + s[..., None] * np.eye(N)
        return np.linalg.solve(G, (M @ t[..., None]))[..., 0]
    weighted = M / s[..., None]
    H = np.eye(d) + np.swapaxes(M, -1, -2) @ weighted
    return (weighted @ np.linalg.solve(H, t[..., None]))[..., 0]
