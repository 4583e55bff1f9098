"""The arm: its mechanics against conservation laws and an independent integrator."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.envs.reacher import (
    TORQUES,
    Reacher,
    ReacherTask,
    energy,
    reset,
    reward,
    step,
    tip,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from bers.errors import ConfigError

FREE = Reacher(damping=0.0, stop=1e6)
ARM = Reacher()
angles = st.floats(-3.0, 3.0)
speeds = st.floats(-10.0, 10.0)
moved = jax.jit(step, static_argnames="config")


def rods(s, config, points=2000):
    """Mass points of both rods: places and speeds, by hand."""
    a, b, w = s[0], s[0] + s[1], s[2:]
    share = (np.arange(points) + 0.5) / points
    along = np.array([np.cos(a), np.sin(a)]), np.array([np.cos(b), np.sin(b)])
    turned = [np.array([-v[1], v[0]]) for v in along]
    inner = share[:, None] * config.inner * along[0]
    outer = config.inner * along[0] + share[:, None] * config.outer * along[1]
    inner_v = share[:, None] * config.inner * turned[0] * w[0]
    outer_v = config.inner * turned[0] * w[0]
    outer_v = outer_v + share[:, None] * config.outer * turned[1] * (w[0] + w[1])
    return np.vstack([inner, outer]), np.vstack([inner_v, outer_v]), config.mass / points


def spin(s, config):
    """Angular momentum about the inner joint."""
    place, velocity, mass = rods(np.asarray(s, float), config)
    return mass * np.sum(place[:, 0] * velocity[:, 1] - place[:, 1] * velocity[:, 0])


@given(angles, angles, speeds, speeds)
@settings(max_examples=30, deadline=None)
def test_energy_is_that_of_two_rods(a, b, u, v):
    s = np.array([a, b, u, v])
    _, velocity, mass = rods(s, FREE)
    expected = 0.5 * mass * np.sum(velocity**2)
    assert float(energy(jnp.asarray(s), config=FREE)) == pytest.approx(expected, rel=1e-4, abs=1e-9)


@given(angles, angles, speeds, speeds)
@settings(max_examples=20, deadline=None)
def test_without_friction_energy_and_momentum_stay(a, b, u, v):
    s = jnp.array([a, b, u, v], jnp.float32)
    before, start = float(energy(s, config=FREE)), spin(s, FREE)
    for _ in range(100):
        s, _ = moved(s, jnp.zeros(2), config=FREE)
    assert float(energy(s, config=FREE)) == pytest.approx(before, rel=2e-3, abs=1e-9)
    assert spin(s, FREE) == pytest.approx(start, rel=2e-3, abs=1e-7)


def test_a_step_agrees_with_an_independent_integrator():
    """Lagrange's equations, differentiated by JAX, integrated by scipy."""
    config = Reacher(stop=1e6)

    def kinetic(q, w):
        return energy(jnp.concatenate([q, w]), config=config)

    @jax.jit
    def accelerated(q, w, push):
        mass = jax.hessian(kinetic, argnums=1)(q, w)
        turned = jax.jacobian(jax.grad(kinetic, argnums=1), argnums=0)(q, w) @ w
        force = push - config.damping * w + jax.grad(kinetic)(q, w) - turned
        return jnp.linalg.solve(mass, force)

    def slope(_, s, push):
        return np.concatenate([s[2:], np.asarray(accelerated(s[:2], s[2:], push), float)])

    rng = np.random.default_rng(0)
    for _ in range(5):
        s = np.concatenate([rng.uniform(-1, 1, 2), rng.uniform(-6, 6, 2)])
        torques = rng.uniform(-1, 1, 2)
        push = config.torque * torques
        end = solve_ivp(slope, (0, config.seconds), s, args=(push,), rtol=1e-6, atol=1e-8).y[:, -1]
        found, _ = moved(jnp.asarray(s, jnp.float32), jnp.asarray(torques), config=config)
        np.testing.assert_allclose(found, end, rtol=2e-3, atol=2e-3)


