"""Adam (Kingma and Ba, 2015), with its corrections folded into two numbers per step.

Enters: weights, their slopes, running moments. Leaves: weights and moments one step later. The
usual form divides every moment by its correction; here the corrections move into the rate and into
epsilon, which is the same step with fewer passes over memory, and memory is what a small network's
update waits for. Optax rounds elsewhere, so its last bits are others. [Eq. adam]
"""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32

_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8

T = TypeVar("T")


class Moments(eqx.Module):
    """Running means of the slopes and of their squares, and how many there were."""

    first: Any
    second: Any
    steps: Int32[Array, ""]


def no_moments(weights: Any) -> Moments:
    """Before the first step."""
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Moments(zeros, zeros, jnp.zeros((), jnp.int32))


def adam(weights: T, slopes: T, moments: Moments, rate: float) -> tuple[T, Moments]:
    """One step down. [Eq. adam]

    >>> w, moments = adam(jnp.ones(2), jnp.array([3.0, -0.1]), no_moments(jnp.ones(2)), 0.25)
    >>> (4 * w).round().tolist()  # the first step is as long as the rate, whatever the slope
    [3.0, 5.0]
    """
    steps = moments.steps + 1
    root = jnp.sqrt(1 - _SECOND**steps)
    length, epsilon = rate * root / (1 - _FIRST**steps), _EPSILON * root
    first = jax.tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments.first, slopes)
    second = jax.tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g**2, moments.second, slopes)
    moved = jax.tree.map(
        lambda w, m, v: w - length * m / (jnp.sqrt(v) + epsilon), weights, first, second
    )
    return moved, Moments(first, second, steps)
