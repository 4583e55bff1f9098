import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimise_helpers import (
    BLIND,
    BOTH,
    BOUNDS,
    CENTRE,
    FEW,
    HIGH,
    LOW,
    SMALL,
    Counted,
    D,
    assert_same,
    blind,
    eight,
    few,
    past,
    plain,
    sphere,
)
from scipy.optimize import Bounds, OptimizeResult, differential_evolution

from bers.algorithm import ReuseConfig
from bers.errors import BersWarning, ConfigError, DataError, ObjectiveError
from bers.learners.differential_evolution import DE
from bers.optimise.minimize import minimize

PAST = {"right": past(), "wrong": past(-2 * CENTRE, seed=1)}


def many(x):
    """The sphere of points (D, S), with the bits of one point."""
    return np.array([sphere(point) for point in x.T])


# plain Differential Evolution


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("seed", [0, 1])
def test_without_sources_it_is_plain_differential_evolution_bit_for_bit(updating, seed):
    by_hand = plain(updating, 12, seed=seed)
    result = minimize(sphere, BOUNDS, maxiter=12, **few(updating, seed))
    np.testing.assert_array_equal(result.population, by_hand.x)
    np.testing.assert_array_equal(result.population_energies, by_hand.f)
    assert result.fun == by_hand.f.min()
    assert result.nit == 12


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("guard", ["trial", "success", "none"])
def test_with_chance_zero_sources_change_no_bit(updating, guard):
    how = {"maxiter": 12, **few(updating)}
    result = minimize(sphere, BOUNDS, sources=PAST, **how, **blind(schedule=0.0, guard=guard))
    assert_same(result, minimize(sphere, BOUNDS, **how))
    assert result.sources_used == {"right": 0, "wrong": 0}


def test_with_chance_zero_a_model_changes_no_bit():
    never = ReuseConfig(schedule=0.0)
    result = minimize(sphere, BOUNDS, sources=PAST, reuse=never, maxiter=6, model=SMALL, **FEW)
    assert_same(result, minimize(sphere, BOUNDS, maxiter=6, **FEW))


@pytest.mark.parametrize("updating", BOTH)
def test_seeds(updating):
    first, again, other = (
        minimize(sphere, BOUNDS, sources=PAST, maxiter=5, **few(updating, seed), **BLIND)
        for seed in (3, np.random.default_rng(3), 4)
    )
    assert_same(first, again)
    assert not np.array_equal(first.population, other.population)


def test_a_legacy_random_state_is_a_generator():
    minimize(sphere, BOUNDS, maxiter=1, **few(rng=np.random.RandomState(0)))


# how it is evaluated


@pytest.mark.parametrize("how", [{"vectorized": True}, {"workers": map}, {"workers": 2}])
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_all_ways_to_evaluate_give_the_same_bits(how, sources):
    common = {"sources": sources, "maxiter": 4, "maxfun": 37, **few("deferred"), **BLIND}
    one_by_one = minimize(sphere, BOUNDS, **common)
    fun = many if "vectorized" in how else sphere
    result = minimize(fun, BOUNDS, **how, **common)
    assert_same(result, one_by_one)
    assert result.nfev == one_by_one.nfev


def test_workers_get_a_whole_generation_and_say_so():
    sizes = []

    def workers(fun, points):
        sizes.append(len(points))
        return map(fun, points)

    with pytest.warns(BersWarning, match='so updating is "deferred"'):
        result = minimize(sphere, BOUNDS, workers=workers, maxiter=3, **FEW)
    assert sum(sizes) == result.nfev
    assert max(sizes) == 8
    assert_same(result, minimize(sphere, BOUNDS, maxiter=3, **few("deferred")))


def test_no_workers_is_one():
    result = minimize(sphere, BOUNDS, workers=None, maxiter=3, **FEW)
    assert_same(result, minimize(sphere, BOUNDS, maxiter=3, **FEW))


