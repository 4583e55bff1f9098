from dataclasses import replace

import numpy as np
import pytest

import bers
from bers.algorithm import ReuseConfig
from bers.errors import ConfigError, ObjectiveError
from bers.learners.cma_es import CMAES
from bers.learners.quadratic import GRID, Quadratic, Valley, agreement, grid_with
from bers.optimise.ask_tell import Optimizer
from bers.optimise.minimize import minimize

D = 4
BOUNDS = [(-3.0, 5.0)] * D
CENTRE = np.array([0.4, -1.2, 2.0, 1.1])
BLIND = ReuseConfig(rule="equal")


def bent(x):
    """An ellipsoid, turned: the widths differ by a factor of 100."""
    z = (x - CENTRE) @ TURN
    return float(np.sum(np.geomspace(1, 1e4, D) * z**2))


TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(D, D)))[0]


def past(by=0.0, seed=0, rows=200):
    x = np.random.default_rng(seed).uniform(-3, 5, (rows, D))
    at = CENTRE + by
    return np.vstack([x, at]), np.array([float(np.sum((p - at) ** 2)) for p in [*x, at]])


def below(value):
    """A callback that ends a search which has found what is looked for."""
    return lambda intermediate_result: intermediate_result.fun < value


def values(points):
    return np.array([bent(point) for point in points])


# the model


def test_the_model_finds_the_minimum_of_any_quadratic():
    rng = np.random.default_rng(0)
    for seed in range(5):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        H, at = turn @ np.diag([1.0, 3.0, 9.0]) @ turn.T, rng.normal(size=3)
        z = rng.normal(size=(60, 3))
        y = np.einsum("ni,ij,nj->n", z - at, H, z - at)
        model = Quadratic.of(z, 1e6 + 1e-3 * y)
        np.testing.assert_allclose(model.minimum(10.0), at, atol=1e-2)
        new = rng.normal(size=(20, 3))
        exact = np.einsum("ni,ij,nj->n", new - at, H, new - at)
        assert agreement(model(new), exact) > 0.98
        near = model.minimum(0.5)
        assert np.linalg.norm(near) == pytest.approx(min(0.5, np.linalg.norm(at)), rel=1e-6)


def test_few_rows_tell_a_slope():
    z = np.random.default_rng(1).normal(size=(6, 4))
    model = Quadratic.of(z, z[:, 0])
    step = model.minimum(1.0)
    assert step[0] < -0.5


def test_the_same_for_any_offset_and_scale():
    rng = np.random.default_rng(2)
    z, new = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    y = np.sum(z**2, axis=1) + rng.normal(size=30)
    one, other = Quadratic.of(z, y), Quadratic.of(z, 8 * y + 32)
    assert one.trade == other.trade in GRID
    np.testing.assert_allclose(other(new), 8 * one(new) + 32, rtol=1e-8)


def long_valley(at, scale=1.0, offset=0.0):
    """Six variables, turned; widths differ by a factor of 30."""
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0]
    H = scale * turn @ np.diag(np.geomspace(1, 1e3, 6)) @ turn.T
    return H, lambda x: offset + 0.5 * np.einsum("ni,ij,nj->n", x - at, H, x - at)


def shown_valley(seed=0, rows=150):
    """The shape of a past run whose minimum is in the middle."""
    x = 0.5 + 0.2 * np.random.default_rng(seed).uniform(-1, 1, (rows, 6))
    x[0] = 0.5
    H, past_fun = long_valley(np.full(6, 0.5), scale=3.0, offset=-40.0)
    valley = Valley.of(x, past_fun(x), 0.25, rows)
    assert valley is not None
    return H, valley


def test_the_shape_of_a_past_run_is_its_second_derivatives():
    H, valley = shown_valley()
    assert valley.centre.tolist() == [0.5] * 6
    size = np.linalg.norm(H)
    np.testing.assert_allclose(valley.bend / np.linalg.norm(valley.bend), H / size, atol=2e-3)
    alike = np.full((9, 6), 0.5)
    assert Valley.of(alike, np.zeros(9), 0.25, 9) is None  # a run that says nothing
    assert Valley.of(alike[:3], np.arange(3.0), 0.25, 9) is None


