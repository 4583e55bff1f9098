import numpy as np
import pytest
from optimise_helpers import (
    BOTH,
    BOUNDS,
    CENTRE,
    FEW,
    SMALL,
    Counted,
    D,
    assert_same,
    few,
    past,
    plain,
    sphere,
)
from scipy.optimize import OptimizeResult

from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.errors import ConfigError, ObjectiveError
from bers.learners.ask_and_tell import AskTell
from bers.optimise.minimize import minimize
from bers.optimise.multitask import minimize_many


def others(**more):
    """How `minimize_many` uses the others unless told otherwise, with changes."""
    return {"reuse": ReuseConfig(**{"schedule": 0.3, "elites": 4, **more})}


def blind(**more):
    return others(rule="equal", **more)


BLIND = blind()


def far(x):
    return float(np.sum((x + 2 * CENTRE) ** 2))


def twin(x):
    return 1e3 * sphere(x) - 50


TASKS = {"one": sphere, "far": far, "twin": twin}


@pytest.fixture(scope="module")
def three():
    return minimize_many(
        TASKS, BOUNDS, maxiter=10, model=SMALL, **few(population=16), **others(batches=5)
    )


def test_the_weight_of_a_twin_goes_to_its_twin(three):
    one, other, twin = three
    for result, name in ((one, "twin"), (twin, "one")):
        late = dict(zip(result.weights, result.weight_history[3:].mean(axis=0), strict=True))
        assert late[name] > 4 * late["far"]
        assert result.sources_used[name] > 2 * result.sources_used["far"]
    assert other.weight_history[3:].sum(axis=1).mean() < 0.5


def test_results_come_in_order_with_names_of_the_others(three):
    assert [list(result.weights) for result in three] == [
        ["far", "twin"],
        ["one", "twin"],
        ["one", "far"],
    ]
    for result, fun in zip(three, TASKS.values(), strict=True):
        assert isinstance(result, OptimizeResult)
        assert "weights" in repr(result)
        assert result.fun == fun(result.x) == result.fun_all.min()
        np.testing.assert_array_equal(result.fun_all, [fun(x) for x in result.x_all])
        assert result.weight_history.shape == (10, 2)
        assert list(result.weights.values()) == result.weight_history[-1].tolist()
        assert list(result.sources_used) == list(result.weights)
        assert result.nit == 10
        assert result.x_all.shape == (16 * 11, D)
        assert result.success is False
        assert result.message == "Maximum number of iterations has been exceeded."


def test_tasks_without_names_are_numbered():
    results = minimize_many(
        [sphere, far, twin], BOUNDS, sources=[past()], maxiter=1, **FEW, **BLIND
    )
    assert list(results[1].weights) == ["task 0", "task 2", "run 0"]


def test_equal_names_are_kept_apart():
    runs = {"a": past(), "b": past(seed=1)}
    results = minimize_many(
        {"a": sphere, "b": far}, BOUNDS, sources=runs, maxiter=1, **FEW, **BLIND
    )
    assert [list(result.weights) for result in results] == [
        ["b", "a (2)", "b (2)"],
        ["a", "a (2)", "b (2)"],
    ]


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("guard", ["trial", "success", "none"])
def test_with_chance_zero_each_is_plain_differential_evolution(updating, guard):
    results = minimize_many(
        [sphere, far], BOUNDS, sources=[past()], maxiter=7, **few(updating),
        **blind(schedule=0.0, guard=guard),
    )  # fmt: skip
    streams = np.random.default_rng(0).spawn(3)[1:]
    for result, fun, stream in zip(results, (sphere, far), streams, strict=True):
        by_hand = plain(updating, 7, fun=fun, seed=stream)
        np.testing.assert_array_equal(result.population, by_hand.x)
        np.testing.assert_array_equal(result.population_energies, by_hand.f)
        assert set(result.sources_used.values()) == {0}


def test_a_model_changes_no_bit_with_chance_zero():
    how = {"maxiter": 3, "model": SMALL, **FEW}
    for odds, equal in zip(
        minimize_many([sphere, far, twin], BOUNDS, **how, **others(schedule=0.0)),
        minimize_many([sphere, far, twin], BOUNDS, **how, **blind(schedule=0.0)),
        strict=True,
    ):
        assert_same(odds, equal)


@pytest.mark.parametrize("rule", ["equal", "odds"])
def test_seeds(rule):
    first, again, other = (
        minimize_many(
            [sphere, far, twin], BOUNDS, maxiter=3, model=SMALL, **few(rng=seed),
            **others(rule=rule),
        )
        for seed in (0, 0, 1)
    )  # fmt: skip
    for one, two, three in zip(first, again, other, strict=True):
        assert_same(one, two)
        np.testing.assert_array_equal(one.weight_history, two.weight_history)
        assert not np.array_equal(one.population, three.population)


