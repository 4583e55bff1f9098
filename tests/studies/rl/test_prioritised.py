"""Prioritised replay: who is drawn how often, what is overwritten, and a tree that never drifts."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.rl import prioritised
from bers_studies.rl.prioritised import (
    OWN,
    Prioritised,
    add,
    draw,
    learned,
    new_prioritised,
    preload,
)
from bers_studies.rl.replay import Transitions
from scipy import stats

from bers.errors import ConfigError, DataError

EXACT = {"alpha": 1.0, "epsilon": 0.0}  # the error is the priority
SIZES = pytest.mark.parametrize("n", [1, 32, 33, 1025, 40_000])
TOP = np.nextafter(np.float32(1), np.float32(0))


def transitions(numbers):
    """Rows that can be told apart by their reward."""
    r_t = np.asarray(numbers, np.float32)
    column = np.zeros((*np.shape(r_t), 2), np.float32)
    return Transitions(column, column, r_t, column)


def ring_of(priorities, capacity=None):
    """A replay with these priorities, made without the functions under test."""
    p = np.asarray(priorities, np.float32)
    room = np.zeros((capacity or len(p)) - len(p), np.float32)
    rows = transitions(np.concatenate([np.arange(len(p)), room]))
    return Prioritised(
        rows=jax.tree.map(jnp.asarray, rows),
        origin=jnp.asarray(np.zeros(len(rows), np.int16)),
        tree=jnp.asarray(exact_tree(np.concatenate([p, room])), jnp.float32),
        greatest=jnp.asarray(np.maximum(p.max(), 1)),
        count=jnp.asarray(len(p), jnp.int32),
    )


def exact_tree(priorities):
    """The tree, summed in double precision."""
    parts, below = [], np.asarray(priorities, np.float64)
    while not parts or len(parts[0]) > 1:
        parts.insert(0, np.pad(below, (0, -len(below) % 32)).reshape(-1, 32))
        below = parts[0].sum(axis=1)
    return np.concatenate(parts)


def found(ring, u):
    return prioritised._found(ring.tree, jnp.asarray(u, jnp.float32), capacity=ring.capacity)


def levels(ring):
    return len(prioritised._starts(ring.capacity))


# ---- drawing -------------------------------------------------------------------------------------


def test_one_level_is_the_inverse_of_the_cumulative_shares():
    ring = ring_of([1, 0, 2, 5])
    u = (np.arange(800) + 0.5) / 800
    rows, priorities = found(ring, u[None])
    np.testing.assert_array_equal(rows, np.repeat([0, 2, 3], [100, 200, 500]))
    np.testing.assert_array_equal(priorities, np.repeat([1.0, 2.0, 5.0], [100, 200, 500]))


def test_levels_multiply_to_the_share_of_a_row():
    """Exact: every cell of a grid over both levels' numbers is hit once."""
    parts = np.zeros((3, 32), int)
    parts[0, :2], parts[1, :3], parts[2, 31] = (1, 3), (2, 4, 2), 4
    ring = ring_of(parts.ravel())
    grid = (np.arange(16) + 0.5) / 16
    u = np.stack([np.repeat(grid, 16), np.tile(grid, 16)])
    rows, _ = found(ring, u)
    counts = np.bincount(rows, minlength=96)
    np.testing.assert_array_equal(counts, 256 * parts.ravel() // 16)


@SIZES
@pytest.mark.parametrize("u", [0.0, 0.5, TOP])
def test_no_number_finds_an_unused_row(n, u):
    rng = np.random.default_rng(0)
    priorities = np.where(rng.random(n) < 0.5, 0.0, rng.lognormal(sigma=5, size=n))
    priorities[rng.integers(n)] = 1.0
    ring = ring_of(priorities, capacity=n + 7)
    fixed, others = rng.random((2, levels(ring), 50))
    rows, theirs = found(ring, np.where(fixed < 0.5, u, others))
    assert int(rows.max()) < n
    np.testing.assert_array_equal(theirs, ring.priorities[rows])
    assert float(theirs.min()) > 0


def test_a_million_rows_are_all_within_reach():
    n = 1_000_000
    rows = np.asarray(draw(jax.random.key(0), ring_of(np.ones(n)), 100_000, beta=0.0)[0])
    for cells in (np.bincount(rows // 2000, minlength=500), np.bincount(rows % 100)):
        assert stats.chisquare(cells).pvalue > 1e-3
    assert len(np.unique(rows)) == pytest.approx(n * -np.expm1(-0.1), rel=0.01)


@pytest.mark.parametrize("n", [20, 90, 2000])
def test_rows_are_drawn_in_proportion_to_their_priorities(n):
    rng = np.random.default_rng(n)
    priorities = rng.gamma(2.0, size=n)
    ring = ring_of(priorities, capacity=n + 5)
    picks = jax.jit(jax.vmap(partial(draw, count=32, beta=0.0), in_axes=(0, None)))
    drawn = np.asarray(picks(jax.random.split(jax.random.key(1), 4000), ring)[0]).ravel()
    expected = priorities / priorities.sum() * len(drawn)
    # the draws of a batch share the first level, so the counts vary no more than multinomial ones
    assert stats.chisquare(np.bincount(drawn, minlength=n), expected).pvalue > 1e-3


def test_a_batch_has_every_great_share_as_often_as_it_should():
    ring = ring_of(np.full(8, 3.0))
    rows, _ = draw(jax.random.key(0), ring, 32, beta=0.0)
    np.testing.assert_array_equal(np.bincount(rows), np.full(8, 4))


def test_importance_weights_by_hand():
    p = np.array([1.0, 4.0, 3.0])
    ring = ring_of(p, capacity=40)
    rows, weights = draw(jax.random.key(0), ring, 64, beta=0.5)
    by_hand = (3 * p[rows] / p.sum()) ** -0.5
    np.testing.assert_allclose(weights, by_hand / by_hand.max(), rtol=1e-6)
    assert set(np.asarray(rows).tolist()) == {0, 1, 2}


def test_importance_weights_are_one_without_correction():
    _, weights = draw(jax.random.key(0), ring_of([1.0, 9.0]), 16, beta=0.0)
    np.testing.assert_array_equal(weights, np.ones(16))


def test_full_correction_gives_the_mean_over_all_rows():
    """Σ w f / Σ w over many draws is the plain mean, which is what the weights are for."""
    rng = np.random.default_rng(3)
    p, f = rng.gamma(1.0, size=300) + 0.05, rng.normal(size=300)
    rows, weights = draw(jax.random.key(0), ring_of(p), 100_000, beta=1.0)
    assert np.average(f[rows], weights=weights) == pytest.approx(f.mean(), abs=0.02)


# ---- learning ------------------------------------------------------------------------------------


def test_priorities_are_errors_to_a_power():
    ring = ring_of(np.ones(40))
    errors = jnp.array([-8.0, 0.0, 26.0])
    ring = learned(ring, jnp.array([39, 0, 7]), errors, alpha=1 / 3, epsilon=1.0)
    by_hand = np.ones(40)
    by_hand[[39, 0, 7]] = 9 ** (1 / 3), 1.0, 3.0
    np.testing.assert_allclose(ring.priorities, by_hand, rtol=1e-6)
    assert float(ring.greatest) == pytest.approx(3.0)
    assert float(ring.total) == pytest.approx(by_hand.sum(), rel=1e-6)


def test_greatest_priority_never_falls():
    ring = ring_of([5.0, 1.0])
    ring = learned(ring, jnp.array([0]), jnp.array([0.1]), **EXACT)
    assert float(ring.greatest) == 5
    assert float(add(ring, transitions(9.0)).priorities[0]) == 5


@SIZES
def test_rows_that_repeat_count_once(n):
    """Whole numbers, so that every sum is exact."""
    rng = np.random.default_rng(n)
    p = rng.integers(1, 9, n)
    ring = ring_of(p, capacity=n + 3)
    rows = rng.integers(n, size=40)
    rows[20:] = rows[:20]
    news = rng.integers(1, 9, n)[rows]  # the same error wherever the same row is
    ring = learned(ring, jnp.asarray(rows), jnp.asarray(news, jnp.float32), **EXACT)
    p[rows] = news
    np.testing.assert_array_equal(ring.priorities[:n], p)
    np.testing.assert_array_equal(ring.tree, exact_tree(ring.priorities))


def test_rows_that_repeat_with_different_errors_leave_a_tree_that_sums():
    ring = ring_of(np.ones(100))
    ring = learned(ring, jnp.array([50, 50, 50]), jnp.array([2.0, 3.0, 4.0]), **EXACT)
    assert float(ring.priorities[50]) in (2.0, 3.0, 4.0)
    assert float(ring.total) == 99 + float(ring.priorities[50])


@pytest.mark.parametrize("whole", [True, False])
def test_no_drift_after_a_hundred_thousand_updates(whole):
    n, batches = 5000, 100_000 // 32 + 1
    rng = np.random.default_rng(0)
    shape = (batches, 32)
    errors = rng.integers(1, 1000, shape) if whole else rng.lognormal(sigma=4, size=shape)
    inputs = jnp.asarray(rng.integers(n, size=shape)), jnp.asarray(errors, jnp.float32)
    start = ring_of(np.ones(n), capacity=6000)

    @jax.jit
    def run(ring):
        def one(ring, given):
            return learned(ring, *given, **EXACT), None

        return jax.lax.scan(one, ring, inputs)[0]

    ring = run(start)
    exact = exact_tree(ring.priorities)
    np.testing.assert_allclose(ring.tree, exact, rtol=0 if whole else 1e-6)
    assert float(ring.total) == pytest.approx(exact[0].sum(), rel=1e-6)


# ---- rows ----------------------------------------------------------------------------------------


def test_the_oldest_row_is_overwritten_first():
    ring = new_prioritised(transitions(0.0), 3)
    for i in range(5):
        ring = add(ring, transitions(float(i)), origin=i)
    assert ring.rows.r_t.tolist() == [3, 4, 2]
    assert ring.origin.tolist() == [3, 4, 2]
    assert (int(ring.count), int(ring.size)) == (5, 3)


def test_new_rows_replace_preloaded_ones_in_their_order():
    ring = new_prioritised(transitions(0.0), 50)
    ring = preload(ring, transitions(jnp.arange(50)), origin=np.arange(50) % 3)
    ring = learned(ring, jnp.array([1]), jnp.array([7.0]), **EXACT)
    for i in range(2):
        ring = add(ring, transitions(100.0 + i))
    assert ring.rows.r_t[:3].tolist() == [100, 101, 2]
    assert ring.origin[:4].tolist() == [OWN, OWN, 2, 0]
    assert ring.priorities[:3].tolist() == [7, 7, 1]
    assert float(ring.total) == 48 + 14


def test_all_preloaded_rows_start_alike():
    ring = new_prioritised(transitions(0.0), 2000)
    ring = preload(ring, transitions(jnp.arange(1500)), origin=2, priority=0.5)
    np.testing.assert_array_equal(ring.priorities, np.repeat([0.5, 0.0], [1500, 500]))
    np.testing.assert_array_equal(ring.origin, np.repeat([2, OWN], [1500, 500]))
    assert float(ring.greatest) == 1
    assert float(ring.total) == 750


def test_preloading_twice_goes_on_where_it_stopped():
    ring = new_prioritised(transitions(0.0), 5)
    ring = preload(ring, transitions(jnp.arange(4)), origin=0)
    ring = preload(ring, transitions(10.0 + jnp.arange(3)), origin=1, priority=3.0)
    assert ring.rows.r_t.tolist() == [11, 12, 2, 3, 10]
    assert ring.origin.tolist() == [1, 1, 0, 0, 1]
    assert ring.priorities.tolist() == [3, 3, 1, 1, 3]
    assert float(ring.total) == 11


def test_too_many_rows_are_refused():
    ring = new_prioritised(transitions(0.0), 5)
    with pytest.raises(DataError, match=r"preload\(...\) has room for 5 rows; got 6\."):
        preload(ring, transitions(jnp.arange(6)), origin=0)


def test_capacity_must_be_a_whole_number():
    with pytest.raises(ConfigError, match=r"new_prioritised\(capacity=...\) must be a whole"):
        new_prioritised(transitions(0.0), 0)


@SIZES
def test_one_row_is_always_found_whatever_the_capacity(n):
    ring = add(new_prioritised(transitions(0.0), n), transitions(5.0))
    rows, weights = draw(jax.random.key(0), ring, 8, beta=0.4)
    assert rows.tolist() == [0] * 8
    assert weights.tolist() == [1] * 8


@SIZES
def test_the_last_row_can_be_drawn(n):
    ring = ring_of(np.ones(n))
    ring = learned(ring, jnp.array([n - 1]), jnp.array([1e9]), **EXACT)
    assert draw(jax.random.key(0), ring, 4, beta=0.4)[0].tolist() == [n - 1] * 4


# ---- inside a compiled scan ----------------------------------------------------------------------


@partial(jax.jit, static_argnames="steps", donate_argnames="ring")
def live(key, ring, *, steps):
    """Add, draw, learn, again and again; the error of a row is its number."""

    def one(ring, given):
        key, i = given
        ring = add(ring, replace(transitions(0.0), r_t=i))
        rows, weights = draw(key, ring, 8, beta=0.5)
        return learned(ring, rows, ring.rows.r_t[rows], alpha=0.6, epsilon=0.01), (rows, weights)

    return jax.lax.scan(one, ring, (jax.random.split(key, steps), jnp.arange(steps) + 1.0))


def fresh():
    return new_prioritised(transitions(0.0), 70)


def test_a_scan_does_what_steps_one_by_one_do():
    ring, (rows, weights) = live(jax.random.key(0), fresh(), steps=100)
    slow, add_one = fresh(), jax.jit(add)
    draw_some = jax.jit(partial(draw, count=8, beta=0.5))
    learn = jax.jit(partial(learned, alpha=0.6, epsilon=0.01))
    for i, key in enumerate(jax.random.split(jax.random.key(0), 100)):
        slow = add_one(slow, transitions(i + 1.0))
        some, some_weights = draw_some(key, slow)
        slow = learn(slow, some, slow.rows.r_t[some])
        np.testing.assert_array_equal(rows[i], some)
        np.testing.assert_allclose(weights[i], some_weights, rtol=1e-6)
        assert int(some.max()) <= i  # nothing that is not there yet
    np.testing.assert_allclose(ring.priorities, slow.priorities, rtol=1e-6)
    np.testing.assert_array_equal(ring.rows.r_t, slow.rows.r_t)


def test_same_seed_same_bits_and_others_differ():
    first, again, other = (live(jax.random.key(seed), fresh(), steps=100) for seed in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert not np.array_equal(first[1][0], other[1][0])


def test_one_compilation():
    live.clear_cache()
    ring = fresh()
    for seed in range(3):
        ring, _ = live(jax.random.key(seed), ring, steps=100)
    assert live._cache_size() == 1


def test_trials_side_by_side_are_the_trials_alone():
    keys = jax.random.split(jax.random.key(0), 3)
    rings = jax.tree.map(lambda x: jnp.stack([x] * 3), fresh())
    _, (together, _) = jax.vmap(lambda key, ring: live(key, ring, steps=100))(keys, rings)
    for i, key in enumerate(keys):
        np.testing.assert_array_equal(together[i], live(key, fresh(), steps=100)[1][0])
