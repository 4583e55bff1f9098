"""Half of the agents follow the sources, half do not; one island wins, once."""

from itertools import permutations

import numpy as np
import pytest
from bers_studies.static.functions import SPHERE

from bers.learners.differential_evolution import (
    DE,
    Islands,
    Population,
    divided,
    judged,
    three_others,
    worth_dividing,
)
from bers.reuse.points import PointGuide

D = 2
LOW, HIGH = np.full(D, -4.0), np.full(D, 4.0)
BOTH = pytest.mark.parametrize("updating", ["immediate", "deferred"])


def test_half_of_the_agents_are_guided_and_every_agent_may_be():
    rng = np.random.default_rng(0)
    shares = np.zeros(9)
    for _ in range(400):
        guided = divided(rng, 9).guided
        assert guided.sum() == 4
        shares += guided / 400
    np.testing.assert_allclose(shares, 4 / 9, atol=0.1)
    assert divided(rng, 32).guided.sum() == 16


def test_dividing_needs_enough_agents_and_enough_guided_trials():
    assert worth_dividing(0.11, 8)
    assert not worth_dividing(0.1, 8)
    assert not worth_dividing(1.0, 7)  # an island needs four: three others and oneself


def test_parents_come_from_the_own_island():
    rng = np.random.default_rng(0)
    for NP in (8, 9, 32):
        islands = divided(rng, NP)
        for _ in range(50):
            others = three_others(rng.random(NP), islands)
            assert (islands.guided[others] == islands.guided).all()
            everyone = np.sort(np.concatenate([np.arange(NP)[None], others]), axis=0)
            assert (np.diff(everyone, axis=0) > 0).all()


@pytest.mark.parametrize("won", [True, False])
def test_losers_have_parents_among_the_winners(won):
    """Exact: all triples of winners, equally often, for an agent that lost."""
    guided = np.array([True, False, False, True, True, False, True, False, False])
    islands = Islands(guided, won=won)
    np.testing.assert_array_equal(islands.lost, guided != won)
    winners = np.flatnonzero(guided == won)
    k = len(winners)
    count = k * (k - 1) * (k - 2)
    found = [three_others(np.full(9, (i + 0.5) / count), islands) for i in range(count)]
    for agent in np.flatnonzero(islands.lost):
        triples = sorted(tuple(others[:, agent].tolist()) for others in found)
        assert triples == sorted(permutations(winners.tolist(), 3))
    rng = np.random.default_rng(0)
    for _ in range(50):
        others = three_others(rng.random(9), islands)
        assert (guided[others] == won).all()
        assert (others != np.arange(9)).all()


def contest(signs, D=10):
    """Judged again and again; True: the guided island has the best agent."""
    islands = Islands(np.array([True, True, False, False]))
    for ahead in signs:
        islands = judged(islands, np.array([1.0 if ahead else 3.0, 5.0, 2.0, 4.0]), D)
    return islands


def test_more_than_three_generations_behind_is_lost():
    assert contest([False] * 3).won is None
    assert contest([False] * 4).won is False
    assert contest(([False] * 3 + [True]) * 5).won is None  # in a row
    assert contest([False] * 4).lost.tolist() == [True, True, False, False]
    assert not contest([False] * 3).lost.any()


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_three_times_the_dimension_ahead_is_won(dimension):
    assert contest([True] * (3 * dimension - 1), dimension).won is None
    islands = contest([True] * (3 * dimension), dimension)
    assert islands.won is True
    assert islands.lost.tolist() == [False, False, True, True]
    assert contest([True] * (3 * dimension - 1) + [False], dimension).ahead == 0


def test_the_best_agent_counts_and_a_tie_is_the_guided_islands():
    islands = Islands(np.array([True, True, False, False]))
    assert judged(islands, np.array([9.0, 1.0, 1.0, 2.0]), 10).ahead == 1
    assert judged(islands, np.array([np.inf, np.inf, np.inf, np.inf]), 10).ahead == 1
    assert judged(islands, np.array([0.9, np.inf, 0.8, np.inf]), 10).behind == 1


# ---- in the learner ------------------------------------------------------------------------------


def guide_to(point, seed=5, values=np.nan, p_m=1.0):
    return PointGuide(
        np.random.default_rng(seed), np.ones(1), p_m, [np.atleast_2d(point)],
        values=[np.full(1, values)],
    )  # fmt: skip


def until_over(de, rng, agents, guide):
    """Generation by generation until the contest is over, the last one with islands."""
    history = [agents]
    for _ in range(60):
        agents, seen = de.iterate(rng, agents, guide)
        history.append(agents)
        if agents.islands is not None and agents.islands.won is not None:
            return history, seen
    raise AssertionError("the contest was never over")


