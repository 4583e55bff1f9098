import numpy as np
import pytest
from optimise_helpers import (
    BOTH,
    BOUNDS,
    CENTRE,
    SMALL,
    Counted,
    D,
    assert_same,
    eight,
    past,
    plain,
    sphere,
)

from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, DataError
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.optimise.ask_tell import Optimizer
from bers.optimise.minimize import minimize
from bers.schedules import Constant

PAST = {"right": past(), "wrong": past(-2 * CENTRE, seed=1)}
BLIND = ReuseConfig(rule="equal")


def values(points):
    return np.array([sphere(point) for point in points])


def new(updating="deferred", sources=(), reuse=BLIND, *, init="random", **more):
    learner = eight(updating, init=init)
    return Optimizer(BOUNDS, sources, rng=0, learner=learner, reuse=reuse, **more)


def run(optimizer, generations, fun=values, tell=None):
    """Ask and tell until so many generations are done; what was asked for."""
    asked = []
    while True:
        points = optimizer.ask()
        if optimizer.nit >= generations:
            return asked
        asked.append(points)
        if tell is None:
            optimizer.tell(points, fun(points))
        else:
            tell(optimizer, points)


@pytest.mark.parametrize("updating", BOTH)
def test_without_sources_it_is_plain_differential_evolution_bit_for_bit(updating):
    optimizer = new(updating)
    run(optimizer, 7)
    by_hand = plain(updating, 7)
    np.testing.assert_array_equal(optimizer.state.x, by_hand.x)
    np.testing.assert_array_equal(optimizer.state.f, by_hand.f)


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("guard", ["trial", "success", "none"])
@pytest.mark.parametrize("rule", ["equal", "ucb"])
def test_asking_and_telling_is_minimising(updating, guard, rule):
    reuse = ReuseConfig(rule=rule, guard=guard)
    optimizer = new(updating, PAST, reuse)
    run(optimizer, 9)
    result = minimize(
        sphere, BOUNDS, sources=PAST, rng=0, learner=eight(updating), reuse=reuse, maxiter=9
    )
    assert_same(optimizer.result(), result)
    np.testing.assert_array_equal(optimizer.result().weight_history, result.weight_history)
    assert optimizer.result().sources_used == result.sources_used
    assert optimizer.weights == result.weights
    assert optimizer.best == result.fun


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("pick", ["best", "predicted"])
def test_asking_and_telling_is_minimising_with_a_model(updating, pick):
    reuse = ReuseConfig(elites=4, pick=pick)
    optimizer = new(updating, PAST, reuse, model=SMALL)
    run(optimizer, 4)
    result = minimize(
        sphere, BOUNDS, sources=PAST, rng=0, learner=eight(updating), reuse=reuse, maxiter=4,
        model=SMALL,
    )  # fmt: skip
    assert_same(optimizer.result(), result)
    np.testing.assert_array_equal(optimizer.result().weight_history, result.weight_history)
    assert str(optimizer.ranking()) == str(result.ranking)


def test_a_whole_generation_is_asked_for_at_once_or_one_point_at_a_time():
    deferred, immediate = (run(new(updating), 2) for updating in BOTH[::-1])
    assert [len(points) for points in deferred] == [8, 8, 8]
    assert [len(points) for points in immediate] == [1] * 24


@pytest.mark.parametrize("updating", BOTH)
def test_asking_twice_gives_the_same_points(updating):
    twice, once = new(updating, PAST), new(updating, PAST)

    def tell(optimizer, points):
        points[:] = points  # own copies: changing them does no harm
        again = optimizer.ask()
        np.testing.assert_array_equal(points, again)
        optimizer.tell(again, values(again))
        points += 1

    run(twice, 5, tell=tell)
    run(once, 5)
    assert_same(twice.result(), once.result())


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_values_may_come_in_parts_and_in_any_order(updating, sources):
    rng = np.random.default_rng(7)

    def tell(optimizer, points):
        some = rng.permutation(len(points))[:3]
        optimizer.tell(points[some], values(points[some]))
        missing = {point.tobytes() for point in np.delete(points, some, axis=0)}
        if missing:
            assert {point.tobytes() for point in optimizer.ask()} == missing

    parts, whole = new(updating, sources), new(updating, sources)
    run(parts, 5, tell=tell)
    run(whole, 5)
    assert_same(parts.result(), whole.result())


