"""The buffer: whose rows are in a batch, in what units, and that it is the library's without us."""

import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_helpers import Line, demonstrator
from stable_baselines3 import SAC
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import bers
from bers import Demonstrations
from bers.errors import ConfigError, DataError, FileError
from bers.integrations.gymnasium import Recorder
from bers.integrations.sb3 import (
    BersDictReplayBuffer,
    BersReplayBuffer,
    Sources,
    from_replay_buffer,
)
from bers.integrations.sb3.sources import in_space, pool_of, scaled
from bers.reuse.transitions import BatchGuide

ENV = Line()
SOURCES = [demonstrator(-1.0), demonstrator(1.0)]


def buffer(size=100, env=ENV, sources=SOURCES, **how):
    return BersReplayBuffer(size, env.observation_space, env.action_space, sources=sources, **how)


def filled(made, env=ENV, steps=60, n_envs=1):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        obs = np.stack([env.observation_space.sample() for _ in range(n_envs)])
        action = rng.uniform(-1, 1, (n_envs, 1)).astype(np.float32)
        reward, done = rng.normal(size=n_envs), rng.random(n_envs) < 0.2
        infos = [{"TimeLimit.truncated": bool(d and i % 2)} for i, d in enumerate(done)]
        made.add(obs, obs + 1, action, reward, done, infos)
    return made


def guide(made, a, p_m, **how):
    counts = np.array([source.n for source in made.sources])
    rewards = how.pop("rewards", partial(np.take, made.pool.rewards))
    return BatchGuide(np.random.default_rng(0), np.array(a), p_m, counts, rewards, **how)


@pytest.mark.parametrize("asked", [None, 0.0])
def test_without_a_chance_it_is_the_librarys_buffer_bit_for_bit(asked):
    ENV.observation_space.seed(1)
    plain = filled(ReplayBuffer(100, ENV.observation_space, ENV.action_space))
    ENV.observation_space.seed(1)
    ours = filled(buffer())
    ours.met = True  # or it warns, which is tested with the callback
    if asked is not None:
        ours.follow(guide(ours, [0.5, 0.5], asked))
    for size in (1, 7, 256):
        np.random.seed(3)  # noqa: NPY002
        expected = plain.sample(size)
        np.random.seed(3)  # noqa: NPY002
        found = ours.sample(size)
        for one, other in zip(expected, found, strict=True):
            assert (one is None and other is None) or torch.equal(one, other)


def test_rows_of_the_trusted_source_only():
    ours = filled(buffer())
    ours.follow(guide(ours, [0.0, 1.0], 1.0))
    batch = ours.sample(500)
    theirs = SOURCES[1].payload
    known = {tuple(row) for row in theirs["observation"].round(5).tolist()}
    assert {tuple(row) for row in batch.observations.numpy().round(5).tolist()} <= known
    assert batch.rewards.shape == (500, 1)
    assert batch.dones.sum() == 0  # all ends are time-outs
    assert ours.drawn.tolist() == [0, 500, 0]


def test_actions_are_scaled_as_the_library_stores_them():
    ours = buffer()
    low, high = -2.0, 4.0
    expected = 2 * (SOURCES[0].payload["action"] - low) / (high - low) - 1
    n = SOURCES[0].n
    np.testing.assert_allclose(ours.pool.actions[:n], expected, rtol=1e-5, atol=1e-6)
    model = SAC("MlpPolicy", ENV, policy_kwargs={"net_arch": [4]})
    same = model.policy.scale_action(SOURCES[0].payload["action"])
    np.testing.assert_allclose(ours.pool.actions[:n], same, rtol=1e-5, atol=1e-6)


def test_an_end_is_an_end_unless_it_is_a_time_out():
    steps = np.zeros((4, 2)), np.zeros((4, 1)), np.zeros(4), np.zeros((4, 2))
    ends = [False, True, False, True], [False, False, True, True]
    source = bers.Demonstrations.from_transitions(*steps, *ends, name="a")
    space = ENV.observation_space, ENV.action_space
    assert pool_of(Sources([source]), *space).dones.tolist() == [0, 1, 0, 1]
    found = pool_of(Sources([source]), *space, timeouts_are_no_ends=False)
    assert found.dones.tolist() == [0, 1, 1, 1]


