"""Methods of the supply chain's study under a reading of the paper.

Enters: a reading, a ground truth, demonstrations. Leaves: records: profits, weights, and what
prioritised batches are made of.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers_studies.envs.supply_chain import Scenario
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.paper_readings.demonstrations import network_of
from bers_studies.paper_readings.readings import Reading
from bers_studies.rl.ddpg import DDPGState
from bers_studies.rl.handed import key_of
from bers_studies.rl.methods import Shown
from bers_studies.rl.prioritised import new_prioritised, preload
from bers_studies.supply.study import SupplyBench, SupplyConfig

OURS = "BERS, paper's recipe"


class ReadBench(SupplyBench):
    """All methods on one truth, by the reading's learner."""

    def __init__(
        self,
        reading: Reading,
        truth: Scenario,
        given: Shown,
        number: int,
        config: SupplyConfig,
        models: dict[ModelConfig, Model],
    ) -> None:
        """`models` holds what was fitted on these demonstrations before, for another truth."""
        task = SupplyTask(network_of(truth, reading))
        if not reading.trims_target:
            given = replace(given, keep=(-np.inf, np.inf))
        learner = reading.learner(task, given)
        super().__init__(task, given, number, config, learner.inputs)
        self.learner, self.reading, self._models = learner, reading, models

    def run(self, method: Any) -> dict[str, Any]:
        """One method by name: the paper's recipe, a source alone ("S1"), or what rivals do."""
        rules = {OURS: "weights", **{f"S{i + 1}": f"single:{i}" for i in range(3)}}
        if method not in rules:
            return super().run(method)
        chosen = self.reading.method(rules[method], seed=self.number)
        profits, weights = self.weighted(chosen)
        return {"profit": profits} | ({"weights": weights} if method == OURS else {})

    def _prioritised(self) -> dict[str, Any]:
        """PER with all demonstrations in it from the start."""
        rng, state = self.fresh()
        given, learner = self.given, self.learner
        origin = np.repeat(np.arange(len(given.counts)), given.counts)
        order = np.random.default_rng([self.number, 3]).permutation(len(origin))
        rows = given.pool[order]
        replay = preload(new_prioritised(rows[0], len(order)), rows, origin[order])
        state = DDPGState(state.nets, replay, state.steps)
        alone, profits, makeup = replace(learner, pool=None), [], []
        for _ in range(self.episodes):
            state, seen = alone.seen(key_of(rng), state, alone.none)
            profits.append(self.score(state))
            counts = np.bincount(np.asarray(seen.origins).ravel() + 1, minlength=4)
            makeup.append((counts / counts.sum()).round(3).tolist())
        return {"profit": profits, "makeup": makeup}
