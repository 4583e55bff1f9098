"""What nobody can do without who has an encoder of the paper's size: its matrix products.

Enter: how many rows pass it once, and how many heads a mini-batch has. Leaves: a call that makes
these products and nothing else; no tanh, no head, no optimiser.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from bers import ModelConfig


def products(rows: int, inputs: int, heads: int = 4) -> Callable[[], object]:
    """All rows once, and a mini-batch there and back, in float32."""
    config = ModelConfig.paper()
    rng = np.random.default_rng(0)
    widths = (inputs, *(config.hidden or ()), config.latent_dim)
    layers = [rng.standard_normal(shape).astype(np.float32) for shape in pairwise(widths)]
    every = rng.standard_normal((rows, inputs)).astype(np.float32)
    batch = rng.standard_normal((heads * config.batch_size, inputs)).astype(np.float32)

    def call() -> None:
        seen = [batch]
        for layer in layers:
            seen.append(seen[-1] @ layer)
        back = seen[-1]
        for layer, before in zip(layers[::-1], seen[-2::-1], strict=True):
            _, back = before.T @ back, back @ layer.T
        out = every
        for layer in layers:
            out = out @ layer

    return call
