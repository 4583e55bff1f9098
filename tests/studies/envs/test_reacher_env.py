"""The arm in Gymnasium: the checks of others, seeds, vectors, pictures."""

import bers_studies.envs  # noqa: F401  registers the environments
import gymnasium
import numpy as np
import pytest
from bers_studies.envs.reacher import Reacher
from bers_studies.envs.reacher_drawing import animate, draw_arm
from bers_studies.envs.reacher_env import ReacherEnv, ReacherVectorEnv
from gymnasium.utils.env_checker import check_env

from bers.errors import ConfigError, DataError

NAMES = ("bers/Reacher-v0", "bers/ReacherContinuous-v0")


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_and_sb3_find_no_fault(name):
    env = gymnasium.make(name, render_mode="rgb_array")
    assert env.spec.max_episode_steps == 500
    check_env(env.unwrapped)
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    sb3.check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_fixes_an_episode(name):
    def played(seed):
        env = gymnasium.make(name)
        env.action_space.seed(1)
        seen = [env.reset(seed=seed)[0]]
        rewards = []
        for _ in range(20):
            now, reward, *_ = env.step(env.action_space.sample())
            seen.append(now)
            rewards.append(reward)
        return np.array(seen), np.array(rewards)

    one, again, other = played(3), played(3), played(4)
    np.testing.assert_array_equal(one[0], again[0])
    np.testing.assert_array_equal(one[1], again[1])
    assert not np.array_equal(one[0], other[0])


def test_a_vector_is_so_many_single_arms():
    envs = gymnasium.make_vec("bers/Reacher-v0", num_envs=3, goal=(0.1, -0.05))
    alone = [gymnasium.make("bers/Reacher-v0", goal=(0.1, -0.05)) for _ in range(3)]
    seen, info = envs.reset(seed=7)
    for i, env in enumerate(alone):
        np.testing.assert_array_equal(seen[i], env.reset(seed=7 + i)[0])
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = rng.integers(0, 9, 3)
        seen, rewards, _, truncated, info = envs.step(actions)
        for i, env in enumerate(alone):
            now, reward, *_, told = env.step(actions[i])
            np.testing.assert_allclose(seen[i], now, atol=1e-5)
            assert rewards[i] == pytest.approx(reward, abs=1e-5)
            assert info["distance"][i] == pytest.approx(told["distance"], abs=1e-5)
        assert not truncated.any()


def test_a_vector_starts_anew_after_the_end():
    envs = ReacherVectorEnv(2, max_episode_steps=3, continuous=True)
    envs.reset(seed=0)
    for _ in range(3):
        *_, truncated, _ = envs.step(np.ones((2, 2), np.float32))
    assert truncated.all()
    seen, rewards, _, truncated, info = envs.step(np.ones((2, 2), np.float32))
    assert not rewards.any()
    assert not truncated.any()
    assert not seen[:, 4:].any()
    assert not info["_tip"].any()
    kept, _ = envs.reset(seed=1, options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(kept[1], seen[1])


def test_pictures_and_a_movement(tmp_path):
    env = ReacherEnv(render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (400, 400, 3)
    env.step(8)
    assert not np.array_equal(picture, env.render())
    assert len(ReacherVectorEnv(2, render_mode="rgb_array").render()) == 2
    draw_arm(np.zeros(4), config=Reacher(), path=tmp_path / "arm.png")
    assert (tmp_path / "arm.png").read_bytes()[:4] == b"\x89PNG"
    states = [np.array([0.1 * i, 0.0, 0.0, 0.0]) for i in range(6)]
    animate(states, tmp_path / "arm.gif", config=Reacher(), every=2)
    from PIL import Image

    with Image.open(tmp_path / "arm.gif") as movement:
        assert movement.n_frames == 3
        assert movement.info["loop"] == 0
    with pytest.raises(DataError, match="no states"):
        animate([], tmp_path / "none.gif", config=Reacher())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ReacherEnv(gravity=9.81), ConfigError, "no option gravity"),
        (lambda: ReacherEnv(horizon=3), ConfigError, "max_episode_steps"),
        (lambda: ReacherEnv(render_mode="human"), ConfigError, "rgb_array"),
        (lambda: ReacherVectorEnv(0), ConfigError, "1 or more; got 0"),
        (lambda: ReacherEnv().step(9), DataError, r"0 \.\.\. 8; got 9"),
        (lambda: ReacherEnv().step(0.5), DataError, "whole numbers"),
        (lambda: ReacherEnv(continuous=True).step([np.nan, 0]), DataError, "finite"),
        (lambda: ReacherEnv(continuous=True).step([0.0]), DataError, "shape"),
    ],
)
def test_bad_input_is_refused_with_advice(make, error, message):
    with pytest.raises(error, match=message):
        make()
