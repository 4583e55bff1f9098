"""The authors' later study: an arm that reaches for a new goal, with four demonstrators.

Enters: settings and a number, which stands for a trial and one of two new goals. Leaves: one record
per method: the return of test episodes after each training episode, and the weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.algorithm import ReuseConfig
from bers.model.config import ModelConfig
from bers.reuse.transitions import TransitionConfig
from bers_studies.envs.reacher import TORQUES, Reacher, ReacherTask, tip
from bers_studies.rl.dqn import DQN, DQNConfig, DQNState, episode, returns_of
from bers_studies.rl.handed import key_of, nothing_handed
from bers_studies.rl.methods import (
    FADING,
    Bench,
    Method,
    Shown,
    drawn,
    kept,
    paper_methods,
    shown_of,
)
from bers_studies.rl.replay import Transitions

SOURCES: dict[str, tuple[float, float]] = {
    "right": (0.14, 0.0),
    "left": (-0.14, 0.0),
    "top": (0.0, 0.14),
    "bottom": (0.0, -0.14),
}
"""Goals of the demonstrators (as published)."""
GOALS: dict[str, tuple[float, float]] = {
    "upper right": (0.04, 0.12),
    "lower left": (-0.10, -0.10),
}
"""New goals (as published, about)."""
PARTS = len(GOALS)

_MODEL = ModelConfig.paper(activation="tanh", learning_rate=5e-4, batches=20_000, batch_size=32)
OURS = Method(
    ReuseConfig(schedule=FADING, batches=20, subset=2000),
    TransitionConfig(mix="row", at_once=False),
    ModelConfig(hidden=(200, 200)),
)
_PAPER = ReuseConfig(rule="weights", schedule=FADING, batches=20, subset=None)

WEIGHTED: dict[str, Method] = {"BERS": OURS, **paper_methods(_PAPER, _MODEL, len(SOURCES))}
METHODS = (*WEIGHTED, "PPR", "None")


@dataclass(frozen=True)
class ShownConfig:
    """How demonstrations come about."""

    steps: int = 30_000
    """Of training, for each goal (as published)."""
    rows: int = 3200
    """Drawn from all of them (as published)."""
    trimmed: float = 0.0
    """Share of rows of least and of greatest reward that the model is not shown."""


@dataclass(frozen=True)
class ReacherConfig:
    """One study."""

    episodes: int = 60
    """Of training, 500 steps each (as published: 30,000 steps)."""
    tests: int = 10
    """Test episodes after each."""
    clone_epochs: int = 1000
    """Of the cloned policies (as published)."""
    shown: ShownConfig = field(default_factory=ShownConfig)
    batches: int | None = None
    """Of the model's first training; None: as its settings say."""


def trial(config: ReacherConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods of one trial on one goal."""
    number, which = divmod(seed, PARTS)
    name = list(GOALS)[which]
    given = shown(number, config.shown)
    yield {"data_digests": {source.name: source.digest[:16] for source in given.sources}}
    bench = ReacherBench(GOALS[name], given, number, config)
    for method in METHODS:
        about = {"panel": name, "trial": number, "method": method, "names": list(SOURCES)}
        yield about | bench.run(method)


def seen_by_the_model(s_tm1: np.ndarray, a_tm1: np.ndarray, s_t: np.ndarray) -> np.ndarray:
    """What a model of the rewards sees: both states with their tips, and the torques.

    >>> seen_by_the_model(np.zeros((2, 4)), np.array([0, 8]), np.zeros((2, 4))).shape
    (2, 18)
    """
    states = [np.concatenate([_angles(s), _tips(s)], axis=1) for s in (s_tm1, s_t)]
    return np.concatenate([*states, TORQUES[a_tm1]], axis=1).astype(np.float32)


def _angles(s: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(s[:, :2]), np.sin(s[:, :2]), s[:, 2:] / 5.0], axis=1)


def _tips(s: np.ndarray) -> np.ndarray:
    return 5 * np.asarray(tip(jnp.asarray(s).T, config=Reacher())).T


def shown(seed: int, config: ShownConfig) -> Shown:
    """All four sources."""
    return shown_of(
        [
            kept("reacher", f"{config} {seed} {name}", lambda g=goal: _trained(seed, g, config))
            for name, goal in SOURCES.items()
        ],
        list(SOURCES),
        inputs=seen_by_the_model,
        trimmed=config.trimmed,
        horizon=Reacher().horizon,
    )


def _trained(seed: int, goal: tuple[float, float], config: ShownConfig) -> Transitions:
    task, settings = ReacherTask(Reacher(goal)), DQNConfig(capacity=config.steps)
    rng = np.random.default_rng([seed, list(SOURCES.values()).index(goal)])
    state = DQN(task, seen_by_the_model, None, settings).start(rng)
    none, keys = nothing_handed(task, settings), key_of(rng)

    def episodes(state: DQNState) -> Iterator[Transitions]:
        for key in jax.random.split(keys, config.steps // task.horizon):
            state, rows = episode(key, state, none, None, task=task, config=settings)
            yield rows

    return drawn(rng, episodes(state), config.rows)


class ReacherBench(Bench):
    """All methods on one goal; returns are of test episodes with few random actions."""

    def __init__(
        self, goal: tuple[float, float], given: Shown, number: int, config: ReacherConfig
    ) -> None:
        task = ReacherTask(Reacher(goal))

        def total(state: DQNState) -> float:
            key = jax.random.key(1000 + number)
            return round(
                float(returns_of(key, state.net, task=task, episodes=config.tests).mean()), 1
            )

        settings = DQNConfig(capacity=config.episodes * task.horizon)
        learner = DQN(task, seen_by_the_model, jax.tree.map(jnp.asarray, given.pool), settings)
        clones = {"hidden": settings.hidden, "epochs": config.clone_epochs, "batch_size": 320}
        super().__init__(
            learner, given, number, config.episodes, total, clones=clones, batches=config.batches
        )

    def run(self, method: "str | Method") -> dict[str, Any]:
        """One method."""
        if method == "None":
            return {"returns": self.alone()}
        if method == "PPR":
            returns, chosen = self.policies()
            return {"returns": returns, "arms": chosen}
        chosen = WEIGHTED[method] if isinstance(method, str) else method
        returns, weights = self.weighted(chosen)
        return {"returns": returns, "weights": weights}


CONFIG = ReacherConfig()
QUICK = ReacherConfig(
    episodes=5, tests=2, clone_epochs=10, shown=ShownConfig(4000, 1000), batches=500
)
