"""Bounds and first points, from anything scipy's users write.

Enter: pairs (low, high) or scipy's Bounds; a way to start. Leave: arrays low and high; the first
population, and its values where they are known.
"""

from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from bers.errors import ConfigError
from bers.learners.differential_evolution import DEConfig
from bers.text import printable

_INITS = ("random", "latinhypercube", "sobol", "halton")


def box(bounds: Any) -> tuple[Float64[np.ndarray, " D"], Float64[np.ndarray, " D"]]:
    """Low and high of every variable; equal ones fix it.

    >>> box([(-1, 1), (0, 0)])
    (array([-1.,  0.]), array([1., 0.]))
    """
    try:
        pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else np.array(bounds, float).T
        low, high = (np.atleast_1d(np.asarray(end, np.float64)) for end in pair)
        low, high = np.broadcast_arrays(low, high)
    except (ValueError, TypeError) as error:
        raise ConfigError("bounds must be pairs (low, high), one per variable.") from error
    if low.ndim != 1 or not len(low):
        raise ConfigError("bounds must be pairs (low, high), one per variable.")
    with np.errstate(over="ignore", invalid="ignore"):
        bad = ~(np.isfinite(low) & np.isfinite(high - low) & (low <= high))
    if bad.any():
        j = int(np.argmax(bad))
        raise ConfigError(
            f"bounds must be finite with low <= high; variable {j} has ({low[j]}, {high[j]})."
        )
    return low.copy(), high.copy()


def first_points(
    rng: np.random.Generator,
    low: np.ndarray,
    high: np.ndarray,
    config: DEConfig,
    init: Any,
    x0: ArrayLike | None,
) -> tuple[Float64[np.ndarray, "NP D"], Float64[np.ndarray, " NP"] | None]:
    """The first population, and its values if `init` is an earlier result.

    >>> ends = np.zeros(2), np.ones(2)
    >>> first_points(np.random.default_rng(0), *ends, DEConfig(), "sobol", None)[0].shape
    (32, 2)
    """
    NP, D = config.population, len(low)
    values = None
    if isinstance(init, str):
        x = _spread(rng, low, high, NP, init)
    else:
        if hasattr(init, "population"):
            x, values = np.array(init.population, np.float64), init.population_energies
            values = np.array(values, np.float64)
        else:
            x = np.array(init, np.float64)
        if x.shape != (NP, D):
            raise ConfigError(
                f"init must hold {NP} points of {D} variables; got shape {x.shape}. "
                "Set population_size to the number of points."
            )
        if not np.all(np.isfinite(x)):
            raise ConfigError("init must hold finite points; some are not.")
        inside = np.clip(x, low, high)
        if values is not None and not np.array_equal(inside, x):
            raise ConfigError("the earlier result given as init= lies outside the bounds.")
        x = inside
    if x0 is not None:
        try:
            start = np.asarray(x0, np.float64)
        except (ValueError, TypeError):
            start = np.zeros(0)
        if start.shape != (D,) or not np.all(np.isfinite(start)):
            raise ConfigError(f"x0 must be {D} finite numbers; got {printable(repr(x0))}.")
        x[0] = np.clip(start, low, high)
        values = None if values is None else np.concatenate([[np.nan], values[1:]])
    return x, values


def _spread(
    rng: np.random.Generator, low: np.ndarray, high: np.ndarray, NP: int, init: str
) -> np.ndarray:
    if init == "random":
        return rng.uniform(low, high, (NP, len(low)))
    from scipy.stats import qmc

    kinds = {"latinhypercube": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}
    if init not in kinds:
        raise ConfigError(f"there is no init {init!r}. Known: {', '.join(_INITS)}, or an array.")
    points = kinds[init](len(low), rng=rng)
    # Sobol's points are balanced in powers of two only
    size = 1 << (NP - 1).bit_length() if init == "sobol" else NP
    return low + (high - low) * points.random(size)[:NP]
