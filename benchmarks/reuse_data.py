"""The paper's setting for reuse: three past runs, and a target that grows to 3,200 rows."""

from dataclasses import dataclass

import numpy as np
from bers_studies.static.demonstrations import DIMENSION, demonstrate
from bers_studies.static.functions import HIGH, LOW, RASTRIGIN, SOURCES

from bers import Demonstrations, ModelConfig
from bers.algorithm import Reuse, ReuseConfig, after
from bers.data.transforms import Log1p
from bers.learners.base import Experience
from bers.learners.differential_evolution import DifferentialEvolution
from bers.optimise.ask_tell import past_points

GENERATIONS = 99
TRANSFORM = Log1p()
"""Of all labels before they are modelled."""
_BATCHES = 500  # of pre-training; how long it was does not change what a generation costs


@dataclass(frozen=True)
class Recorded:
    """A run whose generations can be played back."""

    start: Reuse
    """Before the first row of the target."""
    seen: tuple[Experience, ...]
    """What each generation saw; the first are the agents' first points."""


def past_runs() -> list[Demonstrations]:
    """One on each of the paper's source functions, with the functions' values as labels."""
    runs = (demonstrate(np.random.default_rng(15 + i), f) for i, f in enumerate(SOURCES))
    return [Demonstrations(run.x, run.original_y, run.name) for run in runs]


def recorded(*, generations: int = GENERATIONS, batches: int = _BATCHES, **how: object) -> Recorded:
    """A run on Rastrigin that reuses three others; `how` are settings of `ReuseConfig`."""
    config, model = (
        ReuseConfig(transform=TRANSFORM, **how),
        ModelConfig(hidden=(200, 200), batches=batches),
    )
    rng, own = np.random.default_rng(0).spawn(2)
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    start = past_points(own, past_runs(), config, model, low, high, progress=False)
    learner = DifferentialEvolution(RASTRIGIN, low, high)
    agents = learner.start(rng)
    seen = [Experience(agents.x, agents.f)]
    reuse = after(start, seen[0], start=True)
    for _ in range(generations):
        agents, news = learner.iterate(rng, agents, reuse.guide())
        seen.append(news)
        reuse = after(reuse, news, start=not len(reuse.trust.y))
    return Recorded(start, tuple(seen))
