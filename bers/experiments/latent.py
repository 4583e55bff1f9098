"""Movement of the posterior means of w in a model with two features: the paper's latent figure.

Enters: settings and a seed. Leaves: one record per target, with the means of all four heads after
each generation. The two learned features and the bias make three numbers per head. The target is
minimised by plain Differential Evolution with the paper's reuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.experiments.curves import PAPER, Models
from bers.experiments.demonstrations import BOUNDS, demonstrate
from bers.model.config import ModelConfig
from bers.optimise.objective import Objective
from bers.optimise.optimizer import Optimizer
from bers.problems.functions import RASTRIGIN, SOURCES


@dataclass(frozen=True)
class LatentConfig:
    """One study."""

    generations: int = 100
    latent_dim: int = 2
    """Learned features (paper: 2 in this figure)."""


def trial(config: LatentConfig, seed: int) -> Iterator[dict[str, Any]]:
    """The four targets of one seed."""
    rng = np.random.default_rng([seed, 8])
    small = ModelConfig.paper(latent_dim=config.latent_dim)
    method = replace(PAPER, reuse=replace(PAPER.reuse, model=small))  # pyright: ignore
    models = Models([demonstrate(rng, function) for function in SOURCES], seed)
    for target in (*SOURCES, RASTRIGIN):
        optimizer = Optimizer(
            BOUNDS, models.sources, rng=np.random.default_rng([seed, 9]), updating="immediate",
            transform=method.transform, model=models.get(method), reuse=method.reuse,
        )  # fmt: skip
        objective = Objective(target)
        means = []
        for _ in range(config.generations + 1):
            optimizer.advance(objective)
            means.append(optimizer.reuse.model.heads.mu.round(4).tolist())  # pyright: ignore
        yield {"panel": target.name, "means": means}
