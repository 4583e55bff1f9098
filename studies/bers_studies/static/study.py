"""The paper's first study: four functions with past runs on three, and all four at once.

Enters: settings and a seed. Leaves: one record per panel and method. In each trial Differential
Evolution demonstrates Rosenbrock, Ackley and Sphere; then every method minimises each of the three
again, from another start, and Rastrigin; then all four at the same time, without past runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.algorithm import ReuseConfig
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.multitask import minimize_many
from bers.schedules import Constant
from bers_studies.rivals.amtea import amtea
from bers_studies.rivals.warm_cma import warm_cma
from bers_studies.static.demonstrations import BOUNDS, DIMENSION, demonstrate
from bers_studies.static.functions import HIGH, LOW, RASTRIGIN, SOURCES, Function
from bers_studies.static.runs import (
    OURS,
    PAPER,
    Method,
    Models,
    curve,
    digests,
    our_rule,
    paper_rule,
    record_of,
    weights_of,
)

TARGETS = (*SOURCES, RASTRIGIN)
MULTI_TASK = "Rastrigin, multi-task"

METHODS: dict[str, Method] = {
    "BERS": OURS,
    "BERS, paper's metric": PAPER,
    "UCB": paper_rule("ucb"),
    "Equal": paper_rule("equal"),
    "S1": paper_rule("single:0"),
    "S2": paper_rule("single:1"),
    "S3": paper_rule("single:2"),
    "None": Method(None),
    "evidence": our_rule("evidence"),
    "RGPE": our_rule("ranking"),
}
"""Methods that share Differential Evolution; S1 to S3 are Rosenbrock, Ackley and Sphere alone."""

RIVALS = {
    "AMTEA": lambda rng, fun, low, high, runs: amtea(rng, fun, low, high, runs),
    "AMTEA, no sources": lambda rng, fun, low, high, runs: amtea(rng, fun, low, high, []),
    "WS-CMA-ES": lambda rng, fun, low, high, runs: warm_cma(rng, fun, low, high, runs),
    "WS-CMA-ES, alpha 0.02": lambda rng, fun, low, high, runs: warm_cma(
        rng, fun, low, high, runs, alpha=0.02
    ),
}
"""Methods with an optimiser of their own; the second setting of WS-CMA-ES suits narrow runs."""


@dataclass(frozen=True)
class StaticConfig:
    """One study."""

    generations: int = 150
    """Of every method on every target (paper: about 100 are drawn)."""


def trial(config: StaticConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All panels and methods of one seed."""
    rng = np.random.default_rng(seed)
    sources = [demonstrate(rng, function) for function in SOURCES]
    yield {"data_digests": digests(sources)}
    models = Models(sources, seed)
    for target in TARGETS:
        for name, method in METHODS.items():
            run = curve(target, models, method, seed=seed, generations=config.generations)
            yield {"panel": target.name, "method": name, **run}
        for name in RIVALS:
            yield {
                "panel": target.name,
                "method": name,
                **_rival(name, target, models, seed, config),
            }
    for name in METHODS:
        if name not in ("evidence", "RGPE"):
            yield {"panel": MULTI_TASK, "method": name, **_together(name, seed, config)}


def _rival(
    name: str, target: Function, models: Models, seed: int, config: StaticConfig
) -> dict[str, Any]:
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    runs = [(source.x, source.y) for source in models.sources]
    search = RIVALS[name](np.random.default_rng([seed, 2]), target, low, high, runs)
    values = [next(search).f for _ in range(config.generations + 1)]
    best = np.minimum.accumulate([f.min() for f in values])
    return record_of(best.tolist(), np.concatenate(values))


def _together(name: str, seed: int, config: StaticConfig) -> dict[str, Any]:
    """All four functions at once; the record is Rastrigin's."""
    how, model = METHODS[name].reuse, None
    reuse = ReuseConfig(schedule=Constant(0.3), elites=4)
    if how is None:
        reuse = replace(reuse, rule="equal", schedule=Constant(0.0))
    elif name != "BERS":
        printed = {"guard": "none", "elites": 1, "transform": "log"}
        reuse, model = replace(reuse, rule=how.rule, **printed), ModelConfig.paper(batches=1)
    result = minimize_many(
        {target.name: target for target in TARGETS}, BOUNDS, rng=np.random.default_rng([seed, 3]),
        maxiter=config.generations, learner=DE(tol=-1.0), reuse=reuse, model=model,
    )[-1]  # fmt: skip
    values, NP = result.fun_all, len(result.population)
    best = np.minimum.accumulate(values)[NP - 1 :: NP]
    used = np.zeros((len(result.weight_history), 1))
    return record_of(best.tolist(), values) | weights_of(result.weight_history, used)


CONFIG = StaticConfig()
QUICK = StaticConfig(generations=15)
