"""Somebody else's optimiser as the learner: it asks, is told, and gets points of past runs."""

import cmaes
import numpy as np
import pytest

import bers
from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, ObjectiveError
from bers.learners.ask_and_tell import AskTell
from bers.learners.base import PointLearner, Search
from bers.model.config import ModelConfig
from bers.optimise.ask_tell import Optimizer, as_learner
from bers.optimise.minimize import minimize
from bers.reuse.points import PointGuide

D = 2
BOUNDS = [(-2.0, 2.0)] * D
LOW, HIGH = np.full(D, -2.0), np.full(D, 2.0)
CENTRE = np.array([0.3, -0.7])
SMALL = ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)
BLIND = ReuseConfig(rule="equal")


def sphere(x):
    return float(np.sum((x - CENTRE) ** 2))


def values(points):
    return np.array([sphere(point) for point in points])


def past(centre=CENTRE, rows=40, seed=0):
    x = np.random.default_rng(seed).uniform(LOW, HIGH, (rows, D))
    return x, np.sum((x - centre) ** 2, axis=1)


PAST = {"right": past(), "wrong": past(-2 * CENTRE, seed=1)}


class Walk:
    """A toy search: points around the best it was told of, nearer and nearer; it keeps a diary."""

    def __init__(self, size=5, seed=0, reach=1.0):
        self.rng, self.size, self.reach = np.random.default_rng(seed), size, reach
        self.best, self.least = np.full(D, -1.5), np.inf
        self.asked, self.told = [], []

    def ask(self):
        x = self.best + self.reach * self.rng.normal(size=(self.size, D))
        self.asked.append(x)
        return x

    def tell(self, x, y):
        self.told.append((x, y))
        if y.min() < self.least:
            self.best, self.least = x[np.argmin(y)], y.min()
        self.reach *= 0.8


def by_hand(walk, iterations, fun=sphere):
    """The loop that a user would write."""
    seen = []
    for _ in range(iterations):
        x = np.clip(walk.ask(), LOW, HIGH)
        y = np.array([fun(point) for point in x])
        walk.tell(x, y)
        seen.append((x, y))
    return tuple(np.concatenate(part) for part in zip(*seen, strict=True))


# ---- without past runs ---------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [AskTell, lambda walk: walk], ids=["wrapped", "as it is"])
def test_without_past_runs_it_is_the_users_own_loop_bit_for_bit(wrap):
    walk = Walk()
    result = minimize(sphere, BOUNDS, learner=wrap(walk), maxiter=12, rng=0)
    x, y = by_hand(Walk(), 12)
    np.testing.assert_array_equal(result.x_all, x)
    np.testing.assert_array_equal(result.fun_all, y)
    assert (result.nit, result.nfev, len(walk.told)) == (12, 60, 12)
    assert result.fun == y.min() == sphere(result.x)
    assert result.message == "Maximum number of iterations has been exceeded."
    assert "weights" not in result


def test_our_seed_is_not_the_optimisers():
    one, other = (minimize(sphere, BOUNDS, learner=Walk(), maxiter=4, rng=seed) for seed in (0, 1))
    np.testing.assert_array_equal(one.x_all, other.x_all)


def test_points_are_kept_within_the_bounds_and_told_as_they_were_evaluated():
    walk = Walk(reach=5.0)
    result = minimize(sphere, BOUNDS, learner=walk, maxiter=4)
    assert (np.abs(result.x_all) <= 2).all()
    for asked, (x, y) in zip(walk.asked, walk.told, strict=True):
        assert (np.abs(asked) > 2).any()
        np.testing.assert_array_equal(x, np.clip(asked, -2, 2))
        np.testing.assert_array_equal(y, values(x))


def test_the_best_is_kept_though_the_optimiser_forgets_it():
    class Away(Walk):
        def ask(self):
            super().ask()
            return np.full((2, D), 0.1 * len(self.asked)) * [[1, -1]] + CENTRE

    seen = []

    def callback(result):
        seen.append((result.fun, len(result.population)))

    result = minimize(sphere, BOUNDS, learner=Away(), maxiter=4, callback=callback)
    assert result.fun == result.fun_all.min() == sphere(result.x)
    np.testing.assert_array_equal(result.x, result.x_all[0])
    assert seen == [(result.fun, 2)] * 4  # the last ones are its population
    np.testing.assert_array_equal(result.population, result.x_all[-2:])
    np.testing.assert_array_equal(result.population_energies, result.fun_all[-2:])
    optimizer = Optimizer(BOUNDS, learner=Away())
    for _ in range(3):
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    optimizer.ask()
    assert optimizer.best == optimizer.result().fun == result.fun


