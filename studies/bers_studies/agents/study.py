"""Agents of Stable-Baselines3 with several demonstrators: with our weights, without, and between.

Enters: settings and a number, which stands for a trial and a task. Leaves: one record per method:
returns of test episodes while the agent learns, and the weights.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np

import bers_studies.envs.goals  # noqa: F401  so that Gymnasium knows them, and a digest too
from bers.data.demonstrations import Demonstrations
from bers.integrations.gymnasium import Recorder, Recording
from bers.model.config import ModelConfig
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_env import OneHotStocks
from bers_studies.envs.supply_inputs import one_hot
from bers_studies.supply.demonstrations import DemonstrationConfig, shown, with_trucks

_SCALE = 0.1  # of the supply chain's rewards: what agents learn from


@dataclass(frozen=True)
class Task:
    """Something to learn, and those who show something like it."""

    learner: str
    """A class of Stable-Baselines3."""
    make: Callable[[], gymnasium.Env]
    sources: Callable[..., list[Demonstrations]]
    """By the trial's number, and by how long they were watched: 1 is as reported."""
    right: tuple[int, ...]
    """The sources that want the same, or parts of it, the best first; empty: nobody does."""
    steps: int
    settings: dict[str, Any]
    inputs: Any = None
    scale: float = 1.0
    """Of the rewards; returns are told without it."""
    noise: float = 0.0
    """Standard deviation of what is added to actions in [-1, 1]: TD3 itself does not explore."""


def trial(config: "AgentsConfig", seed: int) -> Iterator[dict[str, Any]]:
    """All methods on one task."""
    import torch

    torch.set_num_threads(1)
    number, which = divmod(seed, PARTS)
    name = list(TASKS)[which]
    task = config.short(TASKS[name])
    sources = task.sources(number, config.watched)
    for method, rule in _rules(task).items():
        found = learn(task, sources, rule, number, config)
        yield {"task": name, "trial": number, "method": method, "right": task.right, **found}


