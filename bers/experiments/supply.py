"""The paper's second study: control of the supply chain, with three demonstrators.

Enters: settings and a number, which stands for a trial and one of four ground truths. Leaves: one
record per method: the profit of test episodes after each training episode, the weights, posteriors
of what the heads want, the make-up of prioritised batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bers.algorithm import Reuse, ReuseConfig, experience_reuse, new_reuse
from bers.control.hand import Hand, HandConfig
from bers.data.transitions import Inputs
from bers.experiments.supply_demonstrations import (
    SCENARIOS,
    DemonstrationConfig,
    Shown,
    shown,
    with_trucks,
)
from bers.learners.ddpg import DDPG, DDPGState, episode, returns_of
from bers.learners.handed import nothing_handed
from bers.learners.policy_reuse import Arms, PolicyGuide, cloned
from bers.learners.prioritised import new_prioritised, preload
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit
from bers.problems.supply_chain import Scenario, SupplyChain
from bers.problems.supply_task import SupplyTask
from bers.reuse.schedule import Power
from bers.trust.rules import is_blind

TRUTHS: tuple[Scenario, ...] = (1, 2, 3, "target")
PARTS = len(TRUTHS)
"""A trial is run in so many parts, each with a journal of its own."""
SNAPSHOTS = (0, 10, 50, 100, 200)
"""Episodes after which the posteriors are kept (paper)."""

_FADING = Power(0.95)


@dataclass(frozen=True)
class Method:
    """A way to use the sources' transitions by weights."""

    reuse: ReuseConfig
    hand: HandConfig


OURS = Method(
    ReuseConfig(
        schedule=_FADING, batches=20, subset=2000, model=ModelConfig(hidden=(300, 200), skip=True)
    ),
    HandConfig(mix="row", clone=3.0),
)
_PAPER = ReuseConfig(
    rule="weights", schedule=_FADING, batches=20, subset=None,
    model=ModelConfig.paper(hidden=(300, 200)),
)  # fmt: skip

WEIGHTED: dict[str, Method] = {
    "BERS": OURS,
    "BERS, paper's recipe": Method(_PAPER, HandConfig.paper()),
    **{
        f"S{i + 1}": Method(replace(_PAPER, rule=f"single:{i}"), HandConfig.paper())
        for i in range(len(SCENARIOS))
    },
    "RLPD": Method(replace(_PAPER, rule="equal"), HandConfig(mix="half", relabel=False)),
}
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


