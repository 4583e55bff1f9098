"""What each part of reuse is worth: the guard, the number of points, who picks them.

Enters: settings and a seed. Leaves: records of the paper's way, of ours, and of everything in
between, on the four functions with past runs on three.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.schedules import Constant, Linear
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES
from bers_studies.static.runs import OURS, Method, Models, curve
from bers_studies.trust.study import RIGHT


def _changed(**changes: Any) -> Method:
    return replace(OURS, reuse=replace(OURS.reuse, **changes))  # pyright: ignore


OPTIONS: dict[str, Method] = {
    "no guard, 1 point": _changed(guard="none", elites=1),
    "guard by success, 1 point": _changed(guard="success", elites=1),
    "guard by success, 16 points": _changed(guard="success"),
    "guard by trial, 1 point": _changed(elites=1),
    "guard by trial, 16 points (default)": OURS,
    "the same, 32 points": _changed(elites=32),
    "the same, points picked by the target's head": _changed(pick="predicted"),
    "the same, p_m = 0.3": _changed(schedule=Constant(0.3)),
    "the same, p_m to 0 in 50 generations": _changed(schedule=Linear(1.0, until=50)),
    "the right source alone": _changed(),
    "None": Method(None),
}
"""From the paper's way to reuse, with our weights, to ours and beyond."""


@dataclass(frozen=True)
class OptionsConfig:
    """One study."""

    generations: int = 100


def trial(config: OptionsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All options on all targets, with the same past runs and the same first model."""
    rng = np.random.default_rng([seed, 6])
    models = Models([demonstrate(rng, function) for function in SOURCES], seed)
    for target in (*SOURCES, RASTRIGIN):
        for name, method in OPTIONS.items():
            if name == "the right source alone":
                method = _changed(rule=f"single:{RIGHT[target.name]}")
            run = curve(target, models, method, seed=seed, generations=config.generations)
            yield {"panel": target.name, "method": name, **run}


CONFIG = OptionsConfig()
QUICK = OptionsConfig(generations=15)
