"""A cart on a track, SAC, and logs of people who wanted it at -2, 0 and 2.

Enters: settings and a number, which stands for a trial and a goal. Leaves: one record per method:
returns of test episodes while the agent learns, the weights, and who is followed. The goals: that
of one of them; one near it, where whoever stays with him is paid less than he could be; one that
is nobody's, half-way between two of theirs.

Trials 0 to 4 were there to choose how fast freedom grows; the study runs trials 5 to 9.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import numpy as np

import bers_studies.envs.goals  # noqa: F401  so that Gymnasium knows them, and a digest too
from bers.data.demonstrations import Demonstrations
from bers.model.config import ModelConfig
from bers_studies.agents.study import AgentsConfig, Task, learn, played

PLACES = (-2.0, 0.0, 2.0)
GOALS = {"own goal": 2.0, "near goal": 1.4, "nobody's goal": -1.0}
_RIGHT = {"own goal": (2,), "near goal": (2,), "nobody's goal": ()}
METHODS: dict[str, str | None] = {"BERS": "odds", "None": None}
_ROWS = 3000
_FIRST = 5  # of the trials that are reported


def trial(config: AgentsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods on one goal."""
    import torch

    torch.set_num_threads(1)
    number, which = divmod(seed, len(GOALS))
    number, name = number + _FIRST, list(GOALS)[which]
    task = config.short(_task(name))
    sources = task.sources(number, config.watched)
    for method, rule in METHODS.items():
        found = learn(task, sources, rule, number, config)
        yield {"task": name, "trial": number, "method": method, "right": task.right, **found}


def _cart(place: float) -> gymnasium.Env:
    return gymnasium.make("bers/TrackGoal-v0", place=place)


def _steered(number: int, watched: float = 1.0) -> list[Demonstrations]:
    def push(place: float, seen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        wanted = 3 * (place - seen[0]) - 1.2 * seen[1] + 0.3 * rng.normal()
        return np.clip([wanted], -1, 1).astype(np.float32)

    how = {"steps": round(_ROWS * watched), "seed": number}
    return [played(_cart(x), partial(push, x), name=f"at {x:+.0f}", **how) for x in PLACES]


def _task(name: str) -> Task:
    settings = {"learning_rate": 1e-3, "batch_size": 128, "policy_kwargs": {"net_arch": [64, 64]}}
    make = partial(_cart, GOALS[name])
    return Task("SAC", make, _steered, _RIGHT[name], 2400, settings)


CONFIG = AgentsConfig(
    points=12,
    model=ModelConfig(hidden=(64, 64), batches=1500, skip=True, learning_rate=1e-3),
)
QUICK = AgentsConfig(
    steps=240,
    points=4,
    tests=1,
    watched=0.1,
    model=ModelConfig(hidden=(16,), batches=200, skip=True),
)
