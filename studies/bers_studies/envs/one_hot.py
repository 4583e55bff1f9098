"""An observation that is mostly zeros, by the places of its ones.

A network's first layer then adds up a few rows of its weights and multiplies nothing.
"""

import equinox as eqx
import jax
from jaxtyping import Array, Float32, Int32


class Ones(eqx.Module):
    """An input that is 1 at some places and 0 everywhere else.

    >>> Ones(jax.numpy.array([0, 2]), 4).dense.tolist()
    [1.0, 0.0, 1.0, 0.0]
    """

    places: Int32[Array, "*batch ones"]
    width: int = eqx.field(static=True)
    """Entries in all."""

    @property
    def dense(self) -> Float32[Array, "*batch k"]:
        """The entries themselves."""
        return jax.nn.one_hot(self.places, self.width).sum(axis=-2)
