import numpy as np
import pytest
from optimise_helpers import Counted, sphere

from bers.errors import ConfigError, ObjectiveError
from bers.optimise.objective import Objective

POINTS = np.array([[2.0, 0.0], [3.0, 0.0], [2.0, 0.0], [4.0, 0.0]])


def first(x):
    return x[0]


def test_a_point_is_evaluated_once():
    fun = Counted(first)
    objective = Objective(fun)
    assert objective(POINTS).tolist() == [2, 3, 2, 4]
    assert objective(POINTS[:1]).tolist() == [2]
    assert objective(POINTS[::-1]).tolist() == [4, 2, 3, 2]
    assert fun.calls == objective.nfev == 3
    assert set(fun.per_point.values()) == {1}


def test_values_known_from_elsewhere_are_not_evaluated():
    fun = Counted(first)
    objective = Objective(fun)
    objective.remember(POINTS[:2], np.array([-5.0, np.inf]))
    assert objective(POINTS).tolist() == [-5, np.inf, -5, 4]
    assert fun.calls == objective.nfev == 1


@pytest.mark.parametrize("maxfun", [1, 2, 3, 4.0, np.inf])
def test_the_budget_holds_to_the_last_evaluation(maxfun):
    objective = Objective(first, maxfun=maxfun)
    values = objective(POINTS)
    # the third point is known by then and costs nothing
    assert values.tolist() == [2, 3, 2, 4][: {1: 1, 2: 3}.get(maxfun, 4)]
    assert objective.nfev == min(maxfun, 3)
    assert objective(POINTS[:1]).tolist() == [2]
    more = objective(np.array([[9.0, 9.0]]))
    assert len(more) == (maxfun > 3)
    assert objective.nfev <= maxfun


@pytest.mark.parametrize(
    ("maxfun", "said"),
    [
        (0, "at least 1"),
        (-1, "at least 1"),
        (np.nan, "a number"),
        ("10", "a number"),
        (None, "a number"),
    ],
)
def test_a_budget_of_nothing_is_refused(maxfun, said):
    with pytest.raises(ConfigError, match=f"maxfun must be {said}; got"):
        Objective(first, maxfun=maxfun)


def test_a_budget_may_be_a_numpy_integer():
    assert Objective(first, maxfun=np.int64(2))(POINTS).tolist() == [2, 3, 2]


def test_what_is_not_callable_is_refused():
    with pytest.raises(ConfigError, match="fun must be callable; got int"):
        Objective(3)


def test_further_arguments_are_handed_on():
    objective = Objective(lambda x, a, b: x[0] * a + b, (10.0, 1.0))
    assert objective(POINTS[:2]).tolist() == [21, 31]


def test_a_function_may_change_the_point_it_gets():
    def fun(x):
        x *= 0
        return 1.0

    for objective in (
        Objective(fun),
        Objective(lambda x: fun(x[0]) + np.zeros(3), vectorized=True),
    ):
        points = POINTS.copy()
        objective(points)
        np.testing.assert_array_equal(points, POINTS)


@pytest.mark.parametrize(
    "value", [2, 2.0, True, np.float32(2), np.int8(2), np.array(2.0), np.array([[2.0]]), [2.0]]
)
def test_any_single_real_number_is_a_value(value):
    objective = Objective(lambda x: value)
    (found,) = objective(POINTS[:1])
    assert found == float(np.asarray(value).reshape(()))
    assert objective(POINTS).dtype == np.float64


@pytest.mark.parametrize("value", [np.nan, np.inf, np.float32("nan"), np.array([np.inf])])
def test_what_is_not_finite_is_the_worst_and_counted(value):
    objective = Objective(lambda x: value if x[0] == 3 else x[0])
    assert objective(POINTS).tolist() == [2, np.inf, 2, 4]
    assert objective.not_finite == 1
    objective(POINTS)
    assert (objective.not_finite, objective.nfev) == (1, 3)


@pytest.mark.parametrize("value", [-np.inf, np.array(-np.inf), np.float32("-inf")])
def test_minus_infinity_is_refused(value):
    with pytest.raises(ObjectiveError, match="returned -inf, below which nothing can be found"):
        Objective(lambda x: value)(POINTS)