def test_vectorized_is_deferred():
    result = minimize(many, BOUNDS, vectorized=True, maxiter=3, **FEW)
    assert_same(result, minimize(sphere, BOUNDS, maxiter=3, **few("deferred")))


def test_further_arguments():
    def fun(x, scale, *, offset=0.0):
        return scale * sphere(x) + offset

    result = minimize(fun, BOUNDS, args=(4.0,), maxiter=3, **FEW)
    np.testing.assert_array_equal(result.x, minimize(sphere, BOUNDS, maxiter=3, **FEW).x)
    assert result.fun == 4 * sphere(result.x)


# when it stops


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("maxiter", [0, 1, 5])
def test_maxiter_is_honoured(updating, maxiter):
    fun = Counted()
    result = minimize(fun, BOUNDS, maxiter=maxiter, **few(updating))
    assert result.nit == maxiter
    assert len(result.fun_all) == 8 * (maxiter + 1)
    assert result.nfev == fun.calls
    assert result.message == "Maximum number of iterations has been exceeded."
    assert result.success is False


@pytest.mark.parametrize("maxiter", [-1, 2.5, "3", np.inf])
def test_a_bad_maxiter_is_refused(maxiter):
    with pytest.raises(ConfigError, match="maxiter must be a whole number of at least 0; got"):
        minimize(sphere, BOUNDS, maxiter=maxiter)


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
@pytest.mark.parametrize("maxfun", [1, 3, 7, 8, 9, 13, 16, 30])
def test_the_budget_is_honoured_to_the_last_evaluation(updating, sources, maxfun):
    how = {"sources": sources, **few(updating), **BLIND}
    fun = Counted()
    result = minimize(fun, BOUNDS, maxfun=maxfun, **how)
    assert result.nfev == fun.calls == maxfun
    assert result.message == "Maximum number of function evaluations has been exceeded."
    assert result.success is False
    assert result.fun == result.fun_all.min() == sphere(result.x)
    # the same path as without a budget, cut
    free = minimize(sphere, BOUNDS, maxiter=8, **how)
    n = len(result.fun_all)
    np.testing.assert_array_equal(result.x_all, free.x_all[:n])
    np.testing.assert_array_equal(result.fun_all, free.fun_all[:n])
    assert result.population.shape == (8, D)
    known = np.isfinite(result.population_energies)
    assert known.sum() == min(maxfun, 8)
    at = result.population[known]
    assert result.population_energies[known].tolist() == [sphere(x) for x in at]


@pytest.mark.parametrize(("tol", "atol"), [(0.01, 0.0), (0.3, 0.0), (0.0, 0.05), (0.1, 0.02)])
@pytest.mark.parametrize("updating", BOTH)
def test_it_stops_when_scipys_formula_says_so(tol, atol, updating):
    def fun(x):
        return sphere(x) + 0.5

    seen = []
    result = minimize(
        fun, BOUNDS, **few(updating, tol=tol, atol=atol),
        callback=lambda intermediate_result: seen.append(intermediate_result.population_energies),
    )  # fmt: skip
    converged = [np.std(f) <= atol + tol * np.abs(np.mean(f)) for f in seen]
    assert converged == [False] * (len(seen) - 1) + [True]
    assert result.success is True
    assert result.message == "Optimization terminated successfully."
    assert result.nit == len(seen)


def test_constant_values_are_converged():
    for value in (0.0, 5.0, -1e6):
        result = minimize(
            lambda x, value=value: value, BOUNDS, sources=PAST, rng=0, learner=DE(), **BLIND
        )
        assert result.success
        assert (result.fun, result.nit, result.nfev) == (value, 0, 32)


