"""Where goods go in the supply chain, once an agent has learned for a while.

Enters: settings and a number, which stands for a trial and one of four ground truths. Leaves: one
record per method: for every route the mean units per period that its policy ships, without noise,
what a truck costs there, and the profit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float32, PRNGKeyArray

from bers_studies.envs.supply_chain import SupplyChain, shipments
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl.ddpg import DDPGState
from bers_studies.rl.networks import Net
from bers_studies.supply.demonstrations import DemonstrationConfig, shown, with_trucks
from bers_studies.supply.study import QUICK as SHORT
from bers_studies.supply.study import TRUTHS, SupplyBench, SupplyConfig

PARTS = len(TRUTHS)
METHODS = ("BERS", "None")


@dataclass(frozen=True)
class FlowsConfig:
    """One study."""

    episodes: int = 30
    """Of training."""
    tests: int = 10
    """Episodes over which flows are averaged."""
    shown: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    batches: int | None = None
    """Of the model's first training; None: as its settings say."""


def trial(config: FlowsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """Both methods on one truth."""
    number, which = divmod(seed, PARTS)
    network = SupplyChain(TRUTHS[which])
    task = SupplyTask(network)
    how = {"shown": config.shown, "batches": config.batches}
    study = SupplyConfig(config.episodes, config.tests, **how)
    given = shown(number, inputs=with_trucks(), config=config.shown)
    bench = SupplyBench(task, given, number, study, with_trucks())
    last: dict[str, DDPGState] = {}
    profit = bench.score

    def keep(state: DDPGState) -> float:
        last["state"] = state
        return profit(state)

    bench.score = keep
    for method in METHODS:
        profits = bench.run(method)["profit"]
        key = jax.random.key(1000 + number)
        flows = mean_flows(key, last["state"].nets.actor, task=task, episodes=config.tests)
        yield {
            "truth": str(TRUTHS[which]),
            "trial": number,
            "method": method,
            "earned": profits[-1],
            "places": list(network.places),
            "flows": np.asarray(flows, float).round(2).tolist(),
            "truck_cost": [list(row) for row in np.array(network.truck_cost).tolist()],
        }


@partial(jax.jit, static_argnames=("task", "episodes"))
def mean_flows(
    key: PRNGKeyArray, actor: Net, *, task: SupplyTask, episodes: int
) -> Float32[Array, "places places"]:
    """Mean units per period on every route, from row to column."""

    def step(s: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        action = task.action(actor(task.observe(s)))
        return task.step(key, s, action)[0], shipments(s, action, config=task.network)

    def run(key: PRNGKeyArray) -> Array:
        start, steps = jax.random.split(key)
        return jax.lax.scan(step, task.reset(start), jax.random.split(steps, task.horizon))[1]

    return jax.vmap(run)(jax.random.split(key, episodes)).mean(axis=(0, 1))


CONFIG = FlowsConfig()
QUICK = FlowsConfig(5, tests=2, shown=SHORT.shown, batches=500)