def test_a_point_that_two_agents_want_is_asked_for_once():
    init = np.zeros((8, D))
    assert new(init=init).ask().tolist() == [[0, 0]]
    init[3] = 1
    assert new(init=init).ask().tolist() == [[0, 0], [1, 1]]


def test_first_points_may_be_told_before_they_are_asked_for():
    first = new().ask()
    optimizer, other = new(), new()
    optimizer.tell(first[:5], values(first[:5]))
    np.testing.assert_array_equal(optimizer.ask(), first[5:])
    for one in (optimizer, other):
        run(one, 3)
    assert_same(optimizer.result(), other.result())


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
@pytest.mark.parametrize("generations", [0, 2])
def test_a_known_optimum_that_nobody_asked_for_is_used(updating, sources, generations):
    optimizer = new(updating, sources)
    run(optimizer, generations)
    optimizer.tell(CENTRE, 0.0)
    assert optimizer.best == 0
    assert optimizer.result().x.tolist() == CENTRE.tolist()
    run(optimizer, optimizer.nit + 4)
    assert optimizer.result().fun == 0
    assert (optimizer.state.x == CENTRE).all(axis=1).any()
    if sources:
        assert optimizer.trust.y.tolist().count(0.0) == 1
        assert len(optimizer.trust.y) == optimizer.result().nfev


def test_a_point_that_is_bad_or_told_again_changes_no_population():
    optimizer, other = new(), new()
    for one in (optimizer, other):
        run(one, 2)
    optimizer.tell(np.full(D, 2.0), 1e9)
    known = optimizer.result().x_all[0]
    optimizer.tell(known, sphere(known))
    for one in (optimizer, other):
        run(one, 4)
    np.testing.assert_array_equal(optimizer.state.x, other.state.x)
    assert optimizer.result().nfev == other.result().nfev + 1


def test_known_points_are_not_asked_for_again():
    # the best lie in a corner, where trials meet again and again
    fun = Counted(lambda x: float(np.sum(x)))
    run(new(), 8, fun=lambda points: np.array([fun(point) for point in points]))
    assert set(fun.per_point.values()) == {1}


def test_one_point_needs_no_second_axis():
    optimizer = new()
    for point in optimizer.ask():
        optimizer.tell(point, sphere(point))
    assert optimizer.ask().shape == (8, D)
    assert optimizer.best < np.inf


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (np.zeros((3, D)), np.zeros(2), r"shape \(2, 2\) for 2 values; got \(3, 2\)"),
        (np.zeros((3, D + 1)), np.zeros(3), r"shape \(3, 2\) for 3 values; got \(3, 3\)"),
        (np.zeros(D + 1), 1.0, r"shape \(1, 2\) for 1 values; got \(1, 3\)"),
        (np.zeros((1, 3, D)), np.zeros(3), r"got \(1, 3, 2\)"),
    ],
)
def test_points_and_values_must_match(x, y, said):
    optimizer = new()
    with pytest.raises(DataError, match=said):
        optimizer.tell(x, y)
    assert optimizer.known_points() == {}


@pytest.mark.parametrize("updating", BOTH)
def test_evaluations_that_failed_are_the_worst(updating):
    def fun(points):
        return np.where(points[:, 0] > 0.5, np.nan, values(points))

    optimizer = new(updating, PAST)
    run(optimizer, 6, fun=fun)
    result = minimize(
        lambda x: np.nan if x[0] > 0.5 else sphere(x), BOUNDS, sources=PAST, rng=0,
        learner=eight(updating), reuse=BLIND, maxiter=6,
    )  # fmt: skip
    assert np.isinf(result.fun_all).any()
    assert_same(optimizer.result(), result)


