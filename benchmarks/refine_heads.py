"""What the two refinement benchmarks share: four heads of 6,000 rows with 10 inputs."""

import numpy as np
import torch
from torch_model import TorchModel

from bers import Demonstrations, Model, ModelConfig, fit
from bers.problems.functions import HIGH, LOW, RASTRIGIN, SOURCES

HEADS, N, INPUTS = 4, 6000, 10


def heads() -> tuple[Model, list[Demonstrations], TorchModel]:
    """A model trained for a while, its sources, and the peer with the same weights."""
    rng = np.random.default_rng(0)
    sources = []
    for function in (*SOURCES, RASTRIGIN):
        x = rng.uniform(LOW, HIGH, (N, INPUTS))
        sources.append(Demonstrations(x, np.log1p(function(x)), function.name))
    model = fit(sources, config=ModelConfig(batches=500))
    torch.manual_seed(0)
    return model, sources, TorchModel(model, sources)