def test_tasks_start_from_different_points():
    results = minimize_many([sphere, sphere], BOUNDS, maxiter=0, **FEW)
    assert not np.array_equal(results[0].population, results[1].population)
    assert [result.nit for result in results] == [0, 0]
    assert repr(results[0])


def test_one_task_finds_what_the_other_has_found():
    # one knows the answer from the start; the other gets it at once
    def needle(x):
        return sphere(x) if np.array_equal(x, CENTRE) else 1 + sphere(x)

    start = np.random.default_rng(1).uniform(-2, 2, (8, D))
    start[0] = CENTRE
    results = minimize_many(
        [needle, needle], BOUNDS, maxiter=2, **few(init=start), **blind(schedule=1.0)
    )
    assert [result.fun for result in results] == [0, 0]


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("maxfun", [1, 5, 8, 9, 20])
def test_the_budget_is_of_each_task(updating, maxfun):
    funs = [Counted(sphere), Counted(far)]
    results = minimize_many(funs, BOUNDS, maxfun=maxfun, **few(updating), **BLIND)
    for fun, result in zip(funs, results, strict=True):
        assert fun.calls == result.nfev == maxfun
        assert set(fun.per_point.values()) == {1}
        assert result.message == "Maximum number of function evaluations has been exceeded."
        assert result.success is False
        assert result.fun == result.fun_all.min()


def test_one_may_stop_before_the_others():
    def steep(x):
        return 1e-3 * sphere(x) + 1

    early, late = minimize_many(
        [steep, sphere], BOUNDS, maxiter=12, **few(tol=0.01), **blind(schedule=0.0)
    )
    assert early.success is True
    assert early.message == "Optimization terminated successfully."
    assert early.nit < late.nit == 12
    f = early.population_energies
    assert np.std(f) <= 0.01 * np.abs(np.mean(f))
    assert len(early.fun_all) == 8 * (early.nit + 1)


@pytest.mark.parametrize("how", [{"vectorized": True}, {"workers": map}])
def test_all_ways_to_evaluate_give_the_same_bits(how):
    def many(fun):
        return lambda x: np.array([fun(point) for point in x.T])

    funs = [sphere, far]
    at_once = [many(fun) for fun in funs] if "vectorized" in how else funs
    common = {"maxiter": 4, "maxfun": 30, **BLIND}
    for one, other in zip(
        minimize_many(funs, BOUNDS, **few("deferred"), **common),
        minimize_many(at_once, BOUNDS, **how, **FEW, **common),
        strict=True,
    ):
        assert_same(one, other)


def test_past_runs_are_further_heads():
    results = minimize_many(
        {"a": far, "b": lambda x: far(-x)}, BOUNDS, sources={"run": past(-2 * CENTRE, rows=80)},
        maxiter=6, model=SMALL, **few(population=16), **others(schedule=0.9),
    )  # fmt: skip
    assert [list(result.weights) for result in results] == [["b", "run"], ["a", "run"]]
    a, b = results
    assert a.weight_history[:, 1].mean() > 2 * b.weight_history[:, 1].mean()
    assert a.sources_used["run"] > 0


def test_past_runs_hand_over_points_within_the_bounds():
    x, y = past()
    seen = Counted()
    with pytest.warns(UserWarning, match="points lie outside the bounds"):
        minimize_many(
            [seen, seen], BOUNDS, sources=[(2 * x, y)], maxiter=4, **FEW, **blind(schedule=1.0)
        )
    points = np.array([np.frombuffer(key) for key in seen.per_point])
    assert (np.abs(points) <= 2).all()


@pytest.mark.parametrize("updating", BOTH)
def test_rows_in_single_precision_are_tried_once(updating):
    x, y = past()
    x = x.astype(np.float32)
    single, double = (
        minimize_many(
            [sphere, far], BOUNDS, sources=[Demonstrations(x.astype(kind), y, "run")], maxiter=8,
            **few(updating), **blind(schedule=1.0),
        )
        for kind in (np.float32, np.float64)
    )  # fmt: skip
    for one, other in zip(single, double, strict=True):
        assert_same(one, other)


def test_a_callback_sees_all_results_and_can_stop():
    seen = []

    def callback(results):
        seen.append([result.nit for result in results])
        return len(seen) == 3

    results = minimize_many([sphere, far], BOUNDS, callback=callback, **FEW, **BLIND)
    assert seen == [[1, 1], [2, 2], [3, 3]]
    assert [result.nit for result in results] == [3, 3]