@pytest.mark.parametrize("form", [list, tuple, np.float32, lambda x: [list(row) for row in x]])
def test_points_in_any_form(form):
    class Other(Walk):
        def ask(self):
            return form(np.round(super().ask(), 2))

    result = minimize(sphere, BOUNDS, learner=Other(), maxiter=2)
    assert (result.x_all.shape, result.x_all.dtype) == ((10, D), np.float64)


def test_one_point_needs_no_second_axis():
    class Single(Walk):
        def ask(self):
            return super().ask()[0]

    walk = Single()
    result = minimize(sphere, BOUNDS, learner=walk, maxiter=7)
    assert result.x_all.shape == (7, D)
    assert [x.shape for x, _ in walk.told] == [(1, D)] * 7
    assert [y.shape for _, y in walk.told] == [(1,)] * 7


def test_how_many_points_it_asks_for_may_change():
    class Growing(Walk):
        def ask(self):
            self.size += 1
            return super().ask()

    walk = Growing(size=0)
    result = minimize(sphere, BOUNDS, sources=PAST, learner=walk, maxiter=4, reuse=BLIND, rng=0)
    assert [len(y) for _, y in walk.told] == [1, 2, 3, 4]
    assert result.nfev == 10


def test_what_it_is_told_is_its_own():
    class Spoiling(Walk):
        def tell(self, x, y):
            super().tell(x.copy(), y.copy())
            x[:], y[:] = 9, -9

    spoilt = minimize(sphere, BOUNDS, learner=Spoiling(), maxiter=5)
    np.testing.assert_array_equal(
        spoilt.x_all, minimize(sphere, BOUNDS, learner=Walk(), maxiter=5).x_all
    )
    assert spoilt.fun > 0


@pytest.mark.parametrize("how", [{"vectorized": True}, {"workers": map}], ids=str)
def test_all_ways_to_evaluate_give_the_same_bits(how):
    fun = (lambda x: values(x.T)) if "vectorized" in how else sphere
    result = minimize(fun, BOUNDS, learner=Walk(), maxiter=4, **how)
    other = minimize(sphere, BOUNDS, learner=Walk(), maxiter=4)
    np.testing.assert_array_equal(result.fun_all, other.fun_all)


def test_failed_evaluations_are_told_as_the_worst():
    walk = Walk(reach=2.0)
    result = minimize(lambda x: np.nan if x[0] > 0 else sphere(x), BOUNDS, learner=walk, maxiter=4)
    told = np.concatenate([y for _, y in walk.told])
    assert np.isinf(told).sum() == result.not_finite > 0
    assert not np.isnan(told).any()
    assert np.isfinite(result.fun)


def test_a_function_that_fails_leaves_what_was_found():
    walk, calls = Walk(), []

    def fun(x):
        calls.append(1)
        return sphere(x) if len(calls) <= 8 else 1 / 0

    with pytest.raises(ObjectiveError, match="ZeroDivisionError") as caught:
        minimize(fun, BOUNDS, learner=walk)
    assert len(caught.value.result.fun_all) == 8
    assert caught.value.result.fun == caught.value.result.fun_all.min()


# ---- when it stops -------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
@pytest.mark.parametrize("maxfun", [1, 3, 5, 6, 13, 20])
def test_the_budget_is_kept_to_the_last_evaluation(sources, maxfun):
    calls = []

    def fun(x):
        calls.append(x)
        return sphere(x)

    how = {"sources": sources, "rng": 0, "reuse": BLIND}
    walk = Walk()
    result = minimize(fun, BOUNDS, learner=walk, maxfun=maxfun, **how)
    assert result.nfev == len(calls) == maxfun
    assert result.message == "Maximum number of function evaluations has been exceeded."
    assert result.fun == result.fun_all.min() == sphere(result.x)
    # the same path as without a budget, cut; whole batches only are told
    free = minimize(sphere, BOUNDS, learner=Walk(), maxiter=8, **how)
    np.testing.assert_array_equal(result.x_all, free.x_all[: len(result.x_all)])
    assert len(walk.told) == len(result.fun_all) // 5
    assert repr(result)