@pytest.mark.parametrize("how", ["raises", "says so"])
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_a_callback_sees_results_and_can_stop(how, sources):
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result)
        if len(seen) < 4:
            return None
        if how == "raises":
            raise StopIteration
        return True

    result = minimize(sphere, BOUNDS, sources=sources, callback=callback, **FEW, **BLIND)
    assert result.nit == 4
    assert result.message == "callback function requested stop early"
    assert result.success is False
    assert all(isinstance(one, OptimizeResult) for one in seen)
    assert [one.nit for one in seen] == [1, 2, 3, 4]
    assert [len(one.fun_all) for one in seen] == [16, 24, 32, 40]
    best = [one.fun for one in seen]
    assert best == sorted(best, reverse=True)
    assert_same(seen[-1], result)
    assert all(one.nfev <= len(one.fun_all) for one in seen)
    if sources:
        assert seen[0].weights == {"right": 0.5, "wrong": 0.5}


def test_a_callback_cannot_spoil_the_run():
    def callback(result):
        for name in ("x", "population", "population_energies", "x_all", "fun_all"):
            result[name][...] = -1

    spoilt = minimize(sphere, BOUNDS, callback=callback, maxiter=5, **FEW)
    assert_same(spoilt, minimize(sphere, BOUNDS, maxiter=5, **FEW))


def test_an_error_in_a_callback_passes():
    def callback(result):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        minimize(sphere, BOUNDS, callback=callback, **FEW)


def test_progress_can_be_a_line_per_generation(capsys):
    how = {"progress": "lines", **FEW, **BLIND}
    result = minimize(sphere, BOUNDS, sources=PAST, maxiter=3, **how)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[-1] == f"bers generation 3: f(x) = {result.fun:.6g}  right 0.50  wrong 0.50"
    minimize(sphere, BOUNDS, maxiter=1, **how)
    assert capsys.readouterr().out.startswith("bers generation 1: f(x) = ")
    minimize(sphere, BOUNDS, maxiter=1, **FEW)
    assert capsys.readouterr() == ("", "")


# where it starts


@pytest.mark.parametrize("init", ["random", "latinhypercube", "sobol", "halton"])
def test_named_starts_find_the_minimum(init):
    result = minimize(sphere, BOUNDS, maxiter=60, **few(init=init, population=16))
    np.testing.assert_allclose(result.x, CENTRE, atol=1e-3)


@pytest.mark.parametrize("updating", BOTH)
def test_it_starts_from_the_users_points(updating):
    mine = np.random.default_rng(5).uniform(LOW, HIGH, (8, D))
    result = minimize(sphere, BOUNDS, maxiter=2, **few(updating, init=mine))
    np.testing.assert_array_equal(result.x_all[:8], mine)
    start = minimize(sphere, BOUNDS, x0=CENTRE, maxiter=0, **few(init=mine))
    np.testing.assert_array_equal(start.x_all, [CENTRE, *mine[1:]])
    assert start.fun == 0


@pytest.mark.parametrize("updating", BOTH)
def test_an_earlier_result_goes_on_and_is_not_evaluated_again(updating):
    first = minimize(sphere, BOUNDS, maxiter=5, **few(updating))
    fun = Counted()
    on = minimize(fun, BOUNDS, maxiter=3, **few(updating, init=first))
    assert fun.calls == on.nfev <= 24
    assert not any(x.tobytes() in fun.per_point for x in first.population)
    assert on.fun <= first.fun
    np.testing.assert_array_equal(on.x_all[:8], first.population)
    still = minimize(fun, BOUNDS, maxiter=0, **few(init=first))
    assert still.nfev == 0
    np.testing.assert_array_equal(still.population_energies, first.population_energies)


def test_a_result_of_scipy_goes_on():
    first = differential_evolution(sphere, BOUNDS, rng=0, popsize=4, maxiter=3, polish=False)
    on = minimize(sphere, BOUNDS, maxiter=0, **few(init=first))
    assert (on.nfev, on.fun) == (0, first.fun)


def test_a_point_among_known_ones_is_evaluated():
    first = minimize(sphere, BOUNDS, maxiter=5, **FEW)
    fun = Counted()
    on = minimize(fun, BOUNDS, x0=CENTRE, maxiter=0, **few(init=first))
    assert fun.calls == on.nfev == 1
    assert on.fun == 0