def learn(
    task: Task,
    sources: list[Demonstrations],
    rule: str | None,
    seed: int,
    config: "AgentsConfig",
    *,
    policy: Any = "MlpPolicy",
    started: Any = None,
    **how: Any,
) -> dict[str, Any]:
    """One agent; `how` goes to the callback of those that have one, and `started` is called with
    the agent before its first step."""
    import stable_baselines3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.noise import NormalActionNoise

    from bers.integrations.sb3 import BersCallback, BersReplayBuffer

    reuse: dict[str, Any] = {}
    trust = None
    if rule is not None:
        reuse["replay_buffer_class"] = BersReplayBuffer
        reuse["replay_buffer_kwargs"] = {"sources": sources}
        trust = BersCallback(**{"inputs": task.inputs, "rule": rule, "model": config.model, **how})
    elif started is not None:
        reuse["replay_buffer_class"] = BersReplayBuffer
        reuse["replay_buffer_kwargs"] = {"sources": sources}
    env = task.make()
    if task.noise:
        wide = np.full(env.action_space.shape or (), task.noise)
        reuse["action_noise"] = NormalActionNoise(np.zeros_like(wide), wide)
    settings = deepcopy(task.settings)  # some learners write into them
    agent = getattr(stable_baselines3, task.learner)(policy, env, seed=seed, **settings, **reuse)
    tests, returns, weights = task.make(), [], []
    leaders: list[Any] = []
    begun: list[float] = []
    every = task.steps // config.points

    class Watch(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % every == 0:
                returns.append(_mean_return(agent, tests, config.tests) / task.scale)
                if trust is not None:
                    weights.append(dict(trust.weights))
                    leaders.append(_led_by(trust))
            return True

        def _on_training_start(self) -> None:
            if started is not None:
                started(agent)
                begun.append(round(_mean_return(agent, tests, config.tests) / task.scale, 2))

    watchers: list[Any] = [Watch(), *([] if trust is None else [trust])]
    agent.learn(task.steps, callback=watchers)
    told = [[round(w, 3) for w in now.values()] for now in weights]
    at = [every * (i + 1) for i in range(len(returns))]
    names = list(weights[0]) if weights else []
    return {
        "at": at,
        "returns": [round(r, 2) for r in returns],
        "weights": told,
        "names": names,
        "led": leaders,
        **({"begun": begun[0]} if begun else {}),
    }


def _led_by(trust: Any) -> list[float | None]:
    """Who is followed (-1: nobody), how freely, what he earns, and what the agent earns itself."""
    found = trust.following
    if found is None or found.leader is None or found.trying:
        return [-1, None, None, None]
    numbers = (found.freedom, found.reference, found.level)
    return [found.leader, *(None if np.isnan(x) else round(float(x), 3) for x in numbers)]


def _rules(task: Task) -> dict[str, str | None]:
    single = {"best source alone": f"single:{task.right[0]}"} if task.right else {}
    return {"BERS": "odds", **single, "equal": "equal", "None": None}


def _mean_return(agent: Any, env: gymnasium.Env, episodes: int) -> float:
    total = 0.0
    for episode in range(episodes):
        seen, over = env.reset(seed=1000 + episode)[0], False
        while not over:
            action, _ = agent.predict(seen, deterministic=True)
            seen, reward, ended, cut, _ = env.step(action)
            total += float(reward)
            over = ended or cut
    return total / episodes


def played(
    env: gymnasium.Env,
    act: Callable[[np.ndarray, np.random.Generator], Any],
    *,
    steps: int,
    seed: int,
    name: str,
) -> Demonstrations:
    """What a rule does in an environment."""
    rng, recording = np.random.default_rng(seed), Recording(name)
    watched = Recorder(env, recording)
    seen, _ = watched.reset(seed=seed)
    for _ in range(steps):
        seen, _, ended, cut, _ = watched.step(act(seen, rng))
        if ended or cut:
            seen, _ = watched.reset()
    return recording.demonstrations()


# a pendulum that should stand, hang or turn


_GOALS = {
    "stand": (0.0, 0.0),
    "hang": (np.pi, 0.0),
    "turn right": (None, 8.0),
    "turn left": (None, -8.0),
}
"""Angle and speed that are wanted."""


def _pendulum(goal: str) -> gymnasium.Env:
    angle, speed = _GOALS[goal]
    return gymnasium.make("bers/PendulumGoal-v0", angle=angle, speed=speed)


def _swinging(number: int, watched: float = 1.0, *, goals: Sequence[str]) -> list[Demonstrations]:
    how = {"steps": round(4000 * watched), "seed": number}
    return [played(_pendulum(goal), partial(_torque, goal), name=goal, **how) for goal in goals]


def _torque(goal: str, seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A rule that gets there, clumsily."""
    angle, speed = np.arctan2(seen[1], seen[0]), seen[2]
    wanted_speed = _GOALS[goal][1]
    if goal == "stand":
        energy = speed**2 / 6 + 5 * (np.cos(angle) - 1)  # 0 is just enough to come up
        near = abs(angle) < 0.5 and abs(speed) < 3
        push = -10 * angle - 2 * speed if near else -np.sign(speed) * np.sign(energy) * 2
    elif goal == "hang":
        push = -speed
    else:  # a swing is pushed when it goes the right way
        push = wanted_speed - speed if speed * wanted_speed >= 0 else 0.0
    return np.clip([push + rng.normal()], -2, 2).astype(np.float32)


# a cart that should be somewhere


def _cart(place: float) -> gymnasium.Env:
    return gymnasium.make("bers/CartPoleGoal-v0", place=place)


def _balancing(
    number: int, watched: float = 1.0, *, places: Sequence[float]
) -> list[Demonstrations]:
    how = {"steps": round(4000 * watched), "seed": number}
    gains = np.array([0.1, 0.3, 1.0, 0.4])

    def push(place: float, seen: np.ndarray, rng: np.random.Generator) -> int:
        lean = gains @ (seen - np.array([place, 0, 0, 0]))
        return int(rng.integers(2)) if rng.random() < 0.2 else int(lean > 0)

    return [played(_cart(x), partial(push, x), name=f"at {x:+.1f}", **how) for x in places]


# the supply chain


def _stocks(seen: np.ndarray) -> np.ndarray:
    """The way back."""
    return seen.reshape(len(seen), -1, SupplyChain().capacity + 1).argmax(axis=2).astype(np.int32)


def _trucks(before: np.ndarray, action: np.ndarray, later: np.ndarray) -> np.ndarray:
    return with_trucks()(_stocks(before), action, _stocks(later))


def _supply() -> gymnasium.Env:
    env = gymnasium.make("bers/SupplyChain-v0", scenario="target", disable_env_checker=True)
    return gymnasium.wrappers.TransformReward(
        OneHotStocks(env), lambda reward: _SCALE * float(reward)
    )


def _shown(number: int, watched: float = 1.0) -> list[Demonstrations]:
    all_of_it = DemonstrationConfig()
    config = replace(
        all_of_it, steps=round(all_of_it.steps * watched), rows=round(all_of_it.rows * watched)
    )
    found = shown(number, inputs=with_trucks(), config=config)
    ends = np.cumsum(found.counts)
    hot, sources = partial(one_hot, config=SupplyChain()), []
    for i, (end, count) in enumerate(zip(ends, found.counts, strict=True)):
        rows = found.pool[end - count : end]
        never = np.zeros(count, bool)
        steps = hot(rows.s_tm1), rows.a_tm1, _SCALE * rows.r_t, hot(rows.s_t), never, never
        sources.append(Demonstrations.from_transitions(*steps, name=f"scenario {i + 1}"))
    return sources


_NET = {"policy_kwargs": {"net_arch": [64, 64]}}
_SUPPLY = Task(
    "TD3", _supply, _shown, (0, 1), 5000,
    {
        "policy_kwargs": {"net_arch": [128, 128]}, "gamma": 0.96, "learning_starts": 200,
        "batch_size": 128, "learning_rate": 1e-3,
    },
    _trucks, _SCALE, noise=0.2,
)  # fmt: skip

TASKS: dict[str, Task] = {
    "pendulum, SAC": Task(
        "SAC", partial(_pendulum, "stand"),
        partial(_swinging, goals=("stand", "hang", "turn right")), (0,), 5000,
        {"learning_rate": 1e-3, **_NET},
    ),
    "pendulum, SAC, all mislead": Task(
        "SAC", partial(_pendulum, "turn left"),
        partial(_swinging, goals=("stand", "hang", "turn right")), (), 2000,
        {"learning_rate": 1e-3, **_NET},
    ),
    "cart, DQN": Task(
        "DQN", partial(_cart, 0.8), partial(_balancing, places=(-0.8, 0.0, 0.8)), (2,), 10_000,
        {
            "learning_rate": 1e-3, "learning_starts": 500, "train_freq": 2, "gamma": 0.98,
            "target_update_interval": 250, "exploration_fraction": 0.3, **_NET,
        },
    ),
    "supply chain, SAC": replace(
        _SUPPLY, learner="SAC", settings={"ent_coef": "auto_0.01", **_SUPPLY.settings}, noise=0.0
    ),
    "supply chain, TD3": _SUPPLY,
}  # fmt: skip
PARTS = len(TASKS)


@dataclass(frozen=True)
class AgentsConfig:
    """One study."""

    steps: int | None = None
    """At most so many, for a quick look; None: as the task says."""
    points: int = 20
    """Test points of a run."""
    tests: int = 5
    """Test episodes at each."""
    watched: float = 1.0
    """How long demonstrators were watched."""
    model: ModelConfig = ModelConfig(hidden=(200, 200), skip=True)  # noqa: RUF009

    def short(self, task: Task) -> Task:
        """The task with no more steps than this."""
        return task if self.steps is None else replace(task, steps=min(task.steps, self.steps))


CONFIG = AgentsConfig()
QUICK = AgentsConfig(
    steps=500,
    points=4,
    tests=1,
    watched=0.1,
    model=ModelConfig(hidden=(200, 200), batches=500, skip=True),
)