def test_rows_are_mixed_by_weight_and_chance():
    ours = filled(buffer())
    ours.follow(guide(ours, [0.5, 0.25], 0.8, mix="row"))
    for _ in range(40):
        batch = ours.sample(256)
        assert len(batch.rewards) == 256
    shares = ours.drawn / ours.drawn.sum()
    np.testing.assert_allclose(shares, [0.4, 0.2, 0.4], atol=0.02)


def test_steps_that_are_asked_for_at_once_are_each_mixed():
    ours = filled(buffer(), steps=99)
    ours.follow(guide(ours, [0.0, 1.0], 0.5, mix="batch"), chunk=32)
    batch = ours.sample(32 * 200)
    own = {float(r) for r in ours.rewards.ravel()}
    mine = np.array([float(r) in own for r in batch.rewards.ravel()]).reshape(200, 32)
    assert set(mine.sum(axis=1).tolist()) == {0, 32}  # whole batches of one kind
    assert 60 < (mine.sum(axis=1) == 32).sum() < 140


def test_rewards_come_from_the_guide():
    ours = filled(buffer())
    ours.follow(guide(ours, [1.0, 0.0], 1.0, rewards=lambda rows: rows + 0.5))
    rewards = ours.sample(64).rewards.numpy().ravel()
    assert (rewards % 1 == 0.5).all()
    assert rewards.max() < SOURCES[0].n


def test_normalised_observations_and_rewards():
    env = VecNormalize(DummyVecEnv([Line]))
    env.reset()
    for _ in range(50):
        env.step(np.array([[1.5]], np.float32))
    ours = filled(buffer())
    ours.follow(guide(ours, [1.0, 0.0], 1.0))
    found = ours.sample(32, env=env)
    ours.follow(guide(ours, [1.0, 0.0], 1.0))
    raw = ours.sample(32)
    expected = env.normalize_obs(raw.observations.numpy())
    np.testing.assert_allclose(found.observations.numpy(), expected, rtol=1e-5)
    expected = env.normalize_reward(raw.rewards.numpy())
    np.testing.assert_allclose(found.rewards.numpy(), expected, rtol=1e-5)
    assert found.rewards.dtype == torch.float32


def test_several_environments():
    ours = filled(buffer(size=300, n_envs=3), n_envs=3)
    ours.follow(guide(ours, [0.5, 0.5], 0.5, mix="row"))
    batch = ours.sample(64)
    assert batch.observations.shape == (64, 2)
    before, action, after, reward = ours.since(10)
    assert before.shape == (150, 2)
    np.testing.assert_array_equal(reward, ours.rewards[10:60].ravel())
    np.testing.assert_allclose(action, (ours.actions[10:60].reshape(-1, 1) + 1) * 3 - 2, rtol=1e-5)
    np.testing.assert_allclose(after - before, 1, atol=1e-5)


def test_rows_since_a_time_go_round_the_ring():
    ours = filled(buffer(size=50), steps=120)
    *_, reward = ours.since(110)
    at = np.arange(110, 120) % 50
    np.testing.assert_array_equal(reward, ours.rewards[at].ravel())
    *_, reward = ours.since(0)
    assert len(reward) == 49  # what is still there, for certain


def test_rows_since_a_time_where_next_observations_are_not_kept():
    thrifty = buffer(50, optimize_memory_usage=True, handle_timeout_termination=False)
    for t in range(70):
        one = np.full((1, 2), t, np.float32)
        thrifty.add(one, one + 1, np.zeros((1, 1)), np.zeros(1), np.zeros(1), [{}])
    before, _, after, _ = thrifty.since(45)
    assert before[:, 0].tolist() == list(range(45, 70))
    assert after[:, 0].tolist() == list(range(46, 71))