@pytest.mark.parametrize(
    "value", [1 + 2j, np.ones(2), np.zeros(0), None, "3", [1.0, 2.0], {"a": 1}, np.complex128(1)]
)
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(ObjectiveError, match="must return one real number; got .*vectorized=True"):
        Objective(lambda x: value)(POINTS)
    with pytest.raises(ObjectiveError, match="must return one real number; got"):
        Objective(lambda x: value)(POINTS[:1])


def test_a_ragged_list_is_refused():
    with pytest.raises(ObjectiveError, match="must return one real number"):
        Objective(lambda x: [1, [2, 3]])(POINTS)


def test_an_error_of_the_function_is_named_and_kept():
    def fun(x):
        raise ZeroDivisionError("by nought \x1b[31m")

    with pytest.raises(ObjectiveError, match="fun raised ZeroDivisionError: by nought") as caught:
        Objective(fun)(POINTS)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes(interrupt):
    def fun(x):
        raise interrupt("enough")

    with pytest.raises(interrupt, match="enough"):
        Objective(fun)(POINTS)


@pytest.mark.parametrize(
    "how", [{"vectorized": True}, {"workers": map}, {"workers": 2}], ids=["many", "map", "joblib"]
)
def test_all_ways_to_evaluate_agree(how):
    def many(x):
        return np.sum((x.T - [0.3, -0.7]) ** 2, axis=1)

    one_by_one = Objective(sphere, maxfun=3)
    objective = Objective(many if "vectorized" in how else sphere, maxfun=3, **how)
    np.testing.assert_array_equal(objective(POINTS), one_by_one(POINTS))
    assert objective.nfev == one_by_one.nfev == 3
    np.testing.assert_array_equal(objective(POINTS[:1]), one_by_one(POINTS[:1]))
    assert len(objective(POINTS[:1] + 1)) == 0


def test_a_vectorized_function_sees_only_what_is_new():
    shapes = []

    def many(x):
        shapes.append(x.shape)
        return x[0]

    objective = Objective(many, vectorized=True)
    objective(POINTS)
    objective(POINTS)
    objective(POINTS[:1] + 1)  # is (3, 1), new
    assert shapes == [(2, 3), (2, 1)]


@pytest.mark.parametrize("back", [np.ones(2), 1.0, None, np.ones((3, 1))])
def test_a_vectorized_function_must_return_one_value_per_point(back):
    with pytest.raises(ConfigError, match=r"fun\(x\) of shape \(2, 3\) must return shape \(3,\)"):
        Objective(lambda x: back, vectorized=True)(POINTS)


def test_a_vectorized_function_may_fail_at_some_points():
    objective = Objective(lambda x: np.where(x[0] > 2, np.nan, x[0]), vectorized=True)
    assert objective(POINTS).tolist() == [2, np.inf, 2, np.inf]
    assert objective.not_finite == 2
    with pytest.raises(ObjectiveError, match="must return one real number; got"):
        Objective(lambda x: x[0] + 1j, vectorized=True)(POINTS)


@pytest.mark.parametrize("workers", [0, 0.5, "2"])
def test_workers_must_be_a_number_or_map_like(workers):
    with pytest.raises(ConfigError, match="workers must be a whole number or map-like; got"):
        Objective(first, workers=workers)


def test_an_error_in_a_map_is_the_functions():
    def fun(x):
        raise RuntimeError("no licence")

    with pytest.raises(ObjectiveError, match="fun raised RuntimeError: no licence"):
        Objective(fun, workers=map)(POINTS)


def test_a_map_must_return_one_value_per_point():
    with pytest.raises(ConfigError, match="workers"):
        Objective(first, workers=lambda fun, points: [1.0])(POINTS)


def test_only_calls_that_were_made_are_counted_when_one_fails():
    fun = Counted(lambda x: 1 / (float(x[0]) - 3))
    objective = Objective(fun)
    with pytest.raises(ObjectiveError, match="ZeroDivisionError"):
        objective(np.array([[2.0], [3.0], [4.0]]))
    assert objective.nfev == fun.calls
