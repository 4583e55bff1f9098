"""BBOB's functions with past runs, in parts: one function in one dimension.

Enters: settings and a number. Leaves: for every family and method the log10 of the least gap after
100, 300, 1,000 and 3,000 evaluations. The method was developed on 12 functions; those
that are reported here are the 12 others. On one of them, the linear slope, an error at the bounds
was found and mended; claims leave it out.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers_studies.bbob.methods import METHODS, ONLY, UP_TO, Counted, Enough, first_used
from bers_studies.bbob.problems import FAMILIES, MANY, REPORTED, problem

AT = (100, 300, 1000, 3000)
LEFT_OUT = ("BERS alone",)
"""It can be added."""
_FLOOR = 1e-8  # BBOB's own target precision


@dataclass(frozen=True)
class BbobConfig:
    """One study."""

    functions: tuple[int, ...] = REPORTED
    dimensions: tuple[int, ...] = (20, 40, 5, 10)
    """In the order in which they are run."""
    families: tuple[str, ...] = FAMILIES
    methods: tuple[str, ...] = tuple(m for m in METHODS if m not in LEFT_OUT)
    once: tuple[str, ...] = ("Optuna's CMA-ES", "Optuna's GP")
    """Methods that are slow: in the first trial only, and in five dimensions."""
    many: tuple[int, ...] = (10,)
    """Dimensions in which it is asked which of 30 sources is used first."""
    budget: int = 3000


def trial(config: BbobConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One part: all families and methods on one function in one dimension; small ones first."""
    parts = [(D, f) for D in config.dimensions for f in config.functions]
    number, (D, function) = seed // len(parts), parts[seed % len(parts)]
    for family in config.families:
        made = problem(function, D, family, number, among=config.functions)
        for k, method in enumerate(config.methods):
            if method in config.once and (number or D > 5):
                continue
            if family not in ONLY.get(method, (family,)):
                continue
            budget = min(config.budget, UP_TO.get(method, config.budget))
            counted = Counted(made.gap, budget)
            rng = np.random.default_rng([number, function, D, k])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rivals say what they like
                with suppress(Enough):
                    METHODS[method](rng, counted, D, made.sources)
            least = np.log10(np.maximum(counted.least, _FLOOR))
            yield {
                "panel": f"f{function}",
                "dimension": D,
                "family": family,
                "method": method,
                "number": number,
                "log10_gap": [round(float(least[n - 1]), 4) for n in AT if n <= len(least)],
            }
    if D in config.many:
        made = problem(function, D, MANY, number, among=config.functions)
        rng = np.random.default_rng([number, function, D])
        first, start = first_used(rng, made.gap, D, made.sources)
        about = {"panel": f"f{function}", "dimension": D, "number": number}
        right = {"right": 0 <= first < made.related, "started": 0 <= start < made.related}
        yield about | {"many": len(made.sources), **right}


CONFIG = BbobConfig()
QUICK = BbobConfig(
    functions=(2, 4, 5, 7),
    dimensions=(2,),
    families=("displaced 10%", "misleading"),
    methods=("BERS", "CMA-ES", "DE"),
    many=(),
    budget=100,
)