@pytest.mark.parametrize("updating", BOTH)
def test_a_result_after_a_contest_of_islands_loses_nothing(updating):
    def ended(result):
        return np.isinf(result.population_energies).any()

    first = minimize(sphere, BOUNDS, sources=PAST, callback=ended, **few(updating), **BLIND)
    assert ended(first)
    on = minimize(sphere, BOUNDS, maxiter=0, **few(init=first))
    energies = [sphere(x) for x in on.population]
    assert on.population_energies.tolist() == energies
    assert on.fun == first.fun


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("sources", [(), {"run": past()}], ids=["plain", "sources"])
def test_no_point_is_evaluated_twice(updating, sources):
    # the best lie in a corner, where trials meet again and again
    fun = Counted(lambda x: float(x[0] + x[1]))
    result = minimize(fun, BOUNDS, sources=sources, maxiter=40, **few(updating), **BLIND)
    assert result.x.tolist() == [-2, -2]
    assert set(fun.per_point.values()) == {1}
    assert result.nfev == fun.calls < len(result.fun_all)


# bounds


def test_equal_bounds_fix_a_variable():
    fun = Counted(lambda x: sphere(x[[0, 2]]) + x[1])
    result = minimize(fun, [(-2, 2), (0.25, 0.25), (-2, 2)], maxiter=30, **few(population=32))
    assert (result.x_all[:, 1] == 0.25).all()
    np.testing.assert_allclose(result.x[[0, 2]], CENTRE, atol=1e-3)


def test_all_variables_may_be_fixed():
    result = minimize(sphere, [(1, 1)] * D, rng=0)
    assert result.x.tolist() == [1, 1]
    assert result.nfev == 1
    assert result.success


def test_bounds_of_scipy():
    result = minimize(sphere, Bounds([-2, -2], 2), maxiter=4, **FEW)
    assert_same(result, minimize(sphere, BOUNDS, maxiter=4, **FEW))


# settings


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"maxfun": 0}, "maxfun must be at least 1"),
        ({"workers": 0, "learner": eight("deferred")}, "workers must be"),
        ({"learner": DE}, r"learner must be an object, not a class: DE\(...\)"),
        ({"learner": "de"}, "must be one of bers.learners, or have ask and tell; str has no ask"),
        ({"x0": [1.0]}, "x0 must be 2 finite numbers"),
    ],
)
def test_bad_settings_are_named(wrong, said):
    with pytest.raises(ConfigError, match=said):
        minimize(sphere, BOUNDS, sources=PAST, **wrong)


def test_settings_are_checked_where_they_are_written():
    with pytest.raises(ConfigError, match="no init 'best'"):
        DE(init="best")
    with pytest.raises(ConfigError, match="no transform 'exp'"):
        ReuseConfig(transform="exp")
    with pytest.raises(ConfigError, match=r"reuse must be a bers.ReuseConfig; got dict"):
        minimize(sphere, BOUNDS, sources=PAST, reuse={"rule": "odds"})


@pytest.mark.parametrize("setting", [{"maxfun": np.int64(20)}, {"maxiter": np.int8(2)}])
def test_settings_may_be_numbers_of_numpy(setting):
    plain = {name: int(value) for name, value in setting.items()}
    one, other = (
        minimize(sphere, BOUNDS, sources=PAST, **{"maxiter": 3, **FEW, **BLIND, **numbers})
        for numbers in (setting, plain)
    )
    assert_same(one, other)


def test_a_chance_may_be_a_number_of_numpy():
    one, other = (
        minimize(sphere, BOUNDS, sources=PAST, maxiter=2, **FEW, **blind(schedule=kind(0.5)))
        for kind in (np.float32, float)
    )
    assert_same(one, other)


def test_an_array_of_two_lengths_is_a_pair():
    pair, many, array = (
        minimize(sphere, BOUNDS, maxiter=3, rng=0, learner=DE(mutation=kind([0.5, 1.0])))
        for kind in (tuple, list, np.array)
    )
    assert_same(pair, many)
    assert_same(pair, array)


