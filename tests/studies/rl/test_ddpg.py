"""DDPG: its update against arithmetic, its bits, what it does with experience of others."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.rl.ddpg import (
    DDPG,
    DDPGConfig,
    episode,
    new_state,
    returns_of,
    update,
)
from bers_studies.rl.handed import nothing_handed
from bers_studies.rl.networks import new_net
from bers_studies.rl.policy_reuse import PolicyGuide
from bers_studies.rl.prioritised import new_prioritised, preload
from bers_studies.rl.replay import Transitions
from control_helpers import Hit

from bers.errors import ConfigError
from bers.reuse.transitions import BatchGuide

TASK = Hit()
SMALL = DDPGConfig(
    hidden=(16,), capacity=500, batch_size=8, actor_rate=3e-3, critic_rate=1e-2, gamma=0.0,
    noise=0.3, noise_steps=2000, reward_scale=1.0, l2=0.0,
)  # fmt: skip


def inputs(s, a, s_next):
    return np.concatenate([s, a, s_next], axis=1)


def pool(count=64, action=0.9):
    rng = np.random.default_rng(0)
    s, s_next = rng.random((2, count, 1)).astype(np.float32)
    a = np.full((count, 1), action, np.float32)
    return Transitions(s, a, np.zeros(count, np.float32), s_next)


def guide(p_m, rewards=0.0, **more):
    rng = np.random.default_rng(3)
    if not callable(rewards):
        rewards = np.full(64, rewards).take
    return BatchGuide(rng, np.array([1.0]), p_m, np.array([64]), rewards, **more)


def run(seed, episodes=3, make=lambda: None, config=SMALL, source=None):
    learner = DDPG(TASK, inputs, source, config)
    rng = np.random.default_rng(seed)
    state = learner.start(rng)
    for _ in range(episodes):
        state, seen = learner.iterate(rng, state, make())
    return state, seen


def leaves(state):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(state)]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


# ---- the update ----------------------------------------------------------------------------------


def forward(net, x):
    x = np.asarray(x, np.float64)
    W, b = ([np.asarray(part, np.float64) for part in parts] for parts in (net.weights, net.biases))
    return np.maximum(x @ W[0] + b[0], 0) @ W[1] + b[1]


def test_the_critic_moves_against_the_slope_of_its_error():
    """Adam's first step is rate · sign(slope); the slope comes from differences of a NumPy loss."""
    config = replace(SMALL, gamma=0.9, reward_scale=0.1, l2=0.01)
    nets = new_state(jax.random.key(0), task=TASK, config=config).nets
    rng = np.random.default_rng(1)
    s, a, s_next = rng.random((3, 8, 1)).astype(np.float32)
    batch = Transitions(s, a, rng.normal(size=8).astype(np.float32) * 30, s_next)
    after, td = update(
        nets, jax.tree.map(jnp.asarray, batch), jnp.ones(8), jnp.zeros(8, bool), jnp.zeros(()),
        task=TASK, config=config,
    )  # fmt: skip
    policy = 1 / (1 + np.exp(-forward(nets.slow_actor, s_next)))
    later = forward(nets.slow_critic, np.concatenate([s_next, policy], 1))[:, 0]
    goal = 0.1 * batch.r_t + 0.9 * later
    value = forward(nets.critic, np.concatenate([s, a], 1))[:, 0]
    np.testing.assert_allclose(td, goal - value, atol=1e-5)

    def loss(W):
        x = np.concatenate([s, a], 1).astype(np.float64)
        hidden = np.maximum(x @ W + np.asarray(nets.critic.biases[0]), 0)
        value = (hidden @ last + np.asarray(nets.critic.biases[1], np.float64))[:, 0]
        return np.mean((value - goal) ** 2) + 0.01 * np.sum(W**2)

    W0, last = (np.asarray(W, np.float64) for W in nets.critic.weights)
    slope = np.zeros_like(W0)
    for at in np.ndindex(W0.shape):
        step = np.zeros_like(W0)
        step[at] = 1e-5
        slope[at] = (loss(W0 + step) - loss(W0 - step)) / 2e-5
    moved = np.asarray(after.critic.weights[0]) - W0
    clear = np.abs(slope) > 1e-4
    assert clear.sum() > 20
    np.testing.assert_array_equal(np.sign(moved[clear]), -np.sign(slope[clear]))
    np.testing.assert_allclose(np.abs(moved[clear]), config.critic_rate, rtol=1e-3)


def test_slow_copies_follow_by_their_rate():
    config = replace(SMALL, target_rate=0.25)
    nets = new_state(jax.random.key(0), task=TASK, config=config).nets
    batch = jax.tree.map(jnp.asarray, pool(8))
    rest = jnp.ones(8), jnp.zeros(8, bool), jnp.zeros(())
    after, _ = update(nets, batch, *rest, task=TASK, config=config)
    for slow, old, new in (
        (after.slow_actor, nets.actor, after.actor),
        (after.slow_critic, nets.critic, after.critic),
    ):
        for s, o, n in zip(slow.weights, old.weights, new.weights, strict=True):
            np.testing.assert_allclose(s, 0.75 * o + 0.25 * n, atol=1e-7)


