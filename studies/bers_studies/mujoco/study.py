"""HalfCheetah that should run at some velocity, SAC, and the logs of three who ran at others.

Enters: settings and a number, which stands for a trial and a velocity. Leaves: one record per
method: returns of test episodes while the agent learns, the weights, and who is followed.

The three are linear policies, found by random search (Mania, Guy and Recht, 2018) and kept in
`runners.json`; their hands shake. Rivals: the plain learner; one whose actor is first made a clone
of the right log (as ours is, with the same price of entropy); RLPD (Ball, Smith, Kostrikov and
Levine, 2023) that is told the right log: half of each batch, with the log's own rewards, critics
with layer normalisation, and several updates a step: as many as `updates` says, where the paper has
20, which nobody here had the time for.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.integrations.sb3.normed import NormedPolicy
from bers.model.config import ModelConfig
from bers_studies.agents.study import AgentsConfig, Task, learn, played
from bers_studies.envs.velocity import running
from bers_studies.rivals.agents import become_clone

SPEEDS = (2.0, 0.5, -1.0)
TARGETS = {"1.8": 1.8, "-2": -2.0}
_RIGHT = {"1.8": (0,), "-2": ()}
_SHAKE = 0.1
_NET = {"policy_kwargs": {"net_arch": [64, 64]}}


@dataclass(frozen=True)
class MujocoConfig:
    """One study."""

    agents: AgentsConfig = field(
        default_factory=lambda: AgentsConfig(
            points=6, tests=2, model=ModelConfig(hidden=(200, 200), skip=True)
        )
    )
    rows: int = 10_000
    steps: int = 3000
    updates: int = 2
    """Of RLPD, per step (paper: 20)."""


def trial(config: MujocoConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods on one velocity."""
    import torch

    torch.set_num_threads(1)
    number, which = divmod(seed, len(TARGETS))
    name = list(TARGETS)[which]
    logs = [_log(speed, config.rows, number) for speed in SPEEDS]
    right = _RIGHT[name]
    task = Task("SAC", partial(running, TARGETS[name]), _none, right, config.steps, _NET)
    for method, found in _agents(task, logs, number, config):
        yield {"task": name, "trial": number, "method": method, "right": right, **found}


def _agents(
    task: Task, logs: list[Demonstrations], number: int, config: MujocoConfig
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "BERS", learn(task, logs, "odds", number, config.agents)
    yield "None", learn(task, logs, None, number, config.agents)
    if not task.right:
        return
    (best,) = task.right
    cloned = replace(task, settings={**_NET, "learning_starts": 0})
    start = partial(become_clone, source=0, seed=number)
    yield (
        "behaviour cloning, then SAC",
        learn(cloned, [logs[best]], None, number, config.agents, started=start),
    )
    several = {**_NET, "gradient_steps": config.updates}
    told = replace(task, settings=several)
    how = {"schedule": 1.0, "mix": "half", "follow": "no", "relabel": False}
    yield (
        "RLPD, right log",
        learn(told, [logs[best]], "single:0", number, config.agents, policy=NormedPolicy, **how),
    )


def _none(*_: Any) -> list[Demonstrations]:
    return []


@cache
def _runners() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "runners.json").read_text())


def _log(speed: float, rows: int, number: int) -> Demonstrations:
    """What one of the three does, with his own rewards."""
    runner = _runners()[str(speed)]
    gain, bias = np.array(runner["gain"]), np.array(runner["bias"])

    def act(seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shaken = gain @ seen + bias + _SHAKE * rng.normal(size=len(bias))
        return np.clip(shaken, -1, 1).astype(np.float32)

    return played(running(speed), act, steps=rows, seed=number, name=f"at {speed:+.1f}")


CONFIG = MujocoConfig()
QUICK = MujocoConfig(
    agents=AgentsConfig(points=3, tests=1, model=ModelConfig(hidden=(32,), batches=200, skip=True)),
    rows=1000,
    steps=600,
)