@pytest.mark.parametrize("updating", BOTH)
def test_a_pair_of_lengths_is_drawn_anew(updating):
    fixed, pair, tight = (
        minimize(sphere, BOUNDS, maxiter=5, **few(updating, mutation=F))
        for F in (0.5, (0.5, 1.0), (0.5, 0.5))
    )
    assert not np.array_equal(fixed.population, pair.population)
    np.testing.assert_array_equal(fixed.x_all[:16], tight.x_all[:16])


# objectives that fail


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_what_is_not_finite_is_the_worst_and_counted(updating, value, sources):
    fun = Counted(lambda x: value if x[0] > 0.5 else sphere(x))
    result = minimize(fun, BOUNDS, sources=sources, maxiter=30, **few(updating), **BLIND)
    np.testing.assert_allclose(result.x, CENTRE, atol=1e-2)
    failed = np.unique(result.x_all[result.x_all[:, 0] > 0.5], axis=0)
    assert result.not_finite == len(failed) > 0
    assert np.isinf(result.fun_all).sum() >= len(failed)
    assert not np.isnan(result.fun_all).any()


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("rule", ["equal", "odds"])
def test_nothing_but_failures(updating, rule):
    result = minimize(
        lambda x: np.nan, BOUNDS, sources=PAST, reuse=ReuseConfig(rule=rule), maxiter=8,
        model=SMALL, **few(updating),
    )  # fmt: skip
    assert result.fun == np.inf
    assert result.success is False
    assert result.not_finite == result.nfev
    assert result.nit == 8
    assert result.weights == {"right": 0.5, "wrong": 0.5}
    assert result.ranking is None
    assert repr(result)


def test_a_model_goes_without_the_rows_that_failed():
    result = minimize(
        lambda x: np.nan if x[0] > 1 else sphere(x), BOUNDS, sources=PAST, maxiter=4, model=SMALL,
        **FEW,
    )  # fmt: skip
    assert result.not_finite > 0
    assert np.isfinite(result.weight_history).all()


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-np.inf, "returned -inf"),
        (1j, "one real number; got 1j"),
        (np.ones(2), "one real number; got array"),
        (None, "one real number; got None"),
        (
            ValueError("no licence"),
            "fun raised ValueError: no licence. Return nan where.*`result`.*init=",
        ),
    ],
)
def test_a_failing_function_leaves_the_population_so_far(updating, value, said):
    def fun(x):
        if fun.calls == 30:
            if isinstance(value, Exception):
                raise value
            return value
        fun.calls += 1
        return sphere(x)

    fun.calls = 0
    with pytest.raises(ObjectiveError, match=said) as caught:
        minimize(fun, BOUNDS, sources=PAST, **few(updating), **BLIND)
    result = caught.value.result
    assert result.success is False
    assert result.message == str(caught.value)
    assert result.nit >= 2
    whole = minimize(sphere, BOUNDS, sources=PAST, maxiter=6, **few(updating), **BLIND)
    n = len(result.fun_all)
    assert n >= 24
    np.testing.assert_array_equal(result.x_all, whole.x_all[:n])
    assert result.fun == sphere(result.x) == result.fun_all.min()
    on = minimize(sphere, BOUNDS, maxiter=2, **few(init=result))
    assert on.fun <= result.fun


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("calls", [5, 21])
def test_no_value_is_lost_when_a_function_fails(updating, calls):
    fun = Counted(lambda x: sphere(x) if fun.calls <= calls else 1 / 0)
    with pytest.raises(ObjectiveError, match="ZeroDivisionError") as caught:
        minimize(fun, BOUNDS, **few(updating))
    result = caught.value.result
    assert len(np.unique(result.x_all, axis=0)) == calls
    assert result.nfev == calls + 1


def _fails_at(x):
    if x[0] > 0.5:
        raise OSError("no disk")
    return sphere(x)