def test_a_few_rows_tell_how_far_a_past_run_is_moved():
    _, valley = shown_valley()
    rng, without, moved = np.random.default_rng(1), [], []
    for _ in range(8):
        at = 0.5 + 0.05 * rng.normal(size=6)
        z = 0.5 + 0.1 * rng.normal(size=(9, 6))
        y = long_valley(at, offset=7.0)[1](z)
        middle = np.full(6, 0.5)
        plain = Quadratic.of(z - middle, y)
        informed = Quadratic.of(
            z - middle, y, grid_with(1), (valley.seen_by(middle, *[np.eye(6)] * 2),)
        )
        assert informed.trade.valley == 0
        without.append(np.linalg.norm(middle + plain.minimum(1.0) - at))
        moved.append(np.linalg.norm(middle + informed.minimum(1.0) - at))
    assert np.median(moved) < 0.2 * np.median(without)


def test_a_shape_that_is_not_the_targets_is_left_alone():
    _, valley = shown_valley()
    here = valley.seen_by(np.full(6, 0.5), np.eye(6), np.eye(6))
    rng = np.random.default_rng(2)
    for _ in range(5):
        z = 0.1 * rng.normal(size=(12, 6))
        for y in (np.sum((z - 0.03) ** 2, axis=1), rng.normal(size=12), -here_worth(here, z)):
            assert Quadratic.of(z, y, grid_with(1), (here,)).trade.valley == -1


def here_worth(valley, z):
    return np.einsum("ni,ij,nj->n", z - valley.centre, valley.bend, z - valley.centre)


def test_a_model_is_the_same_in_other_coordinates():
    rng = np.random.default_rng(3)
    z, to, mean = rng.normal(size=(20, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    model, new = Quadratic.of(z, np.sum(z**3, axis=1)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(model.seen_by(mean, to)(new), model(mean + new @ to), rtol=1e-9)


def test_a_minimum_in_a_corner_is_found_at_once():
    slopes = np.array([1.0, 10.0, 0.1, 3.0])
    result = minimize(lambda x: float(x @ slopes), BOUNDS, rng=0, maxfun=60)
    assert result.x.tolist() == [-3.0] * D


# the search


def test_it_is_many_times_faster_than_without_a_model_and_than_differential_evolution():
    def evaluations(learner):
        found = [
            minimize(bent, BOUNDS, learner=learner, rng=seed, maxfun=3000, callback=below(1e-3))
            for seed in range(3)
        ]
        first = [np.flatnonzero(result.fun_all < 1e-3) for result in found]
        return np.median([at[0] if len(at) else 3000 for at in first])

    with_model, plain = evaluations(CMAES()), evaluations(CMAES(surrogate=False))
    assert with_model < 150
    assert plain > 2.5 * with_model
    assert evaluations(bers.DE(tol=-1)) > plain


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1.0), (-247.0, 1.0), (512.0, 2.0**-20)])
def test_an_offset_or_a_scale_stops_nothing(offset, scale):
    result = minimize(
        lambda x: offset + scale * float(np.sum((x - CENTRE) ** 2)),
        BOUNDS,
        rng=1,
        learner=CMAES(restarts=0),
    )
    assert result.success
    seen = 2 * np.sqrt(np.spacing(abs(offset)) / scale)  # nearer, all values are the same
    assert np.max(np.abs(result.x - CENTRE)) < max(1e-4, seen)
    assert 60 < result.nfev < 1500


def test_a_positive_scale_changes_no_point():
    one, other = (
        minimize(lambda x, b=b: b * bent(x), BOUNDS, rng=0, maxfun=120).x_all
        for b in (1.0, 2.0**30)
    )
    np.testing.assert_array_equal(one, other)


def test_a_run_that_has_converged_starts_again_with_twice_the_population():
    optimizer = Optimizer(BOUNDS, rng=0, learner=CMAES(surrogate=False))
    sizes = set()
    for _ in range(400):
        optimizer.advance(lambda x: np.sum((x - CENTRE) ** 2, axis=1))
        if optimizer.state.inside is not None:
            sizes.add(optimizer.state.inside["_popsize"])
    assert {8, 16} <= sizes
    assert optimizer.state.runs >= len(sizes)
    assert max(sizes) <= 32 * min(sizes)
    assert not optimizer.converged


