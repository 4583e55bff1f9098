"""Movement of the posterior means of w in a model with two features: the paper's latent figure.

Enters: settings and a seed. Leaves: one record per target, with the means of all four heads after
each generation, and the covariances of the two features' weights after every fifth. The two learned
features and the bias make three numbers per head. The target is minimised by plain Differential
Evolution with the paper's reuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.model.config import ModelConfig
from bers.optimise.ask_tell import Optimizer
from bers.optimise.objective import Objective
from bers_studies.static.demonstrations import BOUNDS, IN_PLACE, demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES
from bers_studies.static.runs import PAPER, Models

EVERY = 5
"""Generations between two records of how wide the posteriors are."""


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
    method = replace(PAPER, model=small)
    models = Models([demonstrate(rng, function) for function in SOURCES], seed)
    for target in (*SOURCES, RASTRIGIN):
        optimizer = Optimizer(
            BOUNDS, models.sources, rng=np.random.default_rng([seed, 9]), learner=IN_PLACE,
            reuse=method.reuse, model=models.get(method),
        )  # fmt: skip
        objective = Objective(target)
        means, covariances = [], []
        for generation in range(config.generations + 1):
            optimizer.advance(objective)
            heads = optimizer.trust.model.heads  # pyright: ignore
            means.append(heads.mu.round(4).tolist())
            if generation % EVERY == 0:
                wide = heads.noise[:, None, None] * heads.Sigma
                covariances.append(_rounded(wide[:, :2, :2]))
        yield {"panel": target.name, "means": means, "covariances": covariances}


def _rounded(values: np.ndarray) -> list[Any]:
    return np.vectorize(lambda value: float(f"{value:.3g}"))(values).tolist()


CONFIG = LatentConfig()
QUICK = LatentConfig(generations=30)
