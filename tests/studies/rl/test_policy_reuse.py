"""Policies cloned from transitions, and the bandit that chooses among them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.rl.policy_reuse import Arms, PolicyGuide, cloned
from bers_studies.rl.replay import Transitions
from control_helpers import Hit

TASK = Hit()


def shown(goal):
    s = np.random.default_rng(0).random((256, 1)).astype(np.float32)
    a = goal(s).astype(np.float32)
    return Transitions(s, a, np.zeros(256, np.float32), s)


@pytest.mark.parametrize("goal", [lambda s: 0.2 + 0.6 * s, lambda s: 0.9 - 0.5 * s])
def test_a_clone_does_what_was_shown(goal):
    rows = jax.tree.map(jnp.asarray, shown(goal))
    net = cloned(jax.random.key(0), rows, task=TASK, hidden=(16,), rate=1e-2, l2=0.0)
    s = jnp.linspace(0.05, 0.95, 7)[:, None]
    np.testing.assert_allclose(jax.nn.sigmoid(net(s)), goal(np.asarray(s)), atol=0.03)


def test_clones_repeat_bit_for_bit_and_seeds_differ():
    rows = jax.tree.map(jnp.asarray, shown(lambda s: s))
    nets = [cloned(jax.random.key(k), rows, task=TASK, hidden=(4,), epochs=2) for k in (0, 0, 1)]
    first, same, other = (np.asarray(net.weights[0]) for net in nets)
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_every_arm_is_tried_once_first():
    arms, order = Arms.new(3), []
    for gain in (5.0, 1.0, 7.0, 2.0):
        order.append(arms.choose())
        arms = arms.after(order[-1], gain)
    assert order == [0, 1, 2, 3]


def test_upper_bounds_by_hand():
    """Means 0.5 and 1 on the scale from 0 to 1; 4 pulls and 1 pull of 5."""
    arms = Arms(np.array([4, 1]), np.array([20.0, 10.0]), worst=0.0, best=10.0)
    bounds = [0.5 + np.sqrt(2 * np.log(5) / 4), 1 + np.sqrt(2 * np.log(5) / 1)]
    assert bounds[1] > bounds[0]
    assert arms.choose() == 1
    rare = Arms(np.array([50, 1]), np.array([500.0, 4.0]), worst=0.0, best=10.0)
    assert 1 + np.sqrt(2 * np.log(51) / 50) < 0.4 + np.sqrt(2 * np.log(51))
    assert rare.choose() == 1


def test_the_best_policy_is_chosen_most_often():
    rng, arms = np.random.default_rng(0), Arms.new(2)
    means = np.array([-500.0, 900.0, 100.0])
    for _ in range(300):
        arm = arms.choose()
        arms = arms.after(arm, means[arm] + 200 * rng.standard_normal())
    assert np.argmax(arms.pulls) == 1
    assert arms.pulls[1] > 200


def test_equal_returns_are_no_trouble():
    arms = Arms.new(1).after(0, 3.0).after(1, 3.0)
    assert arms.choose() in (0, 1)


def test_steps_are_followed_by_chance():
    net = cloned(jax.random.key(0), jax.tree.map(jnp.asarray, shown(lambda s: s)), task=TASK,
                 hidden=(2,), epochs=1)  # fmt: skip
    guide = PolicyGuide(np.random.default_rng(0), net, 0.3)
    assert guide.draw(4000).mean() == pytest.approx(0.3, abs=0.03)
