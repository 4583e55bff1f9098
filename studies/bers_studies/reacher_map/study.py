"""Whom an arm trusts, for goals all over the disc it can reach.

Enters: settings and a seed. Leaves: one record with a hundred goals and the weights of the four
demonstrators at each, by the default rule, which may trust nobody, and by the metric `shape`, which
must trust somebody. What is known of each goal is a few episodes of random actions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.model.neural_linear import fit
from bers.trust.trust import Trust
from bers_studies.envs.reacher import Reacher, ReacherTask, reward
from bers_studies.reacher.study import OURS, SOURCES, ShownConfig, seen_by_the_model, shown
from bers_studies.rl.dqn import DQN, DQNConfig, episode
from bers_studies.rl.handed import key_of, nothing_handed

RULES = ("odds", "shape")
"""One that may trust nobody, and one that must trust somebody."""


@dataclass(frozen=True)
class ReacherMapConfig:
    """One study."""

    goals: int = 100
    episodes: int = 8
    """Of random actions, whose rewards are known for each goal; one alone stays near its start."""
    shown: ShownConfig = field(default_factory=ShownConfig)
    batches: int = OURS.model.batches
    """Of the model's training."""


def trial(config: ReacherMapConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All goals of one trial, with the same four demonstrators and the same random episode."""
    given = shown(seed, config.shown)
    settings = replace(OURS.model, batches=config.batches)
    model = fit(given.sources, config=settings, rng=seed, progress=False)
    start = Trust(given.sources, model=model, batches=0, progress=False)
    rows = _random_rows(seed, config.episodes)
    x = seen_by_the_model(rows.s_tm1, rows.a_tm1, rows.s_t).astype(np.float64)
    weights: dict[str, list[list[float]]] = {rule: [] for rule in RULES}
    goals = spread(config.goals, Reacher().reach)
    for goal in goals:
        paid = jax.vmap(partial(reward, config=Reacher(tuple(goal))))(jnp.asarray(rows.s_t))
        trust = start.observe(x, np.asarray(paid, np.float64))
        for rule in RULES:
            weights[rule].append(trust.weights_by(rule).round(3).tolist())
    places = [[round(float(v), 4) for v in goal] for goal in goals]
    wants = [list(place) for place in SOURCES.values()]
    yield {"goals": places, "names": list(SOURCES), "wants": wants, "weights_at": weights}


def spread(count: int, reach: float) -> np.ndarray:
    """Points spread evenly over a disc, as seeds in a sunflower.

    >>> spread(3, 1.0).round(2).tolist()
    [[0.41, 0.0], [-0.52, 0.48], [0.08, -0.91]]
    """
    i = np.arange(count)
    r, angle = reach * np.sqrt((i + 0.5) / count), i * np.pi * (3 - np.sqrt(5))
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)


def _random_rows(seed: int, episodes: int) -> Any:
    task, settings = ReacherTask(Reacher()), DQNConfig(epsilon=1.0, hidden=(2,), capacity=500)
    rng = np.random.default_rng([seed, 5])
    state = DQN(task, seen_by_the_model, None, settings).start(rng)
    none, seen = nothing_handed(task, settings), []
    for _ in range(episodes):
        state, rows = episode(key_of(rng), state, none, None, task=task, config=settings)
        seen.append(jax.tree.map(np.asarray, rows))
    return jax.tree.map(lambda *columns: np.concatenate(columns), *seen)


CONFIG = ReacherMapConfig()
QUICK = ReacherMapConfig(goals=30, shown=ShownConfig(4000, 1000), batches=2000)
