"""What nobody can do without who has an encoder of the paper's size: its matrix products.

Enter: how many rows pass it once, and how many heads a mini-batch has. Leaves: a call that makes
these products and nothing else: no tanh, no head, no optimiser. They are compiled by XLA, whose
products are the faster ones here.
"""

from collections.abc import Callable
from itertools import pairwise

import jax
import numpy as np

from bers.model.config import ModelConfig


def products(rows: int, inputs: int, heads: int = 4) -> Callable[[], object]:
    """All rows once, and a mini-batch there and back, in float32."""
    config = ModelConfig.paper()
    rng = np.random.default_rng(0)
    widths = (inputs, *(config.hidden or ()), config.latent_dim)
    layers = [rng.standard_normal(shape).astype(np.float32) for shape in pairwise(widths)]
    every = rng.standard_normal((rows, inputs)).astype(np.float32)
    batch = rng.standard_normal((heads * config.batch_size, inputs)).astype(np.float32)

    @jax.jit
    def made(every: jax.Array, batch: jax.Array, layers: list[jax.Array]) -> object:
        seen = [batch]
        for layer in layers:
            seen.append(seen[-1] @ layer)
        back, gradients = seen[-1], []
        for layer, before in zip(layers[::-1], seen[-2::-1], strict=True):
            gradients.append(before.T @ back)
            back = back @ layer.T
        for layer in layers:
            every = every @ layer
        return every, gradients

    return lambda: jax.block_until_ready(made(every, batch, layers))
