"""Robots of MuJoCo with a goal of somebody's: to run at some velocity, or to reach some place.

Enters: a family's name and a goal. Leaves: an environment that pays for it and hides it: what the
robot sees does not say what is wanted. A robot that falls goes on, or a bad reward were a reason to
fall. Needs `gymnasium[mujoco]`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from bers_studies.envs.velocity import running

_EFFORT = 0.1  # price of a squared torque of the arm
_ARM_STEPS = 50


class SwimmerVelocity(gymnasium.Wrapper):
    """Pays −|v − wanted| in units of 0.1 a step, − 0.05‖a‖²: swimmers are slow."""

    def __init__(self, env: gymnasium.Env, wanted: float) -> None:
        super().__init__(env)
        self.wanted = wanted

    def step(self, action: Any) -> Any:
        """The library's step with another reward."""
        seen, _, ended, cut, info = self.env.step(action)
        effort = 0.05 * float((action * action).sum())
        return seen, -10 * abs(info["x_velocity"] - self.wanted) - effort, ended, cut, info


class ArmAtPlace(gymnasium.Wrapper):
    """Pays −10 times the distance of the arm's tip from a place, − 0.1‖a‖²; the ball that the
    library puts somewhere is not seen."""

    def __init__(self, env: gymnasium.Env, place: tuple[float, float]) -> None:
        super().__init__(env)
        self.place = np.asarray(place)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float64)

    def reset(self, **how: Any) -> Any:
        """As the library, without the ball."""
        seen, info = self.env.reset(**how)
        return self._without_ball(seen), info

    def step(self, action: Any) -> Any:
        """The library's step with another reward."""
        seen, _, ended, cut, info = self.env.step(action)
        away = float(np.linalg.norm(self._tip() - self.place))
        paid = -10 * away - _EFFORT * float((action * action).sum())
        return self._without_ball(seen), paid, ended, cut, info

    def _tip(self) -> np.ndarray:
        return np.array(self.env.unwrapped.get_body_com("fingertip")[:2])  # pyright: ignore

    def _without_ball(self, seen: np.ndarray) -> np.ndarray:
        """Angles as cosines and sines, their speeds, and where the tip is."""
        return np.concatenate([seen[:4], seen[6:8], self._tip()])


def swimming(wanted: float) -> gymnasium.Env:
    """An episode of 200 steps."""
    env = gymnasium.make("Swimmer-v5", max_episode_steps=200, disable_env_checker=True)
    return SwimmerVelocity(env, wanted)


def reaching(place: tuple[float, float]) -> gymnasium.Env:
    """An episode of 50 steps, from the library's random start."""
    env = gymnasium.make("Reacher-v5", max_episode_steps=_ARM_STEPS, disable_env_checker=True)
    return ArmAtPlace(env, place)


@dataclass(frozen=True)
class Family:
    """One body, the goals of those who left logs, and new goals."""

    make: Callable[[Any], gymnasium.Env]
    """By a goal."""
    logs: dict[str, Any]
    """Goals of those who left logs."""
    targets: dict[str, Any]
    """Goals of who comes new: near one of theirs, between two, where all mislead."""
    right: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The logs that nearly match, by the target's name."""


FAMILIES: dict[str, Family] = {
    "HalfCheetah": Family(
        running,
        {"at +2.0": 2.0, "at +0.5": 0.5, "at -1.0": -1.0},
        {"near": 1.8, "between": 1.2, "misled": -2.0},
        {"near": (0,)},
    ),
    "Hopper": Family(
        partial(running, robot="Hopper-v5", terminate_when_unhealthy=False),
        {"at +1.0": 1.0, "at +0.3": 0.3, "at -0.5": -0.5},
        {"near": 0.9, "between": 0.65, "misled": -1.0},
        {"near": (0,)},
    ),
    "Swimmer": Family(
        swimming,
        {"at +0.25": 0.25, "at +0.10": 0.1, "at -0.10": -0.1},
        {"near": 0.23, "between": 0.175, "misled": -0.25},
        {"near": (0,)},
    ),
    "Reacher": Family(
        reaching,
        {"right": (0.14, 0.0), "above": (0.0, 0.14), "left below": (-0.1, -0.1)},
        {"near": (0.135, 0.03), "between": (0.1, 0.1), "misled": (0.1, -0.1)},
        {"near": (0,)},
    ),
}
"""The further families; the first is that of the study `mujoco`, which runs two of its targets."""
