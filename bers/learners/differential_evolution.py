"""Differential Evolution, the base learner for static functions. [Algorithm de]

Enters: a function of one point, bounds, a generator. Leaves: a population that improves, and
every point that was evaluated on the way. Agents are replaced in place, one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from jaxtyping import Float64

from bers.errors import ConfigError


@dataclass(frozen=True)
class DEConfig:
    """The three numbers of Differential Evolution, with the paper's values."""

    population: int = 32
    """Number of agents, NP (paper: 32)."""
    crossover_rate: float = 0.7
    """Chance that a coordinate comes from the mutant, CR (paper: 0.7)."""
    differential_weight: float = 0.5
    """Length of the difference that is added, F (paper: 0.5)."""

    def __post_init__(self) -> None:
        if self.population < 4:
            raise ConfigError(
                f"DEConfig(population=...) must be at least 4; got {self.population}."
            )
        if not 0 <= self.crossover_rate <= 1:
            raise ConfigError(
                f"DEConfig(crossover_rate=...) must be in [0, 1]; got {self.crossover_rate}."
            )
        if not 0 <= self.differential_weight <= 2:
            raise ConfigError(
                f"DEConfig(differential_weight=...) must be in [0, 2]; "
                f"got {self.differential_weight}."
            )


@dataclass(frozen=True)
class Population:
    """Agents and their values."""

    x: Float64[np.ndarray, "NP D"]
    f: Float64[np.ndarray, " NP"]


def start(
    rng: np.random.Generator,
    fun: Callable[[np.ndarray], SupportsFloat],
    low: Float64[np.ndarray, " D"],
    high: Float64[np.ndarray, " D"],
    *,
    config: DEConfig,
) -> Population:
    """Agents spread uniformly over the bounds, and evaluated."""
    if not (np.all(np.isfinite(low) & np.isfinite(high)) and np.all(low <= high)):
        raise ConfigError(f"bounds must be finite with low <= high; got {low} and {high}.")
    x = rng.uniform(low, high, (config.population, len(low)))
    return Population(x, np.array([float(fun(point)) for point in x]))


def generation(
    rng: np.random.Generator,
    agents: Population,
    fun: Callable[[np.ndarray], SupportsFloat],
    low: Float64[np.ndarray, " D"],
    high: Float64[np.ndarray, " D"],
    *,
    config: DEConfig,
    donor: Float64[np.ndarray, " D"] | None = None,
    p_m: float = 0.0,
) -> tuple[Population, Population]:
    """One generation. Returns the new population, and the trial points with their values.

    With probability p_m an agent's mutant starts from `donor`, a point found elsewhere, instead of
    from the first of the three agents.

    # Paper: the test for replacement is printed inside the coordinate loop; it belongs after it.
    """
    x, f = agents.x.copy(), agents.f.copy()
    NP, D = x.shape
    tried, values = np.empty_like(x), np.empty_like(f)
    for j in range(NP):
        # three others: draw from NP − 1 and step over j
        a, b, c = rng.choice(NP - 1, 3, replace=False)
        a, b, c = a + (a >= j), b + (b >= j), c + (c >= j)
        base = donor if donor is not None and rng.random() < p_m else x[a]
        mutant = np.clip(base + config.differential_weight * (x[b] - x[c]), low, high)
        cross = rng.random(D) < config.crossover_rate
        cross[rng.integers(D)] = True
        tried[j] = np.where(cross, mutant, x[j])
        values[j] = float(fun(tried[j]))
        if values[j] <= f[j]:
            x[j], f[j] = tried[j], values[j]
    return Population(x, f), Population(tried, values)
