"""Small problems and past runs, and how to compare two results."""

import numpy as np

from bers.algorithm import ReuseConfig
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig

D = 2
BOUNDS = [(-2.0, 2.0)] * D
LOW, HIGH = np.full(D, -2.0), np.full(D, 2.0)
CENTRE = np.array([0.3, -0.7])
SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)
BOTH = ["immediate", "deferred"]
# no model is trained, so that what is reused can be tested in no time
BLIND = {"reuse": ReuseConfig(rule="equal")}


def blind(**more):
    """Settings of `minimize` for past runs without a model."""
    return {"reuse": ReuseConfig(rule="equal", **more)}


def eight(updating="immediate", **more):
    """Eight agents that never think that they are done."""
    return DE(**{"population": 8, "tol": 0.0, "updating": updating, **more})


def few(updating="immediate", rng=0, **more):
    """Settings of `minimize` for a short run."""
    return {"rng": rng, "learner": eight(updating, **more)}


FEW = few()


def sphere(x):
    return float(np.sum((x - CENTRE) ** 2))


class Counted:
    """A function that counts its calls, in all and per point."""

    def __init__(self, fun=sphere):
        self.fun, self.calls, self.per_point = fun, 0, {}

    def __call__(self, x):
        self.calls += 1
        self.per_point[x.tobytes()] = self.per_point.get(x.tobytes(), 0) + 1
        return self.fun(x)


def past(centre=CENTRE, rows=40, seed=0):
    """A past run on a sphere: points all over the box, and their values."""
    x = np.random.default_rng(seed).uniform(LOW, HIGH, (rows, D))
    return x, np.sum((x - centre) ** 2, axis=1)


def plain(updating, generations, *, fun=sphere, seed=0, NP=8):
    """Differential Evolution by hand, of the learner's own parts."""
    rng = np.random.default_rng(seed)
    learner = DE(population=NP, updating=updating).on(
        lambda points: np.array([fun(point) for point in points]), LOW, HIGH
    )
    agents = learner.start(rng)
    for _ in range(generations):
        agents, _ = learner.iterate(rng, agents)
    return agents


def assert_same(one, other):
    """The same bits, whatever else the results hold."""
    for name in ("x", "fun", "population", "population_energies", "x_all", "fun_all", "nit"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
