"""The paper's four functions with the past runs of the study `static`, by `bers.minimize` as it is.

Enters: settings and a seed. Leaves: a record for each function: evaluations until the thresholds of
`static`, and the least value after its 100 generations, 3,200 evaluations. The sources of a seed
are those of the same seed there. Ackley's minimum is the middle of the box, which the search tries
as a start of its own; so it is also minimised over a box whose middle is elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.algorithm import ReuseConfig
from bers.optimise.minimize import minimize
from bers_studies.static.demonstrations import BOUNDS, demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES
from bers_studies.static.runs import THRESHOLDS, digests

OTHER_BOX = "Ackley, another box"
_FURTHER = 1.0


@dataclass(frozen=True)
class StaticAgainConfig:
    """One study."""

    budget: int = 3200


def trial(config: StaticAgainConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All functions of one seed."""
    rng = np.random.default_rng(seed)
    sources = [demonstrate(rng, function) for function in SOURCES]
    yield {"data_digests": digests(sources)}
    past = {one.name: (one.x, one.original_y) for one in sources}
    further = [(low, high + _FURTHER) for low, high in BOUNDS]
    targets = [(f.name, f, BOUNDS) for f in (*SOURCES, RASTRIGIN)]
    targets.append((OTHER_BOX, SOURCES[1], further))
    for name, function, bounds in targets:
        result = minimize(
            lambda x, f=function: float(f(x)),
            bounds,
            sources=past,
            reuse=ReuseConfig(rule="equal"),  # three runs are all tried, whatever their weights
            rng=seed,
            maxfun=config.budget,
        )
        least = np.minimum.accumulate(result.fun_all)
        below = {t: int(np.argmax(least <= t)) + 1 for t in THRESHOLDS if least[-1] <= t}
        yield {
            "panel": name,
            "method": "BERS",
            "evaluations_to": {str(t): below.get(t) for t in THRESHOLDS},
            "least": float(f"{least[-1]:.5g}"),
        }


CONFIG = StaticAgainConfig()
QUICK = StaticAgainConfig(budget=200)
