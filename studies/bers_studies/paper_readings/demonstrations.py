"""Demonstrations for readings: those of the study `supply`, from elsewhere, or of other scenarios.

Enters: a seed, a reading. Leaves: what all methods are shown. Demonstrators learn as printed in
every reading, so that readings of the learner differ in what is made of the same rows.
"""

from collections.abc import Iterator

import jax
import numpy as np

from bers_studies.envs.supply_chain import Scenario, SupplyChain, Table, ring_costs
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.paper_readings.inputs import inputs_named
from bers_studies.paper_readings.readings import Reading
from bers_studies.rl.ddpg import DDPG, DDPGConfig, DDPGState, episode
from bers_studies.rl.handed import key_of, nothing_handed
from bers_studies.rl.methods import Shown, drawn, kept, shown_of
from bers_studies.rl.replay import Transitions
from bers_studies.supply.demonstrations import SCENARIOS, DemonstrationConfig, shown, with_trucks

_SHARE: dict[Scenario, str] = {
    1: "0A AF 0B BC CD FE",
    2: "0A AF 0C CB 0D DE",
    3: "0E 0F ED DC FA AB",
    "target": "0A AF 0B 0C 0D FE",
}
"""Cheap routes where 0A and AF are of 1, of 2 and of the target, which has two more of either."""


def network_of(truth: Scenario, reading: Reading) -> SupplyChain:
    """The network of a ground truth in the reading's world.

    >>> from bers_studies.paper_readings.readings import AS_PRINTED, READINGS
    >>> network_of(1, AS_PRINTED) == SupplyChain(1)
    True
    >>> network_of(2, READINGS["shared routes"]) == SupplyChain(2)
    False
    """
    return SupplyChain(_share(truth) if reading.world == "share" else truth)


def shown_in(reading: Reading, seed: int, config: DemonstrationConfig) -> Shown:
    """All three sources as the reading's model sees them."""
    inputs = inputs_named(reading.shows)
    if not reading.drawn_from and reading.world == "reconstructed":
        return shown(seed, inputs=inputs, config=config)
    about = f"{config} {seed} {reading.drawn_from} {reading.world}"
    return shown_of(
        [
            kept("readings", f"{about} {which}", lambda i=which: _trained(seed, i, reading, config))
            for which in SCENARIOS
        ],
        [f"scenario {which}" for which in SCENARIOS],
        inputs=inputs,
        trimmed=config.trimmed,
        horizon=SupplyChain(1).horizon,
    )


def _share(truth: Scenario) -> Table:
    place = {"0": 0} | {letter: i + 1 for i, letter in enumerate("ABCDEF")}
    return ring_costs(6, [(place[a], place[b]) for a, b in _SHARE[truth].split()])


def _trained(
    seed: int, which: Scenario, reading: Reading, config: DemonstrationConfig
) -> Transitions:
    task, settings = SupplyTask(network_of(which, reading)), DDPGConfig()
    rng = np.random.default_rng([seed, SCENARIOS.index(which) + 1])  # pyright: ignore
    state = DDPG(task, with_trucks(), None, settings).start(rng)
    none, episodes = nothing_handed(task, settings), config.steps // task.horizon
    keys = jax.random.split(key_of(rng), episodes)

    def late(state: DDPGState) -> Iterator[Transitions]:
        for m, key in enumerate(keys):
            state, news = episode(key, state, none, None, task=task, config=settings)
            if m >= reading.drawn_from * episodes:
                yield jax.tree.map(np.asarray, news.rows)

    left = sum(m >= reading.drawn_from * episodes for m in range(episodes)) * task.horizon
    return drawn(rng, late(state), min(config.rows, left))
