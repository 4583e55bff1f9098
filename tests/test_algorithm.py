"""Algorithm 1, with Differential Evolution and with a learner made up for the test."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit
from bers.algorithm import Reuse, ReuseConfig, after, experience_reuse
from bers.data.transforms import Log1p, LogGap
from bers.errors import ConfigError, DataError
from bers.learners.base import Experience
from bers.learners.differential_evolution import DE
from bers.reuse.points import PointReuse, best_points, fall
from bers.schedules import Constant, Linear, Power
from bers.trust.trust import Trust

D = 2
LOW, HIGH = np.full(D, -4.0), np.full(D, 4.0)
TINY = ModelConfig(hidden=(16,), latent_dim=4, batches=200, learning_rate=1e-2)
GOALS = np.array([-2.0, 2.0])


def bowl(x, goal):
    return np.sum((x - goal) ** 2, axis=-1)


def past_run(goal, name, seed, n=200):
    x = np.random.default_rng(seed).uniform(-4, 4, (n, D))
    return Demonstrations(x, bowl(x, goal), name)


RUNS = [past_run(goal, f"at {goal}", i) for i, goal in enumerate(GOALS)]
BLIND = ReuseConfig(rule="equal")
LOG_GAP = LogGap()


@cache
def fitted():
    """A model of the runs, made once."""
    return fit([run.transformed(LogGap()) for run in RUNS], config=TINY, progress=False)


def reuse_of(config=None, runs=RUNS, seed=0, *, model=TINY, transform=LOG_GAP):
    """What Algorithm 1 carries along, made of its parts."""
    config, rng = config or ReuseConfig(), np.random.default_rng(seed)
    trust = Trust(
        runs, rule=config.rule, model=model, batches=config.batches, subset=config.subset,
        transform=transform, predicts=config.pick == "predicted", rng=rng, progress=False,
    )  # fmt: skip
    offer = PointReuse.of(
        [(run.x, run.y) for run in runs], elites=config.elites, how=config.guard,
        pick=config.pick, low=LOW, high=HIGH,
    )  # fmt: skip
    return Reuse(trust, offer, config.schedule, rng)


def evolve(reuse, goal, generations=6, seed=0, **settings):
    """The iterations of Algorithm 1, the first population told before."""
    de = DE(population=12, **settings).on(lambda x: bowl(x, goal), LOW, HIGH)
    rng = np.random.default_rng(seed)
    agents = de.start(rng)
    reuse = after(reuse, Experience(agents.x, agents.f), start=True)
    return list(experience_reuse(rng, de, agents, reuse, generations))


@dataclass(frozen=True)
class Walker:
    """A learner that is nothing like Differential Evolution: it stands on points it is handed."""

    goal: float
    report: bool = True

    def iterate(self, rng, state, guide):
        drawn = guide.draw(4)
        x = np.where(drawn.reused[:, None], drawn.points, rng.uniform(-4, 4, (4, D)))
        y = bowl(x, self.goal)
        which = np.where(drawn.reused, drawn.which, -1)
        used = (drawn.sources, y < np.min(state, initial=np.inf), which) if self.report else ()
        return [*state, *y.tolist()], Experience(x, y, *used)


# ---- the loop ------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [0, 1])
@pytest.mark.parametrize("updating", ["immediate", "deferred"])
def test_weights_go_to_the_right_source(right, updating):
    steps = evolve(reuse_of(model=fitted()), GOALS[right] + 0.1, updating=updating)
    a = steps[-1][1].trust.weights
    assert a[right] > 0.8
    assert a[1 - right] < 0.1
    assert a.sum() <= 1 + 1e-12
    agents = steps[-1][0]
    assert agents.f.min() < 0.3


def test_any_learner_that_keeps_the_contract_will_do():
    reuse = reuse_of(ReuseConfig(schedule=Constant(0.5), guard="none"), model=fitted())
    steps = list(experience_reuse(np.random.default_rng(0), Walker(2.0), [], reuse, 8))
    assert len(steps) == 8
    state, reuse = steps[-1]
    assert (reuse.m, len(reuse.trust.y), len(state)) == (8, 32, 32)
    np.testing.assert_array_equal(reuse.trust.y, bowl(reuse.trust.x, 2.0))
    assert reuse.trust.weights[1] > 0.8
    assert min(state) < 0.5


def test_a_learner_may_tell_nothing_about_sources():
    config = ReuseConfig(guard="success", pick="predicted")
    steps = list(
        experience_reuse(
            np.random.default_rng(0), Walker(2.0, report=False), [], reuse_of(config), 3
        )
    )
    assert len(steps[-1][1].trust.y) == 12
    assert (steps[-1][1].offer.guard.paid == 0).all()
    assert np.isnan(np.concatenate(steps[-1][1].offer.values)).all()


def test_without_iterations_nothing_happens():
    assert list(experience_reuse(np.random.default_rng(0), Walker(0.0), [], reuse_of(), 0)) == []


def test_same_seed_same_bits_and_other_seeds_differ():
    one, two, other = (evolve(reuse_of(seed=s), 1.9, 3, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one[-1][0].x, two[-1][0].x)
    np.testing.assert_array_equal(one[-1][1].trust.weights, two[-1][1].trust.weights)
    assert (one[-1][0].x != other[-1][0].x).any()


def test_a_chance_of_nothing_is_plain_differential_evolution():
    for guard in ("trial", "success", "none"):
        config = ReuseConfig(schedule=Constant(0.0), guard=guard)
        steps = evolve(reuse_of(config, model=fitted()), 1.9, 4)
        de = DE(population=12).on(lambda x: bowl(x, 1.9), LOW, HIGH)
        rng = np.random.default_rng(0)
        agents = de.start(rng)
        for state, _ in steps:
            agents, _ = de.iterate(rng, agents)
            np.testing.assert_array_equal(state.x, agents.x)


def test_iterations_are_counted_from_one():
    """The first population is no iteration; p_m is that of the iteration to come."""
    seen = []

    def schedule(m):
        seen.append(m)
        return 0.5

    steps = evolve(reuse_of(replace(BLIND, schedule=schedule)), 0.0, 4)
    assert seen == [1, 2, 3, 4]
    assert [reuse.m for _, reuse in steps] == [1, 2, 3, 4]
    assert reuse_of(replace(BLIND, schedule=Linear(1.0, until=4))).guide().p_m == 0.75


def test_iterations_are_counted_for_a_learner_that_tells_nothing_about_sources():
    learner, rng = Walker(2.0, report=False), np.random.default_rng(0)
    steps = list(experience_reuse(rng, learner, [], reuse_of(BLIND), 3))
    assert [reuse.m for _, reuse in steps] == [1, 2, 3]


def test_every_row_of_the_target_is_kept_in_order():
    steps = evolve(reuse_of(BLIND), 0.5, 5)
    assert [len(reuse.trust.y) for _, reuse in steps] == [24, 36, 48, 60, 72]
    last = steps[-1][1]
    np.testing.assert_array_equal(last.trust.y, bowl(last.trust.x, 0.5))
    np.testing.assert_array_equal(last.trust.x[:60], steps[-2][1].trust.x)


# ---- before and after ----------------------------------------------------------------------------


def test_before_the_first_row_weights_are_equal():
    reuse = reuse_of(model=fitted())
    assert reuse.trust.weights.tolist() == [0.5, 0.5]
    assert (reuse.m, len(reuse.trust.y)) == (0, 0)
    assert reuse.trust.model is fitted()
    assert reuse.trust.target.n == 0


def test_a_model_is_fitted_on_the_sources_unless_given():
    assert reuse_of().trust.model.names == ("at -2.0", "at 2.0")
    seen = after(reuse_of(model=fitted()), Experience(np.zeros((3, D)), np.array([1.0, 2.0, 3.0])))
    assert seen.trust.model.names == ("at -2.0", "at 2.0", "target")
    assert seen.trust.model.rows.tolist() == [200, 200, 3]
    assert seen.trust.model.batches == fitted().batches
    assert fitted().names == ("at -2.0", "at 2.0")


@pytest.mark.parametrize("rule", ["equal", "ucb", "single:1"])
def test_blind_rules_need_no_model(rule, monkeypatch):
    ours = fitted()
    monkeypatch.setattr("bers.trust.trust.fit", None)
    monkeypatch.setattr("bers.trust.trust.refine", None)
    for model in (None, TINY, ours):
        steps = evolve(reuse_of(ReuseConfig(rule=rule), model=model), 0.0, 3)
        assert steps[-1][1].trust.model is None
        if rule == "equal":
            assert steps[-1][1].trust.weights.tolist() == [0.5, 0.5]
        if rule == "single:1":
            assert steps[-1][1].trust.weights.tolist() == [0, 1]


def test_ucb_tries_everyone_first_and_counts_its_pulls():
    runs = [*RUNS, past_run(0.0, "at 0", 5)]
    steps = evolve(reuse_of(ReuseConfig(rule="ucb", guard="none"), runs), 2.0, 6)
    assert [reuse.trust.past.pulls.tolist() for _, reuse in steps[:3]] == [
        [1, 0, 0],
        [1, 1, 0],
        [1] * 3,
    ]
    assert steps[-1][1].trust.past.pulls.sum() == 6
    best = [np.min(reuse.trust.y) for _, reuse in steps]
    first = np.min(steps[0][1].trust.y[:12])
    gains = steps[2][1].trust.past.gains
    np.testing.assert_allclose(gains, -np.diff([first, *best[:3]]), rtol=1e-12)


def test_ucb_gains_are_not_spoilt_by_values_that_are_not_finite():
    reuse = reuse_of(ReuseConfig(rule="ucb"))
    none, x = np.full(4, -1), np.zeros((4, D))
    reuse = after(reuse, Experience(x, np.array([3.0, np.inf, 2.0, np.inf])))
    reuse = after(reuse, Experience(x, np.array([np.inf, 1.5, np.inf, 9.0]), none))
    assert reuse.trust.past.gains.tolist() == [0.5, 0]


def test_ucb_gains_are_not_spoilt_by_values_that_are_no_number():
    reuse, x = reuse_of(ReuseConfig(rule="ucb")), np.zeros((2, D))
    reuse = after(reuse, Experience(x, np.array([3.0, np.nan])))
    reuse = after(reuse, Experience(x, np.array([np.nan, 1.5]), np.full(2, -1)))
    assert reuse.trust.past.gains.tolist() == [1.5, 0]


def test_rules_that_spread_their_weight_are_not_charged():
    steps = evolve(reuse_of(BLIND), 0.0, 3)
    assert steps[-1][1].trust.past.pulls.tolist() == [0, 0]
    assert steps[-1][1].trust.past.a.tolist() == [0.5, 0.5]


def test_sources_may_differ_in_length():
    runs = [past_run(-2.0, "a", 1, 40), past_run(0.0, "b", 2, 300), past_run(2.0, "c", 3, 7)]
    config = ReuseConfig(elites=16)
    reuse = reuse_of(config, runs)
    assert [len(own) for own in reuse.offer.points] == [16, 16, 7]
    steps = evolve(reuse, 2.0, 4)
    assert len(steps[-1][1].trust.weights) == 3
    assert steps[-1][1].trust.weights[1] < 0.5


# ---- values that are not finite ------------------------------------------------------------------


def test_values_that_are_not_finite_are_left_out_of_the_targets_rows():
    x = np.random.default_rng(0).uniform(-4, 4, (6, D))
    y = np.array([1.0, np.inf, 3.0, np.nan, 2.0, -np.inf])
    reuse = after(reuse_of(model=fitted()), Experience(x, y))
    assert reuse.trust.target.n == 3
    np.testing.assert_array_equal(reuse.trust.target.x, x[[0, 2, 4]])
    np.testing.assert_allclose(reuse.trust.target.original_y, [1.0, 3.0, 2.0], rtol=1e-12)
    assert len(reuse.trust.y) == 6  # but they are remembered
    assert reuse.trust.model.rows[-1] == 3
    assert np.isfinite(reuse.trust.weights).all()


def test_while_no_value_is_finite_nothing_changes_and_nothing_fails():
    reuse = reuse_of(model=fitted())
    for _ in range(2):
        reuse = after(reuse, Experience(np.zeros((3, D)), np.full(3, np.inf), np.full(3, -1)))
    assert reuse.trust.weights.tolist() == [0.5, 0.5]
    assert reuse.trust.model is fitted()
    assert (reuse.m, len(reuse.trust.y)) == (2, 6)
    reuse = after(reuse, Experience(np.ones((3, D)), np.arange(3.0), np.full(3, -1)))
    assert reuse.trust.model.names[-1] == "target"


def test_constant_values_are_finite_weights():
    reuse = after(reuse_of(model=fitted()), Experience(np.zeros((5, D)), np.full(5, 1e6)))
    assert np.isfinite(reuse.trust.weights).all()


# ---- the points that are handed over -------------------------------------------------------------


def test_the_best_points_come_first():
    x, y = np.array([[3.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]), np.array([3.0, 1, 2, 1])
    assert best_points(x, y, 3).tolist() == [[1, 1], [0, 0], [2, 2]]
    assert best_points(x, y, 9).shape == (4, 2)
    assert best_points(np.zeros((0, 2)), np.zeros(0), 4).shape == (0, 2)
    single = best_points(np.ones((2, 2), np.float32), np.array([1.0, 2.0]), 1)
    assert (single.dtype, single.tolist()) == (np.float64, [[1, 1]])


def test_points_outside_the_bounds_are_clipped():
    x = np.array([[9.0, 0.0], [-9.0, 5.0], [1.0, 1.0]])
    far = Demonstrations(x, [0.0, 1.0, 2.0], "far")
    points = reuse_of(BLIND, [far]).offer.points[0]
    assert points.tolist() == [[4, 0], [-4, 4], [1, 1]]
    assert far.x.tolist() == x.tolist()
    free = PointReuse.of([(far.x, far.y)])
    assert free.points[0].tolist() == x.tolist()


def test_a_source_without_rows_hands_over_nothing():
    empty = Demonstrations(np.zeros((0, D)), [], "empty")
    for config in (BLIND, ReuseConfig()):
        steps = evolve(reuse_of(config, [empty, *RUNS]), 2.0, 3)
        reuse = steps[-1][1]
        assert reuse.trust.weights[0] == 0
        assert reuse.offer.points[0].shape == (0, D)
        assert np.isfinite(steps[-1][0].f).all()


def test_what_was_tried_is_known_from_then_on():
    steps = evolve(reuse_of(replace(BLIND, schedule=Constant(1.0), elites=2)), 1.0, 8)
    values = steps[-1][1].offer.values
    for own, known in zip(steps[-1][1].offer.points, values, strict=True):
        np.testing.assert_allclose(known, bowl(own, 1.0), rtol=1e-12)
    # never forgotten, and not evaluated again
    for (_, before), (_, later) in pairwise(steps):
        for old, new in zip(before.offer.values, later.offer.values, strict=True):
            np.testing.assert_array_equal(old[~np.isnan(old)], new[~np.isnan(old)])
    last = steps[-1][1]
    for point in np.concatenate(last.offer.points):
        assert np.sum(np.all(last.trust.x == point, axis=1)) == 1
    assert np.isnan(reuse_of(BLIND).offer.values[0]).all()


@pytest.mark.parametrize(
    ("guard", "values", "counts"),
    [("trial", True, False), ("success", False, True), ("none", False, False)],
)
def test_what_the_guide_is_given_by_each_guard(guard, values, counts):
    guide = reuse_of(replace(BLIND, guard=guard)).guide()
    assert (guide.values is not None) == values
    assert (guide.guard is not None) == counts
    assert guide.open is None


def test_the_guard_hears_what_paid():
    reuse = reuse_of(replace(BLIND, guard="success"))
    seen = Experience(
        np.zeros((4, D)), np.arange(4.0), np.array([0, 0, -1, 1]), np.array([1, 0, 1, 1], bool)
    )
    guard = after(reuse, seen).offer.guard
    assert guard.paid.tolist() == [1, 1, 1]
    assert guard.failed.tolist() == [1, 0, 0]


def test_picked_by_prediction_are_the_points_that_the_target_expects_to_be_best():
    config = ReuseConfig(pick="predicted", elites=3)
    reuse = reuse_of(config, model=fitted())
    assert [len(own) for own in reuse.offer.points] == [24, 24]  # more to choose from
    assert reuse.guide().open is None  # nothing is known of the target yet
    reuse = evolve(reuse, 2.0, 3)[-1][1]
    for own, which in zip(reuse.offer.points, reuse.guide().open, strict=True):
        expected = reuse.trust.model.predict("target", own).mean
        assert sorted(which) == sorted(np.argsort(expected, kind="stable")[:3])
    # of the source at -2 these are the ones nearer to 2
    wrong = reuse.offer.points[0]
    assert bowl(wrong[reuse.guide().open[0]], 2.0).mean() < bowl(wrong, 2.0).mean()
    # a rule that looks at no posterior has a model as well, if it is to predict
    blind = evolve(reuse_of(replace(BLIND, pick="predicted", elites=3)), 2.0, 1)[-1][1]
    assert blind.trust.weights.tolist() == [0.5, 0.5]
    assert [len(which) for which in blind.guide().open] == [3, 3]


def test_nothing_is_predicted_before_the_target_has_a_head():
    config = ReuseConfig(pick="predicted", elites=3)
    reuse = after(reuse_of(config, model=fitted()), Experience(np.eye(D), np.full(D, np.inf)))
    assert reuse.guide().open is None


def test_picked_by_prediction_with_a_last_source_without_rows():
    empty = Demonstrations(np.zeros((0, D)), [], "empty")
    config = ReuseConfig(pick="predicted", elites=3)
    assert evolve(reuse_of(config, [*RUNS, empty]), 2.0, 3)[-1][1].trust.weights[2] == 0


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"guard": "always"}, "guard must be one of trial, success, none; got 'always'"),
        ({"pick": "worst"}, "pick must be one of best, predicted; got 'worst'"),
    ],
)
def test_bad_settings_are_named(settings, message):
    made = object.__new__(ReuseConfig)  # past the types that are checked in tests alone
    made.__dict__.update(vars(ReuseConfig()) | settings)
    with pytest.raises(ConfigError, match=message):
        made.__post_init__()


def test_what_cannot_be_started_is_refused():
    with pytest.raises(DataError, match=r"must be a list of at least one source"):
        reuse_of(runs=[])
    with pytest.raises(DataError, match=r"same inputs; .* has 2 .*, 'wide' has 3"):
        reuse_of(runs=[RUNS[0], Demonstrations(np.zeros((2, 3)), [1, 2], "wide")])
    with pytest.raises(ConfigError, match="there is no rule 'best'. Known: odds"):
        ReuseConfig(rule="best")
    with pytest.raises(ConfigError, match=r"elites=...\) must be a whole number of at least 1"):
        ReuseConfig(elites=0)
    reuse = reuse_of(ReuseConfig(rule="single:2"))
    with pytest.raises(ConfigError, match="there is no source 2; there are 2"):
        after(reuse, Experience(np.zeros((2, D)), np.ones(2)))


def test_settings_by_what_a_user_writes_and_the_papers():
    assert ReuseConfig(schedule=0.3).schedule == Constant(0.3)
    assert ReuseConfig(schedule="paper") == ReuseConfig()
    assert ReuseConfig(elites=np.int64(4)) == ReuseConfig(elites=4)
    assert ReuseConfig.paper() == ReuseConfig(
        rule="weights", schedule=Power(0.99), guard="none", elites=1, batches=1, subset=None
    )
    assert ReuseConfig.paper(elites=4, schedule=0.3).elites == 4
    with pytest.raises(ConfigError, match="there is no schedule 'often'"):
        ReuseConfig(schedule="often")
    with pytest.raises(ConfigError, match="schedule must be a number, a name or callable; got"):
        ReuseConfig(schedule=None)
    with pytest.raises(ConfigError, match=r"chance in \[0, 1\]; got 1.5"):
        ReuseConfig(schedule=1.5)


def test_sources_without_any_rows_hand_over_nothing():
    empty = Demonstrations(np.zeros((0, D)), [], "empty")
    reuse = reuse_of(BLIND, [empty, empty])
    reuse = after(reuse, Experience(np.zeros((2, D)), np.ones(2)))
    assert reuse.trust.weights.tolist() == [0.5, 0.5]
    assert reuse.trust.model is None
    assert not reuse.guide().draw(20).reused.any()


def test_labels_may_be_transformed_in_any_way_or_not_at_all():
    x = np.random.default_rng(0).uniform(-4, 4, (30, D))
    y = bowl(x, 2.0)
    for transform in (None, Log1p(), LogGap()):
        reuse = after(reuse_of(transform=transform), Experience(x, y))
        wanted = y if transform is None else transform.fit(y).forward(y)
        np.testing.assert_allclose(reuse.trust.target.y, wanted, rtol=1e-12)
        for run, mapped in zip(RUNS, reuse.trust.sources, strict=True):
            wanted = run.y if transform is None else transform.fit(run.y).forward(run.y)
            np.testing.assert_allclose(mapped.y, wanted, rtol=1e-12)
        assert reuse.trust.weights[1] > 0.8


def test_how_far_the_least_value_fell():
    before = np.array([5.0, np.inf, np.nan, 7.0])
    assert fall(before, np.array([3.0, np.nan])) == 2
    assert fall(before, np.array([6.0])) == 0
    assert fall(before, np.array([np.inf, np.nan])) == 0
    assert fall(before, np.zeros(0)) == 0
    for nothing in (np.zeros(0), np.array([np.inf, np.nan])):
        assert fall(nothing, np.array([3.0])) is None
