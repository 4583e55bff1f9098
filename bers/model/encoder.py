"""The shared encoder φ: from inputs to the features that every head is linear in.

Enters: standardised inputs, float32, one row each. Leaves: d learned features in (−1, 1), then
the inputs themselves if `skip` is set, then a constant 1. [Eq. encoder]

    φ(x) = [tanh(W₃ r(W₂ r(W₁ x + b₁) + b₂) + b₃), x if skip, 1],   r = ReLU, tanh or SiLU

An encoder is anything that maps rows to features with the constant last, and says how many `inputs`
it takes, how many `features` it gives and which `weights` training may shrink. There are three: the
network here, on all columns (the paper's) or on some; the trees of trees.py; both side by side.
"""

import itertools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32

from bers.model.config import ModelConfig
from bers.model.trees import Trees

_SQUASH = {"relu": jax.nn.relu, "tanh": jnp.tanh, "silu": jax.nn.silu}


class Network(eqx.Module):
    """A multi-layer perceptron with tanh outputs and a constant feature."""

    weights: tuple[Float32[Array, "_ _"], ...]
    biases: tuple[Float32[Array, "_"], ...]
    activation: str = eqx.field(static=True)
    skip: bool = eqx.field(static=True)
    columns: tuple[int, ...] | None = eqx.field(static=True, default=None)
    """The inputs that it looks at; None: all."""
    width: int | None = eqx.field(static=True, default=None)
    """How many inputs there are, if it does not look at all of them."""

    def __call__(self, x: Float32[Array, "n k"]) -> Float32[Array, "n D"]:
        """Features of every row, the bias last. [Eq. encoder]"""
        squash = _SQUASH[self.activation]
        x = x if self.columns is None else x[:, np.array(self.columns, int)]
        h = x
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = squash(h @ W + b)
        learned = jnp.tanh(h @ self.weights[-1] + self.biases[-1])
        seen = (learned, x) if self.skip else (learned,)
        return jnp.concatenate([*seen, jnp.ones_like(x[:, :1])], axis=1)

    @property
    def inputs(self) -> int:
        """Number of input columns k."""
        return self.weights[0].shape[0] if self.width is None else self.width

    @property
    def features(self) -> int:
        """Number of features D that a head sees, the bias included."""
        return self.weights[-1].shape[1] + (self.weights[0].shape[0] if self.skip else 0) + 1


class Both(eqx.Module):
    """The features of a network and of trees, one constant for both."""

    network: Network
    trees: Trees

    def __call__(self, x: Float32[Array, "n k"]) -> Float32[Array, "n D"]:
        """Features of every row, the bias last."""
        return jnp.concatenate([self.network(x)[:, :-1], self.trees(x)], axis=1)

    @property
    def inputs(self) -> int:
        """Number of input columns k."""
        return self.trees.inputs

    @property
    def features(self) -> int:
        """Number of features that a head sees, the bias included."""
        return self.network.features - 1 + self.trees.features

    @property
    def weights(self) -> tuple[Float32[Array, "_ _"], ...]:
        """Of the network."""
        return self.network.weights


Encoder = Network | Trees | Both


def network_of(encoder: Encoder) -> Network | None:
    """The part that training moves, if there is one."""
    if isinstance(encoder, Both):
        return encoder.network
    return encoder if isinstance(encoder, Network) else None


def with_network(encoder: Encoder, network: Network) -> Encoder:
    """The encoder with another network in its place."""
    return Both(network, encoder.trees) if isinstance(encoder, Both) else network


def new_encoder(
    rng: np.random.Generator,
    inputs: int,
    *,
    config: ModelConfig,
    columns: Sequence[int] | None = None,
) -> Network:
    """A fresh network: Glorot uniform weights, zero biases; `columns`: all, unless given.

    >>> config = ModelConfig(hidden=(200, 200))
    >>> new_encoder(np.random.default_rng(0), 10, config=config).features
    21
    """
    seen = inputs if columns is None else len(columns)
    sizes = (seen, *config.units, config.latent_dim)
    weights = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        bound = np.sqrt(6.0 / (fan_in + fan_out))
        weights.append(rng.uniform(-bound, bound, (fan_in, fan_out)).astype(np.float32))
    return Network(
        weights=tuple(jnp.asarray(W) for W in weights),
        biases=tuple(jnp.zeros(size, jnp.float32) for size in sizes[1:]),
        activation=config.activation or "relu",
        skip=config.skip,
        columns=None if columns is None else tuple(int(c) for c in columns),
        width=None if columns is None else inputs,
    )
