"""Prioritised replay for Stable-Baselines3, and its buffers as demonstrations."""

import numpy as np
import pytest
from sb3_helpers import Line
from stable_baselines3 import DDPG, DQN, SAC, TD3
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.callbacks import ConvertCallback

import bers
from bers.errors import ConfigError, DataError
from bers.integrations.sb3 import (
    BersReplayBuffer,
    PrioritizedCallback,
    PrioritizedReplayBuffer,
    from_replay_buffer,
)
from bers.integrations.sb3.prioritised import SumTree, td_errors

ENV = Line()


def small():
    return {"policy_kwargs": {"net_arch": [8]}, "learning_starts": 20, "batch_size": 16, "seed": 0}


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1000, 40_000])
def test_the_tree_finds_what_a_search_in_sums_finds(size):
    rng, tree = np.random.default_rng(size), SumTree(size)
    for _ in range(3):
        rows = rng.integers(0, size, size)
        tree.write(rows, rng.random(size) * (rng.random(size) < 0.5))
    ends = np.cumsum(tree.leaves)
    assert tree.total == pytest.approx(ends[-1])
    u = rng.random(500) * ends[-1]
    clear = np.abs(u[:, None] - ends).min(axis=1) > 1e-9
    expected = np.searchsorted(ends, u, side="right")
    np.testing.assert_array_equal(tree.find(u)[clear], expected[clear])
    if ends[-1] > 0:
        edges = tree.find(np.array([0.0, ends[-1], 2 * ends[-1]]))
        assert (tree.leaves[edges] > 0).all()


def filled(n_envs=1, **how):
    made = PrioritizedReplayBuffer(
        50 * n_envs, ENV.observation_space, ENV.action_space, n_envs=n_envs, seed=0, **how
    )
    for step in range(50):
        seen = np.full((n_envs, 2), step, np.float32)
        made.add(seen, seen, np.zeros((n_envs, 1)), np.ones(n_envs), np.zeros(n_envs), [{}])
    return made


def test_rows_come_as_often_as_their_priority_says():
    made = filled(alpha=0.5)
    errors = np.where(np.arange(50) == 7, 16.0, 1.0)
    made.learned(np.arange(50), errors)
    seen = np.concatenate([made.sample(100).observations[:, 0].numpy() for _ in range(100)])
    assert (seen == 7).mean() == pytest.approx(4 / (4 + 49), abs=0.01)  # root of 16 to root of 1
    made.prefer(0.0)
    seen = np.concatenate([made.sample(100).observations[:, 0].numpy() for _ in range(100)])
    assert (seen == 7).mean() == pytest.approx(1 / 50, abs=0.01)


def test_new_rows_have_the_greatest_priority():
    made = filled(n_envs=2)
    made.learned(np.arange(100), np.full(100, 0.1))
    made.learned(np.array([3]), np.array([9.0]))
    made.add(
        np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 1)), np.ones(2), np.zeros(2), [{}, {}]
    )
    assert made.errors[:2] == pytest.approx([9.0, 9.0], rel=1e-5)


@pytest.mark.parametrize("kind", [DDPG, TD3, SAC, DQN])
def test_learners_learn_from_it_and_alpha_fades(kind):
    env = Line(kind="discrete" if kind is DQN else "box")
    how = {**small(), "replay_buffer_class": PrioritizedReplayBuffer}
    model = kind("MlpPolicy", env, **how, replay_buffer_kwargs={"alpha": 0.6})
    found = PrioritizedCallback()
    model.learn(200, callback=found)
    buffer = model.replay_buffer
    learned_from = buffer.errors[:200][buffer.errors[:200] != buffer.greatest]
    assert len(set(learned_from.tolist())) > 50
    assert buffer.alpha < 0.1
    alphas = []
    watch = ConvertCallback(lambda *_: alphas.append(buffer.alpha) is None)
    model.learn(40, callback=[found, watch])
    assert alphas[0] == pytest.approx(0.6)  # a second run starts from the first preference again
    assert alphas[-1] < 0.1
    rows = np.arange(20)
    errors = td_errors(model, buffer.rows(rows))
    assert errors.shape == (20,)
    assert (errors >= 0).all()


