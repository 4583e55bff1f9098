"""Does the default rule say "nobody" when nobody is like the target?

Enters: settings and a seed. Leaves: one record per kind of misleading source and rule. The target
is a run of 10 generations on Sphere. The sources visited the points of the three demonstrations,
but their labels are noise, or a constant, or the target's own function with its sign turned.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.trust.trust import Trust
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import SOURCES, SPHERE

Labels = Callable[[np.random.Generator, np.ndarray], np.ndarray]
KINDS: dict[str, Labels] = {
    "noise": lambda rng, x: rng.standard_normal(len(x)),
    "constant": lambda rng, x: np.full(len(x), rng.uniform(0, 10)),
    "sign-flipped": lambda rng, x: -np.log1p(SPHERE(x)),
}
"""What misleading sources say about the points they visited."""


@dataclass(frozen=True)
class NobodyConfig:
    """One study."""

    rules: tuple[str, ...] = ("odds", "shape+nobody")
    kinds: tuple[str, ...] = tuple(KINDS)


def trial(config: NobodyConfig, seed: int) -> Iterator[dict[str, object]]:
    """The share of nobody, for every kind and rule."""
    rng = np.random.default_rng(seed)
    points = [demonstrate(rng, function).x for function in SOURCES]
    target = demonstrate(rng, SPHERE, fitness=0.0, max_generations=10)
    for kind in config.kinds:
        sources = [
            Demonstrations(x, KINDS[kind](rng, x.astype(np.float64)), f"{kind} {i}")
            for i, x in enumerate(points)
        ]
        trust = Trust(sources, rng=seed, progress=False).observe(target)
        for rule in config.rules:
            nobody = 1 - float(trust.weights_by(rule).sum())
            yield {"kind": kind, "rule": rule, "nobody": nobody}


CONFIG = NobodyConfig()
QUICK = NobodyConfig(rules=("odds",), kinds=("noise", "sign-flipped"))
