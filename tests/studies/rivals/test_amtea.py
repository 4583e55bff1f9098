from itertools import islice

import numpy as np
import pytest
from bers_studies.rivals.amtea import (
    Gaussian,
    amtea,
    blurred,
    draw,
    evolve,
    fit_gaussian,
    log_density,
    mixture_weights,
    stack,
)

from bers.errors import ConfigError, DataError

D = 10
LOW, HIGH = np.full(D, -4.0), np.full(D, 4.0)


def sphere_at(centre):
    return lambda x: float(np.sum((x - centre) ** 2))


def past_run(seed, centre, n=300):
    """Rows around the minimum of a sphere, some near and some far."""
    rng = np.random.default_rng(seed)
    x = np.clip(centre + rng.uniform(0.05, 2, (n, 1)) * rng.normal(size=(n, D)), LOW, HIGH)
    return x, np.log1p(np.sum((x - centre) ** 2, axis=1))


RIGHT, WRONG = past_run(1, -2.0), past_run(2, 1.5)


def records(seed, sources, n, **settings):
    fun = sphere_at(-2.0)
    return list(islice(amtea(np.random.default_rng(seed), fun, LOW, HIGH, sources, **settings), n))


def best(found):
    return min(record.f.min() for record in found)


def test_the_right_source_speeds_up_and_a_wrong_one_does_not_harm():
    """Mean best value of a shifted sphere after 15 generations, over five seeds."""
    none, right, both, wrong = (
        np.mean([best(records(seed, sources, 16)) for seed in range(5)])
        for sources in ([], [RIGHT], [WRONG, RIGHT], [WRONG])
    )
    assert none > 2
    assert right < 0.05
    assert both < 0.1
    assert wrong < none  # its own model helps on a sphere, whatever the source


def test_weights_go_to_the_right_source():
    for seed in range(3):
        found = records(seed, [WRONG, RIGHT], 22)
        wrong, right = np.array([r.weights for r in found if r.weights is not None]).T
        assert right.max() > 0.7
        assert wrong.max() < 0.05
        assert (wrong + right <= 1 + 1e-12).all()
        assert right[-1] < 0.01  # the population is closer than the source by now


def test_a_population_drawn_from_a_source_is_recognised():
    rng = np.random.default_rng(3)
    models = [Gaussian(np.full(4, m), np.eye(4) * 0.01) for m in (0.3, 0.7)]
    x = draw(rng, models, np.array([0.75, 0.25]), 200)
    weights = mixture_weights(models, x, 0.01)
    np.testing.assert_allclose(weights[:2] / weights[:2].sum(), [0.75, 0.25], atol=0.02)
    assert weights[2] < 0.1


def test_own_model_is_scored_on_rows_it_has_not_seen():
    """With as few rows as this, a model praises the rows it was fitted to."""
    x = np.random.default_rng(4).normal(0.5, 0.1, (8, 4))
    source = [Gaussian(np.full(4, 0.5), np.eye(4) * 0.01)]
    seen = np.column_stack([log_density(blurred(m, 1e-6), x) for m in [*source, fit_gaussian(x)]])
    assert stack(seen)[1] > 0.8
    assert mixture_weights(source, x, 1e-6)[1] < 0.4


def test_em_finds_the_most_likely_weights():
    log_p = np.random.default_rng(5).normal(size=(40, 2))
    grid = np.linspace(0, 1, 10_001)
    likelihood = [np.sum(np.log(np.exp(log_p) @ [w, 1 - w])) for w in grid]
    assert stack(log_p)[0] == pytest.approx(grid[np.argmax(likelihood)], abs=1e-3)
    np.testing.assert_allclose(stack(log_p - 5000), stack(log_p), atol=1e-9)


