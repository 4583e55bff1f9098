"""One run as a record, against plain counting."""

import json
from dataclasses import replace

import numpy as np
import pytest
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import ACKLEY, RASTRIGIN, SOURCES, SPHERE, Function
from bers_studies.static.runs import (
    OURS,
    PAPER,
    THRESHOLDS,
    Method,
    Models,
    curve,
    digests,
    our_rule,
    paper_rule,
    record_of,
    weights_of,
)

from bers.algorithm import ReuseConfig
from bers.data.transforms import Log1p
from bers.learners.differential_evolution import DE, DifferentialEvolution
from bers.model.config import ModelConfig

TINY = ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)
PLAIN = Method(None)


def tiny(method, **changes):
    return replace(method, model=TINY, reuse=replace(method.reuse, **changes))


@pytest.fixture(scope="module")
def models():
    rng = np.random.default_rng(0)
    return Models([demonstrate(rng, function, max_generations=20) for function in SOURCES], 0)


def counted(values, threshold):
    """How many evaluations it took, by going through them."""
    for number, value in enumerate(values, start=1):
        if value <= threshold:
            return number
    return None


@pytest.mark.parametrize("seed", range(8))
def test_evaluations_to_a_threshold_are_counted_from_one(seed):
    rng = np.random.default_rng(seed)
    values = 10 ** rng.uniform(-2.2 + seed / 3, 2, 200)
    values[rng.random(200) < 0.1] = np.inf
    found = record_of([1.0], values)["evaluations_to"]
    assert found == {str(t): counted(values, t) for t in THRESHOLDS}


def test_a_threshold_is_met_by_equality_and_by_the_very_first():
    assert record_of([], np.array([0.1]))["evaluations_to"] == {"1.0": 1, "0.1": 1, "0.01": None}
    values = np.array([np.inf, np.inf])
    assert set(record_of([], values)["evaluations_to"].values()) == {None}


def test_best_values_are_written_with_five_digits():
    found = record_of([1 / 3, 123456.0, 0.0, 1e-20], np.ones(1))
    assert found["best"] == [0.33333, 123460.0, 0.0, 1e-20]


def test_weights_are_those_that_a_generation_used():
    weights = np.arange(40).reshape(20, 2) / 100  # after the first population, generation 1, ...
    used = np.arange(38).reshape(19, 2)
    found = weights_of(weights, used)
    assert found["weights_at"] == [*range(1, 13), 16]
    for at, a, n in zip(found["weights_at"], found["weights"], found["used"], strict=True):
        assert a == weights[at - 1].tolist()
        assert n == used[at - 1].sum()


def test_without_sources_it_is_plain_differential_evolution():
    record = curve(ACKLEY, None, PLAIN, seed=3, generations=12)
    evaluated = []

    def fun(x):
        evaluated.extend(ACKLEY(x))
        return ACKLEY(x)

    rng = np.random.default_rng([3, 1])
    de = DifferentialEvolution(fun, np.full(10, -4.0), np.full(10, 4.0), DE())
    agents = de.start(rng)
    best = [agents.f.min()]
    for _ in range(12):
        agents, _ = de.iterate(rng, agents)
        best.append(agents.f.min())
    np.testing.assert_allclose(record["best"], best, rtol=1e-4)
    assert record["evaluations_to"] == {str(t): counted(evaluated, t) for t in THRESHOLDS}
    assert set(record) == {"best", "evaluations_to"}


def test_all_methods_start_from_the_same_population(models):
    methods = [PLAIN, tiny(OURS), tiny(PAPER), paper_rule("equal"), paper_rule("ucb")]
    records = [curve(RASTRIGIN, models, method, seed=1, generations=3) for method in methods]
    assert len({r["best"][0] for r in records}) == 1
    assert len({r["best"][-1] for r in records}) > 1
    for r in records[1:]:
        assert r["weights_at"] == [1, 2, 3]
        assert np.shape(r["weights"]) == (3, 3)
        assert len(r["used"]) == 3
        assert all(0 <= n <= 32 for n in r["used"])
        assert np.all(np.diff(r["best"]) <= 0)
        json.dumps(r)
    assert records[3]["weights"] == [[0.333] * 3] * 3
    assert records[4]["weights"] == np.eye(3).tolist()


def test_same_seed_same_record_and_other_seeds_differ(models):
    one, two, other = (
        curve(SPHERE, models, tiny(OURS), seed=seed, generations=3) for seed in (5, 5, 6)
    )
    assert one == two
    assert one["best"] != other["best"]


def test_values_that_are_not_finite_are_no_best_value():
    broken = Function("broken", lambda x: np.where(x[..., 0] > 0, np.nan, SPHERE(x)), -2.0)
    record = curve(broken, None, PLAIN, seed=0, generations=5)
    assert np.isfinite(record["best"]).all()


def test_a_model_is_fitted_once_for_each_transform_and_setting(models):
    ours = models.get(tiny(OURS))
    assert models.get(tiny(OURS, rule="ranking")) is ours
    assert models.get(tiny(OURS, elites=1, guard="none")) is ours
    other = models.get(tiny(OURS, transform=Log1p()))
    assert other is not ours
    assert models.get(tiny(PAPER)) is other
    assert models.get(tiny(OURS, rule="equal")) is None
    assert ours.names == tuple(function.name for function in SOURCES)


def test_models_are_fitted_on_labels_in_the_methods_own_transform(models):
    """Past runs come with log(1 + y); the records start from the values themselves."""
    for run, function in zip(models.sources, SOURCES, strict=True):
        np.testing.assert_allclose(run.y, function(run.x), rtol=1e-9)
        assert run.transforms == ()


def test_presets():
    assert Method(ReuseConfig(), ModelConfig()) == OURS
    assert (PAPER.reuse.rule, PAPER.reuse.guard, PAPER.reuse.elites) == ("weights", "none", 1)
    assert (PAPER.reuse.subset, PAPER.reuse.transform) == (None, Log1p())
    assert (PAPER.reuse.schedule(1), PAPER.model) == (0.99, ModelConfig.paper())
    assert replace(paper_rule("ucb").reuse, rule="weights") == PAPER.reuse
    assert replace(our_rule("ranking").reuse, rule="odds") == OURS.reuse


def test_digests_name_the_runs_and_change_with_them(models):
    found = digests(models.sources)
    assert list(found) == [function.name for function in SOURCES]
    assert all(len(value) == 16 for value in found.values())
    assert len(set(found.values())) == 3
    assert digests(models.sources[:1]) == {"Rosenbrock": found["Rosenbrock"]}