def test_dictionaries_of_observations():
    env = Line(observations="dict")
    sources = [demonstrator(-1.0, observations="dict"), demonstrator(1.0, observations="dict")]
    ours = buffer(env=env, sources=sources)
    assert type(ours) is BersDictReplayBuffer
    for _ in range(20):
        seen = {k: v[None] for k, v in env.observation_space.sample().items()}
        ours.add(seen, seen, np.zeros((1, 1)), np.zeros(1), np.zeros(1), [{}])
    ours.follow(guide(ours, [0.0, 1.0], 0.5, mix="row"))
    batch = ours.sample(40)
    assert batch.observations["place"].shape == (40, 2)
    assert batch.next_observations["time"].shape == (40, 1)
    n = sources[0].n
    np.testing.assert_allclose(
        ours.pool.observations["time"][n:], sources[1].payload["observation"][:, 2:], rtol=1e-6
    )
    before, *_ = ours.since(5)
    assert before.shape == (15, 3)
    assert type(pickle.loads(pickle.dumps(ours))) is BersDictReplayBuffer


def test_parts_of_a_dictionary_are_sorted_by_name_as_a_recorder_writes_them():
    class Robot(gymnasium.Env):
        observation_space = spaces.Dict(
            robot=spaces.Box(0, 9, (2,), np.float32), goal=spaces.Box(0, 9, (1,), np.float32)
        )
        action_space = spaces.Box(-1, 1, (1,), np.float32)

        def reset(self, *, seed=None, options=None):
            return self.step(0)[0], {}

        def step(self, action):
            seen = {"robot": np.full(2, 1, np.float32), "goal": np.full(1, 5, np.float32)}
            return seen, 0.0, False, False, {}

    watched = Recorder(Robot(), "somebody")
    watched.reset()
    for _ in range(4):
        watched.step(np.zeros(1, np.float32))
    ours = buffer(env=Robot(), sources=[watched.recording.demonstrations()])
    assert (ours.pool.observations["robot"] == 1).all()
    assert (ours.pool.observations["goal"] == 5).all()
    seen = {k: v[None] for k, v in Robot().step(0)[0].items()}
    ours.add(seen, seen, np.zeros((1, 1)), np.zeros(1), np.zeros(1), [{}])
    again = buffer(env=Robot(), sources=[from_replay_buffer(ours, name="again")])
    assert (again.pool.observations["goal"] == 5).all()


def test_images_with_colours_last_are_turned():
    image = np.zeros((6, 4, 5, 3), np.uint8) + np.array([10, 20, 30], np.uint8)
    none = np.zeros(6, bool)
    steps = image, np.zeros((6, 1)), none * 1.0, image, none, none
    source = Demonstrations.from_transitions(*steps, name="somebody")
    first = spaces.Box(0, 255, (3, 4, 5), np.uint8)
    made = in_space(source.payload["observation"], first, "observation")
    assert made.shape == (6, 3, 4, 5)
    assert made.dtype == np.uint8
    assert made.mean(axis=(0, 2, 3)).tolist() == [10, 20, 30]
    with pytest.raises(DataError, match="seen through another wrapper"):
        in_space(image, spaces.Box(0, 255, (3, 5, 4), np.uint8), "observation")
    with pytest.raises(ConfigError, match="Observe the image alone"):
        in_space(image, spaces.Dict(camera=first), "observation")


def test_choices():
    env = Line(kind="discrete")
    sources = [demonstrator(-1.0, kind="discrete"), demonstrator(1.0, kind="discrete")]
    ours = buffer(env=env, sources=sources)
    ours.add(np.zeros((1, 2)), np.zeros((1, 2)), np.array([[2]]), np.zeros(1), np.zeros(1), [{}])
    ours.follow(guide(ours, [1.0, 0.0], 0.5, mix="row"))
    batch = ours.sample(64)
    assert batch.actions.dtype == torch.int64
    assert batch.actions.shape == (64, 1)
    assert ours.since(0)[1].tolist() == [[0.0, 0.0, 1.0]]


