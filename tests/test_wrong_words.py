"""What NumPy or Python would refuse in their own words is refused in ours."""

import numpy as np
import pytest

import bers
from bers.errors import ConfigError

SMALL = bers.ModelConfig(hidden=(8,), latent_dim=4, batches=5)
X = np.random.default_rng(0).uniform(size=(20, 2))
ROWS = X, X[:, 0]


def sphere(x):
    return float(np.sum(x**2))


@pytest.mark.parametrize("rng", ["x", -1, 1.5, [None]])
@pytest.mark.parametrize(
    "call",
    [
        lambda rng: bers.Trust({"a": ROWS}, model=SMALL, rng=rng),
        lambda rng: bers.rank({"a": ROWS}, ROWS, model=SMALL, rng=rng),
        lambda rng: bers.minimize(sphere, [(-1, 1)], rng=rng, maxfun=5),
        lambda rng: bers.Optimizer([(-1, 1)], rng=rng),
        lambda rng: bers.minimize_many([sphere, sphere], [(-1, 1)], rng=rng, maxiter=1),
    ],
    ids=["Trust", "rank", "minimize", "Optimizer", "minimize_many"],
)
def test_random_numbers(call, rng):
    with pytest.raises(ConfigError, match="rng must be a whole number of at least 0, a NumPy Gen"):
        call(rng)


@pytest.mark.parametrize("funs", [3, "ab", None, {sphere}])
def test_functions_of_several_tasks(funs):
    with pytest.raises(ConfigError, match="funs must be a list of functions, or a mapping"):
        bers.minimize_many(funs, [(-1, 1)])
