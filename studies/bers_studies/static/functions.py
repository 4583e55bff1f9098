"""The paper's four test functions, as printed, on [-4, 4]^D.

Enters: points of shape (D,) or (n, D). Leaves: values of shape () or (n,). Each carries its
minimiser. The square roots (and the division by 10) bring all four to one scale, so that a
model has to learn the shape of a function and cannot tell it by size alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LOW, HIGH = -4.0, 4.0


@dataclass(frozen=True)
class Function:
    """A function to minimise: call it on one point or on rows of points."""

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    minimiser: float
    """Every coordinate of the global minimum has this value; the minimum is 0."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The value at x (D,), or at each row of x (n, D)."""
        return self.value(np.asarray(x, dtype=np.float64))


def _rosenbrock(x: np.ndarray) -> np.ndarray:
    # Paper: both terms are multiplied by 100; elsewhere only the first is. Kept as printed.
    head, tail = x[..., :-1], x[..., 1:]
    return np.sqrt(100 * np.sum((tail - head**2) ** 2 + (1 - head) ** 2, axis=-1)) / 10


def _ackley(x: np.ndarray) -> np.ndarray:
    near = -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2, axis=-1)))
    ripple = -np.exp(np.mean(np.cos(2 * np.pi * x), axis=-1))
    return near + ripple + 20 + np.e


def _sphere(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum((x + 2) ** 2, axis=-1))


def _rastrigin(x: np.ndarray) -> np.ndarray:
    z = x + 2
    return np.sqrt(np.sum(10 + z**2 - 10 * np.cos(2 * np.pi * z), axis=-1).clip(0))


ROSENBROCK = Function("Rosenbrock", _rosenbrock, 1.0)
ACKLEY = Function("Ackley", _ackley, 0.0)
SPHERE = Function("Sphere", _sphere, -2.0)
RASTRIGIN = Function("Rastrigin", _rastrigin, -2.0)

SOURCES = (ROSENBROCK, ACKLEY, SPHERE)
"""The paper's source tasks, in its order."""
