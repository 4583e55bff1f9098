"""Who is drawn how often, and which of their points."""

import numpy as np
import pytest

from bers.reuse.points import Guard, PointGuide

D, N = 2, 3
COUNTS = (4, 1, 6)
POINTS = [np.arange(k * D, dtype=float).reshape(k, D) + 100 * i for i, k in enumerate(COUNTS)]
STEPS = 20_000


def guide(a, p_m, points=POINTS, seed=0, **more):
    return PointGuide(np.random.default_rng(seed), np.asarray(a, float), p_m, points, **more)


def check_shares(counts, shares, steps):
    """Within five standard errors; exactly zero where the share is."""
    shares = np.asarray(shares)
    error = np.sqrt(shares * (1 - shares) / steps)
    assert np.all(np.abs(counts / steps - shares) <= 5 * error + 1e-12), (counts / steps, shares)


@pytest.mark.parametrize("p_m", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("a", [[0.2, 0.3, 0.5], [0, 1, 0], [0.1, 0.0, 0.4], [0, 0, 0]])
def test_sources_are_drawn_as_often_as_p_m_times_their_weight(a, p_m):
    made = guide(a, p_m)
    drawn = made.draw(STEPS)
    expected = p_m * np.array(a)
    check_shares(np.bincount(drawn.sources + 1, minlength=4)[1:], expected, STEPS)
    assert made.share == pytest.approx(expected.sum(), rel=1e-12)
    np.testing.assert_array_equal(drawn.reused, drawn.sources >= 0)


def test_every_point_of_a_source_is_as_likely():
    drawn = guide([0.4, 0.2, 0.4], 1.0).draw(STEPS)
    for i, k in enumerate(COUNTS):
        mine = drawn.sources == i
        check_shares(np.bincount(drawn.which[mine], minlength=k), np.full(k, 1 / k), mine.sum())
        np.testing.assert_array_equal(drawn.points[mine], POINTS[i][drawn.which[mine]])


def test_steps_are_independent():
    drawn = guide([0.5, 0.0, 0.5], 0.6).draw(STEPS)
    before, after = drawn.sources[:-1], drawn.sources[1:]
    for i in (-1, 0, 2):
        given = after[before == i]
        check_shares(np.sum(given == 0), 0.3, len(given))


def test_weights_that_round_to_a_little_less_or_more_than_one_are_no_trouble():
    for total in (1 - 1e-12, 1 + 1e-12):
        drawn = guide(np.full(3, total / 3), 1.0).draw(STEPS)
        assert (drawn.sources >= 0).all()
        assert guide(np.full(3, total / 3), 1.0).share <= 1


def test_sources_without_points_are_never_drawn():
    for empty in range(3):
        points = [own[:0] if i == empty else own for i, own in enumerate(POINTS)]
        drawn = guide([0.3, 0.3, 0.4], 1.0, points).draw(2000)
        assert set(drawn.sources) == {-1, 0, 1, 2} - {empty}
    drawn = guide([0.3, 0.3, 0.4], 1.0, [own[:0] for own in POINTS]).draw(50)
    assert not drawn.reused.any()
    assert drawn.points.shape == (50, D)


def test_without_values_every_point_counts_as_better_than_anything():
    drawn = guide([0.5, 0.5, 0.0], 0.5).draw(100)
    assert (drawn.values == -np.inf).all()


def test_values_come_along_known_or_not():
    values = [np.array([1.0, np.nan, 3.0, np.inf]), np.array([5.0]), np.full(6, np.nan)]
    drawn = guide([0.4, 0.2, 0.4], 0.8, values=values).draw(500)
    for i, k, value in zip(drawn.sources, drawn.which, drawn.values, strict=True):
        np.testing.assert_equal(value, values[i][k] if i >= 0 else -np.inf)


def test_only_open_points_are_drawn():
    which = [np.array([3, 0]), np.array([0]), np.array([5])]
    drawn = guide([0.4, 0.2, 0.4], 0.9, open=which).draw(STEPS)
    for i, mine in enumerate(which):
        here = drawn.sources == i
        assert set(drawn.which[here]) == set(mine)
        check_shares(np.sum(drawn.which[here] == mine[0]), 1 / len(mine), here.sum())
        np.testing.assert_array_equal(drawn.points[here], POINTS[i][drawn.which[here]])


def test_a_source_with_nothing_open_is_not_drawn():
    which = [np.zeros(0, int), np.array([0]), np.array([5])]
    drawn = guide([0.4, 0.2, 0.4], 0.9, open=which).draw(500)
    assert set(drawn.sources) == {-1, 1, 2}


def test_the_last_source_may_have_nothing_open():
    which = [np.array([3, 0]), np.array([0]), np.zeros(0, int)]
    drawn = guide([0.4, 0.2, 0.4], 0.9, open=which).draw(500)
    assert set(drawn.sources) == {-1, 0, 1}


def test_the_guard_has_the_last_word():
    guard = Guard(np.array([0.0, 1e6, 1.0, 10.0]), np.array([1e6, 0.0, 1.0, 10.0]))
    drawn = guide([0.4, 0.4, 0.2], 0.5, guard=guard).draw(STEPS)
    counts = np.bincount(drawn.sources + 1, minlength=4)[1:]
    check_shares(counts[:2], [0.0, 0.2], STEPS)
    assert 0.02 < counts[2] / STEPS < 0.08  # half of the time as good as the own way
    # the expected share is before the guard: what the schedule and the weights allow
    assert guide([0.4, 0.4, 0.2], 0.5, guard=guard).share == 0.5


def test_same_seed_same_draws_and_other_seeds_differ():
    one, two, other = (guide([0.3, 0.3, 0.4], 0.7, seed=seed).draw(50) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.sources, two.sources)
    np.testing.assert_array_equal(one.points, two.points)
    assert (one.sources != other.sources).any()


def test_what_is_drawn_is_a_copy():
    drawn = guide([1.0, 0.0, 0.0], 1.0).draw(10)
    drawn.points[:] = -1
    assert (POINTS[0] >= 0).all()
