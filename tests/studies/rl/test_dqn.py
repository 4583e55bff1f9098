"""DQN: numbers by hand, one compilation, no sources is plain DQN, sources help."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.rl.dqn import DQN, DQNConfig, _drawn, episode, new_state, returns_of, update
from bers_studies.rl.handed import nothing_handed
from bers_studies.rl.networks import new_net
from bers_studies.rl.policy_reuse import PolicyGuide, cloned
from bers_studies.rl.replay import Transitions, add, new_ring

from bers.errors import ConfigError
from bers.reuse.transitions import BatchGuide


@dataclass(frozen=True)
class Hidden:
    """Four choices; which is right depends on the sign of two numbers."""

    horizon: int = 20
    actions: int = 4
    outputs: int = 4

    def reset(self, key):
        return jax.random.uniform(key, (2,), minval=-1, maxval=1)

    def step(self, key, s_tm1, a_tm1):
        right = 2 * (s_tm1[0] > 0) + (s_tm1[1] > 0)
        return self.reset(key), jnp.where(a_tm1 == right, 1.0, 0.0)

    def observe(self, s):
        return s

    def surprise(self, outputs, action):
        return -jax.nn.log_softmax(outputs)[action]


TASK = Hidden()
SMALL = DQNConfig(hidden=(32,), capacity=800, batch_size=16, rate=5e-3, gamma=0.0)


def inputs(s, a, t):
    return np.concatenate([s, np.eye(4)[a], t], axis=1)


def learned(guide=None, pool=None, episodes=40, config=SMALL, seed=0):
    learner = DQN(TASK, inputs, pool, config)
    rng = np.random.default_rng(seed)
    state = learner.start(rng)
    for _ in range(episodes):
        state, seen = learner.iterate(rng, state, guide)
    return state, seen


def test_it_learns():
    state, seen = learned(episodes=60)
    assert seen.x.shape == (20, 8)
    found = returns_of(jax.random.key(1), state.net, task=TASK, episodes=30, epsilon=0.0)
    assert float(found.mean()) > 17


def test_the_same_seed_gives_the_same_bits_and_another_another():
    one, again, other = learned(episodes=3), learned(episodes=3), learned(episodes=3, seed=1)
    for a, b in zip(jax.tree.leaves(one[0]), jax.tree.leaves(again[0]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0].net.weights[0], other[0].net.weights[0])


def pool_of(rule, n=400, seed=3):
    rng = np.random.default_rng(seed)
    s = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    right = (2 * (s[:, 0] > 0) + (s[:, 1] > 0)).astype(np.int32)
    a = right if rule == "right" else rng.integers(0, 4, n).astype(np.int32)
    r = (a == right).astype(np.float32)
    return jax.tree.map(jnp.asarray, Transitions(s, a, r, np.roll(s, 1, axis=0)))


def guide_of(pool, p_m, clone=0.0, mix="row"):
    rewards = np.asarray(pool.r_t)
    return BatchGuide(
        np.random.default_rng(5), np.array([1.0]), p_m, np.array([len(pool)]),
        rewards=rewards.take, mix=mix, clone=clone,
    )  # fmt: skip


def test_without_a_chance_it_is_plain_dqn_bit_for_bit():
    pool = pool_of("right")
    plain, guided = learned(episodes=4), learned(guide_of(pool, 0.0), pool, episodes=4)
    for a, b in zip(jax.tree.leaves(plain[0]), jax.tree.leaves(guided[0]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_one_compilation_for_all_episodes():
    before = episode._cache_size()
    config = replace(SMALL, hidden=(7,))
    learned(episodes=3, config=config)
    assert episode._cache_size() == before + 1


def test_sources_help_at_once():
    random = pool_of("any")
    alone, _ = learned(episodes=4)
    helped, _ = learned(guide_of(random, 0.9), random, episodes=4)
    key = jax.random.key(1)
    scores = [
        float(returns_of(key, state.net, task=TASK, episodes=50, epsilon=0.0).mean())
        for state in (alone, helped)
    ]
    assert scores[1] > scores[0] + 1


def test_imitation_needs_no_reward():
    shown = pool_of("right")
    blind = replace(shown, r_t=jnp.zeros(len(shown)))
    state, _ = learned(guide_of(blind, 1.0, clone=3.0), blind, episodes=6)
    found = returns_of(jax.random.key(1), state.net, task=TASK, episodes=50, epsilon=0.0)
    assert float(found.mean()) > 15


def test_another_policy_can_act():
    net = cloned(jax.random.key(0), pool_of("right"), task=TASK, hidden=(32,), epochs=30, rate=5e-3)
    guide = PolicyGuide(np.random.default_rng(0), net, 1.0)
    _, seen = learned(guide, episodes=1)
    assert seen.y.sum() >= 17


def q(net, s):
    hidden = np.asarray(s) @ net.weights[0] + net.biases[0]
    return np.tanh(hidden) @ net.weights[1] + net.biases[1]


def goal_by_hand(state, batch, config):
    """What the network is to learn; it stays as it is when the network moves."""
    slow = q(state.slow, batch.s_t)
    chosen = (q(state.net, batch.s_t) if config.double else slow).argmax(axis=1)
    return np.asarray(batch.r_t) + config.gamma * slow[np.arange(len(batch)), chosen]


def by_hand(net, batch, goal):
    """One step's loss in NumPy."""
    did = q(net, batch.s_tm1)[np.arange(len(batch)), np.asarray(batch.a_tm1)]
    return 0.5 * np.mean((goal - did) ** 2)


