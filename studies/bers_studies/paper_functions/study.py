"""What the paper leaves unsaid about the functions.

Enters: settings and a seed. Leaves: of the first trials, weights on Rastrigin in all readings, by
which one is chosen; of the others, all that the paper claims, in the reading that was chosen. The
paper's metric weighs, in every reading. Rivals look at no model, so readings do not change them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.multitask import minimize_many
from bers.schedules import Constant
from bers_studies.static.demonstrations import BOUNDS, demonstrate
from bers_studies.static.functions import RASTRIGIN, ROSENBROCK, SOURCES, Function
from bers_studies.static.runs import (
    PAPER,
    Method,
    Models,
    curve,
    paper_rule,
    record_of,
    weights_of,
)
from bers_studies.static.study import MULTI_TASK

TARGETS = (*SOURCES, RASTRIGIN)
OURS = "BERS, paper's metric"
RIVALS: dict[str, Method] = {
    "UCB": paper_rule("ucb"),
    "S1": paper_rule("single:0"),
    "S2": paper_rule("single:1"),
    "S3": paper_rule("single:2"),
    "None": Method(None),
}


@dataclass(frozen=True)
class Reading:
    """One way to read the paper; what is not named is as printed."""

    name: str
    says: str
    """In a sentence."""
    skip: bool = False
    """Whether the heads see the inputs beside the learned features."""
    labels: str = "raw"
    """Whether labels are standardised for each head."""
    long: bool = False
    """Whether demonstrations are as long as the paper says; see `long_demonstrations`."""

    def model(self, **changes: Any) -> ModelConfig:
        """The paper's, but for what the reading changes."""
        return ModelConfig.paper(skip=self.skip, labels=self.labels, **changes)


READINGS: dict[str, Reading] = {
    one.name: one
    for one in (
        Reading("as printed", "raw labels, and heads that see the learned features only"),
        Reading("skip", "the heads see the inputs beside the learned features", skip=True),
        Reading("standardised", "labels are standardised for each head", labels="standardised"),
        Reading("skip, standardised", "both of these", skip=True, labels="standardised"),
        Reading("long demonstrations", "demonstrations are of the printed sizes", long=True),
    )
}
BEST = "skip"
"""The reading that is reported."""
CHOOSING = 3
"""Trials by which it was chosen."""


@dataclass(frozen=True)
class PaperFunctionsConfig:
    """One study."""

    generations: int = 150
    """Where it is reported; as in the study `static`."""
    choosing: int = 100
    """Generations where it is chosen."""
    population: int = 100
    """NP of demonstrations of the printed sizes."""


def trial(config: PaperFunctionsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All readings on Rastrigin, or all targets in one reading."""
    rng = np.random.default_rng([seed, 10])
    short = [demonstrate(rng, function) for function in SOURCES]
    long = long_demonstrations(rng, config)
    models = {False: Models(short, seed), True: Models(long, seed)}
    yield {"sizes": [source.n for source in long], "trial": seed}
    chosen = list(READINGS.values()) if seed < CHOOSING else [READINGS[BEST]]
    targets = (RASTRIGIN,) if seed < CHOOSING else TARGETS
    generations = config.choosing if seed < CHOOSING else config.generations
    for target in targets:
        for reading in chosen:
            given = models[reading.long]
            method = replace(PAPER, model=reading.model())
            run = curve(target, given, method, seed=seed, generations=generations)
            about = {"panel": target.name, "method": OURS, "reading": reading.name}
            yield about | {"trial": seed} | run
        for name, method in {} if seed < CHOOSING else RIVALS.items():
            run = curve(target, models[False], method, seed=seed, generations=generations)
            yield {"panel": target.name, "method": name, "trial": seed} | run
    if seed < CHOOSING:
        return
    for name, rule in ((OURS, "weights"), ("UCB", "ucb"), ("Equal", "equal")):
        model = chosen[0].model(batches=1)
        about = {"panel": MULTI_TASK, "method": name, "trial": seed}
        about |= {"reading": BEST} if name == OURS else {}
        yield about | _together(rule, model, seed, config)


def long_demonstrations(
    rng: np.random.Generator, config: PaperFunctionsConfig
) -> list[Demonstrations]:
    """Of the sizes that the paper prints: by 100 agents, where Rosenbrock's 0.15 is asked of the
    value before it is divided by 10."""
    agents = DE(population=config.population)
    return [
        demonstrate(rng, function, fitness=_fitness(function), config=agents)
        for function in SOURCES
    ]


def _fitness(function: Function) -> float:
    return 0.015 if function is ROSENBROCK else 0.15


def _together(
    rule: str, model: ModelConfig, seed: int, config: PaperFunctionsConfig
) -> dict[str, Any]:
    """All four functions at once, as in the study `static`; the record is Rastrigin's."""
    reuse = ReuseConfig(rule=rule, schedule=Constant(0.3), guard="none", elites=1, transform="log")
    result = minimize_many(
        {target.name: target for target in TARGETS}, BOUNDS, rng=np.random.default_rng([seed, 3]),
        maxiter=config.generations, learner=DE(tol=-1.0), reuse=reuse, model=model,
    )[-1]  # fmt: skip
    values, NP = result.fun_all, len(result.population)
    best = np.minimum.accumulate(values)[NP - 1 :: NP]
    used = np.zeros((len(result.weight_history), 1))
    return record_of(best.tolist(), values) | weights_of(result.weight_history, used)


CONFIG = PaperFunctionsConfig()
QUICK = PaperFunctionsConfig(generations=6, choosing=4, population=40)
