"""Standard environments of Gymnasium with goals that differ: same dynamics, other rewards.

Enters: a goal. Leaves: an environment in which it is rewarded. Made for trying out whom an agent
trusts: demonstrators of one goal help with it, and mislead with another.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.envs.classic_control.mountain_car import MountainCarEnv
from gymnasium.envs.classic_control.pendulum import PendulumEnv


class PendulumGoal(PendulumEnv):
    """A pendulum that should turn with some speed, at some angle, or both.

    angle: from upright, in radians; None: any. speed: in radians per second.

    >>> import gymnasium, bers
    >>> env = gymnasium.make("bers/PendulumGoal-v0", angle=None, speed=5.0)
    >>> seen, _ = env.reset(seed=0)
    >>> _, reward, *_ = env.step(np.zeros(1, np.float32))
    >>> round(reward, 3) == round(-0.1 * (float(seen[2]) - 5) ** 2, 3)
    True
    """

    def __init__(self, angle: float | None = 0.0, speed: float = 0.0, **how: Any) -> None:
        super().__init__(**how)
        self.angle, self.speed = angle, speed

    def step(self, u: Any) -> Any:
        """The library's step; the reward is for the state and torque before it."""
        theta, turning = self.state  # pyright: ignore[reportGeneralTypeIssues]
        torque = float(np.clip(u, -self.max_torque, self.max_torque)[0])
        away = 0.0
        if self.angle is not None:
            away = (theta - self.angle + np.pi) % (2 * np.pi) - np.pi
        reward = -(away**2) - 0.1 * (turning - self.speed) ** 2 - 0.001 * torque**2
        seen, _, *rest = super().step(u)
        return seen, float(reward), *rest


class TrackGoal(gymnasium.Env):
    """A cart on a straight track that should stand at some place; it is pushed, and rolls on.

    >>> import bers
    >>> env = gymnasium.make("bers/TrackGoal-v0", place=1.0)
    >>> seen, _ = env.reset(seed=0)
    >>> later, reward, *_ = env.step(np.zeros(1, np.float32))
    >>> round(reward, 3) == round(-abs(float(later[0]) - 1.0), 3)
    True
    """

    def __init__(self, place: float = 0.0) -> None:
        self.place = place
        self.observation_space = spaces.Box(-10.0, 10.0, (2,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        """Near the middle, at rest."""
        super().reset(seed=seed)
        self._at = np.array([self.np_random.uniform(-0.3, 0.3), 0.0])
        return self._at.astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        """A tenth of a second; the reward is for the place where the cart is then."""
        push = float(np.clip(np.ravel(action)[0], -1, 1))
        x, speed = self._at
        speed = 0.9 * speed + 0.4 * push
        self._at = np.array([np.clip(x + 0.1 * speed, -4, 4), speed])
        reward = -abs(self._at[0] - self.place) - 0.02 * push**2
        return self._at.astype(np.float32), float(reward), False, False, {}


class CartPoleGoal(CartPoleEnv):
    """A cart that should balance its pole at some place: 1 there, less with the distance.

    >>> import gymnasium, bers
    >>> env = gymnasium.make("bers/CartPoleGoal-v0", place=0.5)
    >>> _ = env.reset(seed=0)
    >>> seen, reward, *_ = env.step(1)
    >>> round(reward, 3) == round(1 - abs(float(seen[0]) - 0.5), 3)
    True
    """

    def __init__(self, place: float = 0.0, **how: Any) -> None:
        super().__init__(**how)
        self.place = place

    def step(self, action: Any) -> Any:
        """The library's step; the reward is for the place where the cart is then."""
        seen, _, *rest = super().step(action)
        reward = max(0.0, 1.0 - abs(float(seen[0]) - self.place))
        return seen, reward, *rest


class MountainCarGoal(MountainCarEnv):
    """A weak car that should stay at some place between two hills: less reward with the distance.

    On the right hill it can stand from 0.39 on; to get there it must first go back. Nothing ends
    when it is there.

    >>> import gymnasium, bers
    >>> env = gymnasium.make("bers/MountainCarGoal-v0", place=-0.5)
    >>> _ = env.reset(seed=0)
    >>> seen, reward, terminated, *_ = env.step(2)
    >>> round(reward, 3) == round(-abs(float(seen[0]) + 0.5), 3), terminated
    (True, False)
    """

    def __init__(self, place: float = 0.45, **how: Any) -> None:
        super().__init__(**how)
        self.place = place

    def step(self, action: Any) -> Any:
        """The library's step; the reward is for the place where the car is then."""
        seen, _, _, *rest = super().step(action)
        return seen, -abs(float(seen[0]) - self.place), False, *rest