def test_a_callback_that_stops_is_named():
    results = minimize_many([sphere, far], BOUNDS, callback=lambda results: True, **FEW, **BLIND)
    assert results[0].message == "callback function requested stop early"


def test_a_callback_may_raise_to_stop():
    def callback(results):
        raise StopIteration

    results = minimize_many([sphere, far], BOUNDS, callback=callback, **FEW, **BLIND)
    assert [result.nit for result in results] == [1, 1]


@pytest.mark.parametrize("funs", [[], [sphere], {"a": sphere}, {}])
def test_one_task_is_not_many(funs):
    with pytest.raises(ConfigError, match="at least two functions; for one, use minimize"):
        minimize_many(funs, BOUNDS)


class Asking:
    def ask(self):
        return np.zeros((2, D))

    def tell(self, x, y):
        pass


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"reuse": ReuseConfig(pick="predicted")}, 'hands over what is "best" so far. Leave pick='),
        ({"maxfun": 0}, "maxfun must be at least 1"),
        ({"maxiter": 2.5}, "maxiter must be a whole number of at least 0; got 2.5"),
        # one optimiser would be told the values of two functions
        ({"learner": Asking()}, r"a learner of ours, such as bers.DE\(\), .* got Asking"),
        ({"learner": AskTell(Asking())}, "a learner of ours, .* got AskTell"),
        ({"workers": 0}, "workers must be"),
    ],
)
def test_bad_settings_are_named(wrong, said):
    with pytest.raises(ConfigError, match=said):
        minimize_many([sphere, far], BOUNDS, **wrong)


def test_what_is_no_function_is_named():
    with pytest.raises(ConfigError, match="fun must be callable; got int"):
        minimize_many([sphere, 3], BOUNDS)


def test_unless_told_otherwise_the_chance_is_the_papers():
    how = {"maxiter": 2, "model": SMALL, **FEW}
    for one, other in zip(
        minimize_many([sphere, far], BOUNDS, **how),
        minimize_many([sphere, far], BOUNDS, **how, **others()),
        strict=True,
    ):
        assert_same(one, other)
        np.testing.assert_array_equal(one.weight_history, other.weight_history)


def test_an_earlier_result_of_one_function_says_nothing_of_another():
    first = minimize(sphere, BOUNDS, maxiter=5, **FEW)
    results = minimize_many([far, twin], BOUNDS, maxiter=0, **few(init=first))
    assert results[0].population_energies.tolist() == [far(x) for x in first.population]
    assert results[1].population_energies.tolist() == [twin(x) for x in first.population]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_some_failures_in_one_task(value):
    results = minimize_many(
        [lambda x: value if x[0] > 0.5 else sphere(x), far, twin], BOUNDS, maxiter=4, model=SMALL,
        **FEW,
    )  # fmt: skip
    assert results[0].not_finite > 0
    assert np.isfinite(results[0].fun)
    assert all(np.isfinite(result.weight_history).all() for result in results)


def test_a_task_of_nothing_but_failures_gets_no_weight():
    results = minimize_many(
        {"a": sphere, "none": lambda x: np.nan, "b": twin}, BOUNDS, maxiter=4, model=SMALL, **FEW
    )
    assert results[0].weights["none"] == results[2].weights["none"] == 0
    assert results[1].fun == np.inf
    assert results[1].not_finite == results[1].nfev


def test_nothing_but_failures():
    results = minimize_many(
        [lambda x: np.nan, lambda x: np.inf], BOUNDS, maxiter=2, model=SMALL, **FEW
    )
    assert [result.fun for result in results] == [np.inf, np.inf]


def test_a_failing_function_is_named():
    def fun(x):
        raise ValueError("no licence")

    with pytest.raises(ObjectiveError, match="fun raised ValueError: no licence"):
        minimize_many([sphere, fun], BOUNDS, **FEW)


def test_a_failing_function_leaves_what_was_found_so_far():
    fun = Counted(lambda x: sphere(x) if fun.calls <= 20 else 1 / 0)
    with pytest.raises(ObjectiveError, match="ZeroDivisionError") as caught:
        minimize_many([far, fun], BOUNDS, **FEW, **BLIND)
    assert caught.value.result is not None
    assert [len(result.population) for result in caught.value.result] == [8, 8]


def test_a_result_is_a_source_of_the_next_run(three):
    result = minimize(sphere, BOUNDS, sources={"one": three[0]}, maxiter=2, **FEW, **BLIND)
    assert result.sources_used["one"] > 0
