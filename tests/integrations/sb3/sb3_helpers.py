"""A small task with a goal, and demonstrators who wanted other goals."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from bers import Demonstrations, ModelConfig

HORIZON = 20
QUICK = ModelConfig(hidden=(16,), latent_dim=4, batches=200, skip=True)


class Line(gymnasium.Env):
    """A point on a line that should be at the goal; actions in [-2, 4], kinds box or discrete."""

    def __init__(self, goal: float = 1.0, kind: str = "box", observations: str = "box") -> None:
        self.goal, self.kind, self.seen = goal, kind, observations
        box = spaces.Box(-10.0, 10.0, (2,), np.float32)
        self.observation_space = (
            spaces.Dict({"place": box, "time": spaces.Box(0.0, 1.0, (1,), np.float32)})
            if observations == "dict"
            else box
        )
        self.action_space = (
            spaces.Box(-2.0, 4.0, (1,), np.float32) if kind == "box" else spaces.Discrete(3)
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        self.x, self.t = float(self.np_random.uniform(-1, 1)), 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        push = float(np.ravel(action)[0]) - 1.0
        self.x = float(np.clip(self.x + 0.1 * push, -3, 3))
        self.t += 1
        reward = -((self.x - self.goal) ** 2)
        return self._observation(), reward, False, self.t >= HORIZON, {}

    def _observation(self) -> Any:
        place = np.array([self.x, self.x**2], np.float32)
        if self.seen == "dict":
            return {"place": place, "time": np.array([self.t / HORIZON], np.float32)}
        return place


def demonstrator(
    goal: float, *, episodes: int = 15, name: str | None = None, skilled: bool = False, **how: Any
):
    """Random actions, with the rewards of somebody who wanted to be at `goal`; or skilled ones."""
    env, rows = Line(goal, **how), []
    rng = np.random.default_rng([int(10 * goal) % 97, 5])
    for episode in range(episodes):
        seen, _ = env.reset(seed=episode)
        done = False
        while not done:
            low = how.get("kind", "box") == "box"
            action: Any = rng.uniform(-2, 4, 1).astype(np.float32) if low else int(rng.integers(3))
            if skilled:
                push = np.clip(1 + 5 * (goal - env.x), *((-2, 4) if low else (0, 2)))
                action = np.array([push], np.float32) if low else int(np.rint(push))
            later, reward, ended, done, _ = env.step(action)
            rows.append((_flat(seen), action, reward, _flat(later), ended, done))
            seen = later
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    more = {} if how.get("kind", "box") == "box" else {"n_actions": 3}
    return Demonstrations.from_transitions(*columns, name=name or f"to {goal:g}", **more)


def _flat(seen: Any) -> np.ndarray:
    return np.concatenate(list(seen.values())) if isinstance(seen, dict) else seen
