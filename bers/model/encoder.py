"""The shared encoder φ: from inputs to the features that every head is linear in.

Enters: standardised inputs, float32, one row each. Leaves: d learned features in (−1, 1), then
the inputs themselves if `skip` is set, then a constant 1. [Eq. encoder]

    φ(x) = [tanh(W₃ r(W₂ r(W₁ x + b₁) + b₂) + b₃), x if skip, 1],   r = ReLU or tanh
"""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32

from bers.model.config import ModelConfig


class Encoder(eqx.Module):
    """A multi-layer perceptron with tanh outputs and a constant feature."""

    weights: tuple[Float32[Array, "_ _"], ...]
    biases: tuple[Float32[Array, "_"], ...]
    activation: str = eqx.field(static=True)
    skip: bool = eqx.field(static=True)

    def __call__(self, x: Float32[Array, "n k"]) -> Float32[Array, "n D"]:
        """Features of every row, the bias last. [Eq. encoder]"""
        squash = jax.nn.relu if self.activation == "relu" else jnp.tanh
        h = x
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = squash(h @ W + b)
        learned = jnp.tanh(h @ self.weights[-1] + self.biases[-1])
        seen = (learned, x) if self.skip else (learned,)
        return jnp.concatenate([*seen, jnp.ones_like(x[:, :1])], axis=1)

    @property
    def inputs(self) -> int:
        """Number of input columns k."""
        return self.weights[0].shape[0]

    @property
    def features(self) -> int:
        """Number of features D that a head sees, the bias included."""
        return self.weights[-1].shape[1] + (self.inputs if self.skip else 0) + 1


def new_encoder(rng: np.random.Generator, inputs: int, *, config: ModelConfig) -> Encoder:
    """A fresh encoder: Glorot uniform weights, zero biases.

    >>> new_encoder(np.random.default_rng(0), 10, config=ModelConfig()).features
    21
    """
    sizes = (inputs, *config.hidden, config.latent_dim)
    weights = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        weights.append(rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32))
    return Encoder(
        weights=tuple(jnp.asarray(W) for W in weights),
        biases=tuple(jnp.zeros(size, jnp.float32) for size in sizes[1:]),
        activation=config.activation,
        skip=config.skip,
    )
