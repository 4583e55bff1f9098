"""The base learner, by its plans and trials; and what a guide may and may not change."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from bers_studies.static.functions import SPHERE

from bers.errors import ConfigError
from bers.learners import differential_evolution as islands
from bers.learners.differential_evolution import (
    DE,
    Begun,
    Plan,
    Population,
    three_others,
)
from bers.reuse.points import Drawn, PointGuide

LOW, HIGH = np.full(3, -4.0), np.full(3, 4.0)
BOTH = pytest.mark.parametrize("updating", ["immediate", "deferred"])


def learner(evaluate=SPHERE, low=LOW, high=HIGH, **settings):
    return DE(**settings).on(evaluate, low, high)


def run(de, seed, generations, guide=None):
    """What a few generations saw, the first population not counted, and where they ended."""
    rng = np.random.default_rng(seed)
    agents, seen = de.start(rng), []
    for _ in range(generations):
        agents, now = de.iterate(rng, agents, guide)
        seen.append(now)
    return agents, seen


def drawn_at(agents, points, values, sources=None, which=None):
    """A draw in which only `agents` of 8 got a point."""
    D = np.shape(points)[1]
    made = Drawn(
        np.full(8, -1), np.full(8, -1), np.zeros((8, D)), np.full(8, -np.inf)
    )  # fmt: skip
    made.sources[agents] = 0 if sources is None else sources
    made.which[agents] = range(len(agents)) if which is None else which
    made.points[agents], made.values[agents] = points, values
    return made


# ---- the plan ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [True, False])
def test_three_others_are_uniform_over_all_triples(monkeypatch, table):
    """Exact: one number in the middle of each of its equally likely cells."""
    if not table:
        monkeypatch.setattr(islands, "_SMALL", 0)
    NP = 5
    count = (NP - 1) * (NP - 2) * (NP - 3)
    found = [three_others(np.full(NP, (i + 0.5) / count)) for i in range(count)]
    for agent in range(NP):
        triples = sorted(tuple(others[:, agent].tolist()) for others in found)
        assert triples == sorted(permutations(set(range(NP)) - {agent}, 3))


@pytest.mark.parametrize("NP", [4, 5, 9, 40, 64, 65, 200])
def test_three_others_are_different_whatever_the_numbers(NP):
    rng = np.random.default_rng(0)
    edges = np.array([0.0, 0.5, np.nextafter(1.0, 0)])
    for _ in range(300):
        u = np.where(rng.random(NP) < 0.3, rng.choice(edges, NP), rng.random(NP))
        others = three_others(u)
        assert others.min() >= 0
        assert others.max() < NP
        everyone = np.sort(np.concatenate([np.arange(NP)[None], others]), axis=0)
        assert (np.diff(everyone, axis=0) > 0).all()


def test_crossover_takes_at_least_one_coordinate():
    rng = np.random.default_rng(3)
    cross = DE(recombination=0.0).plan(rng, 6).cross
    assert (cross.sum(axis=1) == 1).all()
    assert DE(recombination=1.0).plan(rng, 6).cross.all()
    counts = [DE().plan(rng, 6).cross.mean() for _ in range(50)]
    assert np.mean(counts) == pytest.approx(0.7 + 0.3 / 6, abs=0.02)


def test_a_pair_of_weights_is_drawn_from_once_a_generation():
    rng = np.random.default_rng(0)
    drawn = [DE(mutation=(0.5, 1.0)).plan(rng, 2).F for _ in range(200)]
    assert 0.5 <= min(drawn) < 0.52
    assert 0.98 < max(drawn) <= 1
    assert np.mean(drawn) == pytest.approx(0.75, abs=0.04)
    assert DE(mutation=(0.3, 0.3)).plan(rng, 2).F == 0.3
    assert DE(mutation=2).plan(rng, 2).F == 2


# ---- plain generations ---------------------------------------------------------------------------


@BOTH
def test_agents_never_get_worse_and_stay_in_bounds(updating):
    # its minimum lies outside the bounds
    de = learner(lambda x: np.sum((x - 4.5) ** 2, axis=-1), updating=updating)
    rng = np.random.default_rng(0)
    agents = de.start(rng)
    for _ in range(30):
        after, seen = de.iterate(rng, agents)
        assert (after.f <= agents.f).all()
        np.testing.assert_array_equal(after.f, de.evaluate(after.x))
        np.testing.assert_array_equal(seen.y, de.evaluate(seen.x))
        np.testing.assert_array_equal(seen.paid, seen.y <= agents.f)
        assert ((seen.x >= LOW) & (seen.x <= HIGH)).all()
        assert seen.sources is None
        agents = after
    assert agents.f.min() < 3 * 0.5**2 + 0.01


@BOTH
def test_a_trial_is_base_plus_a_difference_where_it_crosses(updating):
    """No trial wins, so both ways see the first agents only."""
    de = learner(lambda x: np.full(len(x), np.inf), population=8, updating=updating)
    x = np.random.default_rng(0).uniform(-4, 4, (8, 3))
    chosen = de.config.plan(np.random.default_rng(1), 3)
    _, seen = de.advance(Begun(Population(x, np.zeros(8)), chosen, None))
    for j in range(8):
        a, b, c = chosen.others[:, j]
        mutant = np.clip(x[a] + 0.5 * (x[b] - x[c]), -4, 4)
        np.testing.assert_array_equal(seen.x[j], np.where(chosen.cross[j], mutant, x[j]))


def winners_only(updating, seed, NP):
    """One generation in which every trial wins: agents before, plan, what was seen, after."""
    value = iter(range(0, -100, -1))
    de = learner(
        lambda x: np.array([next(value) for _ in x], float), population=NP, updating=updating
    )
    rng = np.random.default_rng(seed)
    agents, chosen = de.start(rng), de.config.plan(rng, 3)
    return agents, chosen, *reversed(de.advance(Begun(agents, chosen, None)))


@pytest.mark.parametrize("NP", [4, 12])
def test_in_place_the_second_agent_sees_what_became_of_the_first(NP):
    for seed in range(20):
        agents, chosen, seen, after = winners_only("immediate", seed, NP)
        x = agents.x.copy()
        for j in range(NP):
            a, b, c = chosen.others[:, j]
            mutant = np.clip(x[a] + 0.5 * (x[b] - x[c]), -4, 4)
            x[j] = np.where(chosen.cross[j], mutant, x[j])
            np.testing.assert_array_equal(seen.x[j], x[j])
        np.testing.assert_array_equal(after.x, seen.x)


@pytest.mark.parametrize("NP", [4, 12])
def test_deferred_trials_are_all_made_of_the_old_agents(NP):
    agents, chosen, seen, after = winners_only("deferred", 1, NP)
    x = agents.x
    for j in range(NP):
        a, b, c = chosen.others[:, j]
        mutant = np.clip(x[a] + 0.5 * (x[b] - x[c]), -4, 4)
        np.testing.assert_array_equal(seen.x[j], np.where(chosen.cross[j], mutant, x[j]))
    np.testing.assert_array_equal(after.x, seen.x)
    assert (winners_only("immediate", 1, NP)[2].x[1:] != seen.x[1:]).any()


@BOTH
def test_the_first_agents_are_not_changed(updating):
    de = learner(updating=updating)
    rng = np.random.default_rng(0)
    agents = de.start(rng)
    x, f = agents.x.copy(), agents.f.copy()
    de.iterate(rng, agents, PointGuide(rng, np.ones(1), 1.0, [np.full((4, 3), -2.0)]))
    np.testing.assert_array_equal(agents.x, x)
    np.testing.assert_array_equal(agents.f, f)


@BOTH
def test_ties_are_taken(updating):
    """On a plateau agents drift, which is how Differential Evolution leaves it."""
    agents, seen = run(learner(lambda x: np.zeros(len(x)), updating=updating), 0, 1)
    np.testing.assert_array_equal(agents.x, seen[0].x)
    assert seen[0].paid.all()


@BOTH
@pytest.mark.parametrize("left", [0, 1, 7, 31])
def test_a_generation_ends_where_the_budget_does(updating, left):
    class Budget:
        rest = np.inf

        def __call__(self, x):
            n = int(min(len(x), self.rest))
            self.rest -= n
            return SPHERE(x[:n])

    evaluate = Budget()
    de, rng = learner(evaluate, updating=updating), np.random.default_rng(0)
    agents, chosen = de.start(rng), DE().plan(rng, 3)
    whole, all_seen = de.advance(Begun(agents, chosen, None))
    evaluate.rest = left
    after, seen = de.advance(Begun(agents, chosen, None))
    assert evaluate.rest == 0
    assert len(seen.x) == len(seen.y) == len(seen.paid) == left
    np.testing.assert_array_equal(seen.x, all_seen.x[:left])
    np.testing.assert_array_equal(after.x[:left], whole.x[:left])
    np.testing.assert_array_equal(after.x[left:], agents.x[left:])
    np.testing.assert_array_equal(after.f[left:], agents.f[left:])


@BOTH
def test_same_seed_same_bits_and_other_seeds_differ(updating):
    de = learner(updating=updating)
    one, two, other = (run(de, seed, 5) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one[0].x, two[0].x)
    for a, b, c in zip(one[1], two[1], other[1], strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        assert (a.x != c.x).any()


def test_equal_bounds_fix_a_coordinate():
    high = np.array([-4.0, 4.0, 4.0])
    agents, seen = run(learner(high=high), 0, 5)
    assert (np.concatenate([agents.x, *(s.x for s in seen)])[:, 0] == -4).all()


# ---- with a guide --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("values", [None, [np.full(2, np.nan)]])
@pytest.mark.parametrize("how", ["no chance", "no weight", "no points"])
def test_a_guide_that_hands_over_nothing_changes_no_bit(updating, values, how):
    points = [np.full((0 if how == "no points" else 2, 3), -2.0)]
    if how == "no points" and values is not None:
        values = [np.zeros(0)]
    a, p_m = np.array([float(how != "no weight")]), float(how != "no chance")
    guide = PointGuide(np.random.default_rng(9), a, p_m, points, values=values)
    de = learner(updating=updating, population=4)  # too few for islands
    plain, with_guide = run(de, 0, 12), run(de, 0, 12, guide)
    np.testing.assert_array_equal(plain[0].x, with_guide[0].x)
    np.testing.assert_array_equal(plain[0].f, with_guide[0].f)
    for now in with_guide[1]:
        assert (now.sources == -1).all()
        assert (now.tried == -1).all()


@BOTH
def test_p_m_of_zero_is_plain_for_any_population(updating):
    points, values = [np.full((2, 3), -2.0)], [np.full(2, np.nan)]
    guide = PointGuide(np.random.default_rng(9), np.ones(1), 0.0, points, values=values)
    de = learner(updating=updating)
    np.testing.assert_array_equal(run(de, 0, 12)[0].x, run(de, 0, 12, guide)[0].x)


@BOTH
def test_a_point_used_blindly_is_the_base(updating):
    """Without values it takes the place of the first of the three others, however good that is."""
    de = learner(lambda x: np.full(len(x), np.inf), population=8, updating=updating)
    x = np.random.default_rng(0).uniform(-1, 1, (8, 3))
    chosen = de.config.plan(np.random.default_rng(1), 3)
    points = np.array([[3.0, 2.0, 1.0], [3.9, -3.9, 0.0]])
    drawn = drawn_at([2, 5], points, -np.inf, sources=[1, 0])
    _, seen = de.advance(Begun(Population(x, np.zeros(8)), chosen, drawn))
    assert seen.sources.tolist() == [-1, -1, 1, -1, -1, 0, -1, -1]
    assert (seen.tried == -1).all()
    for j in range(8):
        a, b, c = chosen.others[:, j]
        base = points[[2, 5].index(j)] if j in (2, 5) else x[a]
        mutant = np.clip(base + 0.5 * (x[b] - x[c]), -4, 4)
        np.testing.assert_array_equal(seen.x[j], np.where(chosen.cross[j], mutant, x[j]))


@BOTH
def test_the_guides_draw_reaches_the_trials(updating):
    """With F = 0 and full crossover, a blind trial is the source's point itself."""
    points = [np.full((1, 3), 1.0), np.full((1, 3), 2.0), np.full((1, 3), 3.0)]
    guide = PointGuide(np.random.default_rng(0), np.array([0.25, 0.0, 0.5]), 0.8, points)
    de = learner(
        lambda x: np.full(len(x), np.inf), population=400, recombination=1.0,
        mutation=0, updating=updating,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    _, seen = de.iterate(rng, Population(rng.uniform(-1, 0, (400, 3)), np.zeros(400)), guide)
    for source, share in ((-1, 0.4), (0, 0.2), (1, 0), (2, 0.4)):
        mine = seen.sources == source
        assert np.mean(mine) == pytest.approx(share, abs=0.1)
        assert (seen.x[mine] < 0).all() if source < 0 else (seen.x[mine] == source + 1).all()


@BOTH
def test_a_known_point_is_used_only_where_it_is_better_than_what_it_replaces(updating):
    de = learner(lambda x: np.full(len(x), np.inf), population=8, updating=updating)
    x, f = np.random.default_rng(0).uniform(-1, 1, (8, 3)), np.arange(8.0)
    chosen = de.config.plan(np.random.default_rng(1), 3)
    for value in (-1.0, *f, 3.5, 8.0, np.inf):  # a tie is not better
        drawn = drawn_at(list(range(8)), np.full((8, 3), 2.0), value, which=0)
        _, seen = de.advance(Begun(Population(x, f), chosen, drawn))
        better = value < f[chosen.others[0]]
        np.testing.assert_array_equal(seen.sources, np.where(better, 0, -1))
        assert (seen.tried == -1).all()  # a known point is not tried again
        for j in range(8):
            a, b, c = chosen.others[:, j]
            base = np.full(3, 2.0) if better[j] else x[a]
            mutant = np.clip(base + 0.5 * (x[b] - x[c]), -4, 4)
            np.testing.assert_array_equal(seen.x[j], np.where(chosen.cross[j], mutant, x[j]))


@BOTH
def test_an_unknown_point_is_the_trial_itself_once(updating):
    """Three agents draw the same point of source 1, two others points of their own."""
    de = learner(population=8, updating=updating)
    x = np.random.default_rng(0).uniform(1, 2, (8, 3))
    agents = Population(x, SPHERE(x))
    chosen = de.config.plan(np.random.default_rng(1), 3)
    a, b, c = np.full(3, -2.0), np.full(3, 3.9), np.full(3, -3.0)  # good, bad, fair
    drawn = drawn_at(
        [1, 3, 4, 6, 7], [a, b, a, c, a], np.nan, sources=[1, 1, 1, 0, 1], which=[5, 2, 5, 5, 5]
    )
    after, seen = de.advance(Begun(agents, chosen, drawn))
    assert seen.tried.tolist() == [-1, 5, -1, 2, -1, -1, 5, -1]
    np.testing.assert_array_equal(seen.x[[1, 3, 6]], [a, b, c])
    np.testing.assert_array_equal(after.x[[1, 6]], [a, c])
    np.testing.assert_array_equal(after.x[3], x[3])  # a point that is worse replaces nothing
    assert seen.paid[[1, 3, 6]].tolist() == [True, False, True]
    # in place, those who come later know what the point is worth; all at once, they do not yet
    later = [1, 1] if updating == "immediate" else [-1, -1]
    assert seen.sources[[4, 7]].tolist() == later
    assert seen.sources[[0, 1, 2, 3, 5, 6]].tolist() == [-1, 1, -1, 1, -1, 0]


def test_in_place_a_point_found_worse_is_not_used_in_the_same_generation():
    de = learner(population=8)
    x = np.random.default_rng(0).uniform(-2.1, -1.9, (8, 3))
    chosen = de.config.plan(np.random.default_rng(1), 3)
    drawn = drawn_at([1, 4, 7], np.full((3, 3), 3.0), np.nan, which=0)
    _, seen = de.advance(Begun(Population(x, SPHERE(x)), chosen, drawn))
    assert seen.sources.tolist() == [-1, 0, -1, -1, -1, -1, -1, -1]
    assert np.sum(np.all(seen.x == 3.0, axis=1)) == 1
    assert np.isnan(drawn.values[[1, 4, 7]]).all()  # the caller's draw is not changed


@BOTH
def test_an_unknown_point_that_the_budget_does_not_cover_is_not_reported(updating):
    de = learner(lambda x: SPHERE(x[: max(0, left)]), population=8, updating=updating)
    x = np.random.default_rng(0).uniform(1, 2, (8, 3))
    chosen = de.config.plan(np.random.default_rng(1), 3)
    drawn = drawn_at([0, 1], np.full((2, 3), -2.0), np.nan)
    left = 0
    after, seen = de.advance(Begun(Population(x, SPHERE(x)), chosen, drawn))
    assert len(seen.y) == len(seen.sources) == len(seen.tried) == 0
    np.testing.assert_array_equal(after.x, x)


def test_one_agent_and_all_agents_have_the_same_trials():
    de = learner(population=8)
    rng = np.random.default_rng(4)
    x, f = rng.uniform(-1, 1, (8, 3)), rng.random(8)
    chosen = de.config.plan(rng, 3)
    values = np.array([np.nan, 0.2, -np.inf])
    drawn = drawn_at([0, 3, 6], rng.uniform(-4, 4, (3, 3)), values)
    points, sources, which = de.trial(x, f, chosen, drawn, slice(None))
    for j in range(8):
        point, source, tried = de.trial(x, f, chosen, drawn, j)
        np.testing.assert_array_equal(point, points[j])
        assert (source, tried) == (sources[j], which[j])
    plain = de.trial(x, f, chosen, None, slice(None))[0]
    np.testing.assert_array_equal(plain[[1, 2, 4, 5, 7]], points[[1, 2, 4, 5, 7]])


@pytest.mark.parametrize("seed", range(5))
def test_in_place_with_a_guide_against_a_plain_loop(seed):
    """Points that are unknown, better, worse, blind or not drawn, all mixed, agents changing."""
    rng = np.random.default_rng(seed)
    de = learner(population=8)
    x = rng.uniform(-4, 4, (8, 3))
    f = SPHERE(x)
    chosen = de.config.plan(rng, 3)
    three = rng.uniform(-3, -1, (3, 3))
    which = rng.integers(-1, 3, 8)
    values = np.array([np.nan, SPHERE(three[1]), np.nan])[which]
    drawn = drawn_at(list(range(8)), three[which], values, np.where(which < 0, -1, 0), which)
    after, seen = de.advance(Begun(Population(x, f), chosen, drawn))
    x, f, known = x.copy(), f.copy(), {1: SPHERE(three[1])}
    for j in range(8):
        a, b, c = chosen.others[:, j]
        k, base = int(which[j]), x[a]
        source = tried = -1
        if k >= 0 and k in known and known[k] < f[a]:
            base, source = three[k], 0
        mutant = np.clip(base + 0.5 * (x[b] - x[c]), -4, 4)
        trial = np.where(chosen.cross[j], mutant, x[j])
        if k >= 0 and k not in known:
            trial, source, tried = three[k], 0, k
            known[k] = SPHERE(trial)
        np.testing.assert_allclose(seen.x[j], trial, rtol=0, atol=1e-14)
        assert (seen.sources[j], seen.tried[j]) == (source, tried)
        if SPHERE(trial) <= f[j]:
            x[j], f[j] = trial, SPHERE(trial)
    np.testing.assert_allclose(after.x, x, rtol=0, atol=1e-14)


def test_points_that_help_do_help():
    points = [np.full((1, 3), -2.0) + 0.01]
    values = [np.full(1, np.nan)]
    guide = PointGuide(np.random.default_rng(0), np.ones(1), 0.5, points, values=values)
    plain, guided = run(learner(), 0, 3), run(learner(), 0, 3, guide)
    assert guided[0].f.min() < 0.02 < 0.2 < plain[0].f.min()


# ---- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 3}, r"population=...\) must be a whole number of at least 4; got 3"),
        ({"recombination": 1.1}, r"recombination=...\) must be in \[0, 1\]; got 1.1"),
        ({"recombination": -0.1}, r"recombination=.*got -0\.1"),
        ({"recombination": np.nan}, "recombination=.*got nan"),
        ({"mutation": -0.1}, r"mutation=.*got -0\.1"),
        ({"mutation": 2.1}, r"mutation=.*got 2\.1"),
        ({"mutation": np.nan}, "mutation=.*got nan"),
        ({"mutation": (1.0, 0.5)}, r"or a pair \(low, high\); got \(1.0, 0.5\)"),
        ({"mutation": (0.5, 0.6, 0.7)}, r"or a pair \(low, high\); got"),
        ({"updating": "later"}, 'must be "immediate" or "deferred"; got \'later\''),
        ({"population": 8.0}, "population=.* must be a whole number of at least 4; got 8.0"),
        ({"population": "8"}, "population=.* must be a whole number of at least 4; got '8'"),
        ({"tol": np.nan}, r"DE\(tol=...\) must be a number; got nan"),
        ({"atol": np.nan}, r"DE\(atol=...\) must be a number; got nan"),
    ],
)
def test_bad_settings_are_named(settings, message):
    made = object.__new__(DE)  # past the types that are checked in tests alone
    made.__dict__.update(vars(DE()) | settings)
    with pytest.raises(ConfigError, match=message):
        made.__post_init__()


