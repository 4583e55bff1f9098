import numpy as np
import pytest
from bers_studies.static.functions import ACKLEY, RASTRIGIN, ROSENBROCK, SOURCES, SPHERE


@pytest.mark.parametrize("function", [*SOURCES, RASTRIGIN], ids=lambda f: f.name)
def test_the_minimum_is_zero_and_where_the_paper_says(function):
    best = np.full(10, function.minimiser)
    np.testing.assert_allclose(function(best), 0, atol=1e-7)
    rng = np.random.default_rng(0)
    assert function(rng.uniform(-4, 4, (1000, 10))).min() > 0.5
    nearby = best + 1e-3 * rng.standard_normal((100, 10))
    assert (function(nearby) > function(best)).all()


def test_values_by_hand():
    zero = np.zeros(10)
    np.testing.assert_allclose(SPHERE(zero), np.sqrt(40))
    np.testing.assert_allclose(RASTRIGIN(zero), np.sqrt(40))
    np.testing.assert_allclose(ROSENBROCK(zero), np.sqrt(900) / 10)
    np.testing.assert_allclose(ACKLEY(np.ones(10)), 20 - 20 * np.exp(-0.2), rtol=1e-12)
    np.testing.assert_allclose(RASTRIGIN(np.full(10, 0.5)), np.sqrt(10 * (20 + 6.25)))
    # as printed: 100 times both terms
    x = np.zeros(10)
    x[0] = 2.0
    np.testing.assert_allclose(ROSENBROCK(x), np.sqrt(100 * (16 + 1 + 8)) / 10)


def test_rows_are_points():
    x = np.random.default_rng(1).uniform(-4, 4, (7, 10))
    for function in (*SOURCES, RASTRIGIN):
        np.testing.assert_array_equal(function(x), [function(row) for row in x])
