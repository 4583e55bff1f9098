"""Robots of MuJoCo that should run at some velocity, in either direction: other goals, one body.

Enters: a name of Gymnasium's and a velocity. Leaves: an environment that pays for it. Needs
`gymnasium[mujoco]`.
"""

from typing import Any

import gymnasium

STEPS = 200  # of an episode
_EFFORT = 0.05  # price of a squared action


class Velocity(gymnasium.Wrapper):
    """Pays −|v − wanted| − 0.05‖a‖² a step, and nothing else that the robot's own task pays."""

    def __init__(self, env: gymnasium.Env, wanted: float) -> None:
        super().__init__(env)
        self.wanted = wanted

    def step(self, action: Any) -> Any:
        """The library's step with another reward."""
        seen, _, ended, cut, info = self.env.step(action)
        effort = _EFFORT * float((action * action).sum())
        return seen, -abs(info["x_velocity"] - self.wanted) - effort, ended, cut, info


def running(wanted: float, robot: str = "HalfCheetah-v5", **how: Any) -> gymnasium.Env:
    """An episode of 200 steps; `how` goes to the robot's own class."""
    env = gymnasium.make(robot, max_episode_steps=STEPS, disable_env_checker=True, **how)
    return Velocity(env, wanted)