def test_known_points_cost_nothing():
    class Still(Walk):
        def ask(self):
            return np.tile(CENTRE, (3, 1))

    result = minimize(sphere, BOUNDS, learner=Still(), maxiter=6)
    assert (result.nfev, len(result.fun_all), result.fun) == (1, 18, 0.0)


def test_should_stop_ends_the_search():
    class Done(Walk):
        def should_stop(self):
            return len(self.told) == 7

    result = minimize(sphere, BOUNDS, learner=Done())
    assert result.nit == 7
    assert result.success is True
    assert result.message == "Optimization terminated successfully."
    optimizer = Optimizer(BOUNDS, learner=Done())
    stopped = []
    for _ in range(8):
        points = optimizer.ask()
        stopped.append(optimizer.converged)
        optimizer.tell(points, values(points))
    assert stopped == [False] * 7 + [True]


def test_should_stop_may_be_something_else():
    class Odd(Walk):
        should_stop = True  # not to be called

    assert minimize(sphere, BOUNDS, learner=Odd(), maxiter=3).nit == 3


def test_a_callback_ends_the_search():
    result = minimize(sphere, BOUNDS, learner=Walk(), callback=lambda found: found.nit == 3)
    assert result.nit == 3
    assert result.message == "callback function requested stop early"


# ---- with past runs ------------------------------------------------------------------------------


def test_the_best_point_of_a_past_run_is_tried_once_and_told():
    walk = Walk()
    x, y = past()
    reuse = ReuseConfig(rule="equal", schedule=1.0, elites=1)
    result = minimize(
        sphere, BOUNDS, sources={"run": (x, y)}, learner=walk, maxiter=6, rng=0, reuse=reuse
    )
    best = x[np.argmin(y)]
    assert result.x_all.tolist().count(best.tolist()) == 1
    np.testing.assert_array_equal(result.x_all[0], best)  # of five that drew it, the first
    assert result.fun <= y.min()
    np.testing.assert_array_equal(walk.told[0][0][0], best)  # as if it had asked for it
    assert walk.told[0][1][0] == y.min()
    assert result.sources_used == {"run": 1}
    # all else is what it asked for
    for i, (asked, (told, _)) in enumerate(zip(walk.asked, walk.told, strict=True)):
        first = int(i == 0)
        np.testing.assert_array_equal(told[first:], np.clip(asked, -2, 2)[first:])


def test_every_elite_is_tried_once_and_its_value_kept():
    reuse = ReuseConfig(rule="equal", schedule=1.0, elites=3)
    optimizer = Optimizer(BOUNDS, PAST, learner=Walk(), rng=0, reuse=reuse)
    while optimizer.nit < 12:
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    offer, result = optimizer.reuse.offer, optimizer.result()
    for own, known in zip(offer.points, offer.values, strict=True):
        np.testing.assert_array_equal(known, values(own))
        for point in own:
            assert result.x_all.tolist().count(point.tolist()) == 1
    assert result.sources_used == {"right": 3, "wrong": 3}
    counts = offer.guard.paid + offer.guard.failed  # discounted: no source was used lately
    assert (counts[:2] > 0).all()
    assert (counts[:2] < counts[2]).all()


def test_a_point_that_failed_is_not_tried_again():
    reuse = ReuseConfig(rule="equal", schedule=1.0, elites=1)
    optimizer = Optimizer(BOUNDS, {"run": past()}, learner=Walk(), rng=0, reuse=reuse)
    for _ in range(5):
        points = optimizer.ask()
        optimizer.tell(points, np.full(len(points), np.nan))
    optimizer.ask()
    assert optimizer.result().sources_used == {"run": 1}
    assert optimizer.reuse.offer.values[0].tolist() == [np.inf]


@pytest.mark.parametrize("guard", ["success", "none"])
def test_with_other_guards_points_are_handed_over_whenever_they_are_drawn(guard):
    """Else the paper's own settings would hand over nothing."""
    reuse = ReuseConfig(rule="equal", schedule=1.0, elites=1, guard=guard)
    walk = Walk()
    result = minimize(
        sphere, BOUNDS, sources={"run": past()}, learner=walk, maxiter=6, rng=0, reuse=reuse
    )
    x, y = past()
    again = result.x_all.tolist().count(x[np.argmin(y)].tolist())
    assert result.sources_used["run"] == again > 1
    if guard == "none":
        assert again == 6  # once in every batch
    assert result.nfev == 30 - again + 1  # a known point costs nothing


