"""The planar arm as Gymnasium environments, one at a time or many in one compiled call.

Enters: a goal. Leaves: `bers/Reacher-v0` with nine choices and `bers/ReacherContinuous-v0` with two
torques, after `import bers_studies.envs`. The dynamics are those of `bers_studies.envs.reacher`;
where an episode starts is drawn from Gymnasium's own generator, so that a seed fixes it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Bool, Float32, Float64, UInt8

from bers.errors import ConfigError, DataError
from bers_studies.envs.checks import (
    RENDERING,
    checked_action,
    checked_limit,
    checked_mask,
    checked_mode,
    checked_options,
    seeds_of,
)
from bers_studies.envs.reacher import TORQUES, Reacher, step, tip

_FPS = {"render_fps": 60}
_FASTEST = 1e3  # radians per second that an observation can hold; far above what the arm reaches


class ReacherEnv(gymnasium.Env[np.ndarray, Any]):
    """One arm.

    Observation: cosine of the inner and of the outer angle, their sines, and the two speeds in
    radians per second. Action: one of nine, `TORQUES` says what each means; with `continuous` two
    numbers in [-1, 1], shares of the strongest torque. Reward: 1 less four times the distance of
    the tip to the `goal`, which is also in `info` as `distance`, with the `tip`.

    Further options are those of `Reacher`: inner, outer, mass, damping, torque, stop, seconds,
    parts. Episodes end by Gymnasium's time limit, after 500 steps.

    >>> env = gymnasium.make("bers/Reacher-v0", goal=(0.0, 0.14))
    >>> seen, info = env.reset(seed=0)
    >>> seen, reward, terminated, truncated, info = env.step(8)
    >>> round(1 - 4 * info["distance"], 4) == round(reward, 4)
    True
    """

    metadata = RENDERING | _FPS

    def __init__(
        self,
        goal: Sequence[float] = (0.04, 0.12),
        *,
        continuous: bool = False,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.arm, self.continuous = _arm(goal, options), continuous
        self.render_mode = checked_mode(render_mode)
        self.observation_space, self.action_space = _spaces(continuous)
        self._s = np.zeros(4, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32[np.ndarray, "6"], dict[str, Any]]:
        """At rest, anywhere."""
        super().reset(seed=seed)
        self._s = _start(self.np_random)
        return _seen(self._s), _told(self._s, self.arm)

    def step(
        self, action: Any
    ) -> tuple[Float32[np.ndarray, "6"], float, bool, bool, dict[str, Any]]:
        """One step."""
        s, reward = _step(self._s, _torques(action, self.continuous, ()), config=self.arm)
        self._s = np.asarray(s)
        return _seen(self._s), float(reward), False, False, _told(self._s, self.arm)

    def render(self) -> UInt8[np.ndarray, "height width 3"] | None:
        """The arm and its goal, as a picture."""
        if self.render_mode is None:
            return None
        from bers_studies.envs.pictures import as_pixels
        from bers_studies.envs.reacher_drawing import draw_arm

        return as_pixels(draw_arm(self._s, config=self.arm))


class ReacherVectorEnv(VectorEnv[np.ndarray, Any, np.ndarray]):
    """Many copies of one arm, all stepped in one compiled call.

    The options are those of `ReacherEnv`, and `max_episode_steps`, 500; None is for ever. Copy i,
    seeded with seed + i, does what a `ReacherEnv` with that seed does. As in Gymnasium's own
    vector environments, the call after the end of an episode starts the next one.

    >>> envs = gymnasium.make_vec("bers/Reacher-v0", num_envs=3, goal=(0.1, 0.1))
    >>> seen, info = envs.reset(seed=0)
    >>> seen, rewards, terminated, truncated, info = envs.step(np.array([0, 4, 8]))
    >>> seen.shape, rewards.shape, info["tip"].shape
    ((3, 6), (3,), (3, 2))
    """

    metadata = RENDERING | _FPS | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        goal: Sequence[float] = (0.04, 0.12),
        *,
        continuous: bool = False,
        max_episode_steps: int | None = 500,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(f"ReacherVectorEnv(num_envs=...) must be 1 or more; got {num_envs}.")
        self.num_envs, self.continuous = num_envs, continuous
        self.arm = _arm(goal, options)
        self.render_mode = checked_mode(render_mode)
        self.single_observation_space, self.single_action_space = _spaces(continuous)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._limit = checked_limit(max_episode_steps)
        self._s = np.zeros((num_envs, 4), np.float32)
        self._period, self._over = np.zeros(num_envs, int), np.zeros(num_envs, bool)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Float32[np.ndarray, "n 6"], dict[str, Any]]:
        """All at rest. A seed is for the first copy, the next has one more; or a list.

        `options={"reset_mask": mask}` leaves the copies alone where the mask is False.
        """
        chosen = checked_mask((options or {}).get("reset_mask"), self.num_envs)
        for i, own in enumerate(seeds_of(seed, self.num_envs)):
            if own is not None and chosen[i]:
                self._generators[i] = seeding.np_random(own)[0]
        self._begin(chosen)
        self._period, self._over = np.where(chosen, 0, self._period), self._over & ~chosen
        return _seen(self._s), self._info(np.ones(self.num_envs, bool))

    def step(
        self, actions: Any
    ) -> tuple[
        Float32[np.ndarray, "n 6"],
        Float64[np.ndarray, " n"],
        Bool[np.ndarray, " n"],
        Bool[np.ndarray, " n"],
        dict[str, Any],
    ]:
        """One step, or for a copy whose episode is over a new start."""
        goes = ~self._over
        torques = _torques(actions, self.continuous, (self.num_envs,))
        s, reward = _steps(self._s, torques, config=self.arm)
        self._s = np.array(s)
        self._begin(~goes)
        self._period = np.where(goes, self._period + 1, 0)
        self._over = self._period >= self._limit
        rewards = np.where(goes, np.asarray(reward, np.float64), 0.0)
        never = np.zeros(self.num_envs, bool)
        return _seen(self._s), rewards, never, self._over.copy(), self._info(goes)

    def render(self) -> tuple[UInt8[np.ndarray, "height width 3"], ...] | None:
        """A picture of each copy."""
        if self.render_mode is None:
            return None
        from bers_studies.envs.pictures import as_pixels
        from bers_studies.envs.reacher_drawing import draw_arm

        return tuple(as_pixels(draw_arm(s, config=self.arm)) for s in self._s)

    def _begin(self, chosen: Bool[np.ndarray, " n"]) -> None:
        for i in np.flatnonzero(chosen):
            self._s[i] = _start(self._generators[i])

    def _info(self, goes: Bool[np.ndarray, " n"]) -> dict[str, Any]:
        info: dict[str, Any] = {}
        for name, value in _told(self._s, self.arm).items():
            info[name], info[f"_{name}"] = value, goes.copy()
        return info


_step = jax.jit(step, static_argnames="config")


@partial(jax.jit, static_argnames="config")
def _steps(s: Any, torques: Any, *, config: Reacher) -> Any:
    return jax.vmap(partial(step, config=config))(s, torques)


def _arm(goal: Sequence[float], options: dict[str, Any]) -> Reacher:
    fine = checked_options(options, Reacher, own={"goal"})
    return Reacher(tuple(goal), **fine)  # pyright: ignore[reportArgumentType]


def _spaces(continuous: bool) -> tuple[spaces.Box, spaces.Space]:
    high = np.array([1, 1, 1, 1, _FASTEST, _FASTEST], np.float32)
    acts = spaces.Box(-1, 1, (2,), np.float32) if continuous else spaces.Discrete(len(TORQUES))
    return spaces.Box(-high, high, dtype=np.float32), acts


def _torques(action: Any, continuous: bool, copies: tuple[int, ...]) -> np.ndarray:
    if continuous:
        return checked_action(action, (*copies, 2))
    choice = np.asarray(action)
    if choice.shape != copies or choice.dtype.kind not in "iu":
        raise DataError(
            f"an action must be whole numbers of shape {copies}; got {choice.dtype} {choice.shape}."
        )
    if ((choice < 0) | (choice >= len(TORQUES))).any():
        raise DataError(f"an action must lie in 0 ... {len(TORQUES) - 1}; got {action}.")
    return TORQUES[choice]


def _start(rng: np.random.Generator) -> Float32[np.ndarray, "4"]:
    """As `bers_studies.envs.reacher.reset`, from Gymnasium's generator."""
    inner, outer = rng.uniform(-np.pi, np.pi), rng.uniform(-np.pi / 2, np.pi / 2)
    return np.array([inner, outer, 0.0, 0.0], np.float32)


def _seen(s: Float32[np.ndarray, "*n 4"]) -> Float32[np.ndarray, "*n 6"]:
    angles, speeds = s[..., :2], s[..., 2:]
    return np.concatenate([np.cos(angles), np.sin(angles), speeds], axis=-1).astype(np.float32)


def _told(s: Float32[np.ndarray, "*n 4"], arm: Reacher) -> dict[str, Any]:
    at = np.asarray(tip(np.moveaxis(s, -1, 0), config=arm))  # pyright: ignore
    place = np.moveaxis(at, 0, -1)
    distance = np.linalg.norm(place - np.asarray(arm.goal), axis=-1)
    return {"tip": place, "distance": distance if distance.ndim else float(distance)}