def test_a_search_whose_first_evaluation_failed_has_a_result():
    optimizer = Optimizer([(-1, 1)] * 2, rng=0)
    points = optimizer.ask()
    optimizer.tell(points[0], np.nan)
    result = optimizer.result()
    assert (result.fun, result.nfev, optimizer.best) == (np.inf, 1, np.inf)
    assert np.array_equal(result.x, points[0])
    optimizer.tell(points[1], 3.0)
    assert (optimizer.result().fun, optimizer.best) == (3.0, 3.0)


def test_before_anything_is_told():
    optimizer = new(sources=PAST)
    result = optimizer.result()
    assert (result.fun, result.nit, result.nfev) == (np.inf, 0, 0)
    assert np.isnan(result.x).all()
    assert result.x_all.shape == (0, D)
    assert optimizer.best == np.inf
    assert optimizer.weights == {"right": 0.5, "wrong": 0.5}
    assert optimizer.ranking() is None
    assert repr(result)
    assert repr(new().result())


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_the_best_is_known_after_the_last_tell(updating, sources):
    for seed in range(20):
        learner = DE(population=8, updating=updating)
        optimizer = Optimizer(BOUNDS, sources, rng=seed, learner=learner, reuse=BLIND)
        told = []
        for _ in range(24 if updating == "deferred" else 60):
            points = optimizer.ask()
            optimizer.tell(points, values(points))
            told.extend(values(points))
            result = optimizer.result()
            assert optimizer.best == result.fun == min(told) == sphere(result.x)
            assert set(result.fun_all) == set(told)  # a point that comes up again is not asked for


def test_a_result_counts_all_that_was_told():
    optimizer = new()
    points = optimizer.ask()
    optimizer.tell(points[2:5], [3.0, -1.0, np.nan])
    result = optimizer.result()
    assert (result.fun, result.nfev, result.x.tolist()) == (-1, 3, points[3].tolist())
    assert sorted(result.fun_all) == [-1, 3, np.inf]
    optimizer.tell(np.delete(points, [2, 3, 4], axis=0), np.ones(5))
    result = optimizer.result()
    assert (result.fun, result.nfev, result.nit) == (-1, 8, 0)
    np.testing.assert_array_equal(result.population, points)
    more = optimizer.ask()
    optimizer.tell(more[:4], -np.arange(2.0, 6.0))
    assert (optimizer.best, optimizer.result().fun, optimizer.result().nfev) == (-5, -5, 12)


@pytest.mark.parametrize("n", [1, 3, 8, 50])
def test_so_many_are_asked_for(n):
    some, all_at_once = new(sources=PAST), new(sources=PAST)
    while some.nit < 3:
        points = some.ask(n)
        assert len(points) <= min(n, 8)
        np.testing.assert_array_equal(points, some.ask(n))
        some.tell(points[::-1], values(points[::-1]))
    run(all_at_once, 3)
    np.testing.assert_array_equal(some.state.x, all_at_once.state.x)
    assert len(new("immediate").ask(5)) == 5
    with pytest.raises(ConfigError, match=r"ask\(n\) must be a whole number"):
        some.ask(0)


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize(
    "written",
    [
        lambda points: points.astype(np.float32),
        lambda points: points.astype(np.float32).astype(np.float64),
        lambda points: points.round(4),
        lambda points: [[float(f"{x:.5g}") for x in point] for point in points],
        lambda points: np.round(points, 6)[::-1],
    ],
    ids=["single", "single as double", "decimals", "digits", "other order"],
)
def test_a_point_is_recognised_in_the_precision_it_is_told_in(updating, written):
    rounded, exact = new(updating, PAST), new(updating, PAST)
    while rounded.nit < 4:
        points = rounded.ask()
        y = values(points)
        told = written(points)
        back = len(points) > 1 and np.allclose(told[0], points[-1], atol=1e-4)
        rounded.tell(told, y[::-1] if back else y)
        assert rounded.result().nfev == len(rounded.known_points())
    run(exact, 4)
    np.testing.assert_array_equal(rounded.state.x, exact.state.x)


