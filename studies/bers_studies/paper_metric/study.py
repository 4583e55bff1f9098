"""The paper's metric on Rastrigin: everything that was tried to make it favour Sphere.

Enters: settings and a seed. Leaves: one record per variant. The paper says that the weights favour
Sphere. Each variant changes one thing that the paper leaves open or that could matter: longer
demonstrations, a faster encoder, more training, fewer or more features.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES
from bers_studies.static.runs import PAPER, Method, Models, curve


def _changed(batches: int = 1, **changes: Any) -> Method:
    reuse = replace(PAPER.reuse, batches=batches)  # pyright: ignore
    return Method(reuse, ModelConfig.paper(**changes))


VARIANTS: dict[str, Method] = {
    "as printed": PAPER,
    "learning rate 1e-3": _changed(learning_rate=1e-3),
    "learning rate 1e-3, 10 batches a generation": _changed(batches=10, learning_rate=1e-3),
    "10 batches a generation": _changed(batches=10),
    "d = 2": _changed(latent_dim=2),
    "d = 50": _changed(latent_dim=50),
    "our model, the paper's metric": replace(PAPER, model=ModelConfig(hidden=(200, 200))),
}
"""One thing changed at a time."""


@dataclass(frozen=True)
class PaperMetricConfig:
    """One study."""

    generations: int = 100
    long_population: int = 100
    """NP of the long demonstrations, which come near to the sizes that the paper prints."""
    long_batches: int = 16000


def trial(config: PaperMetricConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All variants of one seed."""
    rng = np.random.default_rng([seed, 7])
    sources = [demonstrate(rng, function) for function in SOURCES]
    longer = DE(population=config.long_population)
    long = [demonstrate(rng, function, config=longer) for function in SOURCES]
    models = Models(sources, seed)
    variants: dict[str, tuple[Models, Method]] = {
        name: (models, method) for name, method in VARIANTS.items()
    }
    more = ModelConfig.paper(batches=config.long_batches)
    variants[f"{config.long_batches:,} batches before"] = (
        models,
        replace(PAPER, model=more),
    )
    variants[f"demonstrations with NP = {config.long_population}"] = Models(long, seed), PAPER
    for name, (runs, method) in variants.items():
        run = curve(RASTRIGIN, runs, method, seed=seed, generations=config.generations)
        rows = [source.n for source in runs.sources]
        yield {"panel": RASTRIGIN.name, "method": name, "rows": rows, **run}


CONFIG = PaperMetricConfig()
QUICK = PaperMetricConfig(generations=10, long_population=40, long_batches=1000)