def test_moments_of_the_models():
    rng = np.random.default_rng(6)
    x = rng.normal(0.3, [0.01, 0.05], (50, 2))
    model = fit_gaussian(x, ridge=0.0)
    np.testing.assert_allclose(model.cov, np.cov(x.T), atol=1e-13)
    few = fit_gaussian(x[:3], ridge=0.0).cov  # fewer than 2 D rows: no correlations
    np.testing.assert_allclose(few, np.diag(np.var(x[:3], axis=0, ddof=1)), atol=1e-13)
    ridged = fit_gaussian(x, ridge=0.1).cov - model.cov
    np.testing.assert_allclose(ridged, 0.1 * np.trace(np.cov(x.T)) / 2 * np.eye(2), atol=1e-13)
    # the moments of a mixture, against drawn rows
    mixed = np.concatenate([draw(rng, [model], np.ones(1), 150_000), rng.random((50_000, 2))])
    np.testing.assert_allclose(blurred(model, 0.25).mean, mixed.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(blurred(model, 0.25).cov, np.cov(mixed.T), atol=2e-3)


def test_log_density_matches_scipy():
    from scipy.stats import multivariate_normal

    x = np.random.default_rng(7).random((6, 3))
    model = fit_gaussian(x)
    expected = multivariate_normal(model.mean, model.cov).logpdf(x)
    np.testing.assert_allclose(log_density(model, x), expected, rtol=1e-10)


def test_any_weight_is_tried():
    models = [Gaussian(np.full(1, m), np.zeros((1, 1))) for m in (0.0, 0.5, 1.0)]
    rng = np.random.default_rng(8)
    counts = [np.sum(draw(rng, models, np.array([0.001, 0.0, 0.999]), 32) == 0) for _ in range(50)]
    assert np.mean(counts) == pytest.approx(32 / 33, abs=0.1)  # 1 and 32 are made, 32 kept


def test_a_trial_is_made_of_three_other_agents():
    NP = 8
    trials = evolve(np.random.default_rng(0), 0.5 + np.eye(NP) / 4, 0.5, 1.0) - 0.5
    for j, trial in enumerate(trials):
        assert sorted(trial[trial != 0]) == [-0.125, 0.125, 0.25]
        assert trial[j] == 0


def test_same_seed_same_bits_and_other_seeds_differ():
    one, two, other = (records(seed, [RIGHT], 6) for seed in (0, 0, 1))
    for a, b, c in zip(one, two, other, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.f, b.f)
        assert (a.x != c.x).any()


@pytest.mark.parametrize("interval", [1, 2, 5])
def test_every_evaluation_is_counted_and_in_bounds(interval):
    calls = []

    def fun(x):
        assert ((x >= LOW) & (x <= HIGH)).all()
        calls.append(x)
        return sphere_at(5.0)(x)  # the minimum is outside: clipping matters

    run = amtea(np.random.default_rng(0), fun, LOW, HIGH, [RIGHT, WRONG], interval=interval)
    for number, record in enumerate(islice(run, 12)):
        assert len(calls) == 32 * (number + 1)
        np.testing.assert_array_equal(record.x, calls[-32:])
        np.testing.assert_array_equal(record.f, [sphere_at(5.0)(x) for x in record.x])
        mixed = number > 0 and (number - 1) % interval == 0
        assert (record.weights is not None) == mixed


def test_the_best_of_parents_and_offspring_survive():
    """Without sources and crossover, a trial of rank 1 to NP of both is next seen as a parent."""
    found = records(0, [], 3, crossover_rate=0.0)
    both = np.concatenate([found[0].x, found[1].x])
    kept = both[np.argsort(np.concatenate([found[0].f, found[1].f]))[:32]]
    # a trial differs from its own parent in one coordinate
    differs = (np.abs(found[2].x - kept) > 1e-12).sum(axis=1)
    assert (differs <= 1).all()


def test_only_the_order_of_values_counts():
    x, y = RIGHT
    a, b = records(0, [(x, y)], 4), records(0, [(x, np.exp(3 * y))], 4)
    np.testing.assert_array_equal(a[-1].x, b[-1].x)


def test_failed_evaluations_are_never_parents():
    run = amtea(np.random.default_rng(0), lambda x: np.nan if x[0] > 0 else x[0], LOW, HIGH, [])
    last = list(islice(run, 12))[-1]
    assert np.isfinite(last.f).mean() > 0.9


def test_identical_elites_are_no_trouble():
    flat = np.zeros((40, D)), np.zeros(40)
    assert np.isfinite(best(records(0, [flat], 4)))


@pytest.mark.parametrize(
    ("sources", "settings", "error", "message"),
    [
        ([], {"population": 3}, ConfigError, r"population=...\) must be at least 4; got 3"),
        ([], {"interval": 0}, ConfigError, "at least 1; got 0"),
        ([], {"elites": 1}, ConfigError, "at least 2; got 1"),
        ([], {"blur": 0.0}, ConfigError, "Try 0.1"),
        ([(np.zeros((5, 2)), np.zeros(5))], {}, DataError, r"sources\[0\] must be .* \(n, 10\)"),
        ([(np.zeros((5, D)), np.zeros(4))], {}, DataError, "with one value each"),
        ([(np.zeros((1, D)), np.zeros(1))], {}, DataError, "n at least 2"),
        ([RIGHT, (np.zeros((2, D)), [0, np.nan])], {}, DataError, r"sources\[1\] .* Drop those"),
    ],
)
def test_bad_settings_are_refused_at_once(sources, settings, error, message):
    with pytest.raises(error, match=message):
        amtea(np.random.default_rng(0), sphere_at(0), LOW, HIGH, sources, **settings)


def test_bad_bounds_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match="Drop fixed coordinates"):
        amtea(rng, sphere_at(0), LOW, LOW, [])
    with pytest.raises(ConfigError, match="must be finite"):
        amtea(rng, sphere_at(0), LOW, np.full(D, np.inf), [])
