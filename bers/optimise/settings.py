"""What `minimize`, `Optimizer` and `minimize_many` make of the same words.

Enter: settings as users write them. Leave: records and numbers, or an error that names the word.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Float64

from bers.algorithm import ReuseConfig
from bers.errors import ConfigError
from bers.model.config import ModelConfig
from bers.reuse.schedule import schedule_named
from bers.trust.rules import rule_on


def two_streams(rng: Any) -> tuple[np.random.Generator, np.random.Generator]:
    """The user's generator, and one for the use of sources.

    The second draws nothing from the first, so that plain bits stay plain; only a legacy
    RandomState, which cannot be split, has to give a number.

    >>> [int(stream.integers(100)) for stream in two_streams(0)]
    [85, 80]
    """
    first = np.random.default_rng(rng)
    try:
        return first, first.spawn(1)[0]
    except TypeError:
        return first, np.random.default_rng(int(first.integers(2**62)))


def pair_or_number(value: Any) -> Any:
    """A pair as a tuple, in whatever form it comes; all else as it is.

    >>> pair_or_number([0.5, 1.0]), pair_or_number(0.5)
    ((0.5, 1.0), 0.5)
    """
    several = isinstance(value, list | tuple) or np.ndim(value) == 1
    return tuple(float(end) for end in value) if several else value


def check_tolerance(tol: float, atol: float) -> None:
    """Refuse what is no number."""
    for name, value in (("tol", tol), ("atol", atol)):
        if np.isnan(value):
            raise ConfigError(f"{name} must be a number; got {value!r}.")


def converged(f: Float64[np.ndarray, " NP"], tol: float, atol: float) -> bool:
    """scipy's test: the values' standard deviation is at most atol + tol |their mean|.

    >>> converged(np.array([1.0, 1.001]), 0.01, 0.0), converged(np.array([1.0, 2.0]), 0.01, 0.0)
    (True, False)
    """
    values = f.tolist()  # plain numbers overflow without a warning: a huge penalty is far away
    mean = sum(values) / len(values)
    if not math.isfinite(mean):
        return False
    away = math.dist(values, [mean] * len(values))
    return away / math.sqrt(len(values)) <= atol + tol * abs(mean)


def reuse_config(
    metric: str,
    schedule: Any,
    guard: str,
    elites: int,
    pick: str,
    feasible: str | None,
    config: ModelConfig | None,
) -> ReuseConfig:
    """Settings of reuse from the words of `minimize`."""
    if elites < 1:
        raise ConfigError(f"elites must be at least 1; got {elites}.")
    return ReuseConfig(
        rule=rule_on(metric, feasible),
        schedule=schedule_named(schedule),
        guard=guard,  # pyright: ignore[reportArgumentType]
        elites=elites,
        pick=pick,  # pyright: ignore[reportArgumentType]
        model=config or ModelConfig(),
    )