def test_restarts_find_what_one_run_does_not():
    def egg(x):
        return float(np.sum(x**2 + 20 * (1 - np.cos(np.pi * x))))

    bounds = [(-10.0, 9.0)] * 3
    once = [minimize(egg, bounds, rng=s, learner=CMAES(restarts=0)).fun for s in range(6)]
    often = [minimize(egg, bounds, rng=s, maxfun=6000, callback=below(1e-6)).fun for s in range(6)]
    assert np.mean(np.array(often) < 1e-6) > np.mean(np.array(once) < 1e-6)


def test_bounds_are_kept_and_fixed_variables_stay():
    bounds = [(0.0, 1.0), (2.0, 2.0), (-1.0, 0.0)]
    result = minimize(lambda x: float(x[0] + x[1] - x[2]), bounds, rng=0, maxfun=200)
    assert np.all(result.x_all[:, 1] == 2)
    assert result.x_all.min(axis=0).tolist()[0] >= 0
    assert result.x_all.max(axis=0).tolist()[2] <= 0
    assert result.fun == pytest.approx(2, abs=1e-6)
    fixed = minimize(lambda x: 7.0, [(1.0, 1.0)], rng=0)
    assert (fixed.fun, fixed.nfev, fixed.x.tolist()) == (7, 1, [1])
    one = minimize(lambda x: float((x[0] - 0.3) ** 2), [(-1.0, 1.0)], rng=0, maxfun=60)
    assert one.fun < 1e-8


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_failures_are_the_worst(bad):
    result = minimize(
        lambda x: bad if x[0] > 1 else bent(x), BOUNDS, rng=0, maxfun=300, x0=np.zeros(D)
    )
    assert result.not_finite > 0
    assert result.fun < 1e-3
    never = minimize(lambda x: bad, BOUNDS, rng=0, maxfun=100)
    assert (never.fun, never.not_finite) == (np.inf, 100)


def test_constant_values_end():
    result = minimize(lambda x: 5.0, BOUNDS, rng=0)
    assert result.success
    assert result.fun == 5


def test_x0_is_where_it_starts():
    result = minimize(bent, BOUNDS, rng=0, maxfun=30, x0=CENTRE)
    assert result.x_all[0].tolist() == CENTRE.tolist()
    assert result.fun == 0
    with pytest.raises(ConfigError, match="x0 must be 4 finite numbers"):
        minimize(bent, BOUNDS, x0=[1.0])


def test_an_earlier_result_goes_on():
    first = minimize(bent, BOUNDS, rng=0, maxfun=20)
    on = minimize(bent, BOUNDS, rng=1, maxfun=20, learner=CMAES(init=first))
    alone = minimize(bent, BOUNDS, rng=1, maxfun=20)
    assert on.nfev == 20
    assert len(on.fun_all) == 40
    assert on.fun < min(first.fun, alone.fun)


def test_what_a_failing_function_leaves():
    def fun(x):
        fun.calls += 1
        if fun.calls > 50:
            raise OSError("no licence")
        return bent(x)

    fun.calls = 0
    with pytest.raises(ObjectiveError, match="no licence. Return nan where") as caught:
        minimize(fun, BOUNDS, rng=0)
    assert len(caught.value.result.fun_all) == 50
    on = minimize(bent, BOUNDS, rng=0, maxfun=50, learner=CMAES(init=caught.value.result))
    assert on.fun <= caught.value.result.fun


@pytest.mark.parametrize("workers", [map, 1])
def test_whole_generations_for_workers(workers):
    sizes = []

    def counted(fun, points):
        sizes.append(len(points))
        return list(map(fun, points))

    minimize(bent, BOUNDS, rng=0, maxfun=200, workers=counted if workers is map else 1)
    assert workers == 1 or min(sizes[:-1]) >= 8


