"""Past runs in scipy's Differential Evolution."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from scipy.optimize import differential_evolution as scipys

from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, DataError
from bers.integrations.scipy import Reuse, differential_evolution
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig

D = 4
BOUNDS = [(-5, 5)] * D
CENTRE = np.array([1.0, -2.0, 0.5, 3.0])
SMALL = ModelConfig(hidden=(32,), latent_dim=8, batches=300, learning_rate=1e-3)
PLAIN = {"popsize": 6, "polish": False, "tol": 0}
ALWAYS = ReuseConfig(schedule=1.0)
EQUAL = ReuseConfig(rule="equal")  # no model, for what does not depend on it


def target(x):
    """3 |x - c|^2 + 7, of one point (D,) or of many (D, S)."""
    return 3 * np.sum((x.T - CENTRE) ** 2, axis=-1) + 7


def run_until(low, centre, seed):
    """A past run on a shifted sphere, down to a value."""
    stop = below(low)
    return differential_evolution(
        lambda x: np.sum((x - centre) ** 2), BOUNDS, rng=seed, callback=stop, **PLAIN
    )


def below(level):
    def callback(intermediate_result):
        if intermediate_result.fun < level:
            raise StopIteration

    return callback


@pytest.fixture(scope="module")
def past():
    return {"wrong": run_until(1e-2, -CENTRE, 98), "right": run_until(1e-2, CENTRE, 99)}


@pytest.mark.parametrize("updating", ["immediate", "deferred"])
def test_a_right_source_saves_evaluations_and_gets_the_weight(past, updating):
    ours, theirs = [], []
    for seed in range(3):
        common = {"rng": seed, "updating": updating, "callback": below(7 + 1e-2), **PLAIN}
        plain = scipys(target, BOUNDS, strategy="rand1bin", mutation=0.5, **common)
        new = differential_evolution(target, BOUNDS, sources=past, model=SMALL, **common)
        assert new.fun < 7 + 1e-2
        assert new.nfev == len(new.fun_all) == len(new.x_all)
        assert new.weights["right"] > 0.9
        assert new.sources_used["right"] > 10 * new.sources_used["wrong"]
        assert new.weight_history.shape == (new.nit + 1, 2)
        assert new.ranking.best == "right"
        ours.append(new.nfev)
        theirs.append(plain.nfev)
    assert np.mean(ours) < 0.6 * np.mean(theirs)


def test_three_parts_for_scipy_and_vectorized(past):
    shapes = []

    def many(x):
        shapes.append(x.shape)
        return target(x)

    reuse = Reuse(many, BOUNDS, past, rng=0, model=SMALL, callback=below(7 + 1e-2))
    found = scipys(
        reuse.fun, BOUNDS, strategy=reuse.strategy, callback=reuse.callback, rng=0,
        vectorized=True, updating="deferred", **PLAIN,
    )  # fmt: skip
    assert set(shapes) == {(D, 24)}
    assert found.fun < 7 + 1e-2
    assert found.nfev == len(shapes)  # scipy counts calls, we count points
    assert reuse.nfev == 24 * len(shapes)
    assert reuse.weights["right"] > 0.9
    np.testing.assert_allclose(target(reuse.x_all.T), reuse.fun_all, rtol=1e-12)
    # the same run point by point
    common = {"rng": 0, "updating": "deferred", "callback": below(7 + 1e-2), **PLAIN}
    again = Reuse(target, BOUNDS, past, rng=0, model=SMALL)
    scipys(again.fun, BOUNDS, strategy=again.strategy, **{**common, "callback": again.callback},
           maxiter=found.nit)  # fmt: skip
    assert np.array_equal(again.x_all, reuse.x_all)
    assert np.array_equal(again.weight_history, reuse.weight_history)


def test_same_seed_same_result_other_seed_another(past):
    runs = [
        differential_evolution(
            target, BOUNDS, sources=past, model=SMALL, rng=seed, maxiter=5, **PLAIN
        )
        for seed in (3, 3, 4)
    ]
    assert np.array_equal(runs[0].x_all, runs[1].x_all)
    assert np.array_equal(runs[0].weight_history, runs[1].weight_history)
    assert not np.array_equal(runs[0].x_all, runs[2].x_all)


def test_every_new_point_is_tried_once_and_its_value_is_known(past):
    for updating in ("immediate", "deferred"):
        reuse = Reuse(target, BOUNDS, past, rng=0, model=SMALL, reuse=ALWAYS)
        scipys(reuse.fun, BOUNDS, strategy=reuse.strategy, callback=reuse.callback, rng=0,
               updating=updating, maxiter=8, **PLAIN)  # fmt: skip
        inner = reuse._past.reuse.offer
        for points, values in zip(inner.points, inner.values, strict=True):
            known = ~np.isnan(values)
            np.testing.assert_allclose(values[known], target(points[known].T), rtol=1e-9)
            near = np.abs(reuse.x_all[:, None] - points).max(axis=2) < 1e-12
            assert np.array_equal(near.sum(axis=0), known.astype(int))
        assert not np.isnan(inner.values[1]).any()  # those of the right run


def test_without_sources_it_is_rand_1_bin_from_scipys_first_population():
    first, nits = [], []
    for run in (
        lambda **more: differential_evolution(target, BOUNDS, **more),
        lambda **more: scipys(target, BOUNDS, strategy="rand1bin", mutation=0.5, **more),
    ):
        first.append(run(rng=5, maxiter=0, **PLAIN).population)
        nits.append([run(rng=s, callback=below(7 + 1e-3), **PLAIN).nit for s in range(6)])
    assert np.array_equal(*first)
    ours, theirs = np.mean(nits, axis=1)
    assert 0.75 < ours / theirs < 1.33
    empty = differential_evolution(target, BOUNDS, rng=0, maxiter=2, **PLAIN)
    assert "weights" not in empty
    assert empty.weights == {}
    assert "x_all" in repr(empty)
    reuse = Reuse(target, BOUNDS)
    assert (reuse.weights, reuse.sources_used, reuse.ranking()) == ({}, {}, None)
    assert reuse.weight_history.shape == (0, 0)


def test_our_callback_is_called_in_both_forms_and_can_stop(past):
    seen = []

    def old_form(x, convergence):
        seen.append((x.shape, convergence >= 0))
        return len(seen) == 3

    def new_form(intermediate_result):
        seen.append(intermediate_result.weights)
        if len(seen) == 2:
            raise StopIteration

    common = {"sources": past, "reuse": EQUAL, "rng": 0, **PLAIN}
    found = differential_evolution(target, BOUNDS, callback=old_form, **common)
    assert (seen, found.nit) == ([((D,), True)] * 3, 3)
    assert found.message == "callback function requested stop early"
    seen.clear()
    found = differential_evolution(target, BOUNDS, callback=new_form, **common)
    assert (seen, found.nit) == ([{"wrong": 0.5, "right": 0.5}] * 2, 2)


def test_args_polish_and_the_older_seed_of_scipy():
    reuse = Reuse(lambda x, shift: target(x) + shift, BOUNDS, rng=0)
    found = scipys(reuse.fun, BOUNDS, (100.0,), strategy=reuse.strategy, callback=reuse.callback,
                   rng=np.random.RandomState(0), popsize=5, maxiter=10)  # fmt: skip
    assert found.fun == pytest.approx(107, abs=1e-8)
    np.testing.assert_allclose(found.x, CENTRE, atol=1e-5)
    assert reuse.nfev == found.nfev


def test_it_goes_on_without_the_callback_one_generation_late(past):
    reuse = Reuse(target, BOUNDS, past, rng=0, model=SMALL)
    scipys(reuse.fun, BOUNDS, strategy=reuse.strategy, rng=0, maxiter=5, **PLAIN)
    assert len(reuse.weight_history) == 5
    assert reuse.weights["right"] > 0.5


@pytest.mark.parametrize("updating", ["immediate", "deferred"])
def test_points_of_a_source_that_break_a_constraint_are_given_up(past, updating):
    half = LinearConstraint(np.eye(D)[:1], -5, 0)  # the right run ends at x_0 = 1
    reuse = Reuse(target, BOUNDS, past, rng=0, reuse=ReuseConfig(rule="equal", schedule=1.0))
    found = scipys(reuse.fun, BOUNDS, strategy=reuse.strategy, callback=reuse.callback, rng=0,
                   constraints=half, updating=updating, maxiter=60, **PLAIN)  # fmt: skip
    assert found.x[0] <= 0
    assert found.fun == pytest.approx(10, abs=0.1)
    values = reuse._past.reuse.offer.values[1]
    assert np.isinf(values).sum() > 10  # nearly all of its points lie beyond


@pytest.mark.parametrize("updating", ["immediate", "deferred"])
def test_whole_numbers(past, updating):
    bounds = [(-4.7, 4.7), *BOUNDS[1:]]
    earlier = past["right"]
    inside = np.abs(earlier.x_all[:, 0]) < 4
    source = (earlier.x_all[inside], earlier.fun_all[inside])
    common = {"rng": 0, "updating": updating, "maxiter": 20, **PLAIN}
    found = differential_evolution(
        target, bounds, sources=[source], reuse=EQUAL, integrality=np.array([1, 0, 0, 1]),
        **common,
    )  # fmt: skip
    assert found.x[[0, 3]].tolist() == [1, 3]
    assert np.array_equal(found.x_all[:, [0, 3]], np.round(found.x_all[:, [0, 3]]))
    assert np.abs(found.x_all[:, 0]).max() == 4
    assert found.fun < 7.01
    assert found.sources_used["run 0"] > 50


def test_points_on_the_bounds_are_evaluated_there():
    """scipy draws anew what its scaling moves out of the box by a rounding."""
    rng = np.random.default_rng(0)
    low = rng.normal(size=200) * 10.0 ** rng.integers(-3, 6, 200)
    high = low + rng.random(200) * 10.0 ** rng.integers(-3, 6, 200)
    high[0] = low[0]
    bounds = np.stack([low, high], axis=1)
    first = ReuseConfig(rule="equal", schedule=1.0, elites=1)
    for corner in (low, high):
        source = (np.stack([corner, 0.5 * (low + high)]), [0.0, 1.0])
        reuse = Reuse(lambda x: np.sum(x), bounds, [source], rng=0, reuse=first)
        scipys(reuse.fun, bounds, strategy=reuse.strategy, callback=reuse.callback, rng=0,
               init=rng.uniform(low, high, (6, 200)), maxiter=1, **PLAIN)  # fmt: skip
        size = np.maximum(np.abs(low), np.abs(high))
        gap = np.abs(reuse.x_all - corner) / size
        assert gap.max(axis=1).min() < 1e-14


def test_values_that_are_not_finite_are_no_rows_of_the_target(past):
    def holes(x):
        return np.inf if x[0] < 0 else target(x)

    found = differential_evolution(
        holes, BOUNDS, sources=past, model=SMALL, rng=0, maxiter=10, **PLAIN
    )
    assert found.fun < 7.5
    assert found.weights["right"] > 0.9
    finite = np.isfinite(found.fun_all)
    assert not finite.all()
    assert found.ranking.target_rows == finite.sum()


def test_nothing_is_learned_before_a_point_is_feasible(past):
    corner = LinearConstraint(np.eye(D), 4, 5)
    common = {"sources": past, "model": SMALL, "rng": 0, "constraints": corner, **PLAIN}
    found = differential_evolution(target, BOUNDS, maxiter=2, **common)
    assert len(found.fun_all) == 0
    assert found.weight_history.tolist() == [[0.5, 0.5]] * 2
    assert found.ranking is None
    assert sum(found.sources_used.values()) <= 32  # none is tried twice
    found = differential_evolution(target, BOUNDS, maxiter=200, **{**common, "rng": 1})
    np.testing.assert_allclose(found.x, 4, atol=0.1)
    assert len(found.fun_all) == found.nfev > 0


def test_what_was_evaluated_elsewhere_is_missed():
    with pytest.raises(ConfigError, match=r"workers must be 1; got 2. .* Use vectorized=True"):
        differential_evolution(target, BOUNDS, workers=2)
    for kind in ("another function", "another process"):
        reuse = Reuse(target, BOUNDS, rng=0)
        fun = target if kind == "another function" else reuse.fun
        workers = 1 if kind == "another function" else lambda f, xs: [target(x) for x in xs]
        with pytest.raises(ConfigError, match=r"48 evaluations, of which 0 .* workers=1"):
            scipys(fun, BOUNDS, strategy=reuse.strategy, callback=reuse.callback, rng=0,
                   workers=workers, updating="deferred", **PLAIN)  # fmt: skip


def test_a_map_of_this_process_is_fine_in_any_order(past):
    def backwards(f, points):
        return [f(point) for point in points[::-1]][::-1]

    common = {"sources": past, "rng": 0, "updating": "deferred", "maxiter": 6, **PLAIN}
    one, other = (
        differential_evolution(target, BOUNDS, reuse=EQUAL, workers=workers, **common)
        for workers in (1, backwards)
    )
    assert np.array_equal(one.population, other.population)
    assert one.sources_used == other.sources_used


def test_errors_say_what_to_do(past):
    with pytest.raises(DataError, match=r"'wrong' has 4 inputs, bounds have 3. Give the same var"):
        Reuse(target, BOUNDS[:3], past)
    with pytest.raises(ConfigError, match="fun must be callable; got int"):
        Reuse(3, BOUNDS)
    with pytest.raises(ConfigError, match="strategy is rand/1/bin with reuse here. Leave it out"):
        differential_evolution(target, BOUNDS, strategy="best1bin")
    reuse = Reuse(target, BOUNDS[:3])
    with pytest.raises(ConfigError, match="Reuse has 3 bounds, scipy has 4. Give both the same"):
        scipys(reuse.fun, BOUNDS, strategy=reuse.strategy, rng=0)
    reuse = Reuse(target, BOUNDS)
    with pytest.raises(ConfigError, match="no trial of this strategy. .* the same bounds and int"):
        scipys(reuse.fun, BOUNDS, strategy=reuse.strategy, rng=0, integrality=True)
    with pytest.raises(
        ConfigError, match=r"mutation= is part of learner=DE\(...\) here. Set it in"
    ):
        differential_evolution(target, BOUNDS, mutation=0.8, learner=DE())
    with pytest.raises(ConfigError, match="guard= is part of reuse= now. Set it there"):
        Reuse(target, BOUNDS, guard="none", reuse=EQUAL)
    with pytest.raises(TypeError, match="unexpected keyword argument 'population_size'"):
        differential_evolution(target, BOUNDS, population_size=9)  # scipy says popsize


def test_scipys_own_words_are_the_learners_and_do_not_warn(past):
    common = {"sources": past, "reuse": EQUAL, "rng": 3, "maxiter": 4, **PLAIN}
    one = differential_evolution(target, BOUNDS, mutation=0.8, recombination=0.9, **common)
    other = differential_evolution(
        target, BOUNDS, learner=DE(mutation=0.8, recombination=0.9), **common
    )
    usual = differential_evolution(target, BOUNDS, **common)
    np.testing.assert_array_equal(one.x_all, other.x_all)
    assert not np.array_equal(one.x_all, usual.x_all)
    half = differential_evolution(target, BOUNDS, mutation=0.8, **common)
    other = differential_evolution(target, BOUNDS, learner=DE(mutation=0.8), **common)
    np.testing.assert_array_equal(half.x_all, other.x_all)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"metric": "shape"}, {"rule": "shape"}, r"metric= is called reuse=.*\(rule='shape'\)"),
        ({"schedule": 0.5}, {"schedule": 0.5}, r"schedule= is called reuse=.*\(schedule=0.5\)"),
        ({"guard": "none"}, {"guard": "none"}, r"guard= is called reuse=.*\(guard='none'\)"),
        ({"elites": 2}, {"elites": 2}, r"elites= is called reuse=bers.ReuseConfig\(elites=2\)"),
        ({"pick": "predicted"}, {"pick": "predicted"}, r"pick= is called reuse=.*'predicted'"),
        ({"transform": "rank"}, {"transform": "rank"}, r"transform= is called reuse=.*'rank'"),
        ({"config": SMALL}, {}, "config= is called model= now"),
    ],
)
def test_old_words_warn_and_give_the_same_points(past, old, new, told):
    common = {"sources": past, "rng": 3, "maxiter": 4, **PLAIN}
    now = differential_evolution(target, BOUNDS, model=SMALL, reuse=ReuseConfig(**new), **common)
    with pytest.warns(DeprecationWarning, match=told) as caught:
        before = differential_evolution(target, BOUNDS, **{"model": SMALL, **old}, **common)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where the old word is written
    np.testing.assert_array_equal(before.x_all, now.x_all)
    np.testing.assert_array_equal(before.fun_all, now.fun_all)
    np.testing.assert_array_equal(before.weight_history, now.weight_history)
    with pytest.warns(DeprecationWarning, match=told):
        reuse = Reuse(target, BOUNDS, past, rng=3, **{"model": SMALL, **old})
    again = Reuse(target, BOUNDS, past, rng=3, model=SMALL, reuse=ReuseConfig(**new))
    for one in (reuse, again):
        scipys(one.fun, BOUNDS, strategy=one.strategy, callback=one.callback, rng=0, maxiter=3,
               **PLAIN)  # fmt: skip
    np.testing.assert_array_equal(reuse.x_all, again.x_all)


def test_the_old_words_of_the_trials_and_of_the_feasible_set(past):
    told = r"mutation= is called learner=bers.DE\(mutation=0.8\)"
    with pytest.warns(DeprecationWarning, match=told):
        before = Reuse(target, BOUNDS, past, rng=3, reuse=EQUAL, mutation=0.8)
    now = Reuse(target, BOUNDS, past, rng=3, reuse=EQUAL, learner=DE(mutation=0.8))
    for one in (before, now):
        scipys(one.fun, BOUNDS, strategy=one.strategy, callback=one.callback, rng=0, maxiter=3,
               **PLAIN)  # fmt: skip
    np.testing.assert_array_equal(before.x_all, now.x_all)
    with pytest.warns(DeprecationWarning, match="= is called reuse=.*'shape[+]nobody'") as caught:
        before = Reuse(target, BOUNDS, past, metric="shape", feasible="at_most_one", model=SMALL)
    assert {str(one.message).partition("=")[0] for one in caught} == {"metric", "feasible"}
    assert before._past.reuse.trust.rule.name == "shape+nobody"


def test_disp_is_scipys(past, capsys):
    differential_evolution(target, BOUNDS, sources=past, reuse=EQUAL, rng=0, disp=True,
                           maxiter=2, **PLAIN)  # fmt: skip
    assert "differential_evolution step 2: f(x)=" in capsys.readouterr().out


def test_the_rule_that_learns_by_trying_can_be_used_here(past):
    found = differential_evolution(
        target, BOUNDS, sources=past, reuse=ReuseConfig(rule="ucb"), rng=0, maxiter=6, **PLAIN
    )
    assert np.array_equal(np.sort(found.weight_history[1:], axis=1), [[0.0, 1.0]] * 6)
    assert found.weight_history[:, 0].any()
    assert found.weight_history[:, 1].any()
