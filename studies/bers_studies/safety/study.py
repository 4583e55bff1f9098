"""Past runs that mislead: is the search ever much worse than without them?

Enters: settings and a seed. Leaves: records of BERS and of plain Differential Evolution for every
target and every kind of misleading runs: on other functions whose minimum is elsewhere, on the
same function moved elsewhere, on the target itself with the sign turned, and pure noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers_studies.static.demonstrations import DIMENSION, demonstrate
from bers_studies.static.functions import HIGH, LOW, RASTRIGIN, SOURCES, Function
from bers_studies.static.runs import OURS, Method, Models, curve

TARGETS = (*SOURCES, RASTRIGIN)


@dataclass(frozen=True)
class SafetyConfig:
    """One study."""

    generations: int = 100
    runs: int = 2
    """Moved copies, and runs of noise."""
    rows: int = 2000
    """Of each run of noise."""
    run_generations: int = 60
    """Of the runs on moved and on turned functions."""


def trial(config: SafetyConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All kinds and targets of one seed."""
    rng = np.random.default_rng([seed, 4])
    others = [demonstrate(rng, function) for function in SOURCES]
    noise = Models([noise_run(rng, config.rows, i) for i in range(config.runs)], seed)
    for target in TARGETS:
        plain = curve(target, None, Method(None), seed=seed, generations=config.generations)
        for kind, models in _misleading(rng, target, others, noise, seed, config):
            yield {"panel": target.name, "kind": kind, "method": "None", **plain}
            run = curve(target, models, OURS, seed=seed, generations=config.generations)
            yield {"panel": target.name, "kind": kind, "method": "BERS", **run}


def _misleading(
    rng: np.random.Generator,
    target: Function,
    others: list[Demonstrations],
    noise: Models,
    seed: int,
    config: SafetyConfig,
) -> Iterator[tuple[str, Models]]:
    elsewhere = [
        run
        for run, function in zip(others, SOURCES, strict=True)
        if function.minimiser != target.minimiser
    ]
    yield "other functions", Models(elsewhere, seed)
    moved = [moved_run(rng, target, config.run_generations, i) for i in range(config.runs)]
    yield "moved", Models(moved, seed)
    own = demonstrate(rng, target, fitness=0.0, max_generations=config.run_generations)
    yield "sign turned", Models([Demonstrations(own.x, -own.original_y, "turned")], seed)
    yield "noise", noise


def moved_run(
    rng: np.random.Generator, function: Function, generations: int, number: int
) -> Demonstrations:
    """A run on a function that was moved by 1 to 2.5 in every coordinate, either way."""
    step = rng.uniform(1.0, 2.5, DIMENSION) * rng.choice([-1, 1], DIMENSION)
    moved = Function(f"{function.name} {number}", lambda x: function(x - step), np.nan)
    return demonstrate(rng, moved, fitness=0.0, max_generations=generations)


def noise_run(rng: np.random.Generator, rows: int, number: int) -> Demonstrations:
    """Random points with random values."""
    x = rng.uniform(LOW, HIGH, (rows, DIMENSION))
    return Demonstrations(x, rng.normal(size=rows), f"noise {number}")


CONFIG = SafetyConfig()
QUICK = SafetyConfig(generations=12, rows=500, run_generations=15)
