"""What the two refinement benchmarks share: four heads of 6,000 rows with 10 inputs."""

from collections.abc import Callable

import numpy as np
import torch
from bers_studies.static.functions import HIGH, LOW, RASTRIGIN, SOURCES
from torch_model import TorchModel

from bers import Demonstrations, Model, ModelConfig, fit, refine
from bers.model.scaling import Memory

N, INPUTS = 6000, 10
ROUNDS, CALLS = 15, 8


def heads() -> tuple[Model, list[Demonstrations]]:
    """A model trained for a while, and its sources."""
    rng = np.random.default_rng(0)
    sources = []
    for function in (*SOURCES, RASTRIGIN):
        x = rng.uniform(LOW, HIGH, (N, INPUTS))
        sources.append(Demonstrations(x, np.log1p(function(x)), function.name))
    return fit(sources, config=ModelConfig(hidden=(200, 200), batches=500)), sources


def ours(subset: int | None = None) -> Callable[[], object]:
    """One mini-batch and fresh posteriors."""
    model, sources = heads()
    memory = Memory()  # as a Trust keeps one: what is known of the sources is not measured again
    return lambda: refine(model, sources, batches=1, subset=subset, memory=memory)


def peer(subset: int | None = None) -> Callable[[], object]:
    """The same in PyTorch, from the same weights."""
    torch.manual_seed(0)
    twin = TorchModel(*heads())
    return lambda: twin.refine(subset)