def test_it_learns():
    state, _ = run(0, episodes=100)
    score = np.asarray(returns_of(jax.random.key(5), state.nets.actor, task=TASK, episodes=20))
    assert score.mean() > -0.05  # a constant 0.5 has -0.42 at best
    fresh = new_state(jax.random.key(0), task=TASK, config=SMALL).nets.actor
    assert np.mean(returns_of(jax.random.key(5), fresh, task=TASK, episodes=20)) < -0.3


# ---- bits ----------------------------------------------------------------------------------------


def test_same_seed_same_bits_and_other_seeds_differ():
    assert same(run(0)[0], run(0)[0])
    assert not same(run(0)[0], run(1)[0])


def test_without_chance_sources_change_no_bit():
    plain, seen = run(0)
    handed, seen_too = run(0, make=lambda: guide(0.0), source=pool())
    assert same(plain, handed)
    np.testing.assert_array_equal(seen.y, seen_too.y)
    assert not same(plain, run(0, make=lambda: guide(0.5), source=pool())[0])


def test_one_compilation_for_all_episodes():
    run(0, episodes=1, make=lambda: guide(0.5), source=pool())
    before = episode._cache_size()
    run(1, episodes=4, make=lambda: guide(0.3, rewards=2.0, clone=0.1), source=pool())
    assert episode._cache_size() == before


def test_the_noise_fades():
    config = replace(SMALL, noise_steps=TASK.horizon)
    learner = DDPG(TASK, inputs, None, config)
    rng = np.random.default_rng(0)
    state = learner.start(rng)
    state, first = learner.iterate(rng, state, None)
    actor = jax.tree.map(jnp.array, state.nets.actor)
    assert first.x[:, 1].std() > 0.1
    handed = nothing_handed(TASK, replace(config, critic_rate=1e-12, actor_rate=1e-12))
    frozen = replace(config, critic_rate=1e-12, actor_rate=1e-12)
    _, later = episode(jax.random.key(1), state, handed, None, task=TASK, config=frozen)
    expected = jax.vmap(lambda s: TASK.action(actor(TASK.observe(s))))(later.rows.s_tm1)
    np.testing.assert_allclose(later.rows.a_tm1, expected, atol=1e-5)


# ---- experience of others ------------------------------------------------------------------------


def test_sources_that_show_what_pays_are_learned_from():
    """Only batches of the source: it says that 0.6 is best, and nothing else is known."""
    shown = pool(action=0.9)
    shown = replace(shown, a_tm1=np.random.default_rng(7).random((64, 1)).astype(np.float32))

    def rewards(rows):
        return -((shown.a_tm1[rows, 0] - 0.6) ** 2)

    slow = replace(SMALL, actor_rate=5e-4)
    state, _ = run(0, 100, lambda: guide(1.0, rewards=rewards), slow, shown)
    acts = jax.vmap(lambda s: TASK.action(state.nets.actor(s)))(jnp.linspace(0, 1, 5)[:, None])
    np.testing.assert_allclose(acts, 0.6, atol=0.1)


def test_cloning_leads_to_the_actions_shown():
    state, _ = run(0, episodes=40, make=lambda: guide(1.0, clone=1.0), source=pool(action=0.8))
    acts = jax.vmap(lambda s: TASK.action(state.nets.actor(s)))(jnp.linspace(0, 1, 5)[:, None])
    np.testing.assert_allclose(acts, 0.8, atol=0.05)


def test_another_policy_acts_where_it_is_followed():
    other = new_net(jax.random.key(9), (1, 4, 1))
    other = replace(other, biases=(other.biases[0], jnp.array([2.0])))  # σ(2) = 0.881
    always = lambda: PolicyGuide(np.random.default_rng(0), other, 1.0)  # noqa: E731
    _, seen = run(0, episodes=1, make=always)
    np.testing.assert_allclose(seen.x[:, 1], 0.881, atol=0.01)
    _, own = run(0, episodes=1, make=lambda: PolicyGuide(np.random.default_rng(0), other, 0.0))
    np.testing.assert_array_equal(own.x, run(0, episodes=1)[1].x)


def test_a_preloaded_replay_is_drawn_from_and_overwritten():
    shown = jax.tree.map(jnp.asarray, pool(64))
    replay = preload(new_prioritised(shown[0], 64), shown, origin=np.arange(64) % 3)
    state = new_state(jax.random.key(0), task=TASK, config=SMALL, replay=replay)
    kept = []
    for m in range(5):
        handed = nothing_handed(TASK, SMALL)
        key = jax.random.key(m)
        state, seen = episode(key, state, handed, None, task=TASK, config=SMALL)
        kept.append(np.mean(np.asarray(seen.origins) >= 0))
    assert kept[0] > 0.5
    assert kept[-1] == 0  # 64 rows are overwritten after 64 steps
    assert (state.replay.priorities > 0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 1.5}, r"gamma=...\) must be in \[0, 1\]; got 1.5"),
        ({"batch_size": 0}, r"batch_size=...\).* 1"),
        ({"target_rate": -0.1}, r"target_rate=...\) must be in \[0, 1\]; got -0.1"),
    ],
)
def test_settings_out_of_range_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        DDPGConfig(**changes)