def test_a_point_of_ones_own_is_not_taken_for_another():
    init = np.linspace(-1, 1, 16).reshape(8, D) + 1e-3
    optimizer = new(init=init)
    optimizer.tell(init[3].round(2), 0.25)  # 2 decimals in a box of 4: half a per cent at most
    assert len(optimizer.ask()) == 7
    optimizer = new(init=init)
    for far in (init[3] + 0.01, init[3].round(1), [0.0, 0.0]):
        optimizer.tell(far, 0.25)
    assert len(optimizer.ask()) == 8
    assert optimizer.result().nfev == 3


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([-np.inf, 1.0], "value 0 is -inf, below which nothing"),
        ([1.0, None], "y must hold numbers; got None.*Tell nan"),
        (["1.0", "2.0"], "y must hold numbers; got .*1.0"),
        ([1.0, "x"], "y must hold numbers"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), "y has masked entries"),
        ([True, False], "y must hold numbers"),
        ([1j, 2.0], "y must hold numbers"),
        ([[1.0], [1.0, 2.0]], "y must hold numbers"),
    ],
)
def test_what_is_no_value_is_refused_and_nothing_is_taken(y, said):
    optimizer = new()
    points = optimizer.ask()
    with pytest.raises(DataError, match=said):
        optimizer.tell(points[:2], y)
    assert optimizer.known_points() == {}
    assert optimizer.best == np.inf
    np.testing.assert_array_equal(optimizer.ask(), points)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([[np.nan, 0.0]], "point 0 is .nan, 0.0.. Give finite numbers"),
        ([[None, 0.0]], "x must hold numbers; got None"),
        (np.ma.array([[0.0, 1.0]], mask=[[True, False]]), "x has masked entries"),
        ([[0.0, 2.5]], "lies outside the bounds, and was not asked for"),
    ],
)
def test_what_is_no_point_is_refused(x, said):
    optimizer = new()
    with pytest.raises(DataError, match=said):
        optimizer.tell(x, [1.0])
    assert optimizer.known_points() == {}


def test_results_do_not_share_the_run():
    optimizer, other = new(), new()
    for one in (optimizer, other):
        run(one, 2)
    result = optimizer.result()
    for name in ("x", "population", "population_energies", "x_all", "fun_all"):
        result[name][...] = -1
    for one in (optimizer, other):
        run(one, 4)
    assert_same(optimizer.result(), other.result())


@pytest.mark.parametrize("updating", BOTH)
def test_islands_are_formed_and_end_in_one_population(updating):
    optimizer = new(updating, {"right": past()})
    states = set()
    for generation in range(1, 12):
        run(optimizer, generation)
        islands = optimizer.state.islands
        states.add("one" if islands is None else "two" if islands.won is None else "over")
        assert optimizer.state.contest != "not yet"
    assert states == {"two", "over", "one"}
    assert np.isfinite(optimizer.state.f).all()


@pytest.mark.parametrize("bounds", [[(1.0, 1.0)] * D, BOUNDS], ids=["fixed", "collapsed"])
def test_asking_ends_when_every_trial_is_known(bounds, monkeypatch):
    optimizer = Optimizer(bounds, rng=0, learner=DE(population=4, updating="deferred"))
    advance, generations = optimizer.advance, []

    def counted(*args, **more):
        generations.append(1)
        if len(generations) > 2000:
            raise RecursionError("no end of generations")
        return advance(*args, **more)

    monkeypatch.setattr(optimizer, "advance", counted)
    while len(points := optimizer.ask()):
        optimizer.tell(points, values(points))
    assert points.shape == (0, D)


def test_unless_told_otherwise_a_generation_is_deferred():
    assert Optimizer(BOUNDS, rng=0).learner == CMAES()
    optimizer = Optimizer(BOUNDS, rng=0, learner=DE())
    assert optimizer.learner == DE(updating="deferred")
    assert optimizer.ask().shape == (32, D)
    assert optimizer.trust is None
    assert optimizer.weights == {}


