"""Goals on standard environments: the same dynamics, other rewards."""

import bers_studies.envs  # noqa: F401  registers the environments
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env


@pytest.mark.filterwarnings("ignore::UserWarning")  # as those of the library have them
@pytest.mark.parametrize("name", ["PendulumGoal", "CartPoleGoal", "MountainCarGoal"])
def test_gymnasium_finds_no_fault(name):
    env = gymnasium.make(f"bers/{name}-v0")
    assert env.spec.max_episode_steps == 200
    check_env(env.unwrapped, skip_render_check=True)


def test_upright_and_still_is_the_librarys_own_pendulum():
    ours, theirs = gymnasium.make("bers/PendulumGoal-v0"), gymnasium.make("Pendulum-v1")
    rng = np.random.default_rng(0)
    ours.reset(seed=1), theirs.reset(seed=1)
    for _ in range(50):
        action = rng.uniform(-3, 3, 1).astype(np.float32)
        one, other = ours.step(action), theirs.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == pytest.approx(other[1], rel=1e-6)


def test_goals_pay_where_they_are_reached():
    env = gymnasium.make("bers/PendulumGoal-v0", angle=np.pi / 2, speed=1.0).unwrapped
    env.reset(seed=0)
    env.state = np.array([np.pi / 2 - 2 * np.pi, 1.0])
    assert env.step(np.zeros(1))[1] == pytest.approx(0.0, abs=1e-9)
    cart = gymnasium.make("bers/CartPoleGoal-v0", place=-1.0).unwrapped
    cart.reset(seed=0)
    cart.state = np.array([-1.0, 0.0, 0.0, 0.0])
    assert cart.step(0)[1] == pytest.approx(1.0, abs=0.01)
    cart.state = np.array([1.0, 0.0, 0.0, 0.0])
    assert cart.step(0)[1] == 0.0
    car = gymnasium.make("bers/MountainCarGoal-v0", place=0.55).unwrapped
    car.reset(seed=0)
    car.state = (0.55, 0.0)
    seen, reward, terminated, *_ = car.step(1)
    assert reward == pytest.approx(0.0, abs=1e-3)
    assert seen[0] > 0.5  # where the library's own car would be done
    assert not terminated


def test_the_car_can_stand_on_the_right_hill_and_cannot_drive_straight_up():
    car = gymnasium.make("bers/MountainCarGoal-v0").unwrapped
    car.reset(seed=0)
    for _ in range(150):
        seen, *_ = car.step(2)
        assert seen[0] < 0
    car.state = (0.4, 0.0)
    for _ in range(50):
        seen, *_ = car.step(2)
    assert seen[0] > 0.4
