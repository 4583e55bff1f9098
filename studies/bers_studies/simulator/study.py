"""Few evaluations of a simulator with past runs, in parts: one simulator each.

Enters: settings and a number. Leaves: for every method the least value after 30, 50, 100 and 200
evaluations. Nothing was chosen on these problems: `CMAES` was developed on BBOB's functions.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers_studies.bbob.methods import Counted, Enough
from bers_studies.simulator.methods import METHODS, TOLD
from bers_studies.simulator.problems import DIMENSION, SIMULATORS, problem

AT = (30, 50, 100, 200)


@dataclass(frozen=True)
class SimulatorConfig:
    """One study."""

    simulators: tuple[str, ...] = tuple(SIMULATORS)
    methods: tuple[str, ...] = tuple(METHODS)
    budget: int = 200


def trial(config: SimulatorConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One part: all methods on one simulator."""
    number, which = divmod(seed, len(config.simulators))
    name = config.simulators[which]
    made = problem(name, number)
    for k, method in enumerate(config.methods):
        counted = Counted(made.fun, config.budget)
        kinds = ["near"] if method == TOLD else list(made.sources)
        rng = np.random.default_rng([number, which, k])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rivals say what they like
            with suppress(Enough):
                METHODS[method](rng, counted, DIMENSION, [made.sources[kind] for kind in kinds])
        least = counted.least
        yield {
            "panel": name,
            "number": number,
            "method": method,
            "least": [float(f"{least[n - 1]:.6g}") for n in AT if n <= len(least)],
        }


CONFIG = SimulatorConfig()
QUICK = SimulatorConfig(simulators=("bowl", "arm"), methods=("BERS", "CMA-ES", "DE"), budget=60)