def test_no_value_of_other_workers_is_lost():
    with pytest.raises(ObjectiveError, match="OSError: no disk") as caught:
        minimize(_fails_at, BOUNDS, workers=map, **few("deferred"))
    first = minimize(sphere, BOUNDS, maxiter=0, **few("deferred")).x_all
    lost = first[:, 0] > 0.5
    assert lost.any()
    result = caught.value.result
    assert {row.tobytes() for row in result.x_all} == {row.tobytes() for row in first[~lost]}
    assert result.fun == min(sphere(x) for x in first[~lost])


def test_an_interrupt_passes():
    def fun(x):
        raise KeyboardInterrupt("enough")

    with pytest.raises(KeyboardInterrupt, match="enough"):
        minimize(fun, BOUNDS, **FEW)


@pytest.mark.parametrize("penalty", [1e200, np.finfo(float).max])
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_a_huge_penalty_is_a_value_like_any_other(penalty, sources):
    result = minimize(
        lambda x: penalty if x[0] > 0.5 else sphere(x), BOUNDS, sources=sources, maxiter=4,
        model=SMALL, **FEW,
    )  # fmt: skip
    assert result.fun < 10
    assert result.fun_all.max() == penalty


def test_a_run_with_a_huge_penalty_is_a_source():
    x, y = past()
    with pytest.warns(BersWarning, match="of 40 values are not finite"):
        result = minimize(
            sphere, BOUNDS, sources=[(x, np.where(y > 3, 1e200, y))], maxiter=1, **FEW, **BLIND
        )
    assert result.fun < 10


# what comes back

PLAIN_FIELDS = {
    "x", "fun", "success", "message", "nit", "nfev", "population", "population_energies",
    "x_all", "fun_all", "not_finite",
}  # fmt: skip


@pytest.mark.parametrize("updating", BOTH)
def test_a_plain_result(updating):
    result = minimize(sphere, BOUNDS, maxiter=6, **few(updating))
    assert isinstance(result, OptimizeResult)
    assert set(result) == PLAIN_FIELDS
    assert "population_energies" in repr(result)
    assert (result.weights, result["weights"], result.sources_used) == ({}, {}, {})
    with pytest.raises(AttributeError, match="ranking"):
        _ = result.ranking
    with pytest.raises(KeyError, match="ranking"):
        _ = result["ranking"]
    assert pickle.loads(pickle.dumps(result)).weights == {}
    assert result.x.shape == (D,)
    assert result.fun == sphere(result.x) == result.fun_all.min()
    assert result.fun == result.population_energies.min()
    assert result.population.shape == (8, D)
    assert result.x_all.shape == (56, D)
    np.testing.assert_array_equal(result.fun_all, [sphere(x) for x in result.x_all])


def test_none_says_that_there_are_no_past_runs():
    none, empty = (minimize(sphere, BOUNDS, sources=s, maxfun=60, rng=0) for s in (None, ()))
    np.testing.assert_array_equal(none.x_all, empty.x_all)
    assert none.weights == {}


@pytest.fixture(scope="module")
def with_sources():
    return {
        updating: minimize(
            sphere, BOUNDS, sources=PAST, model=SMALL, maxiter=8, **few(updating, population=16)
        )
        for updating in BOTH
    }


@pytest.mark.parametrize("updating", BOTH)
def test_a_result_with_sources(with_sources, updating):
    result = with_sources[updating]
    more = {"weights", "weight_history", "sources_used", "ranking"}
    assert set(result) == PLAIN_FIELDS | more
    assert "weights" in repr(result)
    np.testing.assert_array_equal(result.fun_all, [sphere(x) for x in result.x_all])
    assert result.weight_history.shape == (9, 2)
    assert list(result.weights.values()) == result.weight_history[-1].tolist()
    assert (result.weight_history >= 0).all()
    assert (result.weight_history.sum(axis=1) <= 1 + 1e-12).all()
    assert result.ranking.best == "right"
    assert 0 < sum(result.sources_used.values()) <= 8 * 16


