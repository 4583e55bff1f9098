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
    past,
    plain,
    sphere,
)

from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, DataError
from bers.optimise.ask_tell import Optimizer, reuse_config
from bers.optimise.minimize import minimize
from bers.schedules import Constant, Power

PAST = {"right": past(), "wrong": past(-2 * CENTRE, seed=1)}
BLIND = ReuseConfig(rule="equal")


def values(points):
    return np.array([sphere(point) for point in points])


def eight(updating="deferred", sources=(), reuse=BLIND, **more):
    how = {"rng": 0, "population_size": 8, "reuse": reuse, **more}
    return Optimizer(BOUNDS, sources, updating=updating, **how)


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
    optimizer = eight(updating)
    run(optimizer, 7)
    by_hand = plain(updating, 7)
    np.testing.assert_array_equal(optimizer.agents.x, by_hand.x)
    np.testing.assert_array_equal(optimizer.agents.f, by_hand.f)


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("guard", ["trial", "success", "none"])
@pytest.mark.parametrize("metric", ["equal", "ucb"])
def test_asking_and_telling_is_minimising(updating, guard, metric):
    optimizer = eight(updating, PAST, None, metric=metric, guard=guard)
    run(optimizer, 9)
    result = minimize(
        sphere, BOUNDS, PAST, rng=0, population_size=8, updating=updating, guard=guard,
        metric=metric, maxiter=9, tol=0,
    )  # fmt: skip
    assert_same(optimizer.result(), result)
    np.testing.assert_array_equal(optimizer.result().weight_history, result.weight_history)
    assert optimizer.result().sources_used == result.sources_used
    assert optimizer.weights == result.weights
    assert optimizer.best == result.fun


@pytest.mark.parametrize("updating", BOTH)
@pytest.mark.parametrize("pick", ["best", "predicted"])
def test_asking_and_telling_is_minimising_with_a_model(updating, pick):
    optimizer = eight(updating, PAST, None, elites=4, pick=pick, config=SMALL)
    run(optimizer, 4)
    result = minimize(
        sphere, BOUNDS, PAST, rng=0, population_size=8, updating=updating, elites=4, pick=pick,
        maxiter=4, tol=0, config=SMALL,
    )  # fmt: skip
    assert_same(optimizer.result(), result)
    np.testing.assert_array_equal(optimizer.result().weight_history, result.weight_history)
    assert str(optimizer.ranking()) == str(result.ranking)


def test_a_whole_generation_is_asked_for_at_once_or_one_point_at_a_time():
    deferred, immediate = (run(eight(updating), 2) for updating in BOTH[::-1])
    assert [len(points) for points in deferred] == [8, 8, 8]
    # the first points are no trials, so all can be asked for
    assert [len(points) for points in immediate] == [8] + [1] * 16


@pytest.mark.parametrize("updating", BOTH)
def test_asking_twice_gives_the_same_points(updating):
    twice, once = eight(updating, PAST), eight(updating, PAST)

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

    parts, whole = eight(updating, sources), eight(updating, sources)
    run(parts, 5, tell=tell)
    run(whole, 5)
    assert_same(parts.result(), whole.result())


def test_a_point_that_two_agents_want_is_asked_for_once():
    init = np.zeros((8, D))
    assert eight(init=init).ask().tolist() == [[0, 0]]
    init[3] = 1
    assert eight(init=init).ask().tolist() == [[0, 0], [1, 1]]


def test_values_of_other_points_are_taken_as_known():
    first = eight().ask()
    optimizer = eight()
    optimizer.tell(first[:5], values(first[:5]))
    optimizer.tell(np.ones((2, D)), [1.0, 2.0])
    np.testing.assert_array_equal(optimizer.ask(), first[5:])
    run(optimizer, 3)
    other = eight()
    run(other, 3)
    assert_same(optimizer.result(), other.result())


def test_known_points_are_not_asked_for_again():
    # the best lie in a corner, where trials meet again and again
    fun = Counted(lambda x: float(np.sum(x)))
    run(eight(), 8, fun=lambda points: np.array([fun(point) for point in points]))
    assert set(fun.per_point.values()) == {1}


def test_one_point_needs_no_second_axis():
    optimizer = eight()
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
    optimizer = eight()
    with pytest.raises(DataError, match=said):
        optimizer.tell(x, y)
    assert optimizer.known_points() == {}


