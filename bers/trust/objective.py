"""From posteriors to the quadratic program, in one of five metrics.

Enters: `Beliefs`, the name of a metric. Leaves: rows M, a target t and penalties s, the program
that simplex.py solves. [Eq. qp] [Eq. metrics]

The paper compares weights w. Weights depend on directions of the features that the rows never
excite, on offsets and on scale; the other metrics compare the functions φᵀw over the target's rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float64

from bers.errors import ConfigError
from bers.model import nig
from bers.trust.beliefs import Beliefs
from bers.trust.qp.simplex import Feasible, solve

Metric = Literal["weights", "function", "centred", "shape", "affine"]
METRICS: dict[Metric, str] = {
    "weights": "distance of the weights w, as the paper prints it",
    "function": "distance of the functions over the target's rows",
    "centred": "the same, offsets ignored",
    "shape": "the same, offsets and every function's scale ignored",
    "affine": "the best non-negative combination, with one offset and one scale for all",
}
"""What each metric compares."""

_REACH = 1e5
_RIDGE = 1e-9  # of a source's mean square, so that a draw with collinear sources has one answer


@dataclass(frozen=True)
class Program:
    """min ½‖t − Σ aᵢMᵢ‖² + ½ Σ sᵢaᵢ²; arrays may lead with a batch axis."""

    M: Float64[np.ndarray, "*batch N k"]
    t: Float64[np.ndarray, "*batch k"]
    s: Float64[np.ndarray, "*batch N"]


def program(known: Beliefs, metric: Metric) -> Program:
    """The program of the posterior means. [Eq. qp]

    `weights` is Eq. qp of the paper; the other metrics replace ‖·‖² by the mean square over the
    target's rows, tr(Σᵢ) along with it.
    """
    L, s = _root(known, metric), _uncertainty(known, metric)
    t = known.target.mu @ L.T
    if metric in ("centred", "shape", "affine") and known.label_variance == 0:
        t = np.zeros_like(t)  # constant labels point nowhere; what rounding leaves of them must not
    return _measured(known.sources.mu @ L.T, t, s, metric)


def drawn_weights(
    rng: np.random.Generator, known: Beliefs, draws: int
) -> tuple[Float64[np.ndarray, "draws N d"], Float64[np.ndarray, "draws d"]]:
    """w of every source and of the target, drawn from their posteriors."""
    return nig.draw(rng, known.sources, draws)[0], nig.draw(rng, known.target, draws)[0]


def drawn_programs(
    known: Beliefs,
    metric: Metric,
    w: Float64[np.ndarray, "draws N d"],
    w_target: Float64[np.ndarray, "draws d"],
) -> Program:
    """One program for each draw; the draws carry the uncertainty, so s is a mere ridge."""
    L = _root(known, metric)
    M, t = w @ L.T, w_target @ L.T
    s = np.where(known.known, _RIDGE * np.sum(M**2, -1), np.inf)
    return _measured(M, t, s, metric)


def solved(
    problem: Program, metric: Metric, feasible: Feasible = "simplex"
) -> Float64[np.ndarray, "*batch N"]:
    """Weights of a program or of a batch of them; zeros where nothing is determined.

    `affine` has a scale of its own, so its weights are divided by their sum on the simplex.
    """
    lost = ~np.isfinite(problem.s).any(-1) | ~(np.sum(problem.t**2, -1) > 0)
    if np.all(lost):
        return np.zeros(problem.s.shape)
    set_: Feasible = "nonnegative" if metric == "affine" else feasible
    s = problem.s if metric == "affine" else np.where(_out_of_reach(problem), np.inf, problem.s)
    a = solve(problem.M, problem.t, s, feasible=set_).a
    if metric == "affine":
        total = a.sum(-1, keepdims=True)
        a = np.where(total > 0, a / np.where(total > 0, total, 1.0), 0.0)
    return np.where(lost[..., None], 0.0, a)


def _out_of_reach(problem: Program) -> np.ndarray:
    """Sources so much farther away than the nearest that their weight could only be a rounding.

    Other units (rewards of 1e6 beside rewards of 1) look like that.
    """
    away = np.linalg.norm(problem.M - problem.t[..., None, :], axis=-1)
    away = np.where(np.isfinite(problem.s), away, np.inf)
    near = np.min(away, axis=-1, keepdims=True) + np.linalg.norm(problem.t, axis=-1)[..., None]
    return away > _REACH * near


def _root(known: Beliefs, metric: Metric) -> np.ndarray:
    roots: dict[str, Callable[[], np.ndarray]] = {
        "weights": lambda: np.eye(known.sources.d),
        "function": lambda: known.raw,
        "centred": lambda: known.centred,
        "shape": lambda: known.centred,
        "affine": lambda: known.centred,
    }
    if metric not in roots:
        raise ConfigError(f"there is no metric {metric!r}. Known: {', '.join(METRICS)}.")
    return roots[metric]()


def _uncertainty(known: Beliefs, metric: Metric) -> np.ndarray:
    if metric == "weights":
        return known.uncertainty(np.eye(known.sources.d))
    return known.raw_uncertainty if metric == "function" else known.centred_uncertainty


def _measured(M: np.ndarray, t: np.ndarray, s: np.ndarray, metric: Metric) -> Program:
    if metric != "shape":
        return Program(M, t, s)
    size, own = np.linalg.norm(M, axis=-1), np.linalg.norm(t, axis=-1, keepdims=True)
    flat = size < 1e-150  # a constant has no shape; what rounding leaves of it, a huge penalty
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(flat[..., None], 0.0, M / np.where(flat, 1.0, size)[..., None])
        return Program(
            rows,
            np.where(own > 0, t / np.where(own > 0, own, 1.0), 0.0),
            np.where(flat, np.inf, s / np.where(flat, 1.0, size) ** 2),
        )
