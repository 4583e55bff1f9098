"""What would each demonstrator have earned in the new task, and is that foretold?

Enters: settings and a seed. Leaves: one record per set of sources, truth and number of episodes.
Nine demonstrators of the supply chain: three scenarios, and of each the first, middle and last
third of a training. Scenarios differ in what trucks cost, and who drove where is known, so what
each demonstrator would have earned under another one is known too. It is foretold from the rows of
a few episodes of plain DDPG, by the target's head with the help of the sources' heads and
without (`neutral`). Sources may be all nine, those of two scenarios or of one, or all with their
rewards' signs turned.

Trials 0, 6 and 7 were there to choose how far intervals are widened; the study runs trials 1 to 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit
from bers.trust.trust import Trust
from bers.trust.worth import worth_of
from bers_studies.envs.supply_chain import SupplyChain, scenario_costs
from bers_studies.envs.supply_inputs import trucks_per_route
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl.ddpg import DDPG
from bers_studies.rl.methods import Shown
from bers_studies.supply.demonstrations import (
    SCENARIOS,
    DemonstrationConfig,
    shown,
    with_trucks,
)
from bers_studies.supply.study import TRUTHS

SETS: dict[str, tuple[tuple[int, ...], float]] = {
    "all": ((1, 2, 3), 1.0),
    "scenarios 1 and 3": ((1, 3), 1.0),
    "scenario 3": ((3,), 1.0),
    "all, turned": ((1, 2, 3), -1.0),
}
"""Scenarios whose demonstrators are sources, and the sign of their rewards."""


@dataclass(frozen=True)
class WorthConfig:
    """One study."""

    first: int = 1
    """Trial: the one before was there to choose settings."""
    episodes: tuple[int, ...] = (1, 3, 10)
    """Of plain DDPG, that are seen of the target."""
    shown: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    model: ModelConfig = field(default_factory=lambda: ModelConfig(hidden=(300, 200), skip=True))
    level: float = 0.9


def trial(config: WorthConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All sets of sources on all truths."""
    number = config.first + seed
    given = shown(number, inputs=with_trucks(), config=config.shown)
    thirds = list(_thirds(given))
    own = {str(truth): _own_rows(truth, number, max(config.episodes)) for truth in TRUTHS}
    horizon = SupplyChain(1).horizon
    for name, (scenarios, sign) in SETS.items():
        sources = [
            Demonstrations(given.x[rows], sign * given.pool.r_t[rows], who)
            for who, scenario, rows in thirds
            if scenario in scenarios
        ]
        nine = [Demonstrations(given.x[rows], given.pool.r_t[rows], w) for w, _, rows in thirds]
        fitted = fit(sources, config=config.model, rng=number, progress=False)
        how = {"model": fitted, "robust": False, "rng": number, "progress": False}
        starts = {"BERS": Trust(sources, **how), "neutral": Trust(sources, prior="neutral", **how)}
        for truth, episodes in own.items():
            true = [_earned(given, scenario, rows, truth) for _, scenario, rows in thirds]
            for count in config.episodes:
                x, y = (np.concatenate(part) for part in zip(*episodes[:count], strict=True))
                record = {"trial": number, "sources": name, "truth": truth, "episodes": count}
                record |= {"true": _short(true)}
                for method, start in starts.items():
                    trust = start.observe(x, y)
                    found = worth_of(
                        np.random.default_rng(number), trust.head, fitted, nine,
                        names=[one.name for one in nine], horizon=horizon, level=config.level,
                    )  # fmt: skip
                    ends = [[one.low for one in found.sources], [one.high for one in found.sources]]
                    said = {"mean": _short(found.mean), "low": _short(ends[0])}
                    yield record | {"method": method, **said, "high": _short(ends[1])}


def _thirds(given: Shown) -> Iterator[tuple[str, int, np.ndarray]]:
    """Name, scenario and rows of each demonstrator; rows of a training are in order."""
    ends = np.cumsum(given.counts)
    for scenario, end, count in zip(SCENARIOS, ends, given.counts, strict=True):
        for part, rows in zip(
            ("first", "middle", "last"), np.array_split(np.arange(end - count, end), 3), strict=True
        ):
            yield f"scenario {scenario}, {part} third", scenario, rows


def _own_rows(truth: Any, number: int, episodes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and rewards of the first episodes of plain DDPG."""
    learner = DDPG(SupplyTask(SupplyChain(truth)), with_trucks(), None)
    rng = np.random.default_rng([number, 1])
    state, found = learner.start(rng), []
    for _ in range(episodes):
        state, seen = learner.iterate(rng, state, None)
        found.append((np.asarray(seen.x, np.float64), np.asarray(seen.y, np.float64)))
    return found


def _earned(given: Shown, scenario: int, rows: np.ndarray, truth: str) -> float:
    """What the rows would have earned in an episode of the truth: only trucks cost otherwise."""
    chain = SupplyChain(1)
    pool = given.pool[rows]
    trucks = trucks_per_route(jnp.asarray(pool.s_tm1), jnp.asarray(pool.a_tm1), config=chain)
    other = scenario_costs("target" if truth == "target" else int(truth))  # pyright: ignore
    dearer = np.subtract(scenario_costs(scenario), other).ravel()  # pyright: ignore
    return chain.horizon * float(np.mean(pool.r_t + np.asarray(trucks) @ dearer))


def _short(values: Any) -> list[float]:
    return [round(float(value), 1) for value in values]


CONFIG = WorthConfig()
QUICK = replace(
    CONFIG,
    episodes=(1,),
    shown=DemonstrationConfig(steps=1000, rows=600),
    model=ModelConfig(hidden=(16,), latent_dim=4, skip=True, batches=50),
)
