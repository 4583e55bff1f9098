import numpy as np
import pytest

from bers import Demonstrations, ModelConfig


@pytest.fixture
def small():
    """A model that trains in a blink."""
    return ModelConfig(hidden=(16, 16), latent_dim=6, batches=200, learning_rate=3e-3)


@pytest.fixture
def sources():
    """Three demonstrators with different goals on one input space, and very different sizes."""
    rng = np.random.default_rng(0)
    made = []
    for name, n, goal in (("alice", 800, 0), ("bob", 300, 1), ("carol", 40, 2)):
        x = rng.uniform(-1, 1, (n, 3))
        y = np.sin(2 * x[:, goal]) + x[:, (goal + 1) % 3] ** 2 + 0.05 * rng.standard_normal(n)
        made.append(Demonstrations(x, y, name))
    return made
