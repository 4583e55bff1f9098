import sys
from itertools import islice

import numpy as np
import pytest
from bers_studies.rivals.warm_cma import warm_cma

from bers.errors import ConfigError, DataError

pytest.importorskip("cmaes")

D = 10
LOW, HIGH = np.full(D, -4.0), np.linspace(4.0, 8.0, D)


def sphere_at(centre):
    return lambda x: float(np.sum((x - centre) ** 2))


def past_run(seed, centre, n=300):
    """Rows around the minimum of a sphere, some near and some far."""
    rng = np.random.default_rng(seed)
    x = np.clip(centre + rng.uniform(0.05, 2, (n, 1)) * rng.normal(size=(n, D)), LOW, HIGH)
    return x, np.log1p(np.sum((x - centre) ** 2, axis=1))


RIGHT, WRONG = past_run(1, -2.0), past_run(2, 1.5)


def records(seed, sources, n, **settings):
    rng = np.random.default_rng(seed)
    return list(islice(warm_cma(rng, sphere_at(-2.0), LOW, HIGH, sources, **settings), n))


def best(found):
    return min(record.f.min() for record in found)


def test_the_right_source_speeds_up():
    """Mean best value of a shifted sphere after 10 generations, over five seeds."""
    none, right, both = (
        np.mean([best(records(seed, sources, 10)) for seed in range(5)])
        for sources in ([], [RIGHT], [WRONG, RIGHT])
    )
    assert none > 5
    assert right < 0.5
    assert right < both < none


def test_the_first_generation_has_the_moments_of_the_best_rows():
    """Mean and covariance on the unit box: those of the best rows, and alpha² on the diagonal."""
    x, y = RIGHT
    first = records(0, [RIGHT], 1, population=4000, gamma=0.2, alpha=0.05)[0]
    unit = (x[np.argsort(y)[:60]] - LOW) / (HIGH - LOW)
    drawn = (first.x - LOW) / (HIGH - LOW)
    np.testing.assert_allclose(drawn.mean(axis=0), unit.mean(axis=0), atol=5e-3)
    expected = np.cov(unit.T, bias=True) + 0.05**2 * np.eye(D)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=5e-4)


def test_each_source_gives_its_share_whatever_its_values():
    x, y = WRONG
    a = records(0, [RIGHT, (x, y)], 2)
    b = records(0, [RIGHT, (x, 1000 + np.exp(y))], 2)
    np.testing.assert_array_equal(a[1].x, b[1].x)
    # centres well inside the bounds, a long run and a short one: 60 and 20 rows of the pool
    pair = [past_run(3, 0.0, 600), past_run(4, 1.0, 200)]
    middle = records(0, pair, 1, population=4000)[0].x.mean()
    assert middle == pytest.approx(0.25, abs=0.05)


def test_same_seed_same_bits_and_other_seeds_differ():
    one, two, other = (records(seed, [RIGHT], 6) for seed in (0, 0, 1))
    for a, b, c in zip(one, two, other, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.f, b.f)
        assert (a.x != c.x).any()


def test_every_evaluation_is_counted_and_in_bounds():
    calls = []

    def fun(x):
        assert ((x >= LOW) & (x <= HIGH)).all()
        calls.append(x)
        return sphere_at(9.0)(x)  # the minimum is outside

    run = warm_cma(np.random.default_rng(0), fun, LOW, HIGH, [RIGHT])
    for number, record in enumerate(islice(run, 40)):
        assert len(calls) == 32 * (number + 1)
        np.testing.assert_array_equal(record.x, calls[-32:])
        np.testing.assert_array_equal(record.f, [sphere_at(9.0)(x) for x in record.x])
        assert record.weights is None
    assert record.f.min() < 1.5 * sphere_at(9.0)(HIGH)  # near the best corner


def test_a_converged_search_starts_again():
    found = records(0, [RIGHT], 400)
    values = np.array([record.f.min() for record in found])
    first = np.argmin(values[:200] > 1e-9)
    assert values[first] <= 1e-9
    assert values[first:].max() > 0.01  # back at the warm start


def test_failed_evaluations_are_the_worst():
    rng = np.random.default_rng(0)
    run = warm_cma(rng, lambda x: np.nan if x[0] > 0 else x[0], LOW, HIGH, [])
    assert np.isfinite(list(islice(run, 20))[-1].f).mean() > 0.9
    run = warm_cma(rng, lambda x: np.inf, LOW, HIGH, [])
    assert len(list(islice(run, 60))) == 60


def test_a_past_run_outside_the_bounds_starts_at_their_edge():
    x, y = RIGHT
    found = records(0, [(x - 5, y)], 2)
    assert ((found[0].x >= LOW) & (found[0].x <= HIGH)).all()


def test_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(ConfigError, match="pip install cmaes"):
        records(0, [], 1)


@pytest.mark.parametrize(
    ("sources", "settings", "error", "message"),
    [
        ([], {"population": 3}, ConfigError, r"population=...\) must be at least 4; got 3"),
        ([], {"gamma": 0.0}, ConfigError, "gamma=.* got 0.0. Try 0.1"),
        ([], {"alpha": 0.0}, ConfigError, "alpha=.* got 0.0. Try 0.1"),
        ([(np.zeros((5, 2)), np.zeros(5))], {}, DataError, r"sources\[0\] must be .* \(n, 10\)"),
    ],
)
def test_bad_settings_are_refused_at_once(sources, settings, error, message):
    with pytest.raises(error, match=message):
        warm_cma(np.random.default_rng(0), sphere_at(0), LOW, HIGH, sources, **settings)
