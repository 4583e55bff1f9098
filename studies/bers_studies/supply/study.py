"""The paper's second study: control of the supply chain, with three demonstrators.

Enters: settings and a number, which stands for a trial and one of four ground truths. Leaves: one
record per method: the profit of test episodes after each training episode, the weights, posteriors
of what the heads want, the make-up of prioritised batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.algorithm import Reuse, ReuseConfig
from bers.data.transitions import Inputs
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.reuse.transitions import TransitionConfig
from bers_studies.envs.supply_chain import Scenario, SupplyChain
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl.ddpg import DDPG, DDPGState, episode, returns_of
from bers_studies.rl.handed import key_of, nothing_handed
from bers_studies.rl.methods import FADING, Bench, Method, Shown, paper_methods
from bers_studies.rl.prioritised import new_prioritised, preload
from bers_studies.supply.demonstrations import (
    SCENARIOS,
    DemonstrationConfig,
    shown,
    with_trucks,
)

TRUTHS: tuple[Scenario, ...] = (1, 2, 3, "target")
PARTS = len(TRUTHS)
"""A trial is run in so many parts, each with a journal of its own."""
SNAPSHOTS = (0, 10, 50, 100, 200)
"""Episodes after which the posteriors are kept (paper)."""

OURS = Method(
    ReuseConfig(schedule=FADING, batches=20, subset=2000),
    TransitionConfig(mix="row", clone=3.0),
    ModelConfig(hidden=(300, 200), skip=True),
)
_PAPER = ReuseConfig(rule="weights", schedule=FADING, batches=20, subset=None)
_PAPER_MODEL = ModelConfig.paper(hidden=(300, 200))

WEIGHTED: dict[str, Method] = {"BERS": OURS, **paper_methods(_PAPER, _PAPER_MODEL, len(SCENARIOS))}
"""Methods that differ in weights and in what is handed over."""

METHODS = (*WEIGHTED, "PER", "PPR", "None")


@dataclass(frozen=True)
class SupplyConfig:
    """One study."""

    episodes: int = 200
    """Of training (paper: 200)."""
    tests: int = 10
    """Test episodes after each, without noise; the same demand for all methods."""
    shown: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    clone_epochs: int = 50
    """Of the cloned policies (paper)."""
    batches: int | None = None
    """Of the model's first training; None: as its settings say."""


def trial(config: SupplyConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods of one trial on one truth; every four numbers make one trial."""
    number, which = divmod(seed, PARTS)
    truth = TRUTHS[which]
    given = shown(number, inputs=with_trucks(), config=config.shown)
    yield {"data_digests": {source.name: source.digest[:16] for source in given.sources}}
    bench = SupplyBench(SupplyTask(SupplyChain(truth)), given, number, config, with_trucks())
    for name in METHODS:
        record = {"truth": str(truth), "trial": number, "method": name, "sources": given.profit}
        yield record | bench.run(name)


class SupplyBench(Bench):
    """All methods on one truth; profits are of test episodes without noise."""

    def __init__(
        self, task: SupplyTask, given: Shown, number: int, config: SupplyConfig, inputs: Inputs
    ) -> None:
        def profit(state: DDPGState) -> float:
            key = jax.random.key(1000 + number)
            found = returns_of(key, state.nets.actor, task=task, episodes=config.tests)
            return round(float(found.mean()), 1)

        learner = DDPG(task, inputs, jax.tree.map(jnp.asarray, given.pool))
        super().__init__(learner, given, number, config.episodes, profit, batches=config.batches)

    def run(self, method: "str | Method") -> dict[str, Any]:
        """One method."""
        if method == "None":
            return {"profit": self.alone()}
        if method == "PPR":
            profits, chosen = self.policies()
            return {"profit": profits, "arms": chosen}
        if method == "PER":
            return self._prioritised()
        posteriors: dict[str, Any] = {}
        chosen = WEIGHTED[method] if isinstance(method, str) else method
        profits, weights = self.weighted(chosen, partial(_keep_posteriors, posteriors))
        return {"profit": profits, "weights": weights, "posteriors": posteriors}

    def _prioritised(self) -> dict[str, Any]:
        """PER with all demonstrations in it from the start."""
        rng, state = self.fresh()
        given, task, settings = self.given, self.learner.task, self.learner.config
        origin = np.repeat(np.arange(len(given.counts)), given.counts)
        order = np.random.default_rng([self.number, 3]).permutation(len(origin))
        rows = given.pool[order]
        replay = preload(new_prioritised(rows[0], len(order)), rows, origin[order])
        state = DDPGState(state.nets, replay, state.steps)
        profits, makeup, none = [], [], nothing_handed(task, settings)
        for _ in range(self.episodes):
            state, seen = episode(key_of(rng), state, none, None, task=task, config=settings)
            profits.append(self.score(state))
            counts = np.bincount(np.asarray(seen.origins).ravel() + 1, minlength=4)
            makeup.append((counts / counts.sum()).round(3).tolist())
        return {"profit": profits, "makeup": makeup}


def _keep_posteriors(kept: dict[str, Any], reuse: Reuse) -> None:
    """Marginals of w, the target last, of the entries that differ most between the sources."""
    model = reuse.trust.model
    if model is None or reuse.m not in SNAPSHOTS:
        return
    found = nig.marginals(model.heads)
    entries = kept.setdefault("entries", _telling(model).tolist())
    centre, scale = (np.asarray(part)[:, entries] for part in (found.loc, found.scale))
    kept[str(reuse.m)] = {"centre": _short(centre), "scale": _short(scale)}


def _telling(model: Model, count: int = 12) -> np.ndarray:
    """The entries of w, the bias not among them, that tell the sources apart best."""
    mu = model.heads.mu[:, :-1]
    spread = nig.marginals(model.heads).scale[:, :-1]
    apart = mu.std(axis=0) / spread.mean(axis=0)
    return np.sort(np.argsort(-apart, kind="stable")[:count])


def _short(values: np.ndarray) -> list[Any]:
    return [[float(f"{value:.4g}") for value in row] for row in values]


CONFIG = SupplyConfig()
QUICK = SupplyConfig(
    5, tests=2, shown=DemonstrationConfig(steps=2000, rows=1500), clone_epochs=5, batches=500
)
