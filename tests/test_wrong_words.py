"""What NumPy or Python would refuse in their own words is refused in ours."""

import jaxtyping
import numpy as np
import pytest

import bers
from bers.errors import BersError, ConfigError

SMALL = bers.ModelConfig(hidden=(8,), latent_dim=4, batches=5)
X = np.random.default_rng(0).uniform(size=(20, 2))
ROWS = X, X[:, 0]
ROWS_OF_ONE = X[:, :1], X[:, 0]


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


def searched(**settings):
    return bers.minimize(sphere, [(-1, 1)], rng=0, maxfun=5, **settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bers.fit([bers.Demonstrations(*ROWS, "a")], config=0), "must be a bers.ModelConf"),
        (lambda: bers.refine(None, [bers.Demonstrations(*ROWS, "a")]), "must be a bers.Model, as"),
        (lambda: bers.ModelConfig(hidden=0.5), r"hidden=...\) must be a whole number"),
        (lambda: bers.ModelConfig(labels=X), r"labels=...\) must be \"standardised\" or \"raw\""),
        (lambda: bers.Trust({"a": ROWS}, model=SMALL, frozen="no"), "must be True or False"),
        (lambda: bers.Trust({"a": ROWS}, model=SMALL, batches=-5), "of at least 0; got -5"),
        (lambda: bers.rank({"a": ROWS}, ROWS, level="high"), "must lie between 0 and 1; got 'high"),
        (lambda: bers.rank({"a": ROWS}, ROWS, draws=10**30), "must be at most 1,000,000"),
        (lambda: bers.rank({"a": ROWS}, ROWS, transform=3), "one of bers.transforms or a name"),
        (lambda: bers.CMAES(sigma="a"), "must be a finite number"),
        (lambda: bers.DE(mutation=["a", "b"]), r"mutation=...\) must be a finite number"),
        (lambda: bers.ReuseConfig(subset=1j), "must be a whole number of at least 2"),
        (lambda: searched(callback=True), "callback must be callable; got bool"),
        (lambda: searched(args=3), "args must be a tuple"),
        (lambda: searched(vectorized="yes"), "vectorized must be True or False"),
        (lambda: searched(progress=X), "progress must be True or False"),
        (lambda: bers.minimize(sphere, [(-1, 1)], maxfun="a"), "maxfun must be a number; got 'a'"),
        (lambda: bers.minimize_many([sphere] * 2, [(-1, 1)], model=1), "be a bers.ModelConfig"),
        (lambda: bers.save_model(3, "m.bers"), "must be a bers.Model, as fit gives; got int"),
        (lambda: bers.load_model(3), "path must be a path; got int"),
        (lambda: bers.Trust.load("x" * 5000, [ROWS]), "cannot read xxx.*File name too long"),
        (lambda: bers.save_page(searched(), "."), "'.' cannot be the name of a file"),
        (lambda: bers.save_page(searched(), "a\0b"), "cannot be the name of a file"),
    ],
)  # fmt: skip
def test_settings_of_a_wrong_kind(call, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as users have it
    with pytest.raises(BersError, match=message):
        call()


def test_a_schedule_that_gives_no_number():
    reuse = bers.ReuseConfig(schedule=lambda m: None)
    with pytest.raises(ConfigError, match="what a schedule gives must be a finite number"):
        searched(sources={"a": ROWS_OF_ONE}, reuse=reuse, model=SMALL)