def test_a_pickle_holds_no_rows_of_sources(tmp_path):
    many = demonstrator(1.0, episodes=400)
    ours = filled(buffer(sources=[SOURCES[0], many]))
    ours.follow(guide(ours, [0.5, 0.5], 0.5))
    written = pickle.dumps(ours)
    assert len(written) < 20_000
    again = pickle.loads(written)
    assert again.guide is None
    np.testing.assert_array_equal(again.rewards, ours.rewards)
    assert again.sample(8).rewards.shape == (8, 1)
    with pytest.raises(FileError, match="attach"):
        again.follow(guide(ours, [0.5, 0.5], 0.5))
    with pytest.raises(ConfigError, match="not the sources"):
        again.attach(SOURCES)
    again.attach([SOURCES[0], many])
    np.testing.assert_array_equal(again.pool.actions, ours.pool.actions)


def test_sources_from_files_are_read_again_after_unpickling(tmp_path):
    path = tmp_path / "a.parquet"
    bers.save(SOURCES[0], path)
    again = pickle.loads(pickle.dumps(Sources([path])))
    assert not again.at_hand
    assert again.items[0].digest == SOURCES[0].digest
    bers.save(SOURCES[1], path)
    changed = pickle.loads(pickle.dumps(Sources([path])))
    bers.save(SOURCES[0], path)
    with pytest.raises(FileError, match="has changed"):
        _ = changed.items


def test_what_cannot_be_used_is_refused_with_advice():
    space = ENV.observation_space, ENV.action_space
    with pytest.raises(ConfigError, match="replay_buffer_kwargs"):
        BersReplayBuffer(10, *space)
    with pytest.raises(ConfigError, match="must be a list"):
        buffer(sources=SOURCES[0])
    with pytest.raises(ConfigError, match="must not be empty"):
        buffer(sources=[])
    with pytest.raises(ConfigError, match="n_steps=1"):
        buffer(n_steps=3)
    with pytest.raises(DataError, match="from_transitions"):
        buffer(sources=[bers.Demonstrations([[1.0]], [2.0], "rows")])
    with pytest.raises(DataError, match="own units"):
        scaled(np.array([[9.0]]), ENV.action_space, "a")
    with pytest.raises(DataError, match="another task"):
        in_space(np.zeros((3, 5)), ENV.observation_space, "observation of 'a'")
    with pytest.raises(DataError, match="0 ... 2"):
        in_space(np.array([3]), spaces.Discrete(3), "action of 'a'")


@pytest.mark.parametrize("thrifty", [False, True])
@pytest.mark.parametrize("n_envs", [1, 3])
@pytest.mark.parametrize("steps", [30, 75])
def test_own_rows_in_a_mixed_batch_are_whole(thrifty, n_envs, steps):
    how = {"optimize_memory_usage": thrifty, "handle_timeout_termination": not thrifty}
    made = buffer(50 * n_envs, n_envs=n_envs, **how)
    for t in range(steps):
        seen = np.stack([np.full(2, 100 + t + 1000 * e, np.float32) for e in range(n_envs)])
        action = np.full((n_envs, 1), (t % 9) / 10, np.float32)
        made.add(seen, seen + 1, action, seen[:, 0], np.zeros(n_envs), [{}] * n_envs)
    made.follow(guide(made, [0.5, 0.5], 0.5, mix="row"))
    found = [made.sample(64) for _ in range(20)]
    seen = np.concatenate([batch.observations[:, 0] for batch in found])
    own = seen > 50
    assert 0.4 < own.mean() < 0.6
    later = np.concatenate([batch.next_observations[:, 0] for batch in found])
    reward = np.concatenate([batch.rewards[:, 0] for batch in found])
    action = np.concatenate([batch.actions[:, 0] for batch in found])
    np.testing.assert_array_equal(later[own], seen[own] + 1)
    np.testing.assert_array_equal(reward[own], seen[own])
    np.testing.assert_allclose(action[own], ((seen[own] - 100) % 1000 % 9) / 10, atol=1e-6)
    oldest = max(0, steps - 50)
    rows = {(t, e) for t in range(oldest, steps) for e in range(n_envs)}
    times, which = (seen[own] - 100) % 1000, (seen[own] - 100) // 1000
    got = set(zip(times.astype(int).tolist(), which.astype(int).tolist(), strict=True))
    assert got <= rows
    assert len(got) > 0.9 * len(rows)