def test_with_chance_zero_it_is_the_plain_optimiser_bit_for_bit():
    for guard in ("trial", "success", "none"):
        reuse = ReuseConfig(rule="equal", schedule=0.0, guard=guard)
        result = minimize(
            sphere, BOUNDS, sources=PAST, learner=Walk(), maxiter=6, rng=0, reuse=reuse
        )
        np.testing.assert_array_equal(result.x_all, by_hand(Walk(), 6)[0])
        assert result.sources_used == {"right": 0, "wrong": 0}


def test_weights_are_learned_from_what_it_saw():
    result = minimize(
        sphere, BOUNDS, sources=PAST, learner=Walk(size=12), maxiter=5, rng=0, model=SMALL
    )
    assert result.weight_history.shape == (6, 2)
    assert result.weight_history[0].tolist() == [0.5, 0.5]  # before anything was seen
    assert result.weights["right"] > 0.9
    assert result.ranking.best == "right"
    assert result.ranking.target_rows == 60


def test_same_seed_same_bits_and_other_seeds_differ():
    one, two, other = (
        minimize(sphere, BOUNDS, sources=PAST, learner=Walk(), maxiter=6, rng=seed, reuse=BLIND)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one.x_all, two.x_all)
    assert not np.array_equal(one.x_all, other.x_all)


# ---- asked and told ------------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [(), PAST], ids=["plain", "sources"])
def test_asking_and_telling_is_minimising(sources):
    walk, rng = Walk(), np.random.default_rng(5)
    optimizer = Optimizer(BOUNDS, sources, learner=walk, rng=0, reuse=BLIND)
    while optimizer.nit < 7:
        points = optimizer.ask()
        np.testing.assert_array_equal(points, optimizer.ask())  # it is asked once
        some = rng.permutation(len(points))[:2]
        optimizer.tell(points[some], values(points[some]))  # in parts, in any order
    result = minimize(
        sphere, BOUNDS, sources=sources, learner=Walk(), maxiter=7, rng=0, reuse=BLIND
    )
    np.testing.assert_array_equal(optimizer.result().x_all, result.x_all)
    np.testing.assert_array_equal(optimizer.result().fun_all, result.fun_all)
    assert len(walk.told) == 7
    assert len(walk.asked) == 7  # the next batch is asked for when somebody wants it
    if sources:
        assert optimizer.result().sources_used == result.sources_used


def test_before_anything_is_told():
    optimizer = Optimizer(BOUNDS, PAST, learner=Walk(), rng=0, reuse=BLIND)
    result = optimizer.result()
    assert (result.fun, result.nfev, optimizer.best, optimizer.converged) == (np.inf, 0, np.inf, 0)
    optimizer.ask()
    assert np.isnan(optimizer.result().x).all()
    assert repr(optimizer.result())


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "said"),
    [
        (np.zeros((3, D + 1)), r"one or more rows of 2 numbers; got shape \(3, 3\)"),
        (np.zeros(3), r"one or more rows of 2 numbers; got shape \(1, 3\)"),
        (np.zeros((2, 2, D)), r"one or more rows of 2 numbers; got shape \(2, 2, 2\)"),
        (np.zeros((0, D)), r"one or more rows of 2 numbers; got shape \(0, 2\)"),
        ([], r"one or more rows of 2 numbers; got shape \(1, 0\)"),
        (None, r"one or more rows of 2 numbers; got shape \(1, 1\)"),
        ([[0.0, np.nan]], r"ask\(\) must give finite numbers; some are not"),
        ([[np.inf, 0.0]], r"ask\(\) must give finite numbers; some are not"),
        ([[1.0], [1.0, 2.0]], r"ask\(\) must give rows of 2 numbers: "),
        ([["a", "b"]], r"ask\(\) must give rows of 2 numbers: "),
        ({"x": 1}, r"ask\(\) must give rows of 2 numbers: "),
    ],
    ids=str,
)
def test_what_are_no_points_is_refused(points, said):
    class Wrong(Walk):
        def ask(self):
            return points

    with pytest.raises(ConfigError, match=said):
        minimize(sphere, BOUNDS, learner=Wrong(), maxiter=2)
    with pytest.raises(ConfigError, match=said):
        Optimizer(BOUNDS, learner=Wrong()).ask()


