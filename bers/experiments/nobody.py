"""Does the default rule say "nobody" when nobody is like the target?

Enters: seeds. Leaves: one record per seed and kind of misleading source. The target is a run of 10
generations on Sphere. The sources visited the points of the three demonstrations, but their labels
are noise, or a constant, or the target's own function with its sign turned.
"""

from collections.abc import Callable, Sequence

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.experiments.demonstrations import demonstrate
from bers.model.neural_linear import fit
from bers.problems.functions import SOURCES, SPHERE
from bers.progress import progress_bar
from bers.trust.beliefs import beliefs
from bers.trust.rules import weigh

Labels = Callable[[np.random.Generator, np.ndarray], np.ndarray]
KINDS: dict[str, Labels] = {
    "noise": lambda rng, x: rng.standard_normal(len(x)),
    "constant": lambda rng, x: np.full(len(x), rng.uniform(0, 10)),
    "sign-flipped": lambda rng, x: -np.log1p(SPHERE(x)),
}
"""What misleading sources say about the points they visited."""


def study(
    seeds: Sequence[int] = tuple(range(20)),
    rules: Sequence[str] = ("odds", "shape+nobody"),
    *,
    progress: bool | None = None,
) -> list[dict[str, object]]:
    """The share of nobody, for every seed, kind and rule."""
    records: list[dict[str, object]] = []
    with progress_bar("trials", len(seeds) * len(KINDS), show=progress) as advance:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            points = [demonstrate(rng, function).x for function in SOURCES]
            target = demonstrate(rng, SPHERE, fitness=0.0, max_generations=10)
            for kind, labels in KINDS.items():
                sources = [
                    Demonstrations(x, labels(rng, x.astype(np.float64)), f"{kind} {i}")
                    for i, x in enumerate(points)
                ]
                known = beliefs(fit([*sources, target], rng=seed, progress=False), target)
                for rule in rules:
                    nobody = 1 - float(weigh(known, rule).sum())
                    records.append({"seed": seed, "kind": kind, "rule": rule, "nobody": nobody})
                advance()
    return records
