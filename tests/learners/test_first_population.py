"""Where a search begins: spread over the box, at the user's points, at an earlier result."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from bers.errors import ConfigError
from bers.learners.differential_evolution import DE

D = 2
LOW, HIGH = np.full(D, -2.0), np.full(D, 2.0)


def start(init="random", x0=None, *, seed=0, low=LOW, high=HIGH, NP=8):
    return DE(population=NP, init=init).first(np.random.default_rng(seed), low, high, x0)


@pytest.mark.parametrize("init", ["random", "latinhypercube", "sobol", "halton"])
@pytest.mark.parametrize("NP", [4, 7, 8])
def test_named_starts_fill_the_box(init, NP):
    low, high = np.array([-3.0, 10.0, 5.0]), np.array([-1.0, 20.0, 5.0])
    x, values = start(init, low=low, high=high, NP=NP)
    assert x.shape == (NP, 3)
    assert values is None
    assert ((x >= low) & (x <= high)).all()
    assert (x[:, 2] == 5).all()
    assert len(np.unique(x, axis=0)) == NP
    again, _ = start(init, low=low, high=high, NP=NP)
    other, _ = start(init, low=low, high=high, NP=NP, seed=1)
    np.testing.assert_array_equal(x, again)
    assert not np.array_equal(x, other)


def test_a_latin_hypercube_has_one_point_per_slice():
    x, _ = start("latinhypercube")
    cells = np.floor((x - LOW) / (HIGH - LOW) * 8)
    np.testing.assert_array_equal(np.sort(cells, axis=0), np.arange(8)[:, None].repeat(D, 1))


def test_sobols_points_are_balanced_in_powers_of_two():
    x, _ = start("sobol")
    halves = np.sum(x > (LOW + HIGH) / 2, axis=0)
    assert halves.tolist() == [4] * D


def test_points_of_the_user_are_clipped_and_copied():
    mine = np.random.default_rng(0).uniform(-3, 3, (8, D))
    before = mine.copy()
    x, values = start(mine)
    np.testing.assert_array_equal(x, np.clip(before, LOW, HIGH))
    assert values is None
    x[:] = 9
    np.testing.assert_array_equal(mine, before)


@pytest.mark.parametrize("init", [np.zeros((7, D)), np.zeros((8, D + 1)), np.zeros(8), [], None])
def test_points_of_another_shape_are_refused(init):
    with pytest.raises(ConfigError, match=r"8 points of 2 variables; got shape .*population="):
        start(init)


def test_an_unknown_start_is_refused():
    with pytest.raises(ConfigError, match="no init 'latin'. Known: random, latinhypercube, sobol"):
        start("latin")


def test_a_start_that_is_not_finite_is_refused():
    mine = np.zeros((8, D))
    mine[3, 1] = np.nan
    with pytest.raises(ConfigError, match="init"):
        start(mine)


def test_an_earlier_result_brings_its_values():
    x = np.random.default_rng(0).uniform(LOW, HIGH, (8, D))
    result = OptimizeResult(population=x, population_energies=np.arange(8))
    points, values = start(result)
    np.testing.assert_array_equal(points, x)
    assert values.tolist() == list(range(8))
    with pytest.raises(ConfigError, match="init= lies outside the bounds"):
        start(result, low=LOW / 10, high=HIGH / 10)


def test_x0_is_the_first_agent():
    x, _ = start(x0=[0.5, 9.0])
    assert x[0].tolist() == [0.5, 2.0]
    rest, _ = start()
    np.testing.assert_array_equal(x[1:], rest[1:])


def test_x0_in_an_earlier_result_has_no_value_yet():
    result = OptimizeResult(population=np.zeros((8, D)), population_energies=np.arange(8))
    x, values = start(result, [0.5, 0.5])
    assert x[0].tolist() == [0.5, 0.5]
    assert np.isnan(values[0])
    assert values[1:].tolist() == list(range(1, 8))


@pytest.mark.parametrize("x0", [[1.0], [1.0, 2.0, 3.0], [np.nan, 1.0], [np.inf, 1.0], 1.0])
def test_a_bad_x0_is_refused(x0):
    with pytest.raises(ConfigError, match="x0 must be 2 finite numbers; got"):
        start(x0=x0)


def test_an_x0_that_is_no_number_is_refused():
    with pytest.raises(ConfigError, match="x0 must be 2 finite numbers; got"):
        start(x0=["a", "b"])
