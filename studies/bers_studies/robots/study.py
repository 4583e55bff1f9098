"""Robots with other goals than those who left logs, SAC, and every rival in one table.

Enters: settings and a number, which stands for a trial and a task. Leaves: one record per method:
returns of test episodes while the agent learns, the weights, and who is followed.

Four bodies (HalfCheetah, Hopper, Swimmer at some velocity, Reacher at some place), three logs each,
and three new goals: near one of theirs, between two, and one from which all mislead. And
HalfCheetah with nine logs: three goals, each by somebody who moves at random, is half-way there,
and is good. Those who leave logs are linear policies, found by `search.py` and kept in
`walkers.json`; their hands shake.

Rivals: the plain learner; one whose actor is first made a clone of the right log; RLPD on all logs
and on the right one, with the logs' own rewards, critics with layer normalisation, half of each
batch, and as many updates a step as `updates` says (paper: 20); equal weights and the best single
log, both with our relabelling and imitation; the paper's recipe: the rule of its metric, the
fading chance of whole batches, rewards as the logs had them, nobody followed.
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
from bers_studies.envs.robots import FAMILIES
from bers_studies.rivals.agents import become_clone

SKILLS = ("good", "half", "random")
NINE = "HalfCheetah, nine logs"
_SHAKE = 0.1
_NET = {"policy_kwargs": {"net_arch": [64, 64]}}

TASKS: dict[str, tuple[str, str, bool]] = {
    **{
        f"{family}, {target}": (family, target, False)
        for family, what in FAMILIES.items()
        for target in what.targets
        if (family, target) not in (("HalfCheetah", "near"), ("HalfCheetah", "misled"))
    },
    NINE: ("HalfCheetah", "near", True),
}
"""Family, target, and whether all skills left logs. The study `mujoco` has the two left out."""


@dataclass(frozen=True)
class RobotsConfig:
    """One study."""

    agents: AgentsConfig = field(
        default_factory=lambda: AgentsConfig(
            points=20, tests=2, model=ModelConfig(hidden=(200, 200), skip=True)
        )
    )
    rows: int = 10_000
    steps: int = 5000
    updates: int = 2
    """Of RLPD, per step (paper: 20)."""


def trial(config: RobotsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods on one task."""
    import torch

    torch.set_num_threads(1)
    number, which = divmod(seed, len(TASKS))
    name = list(TASKS)[which]
    family, target, nine = TASKS[name]
    what = FAMILIES[family]
    logs = [
        _log(family, log, skill, config.rows, number)
        for log in what.logs
        for skill in (SKILLS if nine else SKILLS[:1])
    ]
    right = what.right.get(target, ())
    if nine:  # logs of a goal stand side by side, the good one first
        right = tuple(len(SKILLS) * i for i in right)
    make = partial(what.make, what.targets[target])
    task = Task("SAC", make, lambda *_: logs, right, config.steps, _NET)
    for method, found in _agents(task, logs, number, config):
        yield {"task": name, "trial": number, "method": method, "right": right, **found}


def _agents(
    task: Task, logs: list[Demonstrations], number: int, config: RobotsConfig
) -> Iterator[tuple[str, dict[str, Any]]]:
    run = partial(learn, seed=number, config=config.agents)
    several = replace(task, settings={**_NET, "gradient_steps": config.updates})
    rlpd: dict[str, Any] = {
        "schedule": 1.0, "mix": "half", "follow": "no", "relabel": False, "policy": NormedPolicy,
    }  # fmt: skip
    paper: dict[str, Any] = {"schedule": "paper", "mix": "batch", "follow": "no", "relabel": False}
    yield "BERS", run(task, logs, "odds")
    yield "None", run(task, logs, None)
    yield "equal", run(task, logs, "equal")
    yield "RLPD, all logs", run(several, logs, "equal", **rlpd)
    yield "the paper's recipe", run(task, logs, "weights", **paper)
    if not task.right:
        return
    (best,) = task.right
    yield "best single", run(task, logs, f"single:{best}")
    yield "RLPD, right log", run(several, [logs[best]], "single:0", **rlpd)
    cloned = replace(task, settings={**_NET, "learning_starts": 0})
    start = partial(become_clone, source=0, seed=number)
    yield "behaviour cloning, then SAC", run(cloned, [logs[best]], None, started=start)


@cache
def _walkers() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "walkers.json").read_text())


def _log(family: str, log: str, skill: str, rows: int, number: int) -> Demonstrations:
    """What one of them does, with his own rewards."""
    env = FAMILIES[family].make(FAMILIES[family].logs[log])
    size = int(np.prod(env.action_space.shape or ()))

    def at_random(seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-1, 1, size).astype(np.float32)

    def act(seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shaken = gain @ seen + bias + _SHAKE * rng.normal(size=size)
        return np.clip(shaken, -1, 1).astype(np.float32)

    how: dict[str, Any] = {"steps": rows, "seed": number}
    if skill == "random":
        return played(env, at_random, name=f"{log}, {skill}", **how)
    walker = _walkers()[family][log][skill]
    gain, bias = np.array(walker["gain"]), np.array(walker["bias"])
    return played(env, act, name=f"{log}, {skill}", **how)


CONFIG = RobotsConfig()
QUICK = RobotsConfig(
    agents=AgentsConfig(points=3, tests=1, model=ModelConfig(hidden=(32,), batches=200, skip=True)),
    rows=1000,
    steps=450,
    updates=1,
)