@pytest.mark.parametrize("F", [(0.5,), (), [0.2, 0.4, 0.8], (0.8, 0.2)])
def test_a_pair_of_weights_is_a_pair_or_refused(F):
    made = object.__new__(DE)
    made.__dict__.update(vars(DE()) | {"mutation": F})
    with pytest.raises(ConfigError, match="mutation"):
        made.__post_init__()


def test_defaults_are_the_papers():
    assert DE() == DE(
        population=32, mutation=0.5, recombination=0.7, updating=None, init="random",
        tol=0.01, atol=0.0,
    )  # fmt: skip
    assert isinstance(DE().plan(np.random.default_rng(0), 2), Plan)


# ---- the two halves of a generation --------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("guided", [False, True])
def test_begin_makes_all_choices_and_advance_none(updating, guided):
    """So a generation can be gone through again, when more values have come in."""
    own = np.random.default_rng(9)
    values = [np.full(3, np.nan)]
    guide = PointGuide(own, np.ones(1), 0.6, [np.full((3, 3), -2.0)], values=values)
    de, rng = learner(updating=updating, population=12), np.random.default_rng(0)
    agents = de.start(rng)
    begun = de.begin(rng, agents, guide if guided else None)
    assert begun.size == 12
    before = [stream.bit_generator.state for stream in (rng, own)]
    one, seen = de.advance(begun)
    two, again = de.advance(begun)
    assert [stream.bit_generator.state for stream in (rng, own)] == before
    for name in ("x", "f"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(seen.x, again.x)
    np.testing.assert_array_equal(seen.y, again.y)
    if guided:
        np.testing.assert_array_equal(seen.sources, again.sources)
    else:
        rng = np.random.default_rng(0)
        whole, _ = de.iterate(rng, de.start(rng))
        np.testing.assert_array_equal(one.x, whole.x)


def test_agents_without_a_value_are_the_worst():
    x = np.random.default_rng(0).uniform(-4, 4, (5, 3))
    agents = learner(population=5).opened(x, np.array([3.0, 1.0]))
    assert agents.f.tolist() == [3, 1, np.inf, np.inf, np.inf]
    np.testing.assert_array_equal(agents.x, x)
    assert (agents.islands, agents.contest) == (None, "not yet")


@pytest.mark.parametrize(("tol", "atol"), [(0.01, 0.0), (0.5, 0.0), (0.0, 0.3), (0.1, 0.2)])
def test_it_has_converged_when_scipys_formula_says_so(tol, atol):
    de, rng = learner(tol=tol, atol=atol), np.random.default_rng(0)
    answers = []
    for spread in np.geomspace(1e-4, 10, 40):
        f = rng.normal(-2, spread, 32)
        answers.append(de.converged(Population(np.zeros((32, 3)), f)))
        assert answers[-1] == (np.std(f) <= atol + tol * np.abs(np.mean(f)))
    assert answers[0]
    assert not answers[-1]


def test_what_is_not_finite_or_huge_has_not_converged():
    de, never = learner(population=4), learner(population=4, tol=-1.0)
    for f in (
        [1.0, 1.0, np.inf, 1.0],
        [np.inf] * 4,
        [1e308, 1e308, 1e308, -1e308],
        [0, 0, 0, 1e200],
    ):
        assert not de.converged(Population(np.zeros((4, 3)), np.array(f, float)))
    same = Population(np.zeros((4, 3)), np.ones(4))
    assert de.converged(same)
    assert not never.converged(same)  # a negative tol switches it off


@BOTH
def test_a_population_can_be_taken_apart_and_put_together(updating):
    config = DE(population=12, mutation=(0.4, 0.9), updating=updating, tol=0.5, init="sobol")
    values = [np.full(1, np.nan)]
    guide = PointGuide(
        np.random.default_rng(5), np.ones(1), 1.0, [np.full((1, 3), 1.0)], values=values
    )
    rng = np.random.default_rng(0)
    de = config.on(SPHERE, LOW, HIGH)
    agents, _ = de.iterate(rng, de.start(rng), guide)
    assert agents.islands is not None
    again, held = DE.of_parts(*config.parts(agents))
    assert again == replace(config, init="random")
    np.testing.assert_array_equal(held.x, agents.x)
    np.testing.assert_array_equal(held.f, agents.f)
    np.testing.assert_array_equal(held.islands.guided, agents.islands.guided)
    assert held.contest == agents.contest == "open"
    assert (held.islands.ahead, held.islands.behind) == (
        agents.islands.ahead,
        agents.islands.behind,
    )
    assert DE.of_parts(*config.parts(None)) == (again, None)