def learner(updating, evaluate=SPHERE, NP=12):
    return DE(population=NP, updating=updating).on(evaluate, LOW, HIGH)


@BOTH
def test_only_guided_agents_get_points_while_the_contest_is_open(updating):
    de, rng = learner(updating), np.random.default_rng(0)
    agents = de.start(rng)
    after, seen = de.iterate(rng, agents, guide_to([-2.0, -2.0]))
    assert after.contest != "not yet"
    assert after.islands.guided.sum() == 6
    used = seen.sources >= 0
    assert used.any()
    assert not used[~after.islands.guided].any()
    drawn = de.drawn(after, guide_to([-2.0, -2.0]))
    np.testing.assert_array_equal(drawn.reused, after.islands.guided)


@BOTH
def test_without_values_with_few_points_or_without_a_guide_there_are_no_islands(updating):
    de, rng = learner(updating), np.random.default_rng(0)
    agents = de.start(rng)
    blind = PointGuide(rng, np.ones(1), 1.0, [np.zeros((1, D))])
    for guide in (None, blind, guide_to([0.0, 0.0], p_m=0.05)):
        after, _ = de.iterate(rng, agents, guide)
        assert after.islands is None
        assert after.contest == "not yet"
    small = learner(updating, NP=6)
    after, _ = small.iterate(rng, small.start(rng), guide_to([0.0, 0.0]))
    assert after.contest == "not yet"


def two_valleys(x):
    """A wide valley of depth 1 at -2, where the source's point is, and one of depth 0 at 2."""
    return np.minimum(1 + np.sum((x + 2) ** 2, axis=-1), np.sum((x - 2) ** 2, axis=-1))


@BOTH
@pytest.mark.parametrize("won", [True, False])
def test_losers_are_made_anew_from_winners_within_one_generation(updating, won):
    """Guided agents near one place, others near another; the better place wins."""
    guided = np.arange(12) % 2 == 0
    rng = np.random.default_rng(3)
    good, bad = np.full(D, 2.0), np.full(D, -2.0)
    centre = np.where((guided == won)[:, None], good, bad)
    x = centre + rng.uniform(-0.3, 0.3, (12, D))
    de = learner(updating, two_valleys)
    agents = Population(x, two_valleys(x), Islands(guided), "open")
    guide = guide_to(good if won else bad)
    history, _ = until_over(de, rng, agents, guide)
    over = history[-1]
    assert len(history) - 1 == (3 * D if won else 4)
    assert over.islands.won is won
    lost = over.islands.lost
    np.testing.assert_array_equal(lost, guided != won)
    assert np.isinf(over.f[lost]).all()
    assert np.isfinite(over.f[~lost]).all()
    # what is left of the losers is a copy of winners, so a coordinate that does not cross is theirs
    assert {tuple(row) for row in over.x[lost]} <= {tuple(row) for row in over.x[~lost]}
    after, seen = de.iterate(rng, over, None)
    assert np.isfinite(after.f).all()
    assert after.islands is None
    assert after.contest != "not yet"
    np.testing.assert_array_equal(after.x[lost], seen.x[lost])
    assert (np.abs(after.x - good) < 1.5).all()  # all are in the winners' valley now
    np.testing.assert_array_equal(after.f, two_valleys(after.x))


@BOTH
def test_the_contest_happens_once(updating):
    de, rng = learner(updating), np.random.default_rng(0)
    agents, guide = de.start(rng), guide_to([-2.0, -2.0])
    history, _ = until_over(de, rng, agents, guide)
    agents, begun = history[-1], [a.islands is not None for a in history[1:]]
    assert all(begun)
    for _ in range(10):
        agents, _ = de.iterate(rng, agents, guide)
        assert agents.islands is None
        assert agents.contest != "not yet"
    assert (agents.f <= history[-1].f).all()


@BOTH
def test_the_best_value_never_gets_lost(updating):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        de, guide = learner(updating, two_valleys), guide_to([-2.0, -2.0], seed)
        agents = de.start(rng)
        best = agents.f.min()
        for _ in range(25):
            agents, _ = de.iterate(rng, agents, guide)
            assert agents.f.min() <= best
            best = agents.f.min()
        assert not np.isinf(agents.f).any()


def test_a_budget_that_ends_while_losers_are_made_anew_keeps_the_rest():
    guided = np.arange(8) < 4
    x = np.random.default_rng(0).uniform(-1, 1, (8, D))
    f = np.where(guided, np.inf, 1.0)
    agents = Population(x, f, Islands(guided, won=False), "open")
    de = learner("deferred", lambda points: SPHERE(points[:3]), NP=8)
    after, seen = de.iterate(np.random.default_rng(0), agents, None)
    assert len(seen.y) == 3
    assert np.isinf(after.f).tolist() == [False] * 3 + [True] + [False] * 4
