"""What each part of reuse is worth in control: weights, what the model sees, what is handed over.

Enters: settings and a number, which stands for a trial and one of two ground truths. Leaves: the
first episodes of BERS, of BERS with one thing changed, and of plain DDPG.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bers.data.transitions import Inputs
from bers.reuse.transitions import with_products
from bers_studies.envs.supply_chain import Scenario, SupplyChain
from bers_studies.envs.supply_inputs import one_hot_stocks
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl.methods import Method
from bers_studies.supply.demonstrations import shown, with_trucks
from bers_studies.supply.study import OURS, SupplyBench, SupplyConfig
from bers_studies.supply.study import QUICK as SHORT

TRUTHS: tuple[Scenario, ...] = (2, "target")
"""One that a source matches, and one that no source matches alone."""
PARTS = len(TRUTHS)

_TRUCKS: Inputs = with_trucks()
_ONE_HOT: Inputs = partial(one_hot_stocks, config=SupplyChain(1))


def _weighed(rule: str) -> Method:
    return replace(OURS, reuse=replace(OURS.reuse, rule=rule))


def _handed(**changes: Any) -> Method:
    return replace(OURS, handing=replace(OURS.handing, **changes))


_NO_SKIP = replace(OURS, model=replace(OURS.model, skip=False))

OPTIONS: dict[str, tuple[Method | str, Inputs]] = {
    "BERS": (OURS, _TRUCKS),
    "weights by the paper's metric": (_weighed("weights"), _TRUCKS),
    "weights by centred": (_weighed("centred"), _TRUCKS),
    "weights by shape": (_weighed("shape"), _TRUCKS),
    "weights by shape, or nobody": (_weighed("shape+nobody"), _TRUCKS),
    "weights averaged over the posterior": (_weighed("averaged"), _TRUCKS),
    "equal weights": (_weighed("equal"), _TRUCKS),
    "inputs: s, a, s' and products s ⊗ a": (OURS, with_products),
    "inputs: one-hot s and s', and a": (OURS, _ONE_HOT),
    "no linear skip": (_NO_SKIP, _TRUCKS),
    "rewards as they were": (_handed(relabel=False), _TRUCKS),
    "pessimism 1": (_handed(pessimism=1.0), _TRUCKS),
    "no cloning": (_handed(clone=0.0), _TRUCKS),
    "cloning 1": (_handed(clone=1.0), _TRUCKS),
    "cloning 10": (_handed(clone=10.0), _TRUCKS),
    "whole batches": (_handed(mix="batch"), _TRUCKS),
    "None": ("None", _TRUCKS),
}
"""Ours, and ours with one thing changed: the method, and what its model sees."""


@dataclass(frozen=True)
class SupplyOptionsConfig:
    """One study."""

    study: SupplyConfig = field(default_factory=lambda: SupplyConfig(episodes=40))


def trial(config: SupplyOptionsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All options of one trial on one truth."""
    number, which = divmod(seed, PARTS)
    truth = TRUTHS[which]
    task, benches = SupplyTask(SupplyChain(truth)), {}
    for name, (method, inputs) in OPTIONS.items():
        if inputs not in benches:
            given = shown(number, inputs=inputs, config=config.study.shown)
            benches[inputs] = SupplyBench(task, given, number, config.study, inputs)
        run = benches[inputs].run(method)
        run.pop("posteriors", None)
        record = {"truth": str(truth), "trial": number, "method": name}
        yield record | {"sources": benches[inputs].given.profit} | run


CONFIG = SupplyOptionsConfig()
QUICK = SupplyOptionsConfig(replace(SHORT, episodes=2, batches=200))
