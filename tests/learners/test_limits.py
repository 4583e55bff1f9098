import numpy as np
import pytest

from bers.errors import ConfigError, ObjectiveError
from bers.learners.limits import Constraint, Limits, feasible

LOW, HIGH = np.array([0.0, -3.0]), np.array([9.0, 3.0])
FIRST = np.array([True, False])
BELOW = Constraint(np.array([[1.0, 1.0]]), np.array([-np.inf]), np.array([4.0]))


def limits(*constraints, whole=FIRST):
    return Limits(LOW, HIGH, whole, constraints)


def test_rounding_keeps_the_box_and_has_one_zero():
    x = np.array([[9.4, 2.5], [-0.4, -9.0], [3.5, 0.1]])
    rounded = limits().rounded(x)
    assert rounded.tolist() == [[9, 2.5], [0, -3], [4, 0.1]]
    assert not np.signbit(rounded[1, 0])


def test_each_whole_number_has_as_much_room():
    low, high = limits().ends
    u = np.random.default_rng(0).random((100_000, 2))
    counts = np.bincount(limits().rounded(low + u * (high - low))[:, 0].astype(int))
    np.testing.assert_allclose(counts / len(u), 0.1, atol=0.005)


def test_values_put_feasible_points_first_and_then_those_that_break_less():
    calls = []

    def fun(x):
        calls.append(x)
        return 1e6 + x[:, 0]

    points = np.array([[9.0, 3.0], [1.0, 1.0], [4.0, 0.5], [0.0, 0.0]])
    values = limits(BELOW).within(fun)(points)
    assert np.argsort(values).tolist() == [3, 1, 2, 0]
    assert feasible(values).tolist() == [False, True, False, True]
    np.testing.assert_array_equal(calls[0], points[[1, 3]])  # and never called elsewhere
    assert limits(BELOW).broken(points).tolist() == [8, 0, 0.5, 0]


def test_values_end_at_the_first_feasible_point_that_has_none():
    points = np.array([[9.0, 3.0], [1.0, 1.0], [8.0, 0.0], [0.0, 0.0], [9.0, 0.0]])
    within = limits(BELOW).within(lambda x: x[:1, 0])
    assert len(within(points)) == 3
    assert within.one(points[1]) == 1
    assert limits(BELOW).within(lambda x: np.zeros(0)).one(points[1]) is None


def test_what_is_broken_adds_up_and_what_is_no_number_is_broken_most():
    both = Constraint(lambda x: [x[0], x[1]], np.array([2.0, -1.0]), np.array([3.0, 1.0]))
    x = np.array([[0.0, 3.0], [2.5, 0.0]])
    assert both.excess(x).tolist() == [[2, 2], [0, 0]]
    assert limits(both, BELOW).broken(x).tolist() == [4, 0]
    hole = Constraint(lambda x: np.nan, np.array([0.0]), np.array([1.0]))
    assert limits(hole).broken(x).tolist() == [np.inf, np.inf]
    assert np.isfinite(limits(hole).coded(limits(hole).broken(x))).all()


def test_functions_of_many_points():
    many = Constraint(lambda x: x[0] + x[1], np.array([-np.inf]), np.array([4.0]), many=True)
    x = np.random.default_rng(0).uniform(LOW, HIGH, (7, 2))
    np.testing.assert_allclose(limits(many).broken(x), limits(BELOW).broken(x))


def test_constraints_that_fail_are_named():
    wrong = Constraint(lambda x: [1.0, 2.0, 3.0], np.zeros(2), np.ones(2))
    with pytest.raises(ConfigError, match=r"2 lower or upper ends gave values of shape \(3,\)"):
        limits(wrong).broken(np.zeros((1, 2)))
    raising = Constraint(lambda x: 1 / 0, np.zeros(1), np.ones(1))
    with pytest.raises(ObjectiveError, match="a constraint raised ZeroDivisionError.*Return nan"):
        limits(raising).broken(np.zeros((1, 2)))
