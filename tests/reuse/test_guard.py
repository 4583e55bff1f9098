"""A source is reused while that pays more often than the own way."""

import numpy as np
import pytest

from bers.reuse.points import Guard


def told(guard, rates, rng, iterations=1, n=40):
    """A few iterations in which every way is used n times and pays at a rate; the own way last."""
    ways = len(rates)
    sources = np.repeat([*range(ways - 1), -1], n)
    for _ in range(iterations):
        guard = guard.after(sources, rng.random(len(sources)) < np.repeat(rates, n))
    return guard


def share(guard, source, rng, n=4000):
    return np.mean(guard.allowed(rng, np.full(n, source)) == source)


def test_counts_are_discounted():
    guard = Guard.new(2)
    guard = guard.after(np.array([0, 0, 1, -1, -1]), np.array([True, False, True, True, False]))
    assert guard.paid.tolist() == [1, 1, 1]
    assert guard.failed.tolist() == [1, 0, 1]
    guard = guard.after(np.array([0, -1]), np.array([True, True]))
    np.testing.assert_allclose(guard.paid, [1.8, 0.8, 1.8], rtol=1e-15)
    np.testing.assert_allclose(guard.failed, [0.8, 0, 0.8], rtol=1e-15)
    for _ in range(300):
        guard = guard.after(np.array([-1]), np.array([True]))
    np.testing.assert_allclose(guard.paid, [0, 0, 5], atol=1e-9)  # 1 / (1 - 0.8) at most


def test_with_nothing_known_it_is_a_fair_coin():
    assert share(Guard.new(3), 1, np.random.default_rng(0)) == pytest.approx(0.5, abs=0.03)


def test_the_chance_is_that_of_one_beta_above_another():
    """P(Beta(1 + 3, 1) > Beta(1, 1)) is the mean of the first, 4/5."""
    guard = Guard(np.array([3.0, 0.0]), np.array([0.0, 0.0]))
    assert share(guard, 0, np.random.default_rng(0)) == pytest.approx(0.8, abs=0.03)


def test_a_source_that_stops_paying_is_dropped_and_may_come_back():
    rng = np.random.default_rng(1)
    guard = told(Guard.new(2), [0.8, 0.1, 0.4], rng, iterations=10)
    assert share(guard, 0, rng) > 0.95
    assert share(guard, 1, rng) < 0.05
    guard = told(guard, [0.1, 0.8, 0.4], rng, iterations=10)
    assert share(guard, 0, rng) < 0.05
    assert share(guard, 1, rng) > 0.95


def test_a_source_that_is_not_used_any_more_is_given_another_chance():
    rng = np.random.default_rng(2)
    guard = told(Guard.new(1), [0.0, 0.3], rng, iterations=10)
    assert share(guard, 0, rng) < 0.01
    for _ in range(30):
        guard = guard.after(np.full(40, -1), rng.random(40) < 0.05)
    assert share(guard, 0, rng) > 0.5


def test_nobody_stays_nobody_and_places_are_kept():
    rng = np.random.default_rng(3)
    guard = Guard(np.array([1e6, 0.0, 1.0]), np.array([0.0, 1e6, 1.0]))
    sources = np.array([-1, 0, 1, 0, -1, 1])
    assert guard.allowed(rng, sources).tolist() == [-1, 0, -1, 0, -1, -1]
    assert sources.tolist() == [-1, 0, 1, 0, -1, 1]
    assert guard.allowed(rng, np.zeros(0, int)).shape == (0,)


def test_an_iteration_without_rows_only_discounts():
    guard = Guard(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    after = guard.after(np.zeros(0, int), np.zeros(0, bool))
    np.testing.assert_allclose(after.paid, [1.6, 0.8])
    np.testing.assert_allclose(after.failed, [0.8, 0])