def test_what_is_carried_along():
    reuse = ReuseConfig("equal", Constant(0.3), guard="none", elites=1)
    optimizer = new(sources=PAST, reuse=reuse)
    assert optimizer.trust is optimizer.reuse.trust
    assert optimizer.trust.rule.name == "equal"
    assert optimizer.trust.model is None
    assert (optimizer.reuse.schedule, optimizer.reuse.m) == (Constant(0.3), 0)
    assert (optimizer.reuse.offer.how, optimizer.reuse.offer.elites) == ("none", 1)
    run(optimizer, 2)
    assert optimizer.reuse.m == 2
    np.testing.assert_array_equal(optimizer.trust.x, optimizer.result().x_all)
    np.testing.assert_array_equal(optimizer.trust.y, optimizer.result().fun_all)


@pytest.mark.parametrize("updating", BOTH)
def test_the_best_value_so_far_and_whether_it_converged(updating):
    optimizer = Optimizer(
        BOUNDS, rng=0, learner=DE(population=8, updating=updating, atol=0.5, tol=0.0)
    )
    assert not optimizer.converged
    seen = []
    for generation in range(1, 30):
        run(optimizer, generation)
        assert optimizer.best == optimizer.result().fun_all.min() == optimizer.result().fun
        seen.append(optimizer.converged)
        assert seen[-1] == (np.std(optimizer.state.f) <= 0.5)
    assert not seen[0]
    assert seen[-1]


def test_a_program_may_leave_weight_to_nobody():
    simplex, nobody = (
        new(sources={"wrong": past(-2 * CENTRE)}, reuse=ReuseConfig(rule=rule), model=SMALL)
        for rule in ("shape", "shape+nobody")
    )
    for optimizer in (simplex, nobody):
        run(optimizer, 2)
    assert simplex.weights["wrong"] == pytest.approx(1, abs=1e-9)
    assert nobody.weights["wrong"] < 0.5


def test_what_is_no_learner_is_refused():
    with pytest.raises(ConfigError, match="have ask and tell; int has no ask"):
        Optimizer(BOUNDS, learner=3)
    with pytest.raises(ConfigError, match=r"an object, not a class: DE\(...\)"):
        Optimizer(BOUNDS, learner=DE)


def test_sources_hand_over_their_best_points():
    optimizer = new(sources=PAST, reuse=ReuseConfig(rule="equal", elites=3))
    offer = optimizer.reuse.offer
    for (x, y), points in zip(PAST.values(), offer.points, strict=True):
        np.testing.assert_array_equal(points, x[np.argsort(y)[:3]])
    assert [np.isnan(own).all() for own in offer.values] == [True, True]
    run(optimizer, 4)
    offer = optimizer.reuse.offer
    for points, own in zip(offer.points, offer.values, strict=True):
        tried = ~np.isnan(own)
        assert tried.any()
        np.testing.assert_array_equal(own[tried], values(points[tried]))


def test_points_predicted_to_be_best_need_a_model_whatever_the_rule():
    """Also a rule that looks at no posterior."""
    optimizer = new(
        sources=PAST, reuse=ReuseConfig(rule="equal", pick="predicted", elites=2), model=SMALL
    )
    assert [len(own) for own in optimizer.reuse.offer.points] == [16, 16]
    run(optimizer, 2)
    assert optimizer.weights == {"right": 0.5, "wrong": 0.5}
    for own, chosen in zip(optimizer.reuse.offer.points, optimizer.reuse.guide().open, strict=True):
        expected = optimizer.trust.relabel(own)
        assert sorted(chosen) == sorted(np.argsort(expected, kind="stable")[:2])


def test_whole_generations_are_asked_for_whatever_else_is_set():
    for learner, size in ((DE(), 32), (DE(population=10), 10), (DE(10, updating="immediate"), 1)):
        optimizer = Optimizer([(-1, 1)] * 2, learner=learner, rng=0)
        points = optimizer.ask()
        optimizer.tell(points, np.sum(points**2, axis=1))
        assert len(optimizer.ask()) == size