def test_what_cannot_ask_or_tell_is_refused():
    class Mute:
        def ask(self):
            return np.zeros((1, D))

    with pytest.raises(ConfigError, match="have ask and tell; Mute has no tell"):
        AskTell(Mute())
    with pytest.raises(ConfigError, match="have ask and tell; dict has no ask"):
        minimize(sphere, BOUNDS, learner={})


def test_a_first_point_is_the_optimisers_own_affair():
    with pytest.raises(ConfigError, match="x0 is for learners of ours. Start your own optimiser"):
        minimize(sphere, BOUNDS, learner=Walk(), x0=CENTRE)


def test_an_error_of_the_optimiser_passes():
    class Broken(Walk):
        def tell(self, x, y):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        minimize(sphere, BOUNDS, learner=Broken())


# ---- the contract --------------------------------------------------------------------------------


def test_it_keeps_the_contract_of_a_learner():
    learner = as_learner(Walk())
    assert isinstance(learner, PointLearner)
    assert as_learner(learner) is learner
    assert bers.AskTell is AskTell
    search = learner.on(values, LOW, HIGH)
    assert isinstance(search, Search)
    x, known = learner.first(np.random.default_rng(0), LOW, HIGH, None)
    assert (x.shape, known) == ((0, D), None)
    state = search.opened(x, np.zeros(0))
    assert not search.converged(state)
    guide = PointGuide(np.random.default_rng(0), np.ones(1), 1.0, [np.full((1, D), 1.0)])
    state, seen = search.iterate(np.random.default_rng(0), state, guide)
    np.testing.assert_array_equal(state.f, values(state.x))
    assert seen.sources.tolist() == [0, -1, -1, -1, -1]
    assert seen.tried.tolist() == [0, -1, -1, -1, -1]
    assert seen.paid.all()  # whatever is first is better than nothing
    state, seen = search.iterate(np.random.default_rng(0), state, None)
    assert (seen.sources, seen.tried) == (None, None)


# ---- cmaes ---------------------------------------------------------------------------------------


class CMA:
    """The package cmaes, which asks for one point at a time, in four lines."""

    def __init__(self, seed):
        bounds = np.array(BOUNDS)
        self.cma = cmaes.CMA(mean=np.full(D, -1.5), sigma=0.5, bounds=bounds, seed=seed)

    def ask(self):
        return np.array([self.cma.ask() for _ in range(self.cma.population_size)])

    def tell(self, x, y):
        self.cma.tell(list(zip(x, y, strict=True)))

    def should_stop(self):
        return self.cma.should_stop()


def test_cmaes_is_itself_bit_for_bit():
    result = minimize(sphere, BOUNDS, learner=CMA(3), maxiter=10)
    own, x, y = CMA(3).cma, [], []
    for _ in range(10):
        batch = [own.ask() for _ in range(own.population_size)]
        own.tell([(point, sphere(point)) for point in batch])
        x += batch
        y += [sphere(point) for point in batch]
    np.testing.assert_array_equal(result.x_all, x)
    np.testing.assert_array_equal(result.fun_all, y)


def test_cmaes_finds_the_minimum_and_stops_by_itself():
    result = minimize(sphere, BOUNDS, learner=CMA(0))
    assert result.success
    np.testing.assert_allclose(result.x, CENTRE, atol=1e-5)


def test_cmaes_is_helped_by_a_past_run():
    """The past run's best point is among the first batches, and its mean moves there."""
    x, y = past(rows=200)
    reuse = ReuseConfig(rule="equal", schedule=0.5)
    learner = CMA(1)
    helped = minimize(
        sphere, BOUNDS, sources={"run": (x, y)}, learner=learner, maxiter=4, rng=0, reuse=reuse
    )
    alone = minimize(sphere, BOUNDS, learner=CMA(1), maxiter=4)
    assert helped.sources_used["run"] > 0
    assert helped.fun < alone.fun
    assert learner.cma.generation == 4