def test_the_error_is_reward_plus_next_value_less_value():
    model = DDPG("MlpPolicy", ENV, **small(), gamma=0.0).learn(60)
    rows = model.replay_buffer.sample(30)
    now = model.critic(rows.observations, rows.actions)[0].detach()
    expected = (rows.rewards - now).abs().numpy().ravel()
    np.testing.assert_allclose(td_errors(model, rows), expected, rtol=1e-5)


def test_without_its_callback_it_keeps_no_more_than_it_must():
    made = filled()
    for _ in range(1010):
        made.sample(2)
    assert len(made.drawn) == 1000


def test_wrong_uses_of_it_are_refused():
    seen = Line(observations="dict")
    how = {**small(), "replay_buffer_class": PrioritizedReplayBuffer}
    with pytest.raises(ConfigError, match="FlattenObservation"):
        SAC("MultiInputPolicy", seen, **how)
    with pytest.raises(ConfigError, match="alpha"):
        filled(alpha=2.0)
    plain = SAC("MlpPolicy", ENV, **small())
    with pytest.raises(ConfigError, match="replay_buffer_class=PrioritizedReplayBuffer"):
        plain.learn(30, callback=PrioritizedCallback())


def test_a_buffer_as_demonstrations_and_back():
    model = SAC("MlpPolicy", Line(0.5), **small()).learn(90)
    found = from_replay_buffer(model.replay_buffer, name="me")
    assert found.n == 90
    steps = found.payload
    assert np.abs(steps["action"]).max() > 1.05  # the environment's units
    place = steps["next_observation"][:, 0]
    np.testing.assert_allclose(steps["reward"], -((place - 0.5) ** 2), rtol=1e-4, atol=1e-6)
    ends = np.arange(1, 91) % 20 == 0
    assert steps["truncated"].tolist() == ends.tolist()
    assert not steps["terminated"].any()
    back = BersReplayBuffer(10, ENV.observation_space, ENV.action_space, sources=[found])
    np.testing.assert_allclose(back.pool.actions, model.replay_buffer.actions[:90, 0], atol=1e-6)


def test_a_full_ring_of_several_environments_is_in_order_of_time():
    made = ReplayBuffer(20, ENV.observation_space, ENV.action_space, n_envs=2)
    for step in range(13):
        seen = np.array([[step, 0], [step, 1]], np.float32)
        made.add(seen, seen + 1, np.zeros((2, 1)), np.zeros(2), np.zeros(2), [{}, {}])
    seen = from_replay_buffer(made, name="two").payload["observation"]
    assert seen[:, 0].tolist() == [*range(3, 13), *range(3, 13)]
    assert seen[:, 1].tolist() == [0] * 10 + [1] * 10


def test_dictionaries_and_thrifty_buffers_as_demonstrations():
    env = Line(observations="dict")
    made = DictReplayBuffer(9, env.observation_space, env.action_space)
    seen = {"place": np.ones((1, 2)), "time": np.zeros((1, 1))}
    made.add(seen, seen, np.zeros((1, 1)), np.zeros(1), np.zeros(1), [{}])
    assert from_replay_buffer(made, name="d").payload["observation"].tolist() == [[1, 1, 0]]
    made = ReplayBuffer(
        10, ENV.observation_space, ENV.action_space,
        optimize_memory_usage=True, handle_timeout_termination=False,
    )  # fmt: skip
    for step in range(13):
        seen = np.full((1, 2), step, np.float32)
        made.add(seen, seen + 1, np.zeros((1, 1)), np.zeros(1), np.zeros(1), [{}])
    found = from_replay_buffer(made, name="t").payload
    assert found["observation"][:, 0].tolist() == list(range(4, 13))
    assert found["next_observation"][:, 0].tolist() == list(range(5, 14))


def test_choices_go_to_a_file_and_back(tmp_path):
    model = DQN("MlpPolicy", Line(kind="discrete"), **small()).learn(40)
    found = from_replay_buffer(model.replay_buffer, name="mine")
    assert found.payload["action"].shape == (40,)
    bers.save(found, tmp_path / "mine.parquet")
    again = bers.load(tmp_path / "mine.parquet")
    np.testing.assert_array_equal(again.payload["action"], found.payload["action"])
    with pytest.raises(DataError, match="empty"):
        from_replay_buffer(ReplayBuffer(5, ENV.observation_space, ENV.action_space), name="e")
    with pytest.raises(ConfigError, match="a ReplayBuffer is needed"):
        from_replay_buffer("mine.pkl", name="a path")