@pytest.mark.parametrize("updating", BOTH)
def test_the_right_source_gets_the_weight_and_is_used(with_sources, updating):
    result = with_sources[updating]
    assert result.weights["right"] > 0.9
    assert result.weights["wrong"] < 0.01
    assert result.sources_used["right"] > 4 * result.sources_used["wrong"]


@pytest.mark.parametrize("updating", BOTH)
def test_the_best_points_of_a_right_source_are_tried(updating):
    run = {"sources": {"run": past()}, "maxiter": 6, **few(updating), **BLIND}
    result = minimize(sphere, BOUNDS, **run)
    x, y = past()
    assert result.x_all.tolist().count(x[np.argmin(y)].tolist()) == 1
    assert result.fun <= y.min()


def test_a_result_is_a_source_of_the_next_run():
    how = {"model": SMALL, "maxiter": 8, **few(rng=1, population=16)}
    first = minimize(sphere, BOUNDS, maxiter=12, **FEW)
    second = minimize(lambda x: 3 * sphere(x) + 1, BOUNDS, sources={"first": first}, **how)
    third = minimize(sphere, BOUNDS, sources=[first, second], **how)
    assert second.fun <= 1 + 3 * first.fun
    assert third.fun <= first.fun
    assert list(third.weights) == ["run 0", "run 1"]


def test_a_result_of_scipy_is_a_source():
    first = differential_evolution(sphere, BOUNDS, rng=0, popsize=4, maxiter=9, polish=False)
    result = minimize(sphere, BOUNDS, sources={"scipy": first}, maxiter=4, **FEW, **BLIND)
    assert result.fun <= first.population_energies.min()
    assert result.sources_used["scipy"] > 0


def test_sources_of_other_variables_are_refused():
    with pytest.raises(DataError, match="'run 1' has 3 inputs, bounds have 2"):
        minimize(sphere, BOUNDS, sources=[past(), (np.zeros((4, 3)), np.ones(4))])


# units


def coarse(x, centre=CENTRE):
    """A sphere in steps of 2^-8, so that a change of units keeps every bit of it."""
    return np.round(np.sum((x - centre) ** 2, axis=-1) * 256) / 256


def in_units(sources, scale, offset):
    return {name: (x, scale * y + offset) for name, (x, y) in sources.items()}


COARSE = {
    "right": (past()[0], coarse(past()[0])),
    "wrong": (past(seed=1)[0], coarse(past(seed=1)[0], -2 * CENTRE)),
}


@pytest.fixture(scope="module")
def without_units():
    return minimize(coarse, BOUNDS, sources=COARSE, maxiter=3, model=SMALL, **FEW)


@pytest.mark.parametrize(
    ("sources", "target"),
    [
        ((2.0**-20, 2.0**20), (1.0, 0.0)),
        ((1.0, 0.0), (2.0**-20, 2.0**20)),
        ((2.0**40, 0.0), (2.0**-40, 0.0)),
        ((2.0**-10, -(2.0**20)), (2.0**20, -(2.0**10))),
    ],
)
def test_units_change_neither_weights_nor_path(without_units, sources, target):
    scale, offset = target
    result = minimize(
        lambda x: scale * coarse(x) + offset, BOUNDS, sources=in_units(COARSE, *sources),
        maxiter=3, model=SMALL, **FEW,
    )  # fmt: skip
    np.testing.assert_array_equal(result.x_all, without_units.x_all)
    np.testing.assert_allclose(result.weight_history, without_units.weight_history, atol=1e-6)


@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 1e6), (1.0, 1e6), (1e12, 0.0), (1e-12, 0.0)])
def test_units_that_round_change_the_weights_by_a_rounding(without_units, scale, offset):
    # 1e6 + 1e-6 y keeps four digits of y
    result = minimize(
        coarse, BOUNDS, sources=in_units(COARSE, scale, offset), maxiter=1, model=SMALL, **FEW
    )
    np.testing.assert_allclose(
        result.weight_history[0],
        without_units.weight_history[0],
        atol=1e-3 if scale == 1e-6 else 1e-6,
    )