@pytest.mark.parametrize("double", [False, True])
def test_the_loss_is_the_printed_one(double):
    config = DQNConfig(hidden=(8,), batch_size=16, gamma=0.9, double=double, rate=1e-4, capacity=50)
    state = new_state(jax.random.key(0), task=TASK, config=config)
    other = new_net(jax.random.key(9), (2, 8, 4), activation="tanh")
    state = replace(state, slow=jax.tree.map(lambda w: 30 * w, other))
    batch = pool_of("any", 16)
    goal = goal_by_hand(state, batch, config)
    before = by_hand(state.net, batch, goal)
    after = update(
        state,
        batch,
        jnp.full(16, 0.9),
        jnp.zeros(16, bool),
        np.float32(0),
        task=TASK,
        config=config,
    )
    # Adam's first step moves every weight by the rate against its slope
    small = 1e-3
    weights = np.asarray(state.net.weights[1])
    moved = np.asarray(after.net.weights[1]) - weights
    for i, j in ((0, 0), (3, 2)):
        up, down = weights.copy(), weights.copy()
        up[i, j] += small
        down[i, j] -= small
        first = state.net.weights[0]
        slopes = [by_hand(replace(state.net, weights=(first, w)), batch, goal) for w in (up, down)]
        slope = (slopes[0] - slopes[1]) / (2 * small)
        if abs(slope) > 1e-5:
            assert np.sign(moved[i, j]) == -np.sign(slope)
            assert abs(moved[i, j]) == pytest.approx(1e-4, rel=0.05)
    assert by_hand(after.net, batch, goal) < before


def test_sums_of_several_rewards_end_with_the_episode():
    horizon, config = 5, DQNConfig(batch_size=2000, gamma=0.5, n_steps=3, capacity=20)
    one = Transitions(jnp.zeros(1), jnp.zeros((), jnp.int32), jnp.zeros(()), jnp.zeros(1))
    ring = new_ring(one, 20)
    for i in range(28):  # wraps around
        at = jnp.full(1, float(i))
        ring = add(ring, Transitions(at, jnp.asarray(0, jnp.int32), jnp.asarray(float(i)), at + 1))
    batch, discount = _drawn(jax.random.key(0), ring, horizon, config)
    seen = set()
    for s, r, later, d in zip(
        np.asarray(batch.s_tm1)[:, 0], batch.r_t, np.asarray(batch.s_t)[:, 0], discount, strict=True
    ):
        left = min(3, horizon - int(s) % horizon, 28 - int(s))
        assert later == s + left
        assert float(r) == pytest.approx(sum(0.5**k * (s + k) for k in range(left)))
        assert float(d) == pytest.approx(0.5**left)
        seen.add(int(s))
    assert seen == set(range(8, 28))


def test_nothing_is_handed_without_a_guide():
    none = nothing_handed(TASK, SMALL)
    assert none.rows.shape == (20, 16)
    assert (none.rows == -1).all()
    assert none.other is None


@pytest.mark.parametrize(
    ("options", "message"),
    [({"gamma": 1.5}, "gamma"), ({"epsilon": -0.1}, "epsilon"), ({"n_steps": 0}, "n_steps")],
)
def test_bad_numbers_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        DQNConfig(**options)
