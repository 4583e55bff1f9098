"""Transitions of three controllers, each trained on its own scenario of the supply chain.

Enters: a seed. Leaves: for each scenario, transitions drawn from the whole training of DDPG, so
that early, clumsy ones are among them (paper), and what a model of the rewards is made from: rows
without the 2.5% of least and greatest reward. Trials that share a seed share the transitions, which
are kept in a temporary folder: making them again would take minutes, and give the same bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

from bers.data.transitions import Inputs
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_inputs import trucks_and_stocks
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl.ddpg import DDPG, DDPGConfig, DDPGState, episode
from bers_studies.rl.handed import key_of, nothing_handed
from bers_studies.rl.methods import Shown, drawn, kept, shown_of
from bers_studies.rl.replay import Transitions

SCENARIOS = (1, 2, 3)


@dataclass(frozen=True)
class DemonstrationConfig:
    """How demonstrations come about (paper)."""

    steps: int = 30_000
    """Of training, on each scenario."""
    rows: int = 10_000
    """Drawn from all of them."""
    trimmed: float = 0.025
    """Share of the rows of least and of greatest reward that the model is not shown."""


def shown(seed: int, *, inputs: Inputs, config: DemonstrationConfig) -> Shown:
    """All three sources."""
    return shown_of(
        [_demonstrations(seed, scenario, config) for scenario in SCENARIOS],
        [f"scenario {scenario}" for scenario in SCENARIOS],
        inputs=inputs,
        trimmed=config.trimmed,
        horizon=SupplyChain(1).horizon,
    )


def with_trucks() -> Inputs:
    """The inputs that suit the supply chain: stocks, action, and trucks per route."""
    return partial(trucks_and_stocks, config=SupplyChain(1))


def _demonstrations(seed: int, scenario: int, config: DemonstrationConfig) -> Transitions:
    return kept("supply", f"{config} {seed} {scenario}", lambda: _trained(seed, scenario, config))


def _trained(seed: int, scenario: int, config: DemonstrationConfig) -> Transitions:
    task = SupplyTask(SupplyChain(scenario))  # pyright: ignore[reportArgumentType]
    rng, settings = np.random.default_rng([seed, scenario]), DDPGConfig()
    learner = DDPG(task, with_trucks(), None, settings)
    state, none = learner.start(rng), nothing_handed(task, settings)
    keys = jax.random.split(key_of(rng), config.steps // task.horizon)

    def episodes(state: DDPGState) -> Iterator[Transitions]:
        for key in keys:
            state, news = episode(key, state, none, None, task=task, config=settings)
            yield jax.tree.map(np.asarray, news.rows)

    return drawn(rng, episodes(state), config.rows)