def test_maximising_needs_no_transform_by_hand():
    def profit(x):
        return 100 - sphere(x)

    x, y = past()
    result = minimize(
        lambda x: -profit(x), BOUNDS, sources={"right": (x, y - 100), "wrong": PAST["wrong"]},
        maxiter=6, model=SMALL, **few(population=16),
    )  # fmt: skip
    assert result.fun < -99.9
    assert result.weights["right"] > 0.9


@pytest.mark.parametrize("transform", ["rank", "log", "paper", "none", None])
def test_other_transforms(transform):
    reuse = ReuseConfig(transform=transform)
    result = minimize(sphere, BOUNDS, sources=PAST, reuse=reuse, maxiter=2, model=SMALL, **FEW)
    assert np.isfinite(result.weight_history).all()
    assert result.weights["right"] >= result.weights["wrong"]


@pytest.mark.parametrize("rule", ["weights", "shape+nobody", "evidence", "ucb", "single:1"])
def test_other_rules(rule):
    reuse = ReuseConfig(rule=rule)
    result = minimize(sphere, BOUNDS, sources=PAST, reuse=reuse, maxiter=3, model=SMALL, **FEW)
    assert ((result.weight_history >= 0) & (result.weight_history <= 1)).all()
    if rule == "single:1":
        assert result.weights == {"right": 0, "wrong": 1}


def test_a_model_that_was_fitted_before_is_used():
    from bers.data.demonstrations import Demonstrations
    from bers.data.transforms import LogGap
    from bers.model.neural_linear import fit

    runs = [Demonstrations(*run, name).transformed(LogGap()) for name, run in PAST.items()]
    model = fit(runs, config=SMALL, rng=np.random.default_rng(0), progress=False)
    result = minimize(sphere, BOUNDS, sources=PAST, model=model, maxiter=4, **FEW)
    assert result.weights["right"] > 0.9
    assert result.ranking.model.batches == SMALL.batches  # not trained anew


# whatever the problem


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_problem_stays_in_its_bounds_and_counts_its_calls(data):
    dims = data.draw(st.integers(1, 4))
    number = st.floats(-1e6, 1e6)
    ends = data.draw(st.lists(st.tuples(number, number), min_size=dims, max_size=dims))
    bounds = [(min(pair), max(pair)) for pair in ends]
    low, high = np.array(bounds).T
    NP = data.draw(st.integers(4, 9))
    maxfun = data.draw(st.sampled_from([1, NP - 1, NP, 3 * NP + 1, np.inf]))
    centre = np.array(data.draw(st.lists(number, min_size=dims, max_size=dims)))
    seed = data.draw(st.integers(0, 2**32))
    x = np.random.default_rng(seed).uniform(low, high, (6, dims))
    sources = data.draw(st.sampled_from([[], [(x, np.sum(np.abs(x - centre), axis=1))]]))
    fun = Counted(lambda x: float(np.sum(np.abs(x - centre))))
    learner = DE(
        population=NP,
        tol=0.0,
        updating=data.draw(st.sampled_from(BOTH)),
        init=data.draw(st.sampled_from(["random", "latinhypercube", "sobol", "halton"])),
        mutation=data.draw(st.sampled_from([0.5, (0.0, 2.0)])),
        recombination=data.draw(st.floats(0, 1)),
    )
    guard = data.draw(st.sampled_from(["trial", "success", "none"]))
    result = minimize(
        fun, bounds, sources=sources, rng=seed, learner=learner, maxfun=maxfun, maxiter=6,
        **blind(guard=guard),
    )  # fmt: skip
    assert ((result.x_all >= low) & (result.x_all <= high)).all()
    assert result.nfev == fun.calls == len(fun.per_point) <= maxfun
    assert result.fun == result.fun_all.min() == fun.fun(result.x)
    assert {x.tobytes() for x in result.x_all} == set(fun.per_point)
