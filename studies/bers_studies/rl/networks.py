"""Small multi-layer perceptrons for policies and value functions.

Enters: a key and layer sizes. Leaves: a `Net`, a record of weights and biases that is called on one
input or on rows of them. Inputs that are mostly zeros come as the places of their ones, `Ones`; the
first layer then adds up rows of its weights and multiplies nothing. Hidden layers start by Glorot's
rule; the output layer starts close to zero, so that a fresh policy is indifferent and a fresh value
is nothing (paper: U(-3e-3, 3e-3)).
"""

import itertools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, PRNGKeyArray

from bers_studies.envs.one_hot import Ones

_OUTPUT = 3e-3


def width(x: Array | Ones) -> int:
    """Entries of an input."""
    return x.width if isinstance(x, Ones) else x.shape[-1]


class Net(eqx.Module):
    """Weights and biases, layer by layer; ReLU or tanh between them, nothing at the end."""

    weights: tuple[Float32[Array, "_ _"], ...]
    biases: tuple[Float32[Array, "_"], ...]
    activation: str = eqx.field(static=True)

    def __call__(self, *inputs: Float32[Array, "*batch _"] | Ones) -> Float32[Array, "*batch out"]:
        """The outputs for one input or for rows of them; several stand one behind the other."""
        squash = jax.nn.relu if self.activation == "relu" else jnp.tanh
        x = _first(self.weights[0], inputs) + self.biases[0]
        for W, b in zip(self.weights[1:], self.biases[1:], strict=True):
            x = squash(x) @ W + b
        return x

    @property
    def penalty(self) -> Float32[Array, ""]:
        """Σ ‖W‖², biases left alone."""
        return jnp.sum(jnp.array([jnp.sum(W**2) for W in self.weights]))


def _first(W: Float32[Array, "k out"], inputs: tuple[Array | Ones, ...]) -> Array:
    """Inputs, one behind the other, times W."""
    total, start = 0.0, 0
    for x in inputs:
        end = start + width(x)
        if isinstance(x, Ones):
            total += W[start + x.places].sum(axis=-2)
        else:
            total += x @ W[start:end]
        start = end
    return jnp.asarray(total)


def new_net(key: PRNGKeyArray, sizes: Sequence[int], *, activation: str = "relu") -> Net:
    """A fresh net.

    >>> net = new_net(jax.random.key(0), (4, 8, 2))
    >>> [W.shape for W in net.weights], bool(abs(net(jnp.ones(4))).max() < 0.1)
    ([(4, 8), (8, 2)], True)
    """
    weights = []
    pairs = list(itertools.pairwise(sizes))
    for layer, (fan_in, fan_out) in enumerate(pairs):
        last = layer == len(pairs) - 1
        bound = _OUTPUT if last else (6.0 / (fan_in + fan_out)) ** 0.5
        shape, own = (fan_in, fan_out), jax.random.fold_in(key, layer)
        weights.append(jax.random.uniform(own, shape, jnp.float32, -bound, bound))
    return Net(tuple(weights), tuple(jnp.zeros(W.shape[1]) for W in weights), activation)


def towards(target: Net, net: Net, rate: float) -> Net:
    """The target net, moved a share of the way to the net it follows.

    >>> old, new = (new_net(jax.random.key(i), (2, 2)) for i in (0, 1))
    >>> bool((towards(old, new, 1.0).weights[0] == new.weights[0]).all())
    True
    """
    return jax.tree.map(lambda old, new: old + rate * (new - old), target, net)
