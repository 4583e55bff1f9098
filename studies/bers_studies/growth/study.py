"""More and more past runs, of which one is right: do evaluations grow with their number?

Enters: settings and a seed. Leaves: one record per number of past runs. The target is Rastrigin;
the right run is one on Sphere, whose minimum is in the same place; the rest are runs on all four
functions, moved elsewhere. A smaller set is part of every larger one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers_studies.safety.study import TARGETS, moved_run
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, SPHERE
from bers_studies.static.runs import OURS, Models, curve


@dataclass(frozen=True)
class GrowthConfig:
    """One study."""

    numbers: tuple[int, ...] = (2, 4, 8, 16, 64)
    """Of past runs."""
    generations: int = 60
    run_generations: int = 40
    """Of the runs that distract."""


def trial(config: GrowthConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All numbers of one seed."""
    rng = np.random.default_rng([seed, 5])
    runs = [demonstrate(rng, SPHERE)]
    for i in range(1, max(config.numbers)):
        runs.append(moved_run(rng, TARGETS[i % len(TARGETS)], config.run_generations, i))
    for number in config.numbers:
        run = curve(
            RASTRIGIN, Models(runs[:number], seed), OURS, seed=seed, generations=config.generations
        )
        run["weights"] = [[a[0], round(sum(a[1:]), 3)] for a in run["weights"]]
        yield {"panel": RASTRIGIN.name, "method": "BERS", "number": number, **run}


CONFIG = GrowthConfig()
QUICK = GrowthConfig(numbers=(2, 8), generations=15, run_generations=15)
