"""Readings of what the paper leaves unsaid about the supply chain, each a value with a name.

Enters: nothing. Leaves: `READINGS`, from "as printed" on. A reading says what differs, and makes
learner, model and recipe of it. Rivals learn by the same learner.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.algorithm import ReuseConfig
from bers.model.config import ModelConfig
from bers.reuse.transitions import TransitionConfig
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.paper_readings.inputs import Shows, inputs_named
from bers_studies.paper_readings.learner import ReadDDPG
from bers_studies.rl.ddpg import DDPGConfig
from bers_studies.rl.methods import FADING, Method, Shown


@dataclass(frozen=True)
class PerEpisode:
    """Bernoulli(p_m) once an episode: its batches are all of sources, or all its own.

    >>> {PerEpisode(0)(m) for m in range(1, 50)}
    {0.0, 1.0}
    """

    seed: int

    def __call__(self, m: int) -> float:
        """0 or 1."""
        return float(np.random.default_rng([self.seed, 4, m]).random() < FADING(m))


@dataclass(frozen=True)
class Reading:
    """One way to read the paper. What is not named is as `bers-studies reproduce supply` has it."""

    name: str
    says: str
    """In a sentence."""
    shows: Shows = "trucks"
    """What the encoder sees beside stocks and action."""
    skip: bool = False
    """Whether the heads see these inputs beside the learned features."""
    labels: str = "raw"
    """Whether rewards are standardised for each head."""
    batches: int = 20
    """Of the model's training after each episode."""
    trims_target: bool = True
    """Whether rows of the target with rewards out of the sources' range are left out."""
    per_episode: bool = False
    """Whether Bernoulli(p_m) is drawn once an episode."""
    reward_scale: float = 0.1
    """Of the rewards that the critic learns."""
    target_rate: float = 0.01
    """Of the slow copies of the networks."""
    updates: int = 1
    """Batches that a step trains on."""
    beside: bool = False
    """Whether a source's batch comes on top of an own one."""
    drawn_from: float = 0.0
    """Share of the demonstrators' training that is over before the first row that is drawn."""
    world: str = "reconstructed"
    """Which scenarios: those of the study `supply`, or those where 1 and 2 "share" routes."""

    def learner(self, task: SupplyTask, given: Shown) -> ReadDDPG:
        """Of BERS and of its rivals."""
        config = DDPGConfig(reward_scale=self.reward_scale, target_rate=self.target_rate)
        pool = jax.tree.map(jnp.asarray, given.pool)
        inputs = inputs_named(self.shows)
        return ReadDDPG(task, inputs, pool, config, updates=self.updates, beside=self.beside)

    def method(self, rule: str = "weights", *, seed: int = 0) -> Method:
        """The paper's recipe; "single:0" is its first source alone."""
        schedule = PerEpisode(seed) if self.per_episode else FADING
        changes: dict[str, Any] = {"skip": self.skip, "labels": self.labels}
        return Method(
            ReuseConfig(rule=rule, schedule=schedule, batches=self.batches, subset=None),
            TransitionConfig.paper(),
            ModelConfig.paper(hidden=(300, 200), **changes),
        )


AS_PRINTED = Reading(
    "as printed",
    "whole batches in place of own ones, rewards times 0.1, slow copies at 0.01, trucks shown",
)


def _changed(name: str, says: str, of: Reading = AS_PRINTED, **changes: Any) -> Reading:
    return replace(of, name=name, says=says, **changes)


_FAST = _changed(
    "rewards times 0.01, beside",
    "rewards times 0.01, and a source's batch on top of an own one",
    reward_scale=0.01,
    beside=True,
)

ONE_BY_ONE: tuple[Reading, ...] = (
    AS_PRINTED,
    _changed("trucks, skip", "the heads see the inputs too", skip=True),
    _changed("units", "the encoder sees units per route", shows="units"),
    _changed(
        "units, skip", "units per route, and the heads see them too", shows="units", skip=True
    ),
    _changed("stocks", "the encoder sees stocks and the action only", shows="stocks"),
    _changed(
        "stocks, skip", "stocks and action, which the heads see too", shows="stocks", skip=True
    ),
    _changed("one-hot", "the encoder sees one-hot stocks and the action", shows="one-hot"),
    _changed(
        "one-hot, skip", "one-hot stocks, which the heads see too", shows="one-hot", skip=True
    ),
    _changed("standardised", "each head's rewards are standardised", labels="standardised"),
    _changed("100 batches", "the model trains on 100 batches after each episode", batches=100),
    _changed("target untrimmed", "no row of the target is left out", trims_target=False),
    _changed("rewards times 1", "the critic learns rewards as they are", reward_scale=1.0),
    _changed("rewards times 0.01", "the critic learns rewards times 0.01", reward_scale=0.01),
    _changed("rate 0.001", "slow copies move by 0.001", target_rate=0.001),
    _changed("beside", "a source's batch comes on top of an own one", beside=True),
    _changed("two batches", "every step trains on two batches", updates=2),
    _changed("p_m per episode", "Bernoulli(p_m) is drawn once an episode", per_episode=True),
)
"""One thing changed at a time."""

OTHER_ROWS: tuple[Reading, ...] = (
    _changed(
        "from the end of training",
        "demonstrations are drawn from the last third of the training",
        drawn_from=2 / 3,
    ),
    _changed(
        "shared routes",
        "scenarios 1 and 2 share two routes, and the target has both",
        world="share",
    ),
)
"""The same, where the demonstrators have to be trained anew."""

TOGETHER: tuple[Reading, ...] = (
    _FAST,
    _changed(f"{_FAST.name}, skip", "the same, and the heads see the inputs too", _FAST, skip=True),
    _changed(
        f"{_FAST.name}, standardised", "the same, and standardised", _FAST, labels="standardised"
    ),
    _changed(
        f"{_FAST.name}, skip, standardised",
        "all of these",
        _FAST,
        skip=True,
        labels="standardised",
    ),
    _changed(
        f"{_FAST.name}, skip, untrimmed",
        "with skip, and no row of the target is left out",
        _FAST,
        skip=True,
        trims_target=False,
    ),
)
"""What helped, together."""

READINGS: dict[str, Reading] = {
    one.name: one for one in (AS_PRINTED, *TOGETHER, *ONE_BY_ONE[1:], *OTHER_ROWS)
}
"""All of them, the most telling first."""