def trial(config: SupplyConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All methods of one trial on one truth; every four numbers make one trial."""
    number, which = divmod(seed, PARTS)
    truth = TRUTHS[which]
    given = shown(number, inputs=with_trucks(), config=config.shown)
    yield {"data_digests": {source.name: source.digest[:16] for source in given.sources}}
    bench = Bench(SupplyTask(SupplyChain(truth)), given, number, config, with_trucks())
    for name in METHODS:
        record = {"truth": str(truth), "trial": number, "method": name, "sources": given.profit}
        yield record | bench.run(name)


class Bench:
    """One truth, one set of demonstrations; every method starts from the same networks."""

    def __init__(
        self, task: SupplyTask, given: Shown, number: int, config: SupplyConfig, inputs: Inputs
    ) -> None:
        self.task, self.given, self.number, self.config = task, given, number, config
        self.learner = DDPG(task, inputs, jax.tree.map(jnp.asarray, given.pool))
        self._models: dict[ModelConfig, Model] = {}

    def run(self, method: "str | Method") -> dict[str, Any]:
        """One method."""
        rng = np.random.default_rng([self.number, 1])
        state = self.learner.start(rng)
        special = {"PER": self._prioritised, "PPR": self._policies, "None": self._alone}
        if isinstance(method, str) and method in special:
            return special[method](rng, state)
        return self.weighted(WEIGHTED[method] if isinstance(method, str) else method, rng, state)

    def weighted(
        self, method: Method, rng: np.random.Generator, state: DDPGState
    ) -> dict[str, Any]:
        """Algorithm 1."""
        given, own = self.given, np.random.default_rng([self.number, 2])
        hand = Hand(given.x, given.pool.r_t, given.counts, method.hand)
        model = None if is_blind(method.reuse.rule) else self._model(method.reuse.model)
        reuse = new_reuse(
            own, given.sources, config=method.reuse, model=model, hand=hand, keep=given.keep
        )
        profits, weights, posteriors = [], [], {}
        self._keep_posteriors(posteriors, reuse)
        run = experience_reuse(rng, self.learner, state, reuse, self.config.episodes)
        for now, known in run:
            profits.append(self._profit(now))
            weights.append(known.a.round(3).tolist())
            self._keep_posteriors(posteriors, known)
        return {"profit": profits, "weights": weights, "posteriors": posteriors}

    def _alone(self, rng: np.random.Generator, state: DDPGState) -> dict[str, Any]:
        profits = []
        for _ in range(self.config.episodes):
            state, _ = self.learner.iterate(rng, state, None)
            profits.append(self._profit(state))
        return {"profit": profits}

    def _policies(self, rng: np.random.Generator, state: DDPGState) -> dict[str, Any]:
        """HAT + PPR."""
        given = jax.tree.map(jnp.asarray, self.given.pool)
        ends = np.cumsum(self.given.counts)
        nets = [
            cloned(jax.random.key(i), given[end - count : end], task=self.task)
            for i, (end, count) in enumerate(zip(ends, self.given.counts, strict=True))
        ]
        own, arms, profits, chosen = np.random.default_rng([self.number, 2]), Arms.new(3), [], []
        for m in range(1, self.config.episodes + 1):
            arm = arms.choose()
            # the own policy is never followed: any net will do, and keeps one compilation
            p_m = _FADING(m) if arm < len(nets) else 0.0
            guide = PolicyGuide(own, nets[arm % len(nets)], p_m)
            state, seen = self.learner.iterate(rng, state, guide)
            arms = arms.after(arm, float(seen.y.sum()))
            profits.append(self._profit(state))
            chosen.append(arm)
        return {"profit": profits, "arms": chosen}

    def _prioritised(self, rng: np.random.Generator, state: DDPGState) -> dict[str, Any]:
        """PER with all demonstrations in it from the start."""
        given, settings = self.given, self.learner.config
        origin = np.repeat(np.arange(len(given.counts)), given.counts)
        order = np.random.default_rng([self.number, 3]).permutation(len(origin))
        rows = given.pool[order]
        replay = preload(new_prioritised(rows[0], len(order)), rows, origin[order])
        state = DDPGState(state.nets, replay, state.steps)
        profits, makeup, none = [], [], nothing_handed(self.task, settings)
        for _ in range(self.config.episodes):
            key = jax.random.key(int(rng.integers(2**63)))
            state, seen = episode(key, state, none, None, task=self.task, config=settings)
            profits.append(self._profit(state))
            counts = np.bincount(np.asarray(seen.origins).ravel() + 1, minlength=4)
            makeup.append((counts / counts.sum()).round(3).tolist())
        return {"profit": profits, "makeup": makeup}

    def _profit(self, state: DDPGState) -> float:
        key = jax.random.key(1000 + self.number)
        found = returns_of(key, state.nets.actor, task=self.task, episodes=self.config.tests)
        return round(float(found.mean()), 1)

    def _model(self, config: ModelConfig) -> Model:
        if config not in self._models:
            self._models[config] = fit(
                self.given.sources, config=config, rng=self.number, progress=False
            )
        return self._models[config]

    def _keep_posteriors(self, kept: dict[str, Any], reuse: Reuse) -> None:
        """Marginals of w, the target last, of the entries that differ most between the sources."""
        model = reuse.model
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