def test_friction_stops_the_arm_and_never_gives_energy():
    s = jnp.array([0.2, -0.5, 5.0, -8.0])
    last = float(energy(s, config=ARM))
    for _ in range(200):
        s, _ = moved(s, jnp.zeros(2), config=ARM)
        now = float(energy(s, config=ARM))
        assert now <= last * (1 + 1e-5) + 1e-12
        last = now
    assert last < 1e-8


@given(st.lists(st.integers(0, 8), min_size=20, max_size=60), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_outer_joint_stays_within_its_stops(choices, seed):
    config = Reacher(stop=0.8, torque=0.2)
    s = reset(jax.random.key(seed))
    s = s.at[1].set(jnp.clip(s[1], -0.8, 0.8))
    for choice in choices:
        s, r = moved(s, jnp.asarray(TORQUES[choice]), config=config)
        assert abs(float(s[1])) <= 0.8 + 1e-6
        assert -np.pi - 1e-5 <= float(s[0]) <= np.pi + 1e-5
        assert np.isfinite(float(r))


def test_a_stop_takes_energy_and_keeps_momentum():
    config = Reacher(damping=0.0, stop=1.0)
    s = jnp.array([0.0, 0.999, 1.0, 6.0])
    before, start = float(energy(s, config=config)), spin(s, config)
    s, _ = moved(s, jnp.zeros(2), config=config)
    assert 0.98 <= float(s[1]) <= 1.0 + 1e-6
    assert float(s[3]) <= 0.0  # what is left of it leads away from the stop
    assert float(energy(s, config=config)) < 0.9 * before
    # the angle is set back to the stop, which moves mass by less than a hundredth
    assert spin(s, config) == pytest.approx(start, rel=1e-2)


def test_reward_is_one_at_the_goal_and_falls_with_the_distance():
    s = jnp.array([0.3, 0.4, 0.0, 0.0])
    there = tuple(float(v) for v in tip(s, config=ARM))
    assert float(reward(s, config=Reacher(goal=there))) == pytest.approx(1.0, abs=1e-4)
    off = Reacher(goal=(there[0] + 0.03, there[1] - 0.04))
    assert float(reward(s, config=off)) == pytest.approx(1 - 4 * 0.05, abs=1e-4)


def test_starts_are_where_they_were_published():
    starts = np.array(jax.vmap(reset)(jax.random.split(jax.random.key(0), 2000)))
    assert np.abs(starts[:, 0]).max() <= np.pi
    assert np.abs(starts[:, 1]).max() <= np.pi / 2
    assert starts[:, 0].std() == pytest.approx(2 * np.pi / np.sqrt(12), rel=0.05)
    assert starts[:, 1].std() == pytest.approx(np.pi / np.sqrt(12), rel=0.05)
    assert not starts[:, 2:].any()


def test_the_task_has_nine_choices():
    task = ReacherTask(ARM)
    assert sorted(map(tuple, TORQUES.tolist())) == [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    s = task.reset(jax.random.key(1))
    for choice in range(9):
        found, r = task.step(jax.random.key(0), s, jnp.asarray(choice))
        expected, paid = step(s, jnp.asarray(TORQUES[choice]), config=ARM)
        np.testing.assert_array_equal(found, expected)
        assert float(r) == float(paid)
    outputs = jnp.array([2.0, *[0.0] * 8])
    likely = np.exp(2) / (np.exp(2) + 8)
    assert float(task.surprise(outputs, jnp.asarray(0))) == pytest.approx(-np.log(likely), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"goal": (0.1,)}, "two finite numbers"),
        ({"goal": (np.nan, 0.0)}, "two finite numbers"),
        ({"mass": 0.0}, "mass=.* must be greater than 0"),
        ({"damping": -1.0}, "damping of 0 or more"),
        ({"parts": 0}, "parts and horizon of 1 or more"),
    ],
)
def test_bad_arms_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        Reacher(**options)