@pytest.mark.parametrize("updating", BOTH)
def test_evaluations_that_failed_are_the_worst(updating):
    def fun(points):
        return np.where(points[:, 0] > 0.5, np.nan, values(points))

    optimizer = eight(updating, PAST)
    run(optimizer, 6, fun=fun)
    result = minimize(
        lambda x: np.nan if x[0] > 0.5 else sphere(x), BOUNDS, PAST, rng=0, population_size=8,
        updating=updating, metric="equal", maxiter=6, tol=0,
    )  # fmt: skip
    assert np.isinf(result.fun_all).any()
    assert_same(optimizer.result(), result)


def test_before_anything_is_told():
    optimizer = eight(sources=PAST)
    result = optimizer.result()
    assert (result.fun, result.nit, result.nfev) == (np.inf, 0, 0)
    assert np.isnan(result.x).all()
    assert result.x_all.shape == (0, D)
    assert optimizer.best == np.inf
    assert optimizer.weights == {"right": 0.5, "wrong": 0.5}
    assert optimizer.ranking() is None
    assert repr(result)
    assert repr(eight().result())


def test_a_result_is_of_whole_generations():
    optimizer = eight()
    run(optimizer, 2)
    before = optimizer.result()
    points = optimizer.ask()
    optimizer.tell(points[:4], -np.ones(4))
    optimizer.ask()
    assert_same(optimizer.result(), before)
    optimizer.tell(points[4:], np.ones(len(points) - 4))
    optimizer.ask()
    assert optimizer.result().fun == -1


def test_results_do_not_share_the_run():
    optimizer, other = eight(), eight()
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
    optimizer = eight(updating, {"right": past()})
    states = set()
    for generation in range(1, 12):
        run(optimizer, generation)
        islands = optimizer.agents.islands
        states.add("one" if islands is None else "two" if islands.won is None else "over")
        assert optimizer.agents.contest != "not yet"
    assert states == {"two", "over", "one"}
    assert np.isfinite(optimizer.agents.f).all()


@pytest.mark.parametrize("bounds", [[(1.0, 1.0)] * D, BOUNDS], ids=["fixed", "collapsed"])
def test_asking_ends_when_every_trial_is_known(bounds, monkeypatch):
    optimizer = Optimizer(bounds, rng=0, population_size=4)
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


def test_settings_of_reuse_in_words():
    words = {"schedule": 0.3, "guard": "none", "elites": 1, "pick": "predicted", "config": SMALL}
    made = eight(sources=PAST, reuse=None, metric="equal", **words).reuse.config
    assert made == ReuseConfig(
        "equal", Constant(0.3), guard="none", elites=1, pick="predicted", model=SMALL
    )
    words = ("odds", "paper", "trial", 16, "best", None, None)
    assert reuse_config(*words) == ReuseConfig(schedule=Power(0.99))
    with pytest.raises(ConfigError, match="elites must be at least 1; got 0"):
        eight(reuse=None, elites=0)
    with pytest.raises(ConfigError, match="no rule 'best'"):
        eight(reuse=None, metric="best")


def test_a_program_may_leave_weight_to_nobody():
    simplex, nobody = (
        eight(sources={"wrong": past(-2 * CENTRE)}, reuse=None, metric="shape", config=SMALL,
              feasible=feasible)
        for feasible in ("simplex", "at_most_one")
    )  # fmt: skip
    for optimizer in (simplex, nobody):
        run(optimizer, 2)
    assert simplex.weights["wrong"] == pytest.approx(1, abs=1e-9)
    assert nobody.weights["wrong"] < 0.5
    with pytest.raises(ConfigError, match="feasible must be .* got 'all'"):
        eight(reuse=None, metric="shape", feasible="all")
    with pytest.raises(ConfigError, match="feasible is for the metrics of the quadratic program"):
        eight(reuse=None, metric="odds", feasible="simplex")


def test_sources_hand_over_their_best_points():
    optimizer = eight(sources=PAST, reuse=ReuseConfig(rule="equal", elites=3))
    for (x, y), points in zip(PAST.values(), optimizer.reuse.points, strict=True):
        np.testing.assert_array_equal(points, x[np.argsort(y)[:3]])
    assert [np.isnan(own).all() for own in optimizer.reuse.values] == [True, True]
    run(optimizer, 4)
    for points, own in zip(optimizer.reuse.points, optimizer.reuse.values, strict=True):
        tried = ~np.isnan(own)
        assert tried.any()
        np.testing.assert_array_equal(own[tried], values(points[tried]))