def test_many_points_at_once():
    result = minimize(
        lambda x: np.array([bent(p) for p in x.T]), BOUNDS, rng=0, maxfun=200, vectorized=True
    )
    assert result.fun < 1
    batch = Optimizer(BOUNDS, rng=0, learner=CMAES(batch=5))
    sizes = []
    for _ in range(20):
        points = batch.ask()
        sizes.append(len(points))
        batch.tell(points, values(points))
    # of a generation of 8 points: all, 5 or 7 of them, or the rest
    assert set(sizes) <= {8, 7, 5, 3, 1}
    assert np.mean(np.array(sizes) >= 5) > 0.6


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"population": 3}, "population=.... must be a whole number of at least 4"),
        ({"batch": 0}, "batch=.... must be a whole number of at least 1"),
        ({"sigma": 0.0}, "sigma=.... is a share of the range"),
        ({"restarts": -1}, "restarts=.... must be 0 or more"),
        ({"tol": np.nan}, "tol=.... must be 0 or more"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        CMAES(**settings)


# past runs


def test_the_best_points_of_past_runs_are_tried_first():
    sources = {"far": past(2.0), "near": past(0.05), "else": past(-1.0, seed=2)}
    result = minimize(bent, BOUNDS, sources=sources, rng=0, maxfun=100, reuse=BLIND)
    tried = [x[np.argmin(y)].tolist() for x, y in sources.values()]
    assert result.x_all[:3].round(12).tolist() == np.round(tried, 12).tolist()
    np.testing.assert_allclose(result.x_all[3], np.full(D, 1.0))  # the own start, to compare with
    assert np.linalg.norm(result.x_all[4:12] - (CENTRE + 0.05), axis=1).mean() < 3
    assert result.sources_used == {"far": 1, "near": 1, "else": 1}


def test_past_runs_help_and_misleading_ones_cost_little():
    def best(sources, at=15):
        return np.median(
            [
                np.log10(minimize(bent, BOUNDS, sources=sources, rng=s, maxfun=at, reuse=BLIND).fun)
                for s in range(7)
            ]
        )

    alone = best(())
    assert best([past(0.02)]) < alone - 1
    assert best([past(-1.5), past(2.5, seed=3)], 40) < best((), 40) + 1


def test_with_chance_0_it_is_the_plain_search_bit_for_bit():
    never = ReuseConfig(rule="equal", schedule=0.0)
    plain = minimize(bent, BOUNDS, rng=0, maxfun=80)
    reused = minimize(bent, BOUNDS, sources=[past()], rng=0, maxfun=80, reuse=never)
    np.testing.assert_array_equal(plain.x_all, reused.x_all)


def bowls(count, seed=0):
    """Past runs on bowls all over the box: where each expects the minimum, there is none."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(count):
        x = rng.uniform([low for low, _ in BOUNDS], [high for _, high in BOUNDS], (80, D))
        runs.append((x, np.sum((x - x[0]) ** 2, axis=1)))
    return runs


@pytest.mark.parametrize(("count", "share"), [(60, 0.75), (100, 0.5)])
def test_many_misleading_sources_are_not_all_tried(count, share):
    tried = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        waves = rng.normal(size=D)

        def unlike(x, waves=waves):
            return float(np.sin(9 * (x @ waves)))

        result = minimize(
            unlike, BOUNDS, sources=bowls(count, seed), rng=seed, maxfun=120, reuse=BLIND
        )
        tried.append(sum(result.sources_used.values()))
    assert min(tried) >= 32
    assert np.mean(tried) <= share * count


def test_the_right_one_of_many_is_found_before_most_others():
    used = []
    for seed in range(4):
        sources = {f"bad {i}": one for i, one in enumerate(bowls(69, seed))}
        sources["right"] = past(0.1, rows=80, seed=seed)  # the last, after two batches of others
        result = minimize(bent, BOUNDS, sources=sources, rng=seed, maxfun=120, reuse=BLIND)
        assert result.sources_used["right"] == 1
        used.append(sum(result.sources_used.values()))
    assert np.mean(used) <= 55


def test_few_sources_are_all_tried():
    result = minimize(bent, BOUNDS, sources=bowls(30), rng=0, maxfun=60, reuse=BLIND)
    assert set(result.sources_used.values()) == {1}


def test_weights_are_found_at_times_and_know_all_rows_in_the_end():
    small = bers.ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)
    sources = {"near": past(0.05), "far": past(2.0, seed=4)}
    optimizer = Optimizer(BOUNDS, sources, rng=0, model=small)
    for _ in range(40):
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    seen = len(optimizer.trust.y)
    assert 0.45 * optimizer.result().nfev < seen <= optimizer.result().nfev
    optimizer.ranking()
    assert len(optimizer.trust.y) == optimizer.result().nfev


def test_the_shape_of_a_past_run_saves_evaluations():
    rng, D = np.random.default_rng(0), 6
    x = np.concatenate([rng.random((60, D)), 0.4 + 0.1 * rng.normal(size=(120, D))])
    run = (x, long_valley(np.full(D, 0.4), scale=9.0, offset=3.0)[1](x))
    found = {True: [], False: []}
    for seed in range(4):
        at = 0.4 + 0.08 * np.random.default_rng(seed).normal(size=D)
        fun = long_valley(at)[1]
        for whole in found:
            past = run if whole else (run[0][[np.argmin(run[1])]], [run[1].min()])
            result = minimize(
                lambda p, fun=fun: float(fun(p[None])[0]),
                [(0, 1)] * D,
                sources=[past],
                reuse=BLIND,
                rng=seed,
                maxfun=150,
            )
            found[whole].append(np.argmax(result.fun_all < 1e-3) or 150)
    assert np.median(found[True]) < 0.7 * np.median(found[False])


def test_where_wide_steps_find_nothing_the_search_goes_back_in_small_ones():
    def ripples(x):
        z = (x - 0.37) * 8
        return float(np.sum(10 + z**2 - 10 * np.cos(2 * np.pi * z)))

    near = np.full((1, 8), 0.38)
    for seed in range(3):
        result = minimize(
            ripples,
            [(0, 1)] * 8,
            sources=[(near, [1.0])],
            reuse=BLIND,
            rng=seed,
            maxfun=400,
        )
        assert result.fun < 1e-3
        wide = result.fun_all[2:30]
        assert np.median(wide) > 4 * ripples(near[0])


# ask and tell


def test_asking_and_telling_is_minimising():
    optimizer = Optimizer(BOUNDS, [past(0.3)], rng=0, reuse=BLIND)
    while optimizer.result().nfev < 90:
        points = optimizer.ask()
        optimizer.tell(points[::-1].round(9), values(points)[::-1])
    result = minimize(bent, BOUNDS, sources=[past(0.3)], rng=0, maxfun=90, reuse=BLIND)
    np.testing.assert_array_equal(optimizer.result().x_all[:90], result.x_all)
    assert optimizer.best <= result.fun


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("sources", [(), {"a": past(0.3), "b": past(-1)}], ids=["plain", "past"])
def test_a_saved_run_goes_on_with_the_same_bits(tmp_path, steps, sources):
    small = bers.ModelConfig(hidden=(8,), latent_dim=4, batches=20)
    optimizer = Optimizer(BOUNDS, sources, rng=0, model=small)
    for _ in range(steps):
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    optimizer.tell(optimizer.ask()[:1], values(optimizer.ask()[:1]))
    optimizer.save(tmp_path / "a.bers")
    loaded = Optimizer.load(tmp_path / "a.bers")
    assert loaded.learner == replace(optimizer.learner)
    assert loaded.best == optimizer.best
    for one in (optimizer, loaded):
        for _ in range(25):
            points = one.ask()
            one.tell(points, values(points))
    np.testing.assert_array_equal(loaded.result().x_all, optimizer.result().x_all)
    assert loaded.weights == optimizer.weights


@pytest.mark.parametrize("steps", [0, 3, 20])
def test_a_known_optimum_that_nobody_asked_for_is_used(steps):
    optimizer = Optimizer(BOUNDS, rng=0)
    for _ in range(steps):
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    optimizer.tell(CENTRE, 0.0)
    assert optimizer.best == 0
    for _ in range(3):
        points = optimizer.ask()
        optimizer.tell(points, values(points))
    assert np.linalg.norm(optimizer.ask() - CENTRE, axis=1).min() < 3
    assert optimizer.result().fun == 0
