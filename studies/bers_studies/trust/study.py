"""Which rule finds the right source, and how soon: weights on the test functions, by generation.

Enters: rules and a seed. Leaves: one record per target and rule.
Differential Evolution runs on a target without any help; after each generation its rows so far get
a head, and every rule weighs the sources by the same posteriors. UCB learns by
trying, so it has a run of its own, in which the source it picks is reused as in the paper.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.optimise.ask_tell import Optimizer
from bers.optimise.objective import Objective
from bers.trust.rules import RULES
from bers.trust.trust import Trust
from bers_studies.static.demonstrations import BOUNDS, IN_PLACE, demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES, Function
from bers_studies.static.runs import paper_rule

RIGHT = {**{function.name: i for i, function in enumerate(SOURCES)}, RASTRIGIN.name: 2}
"""The position of the source that a target should learn from; for Rastrigin, Sphere."""


@dataclass(frozen=True)
class TrustConfig:
    """One study."""

    generations: int = 100
    """Of Differential Evolution on a target (paper: 100 are shown)."""
    rules: tuple[str, ...] = tuple(name for name in RULES if name != "ucb")
    """Rules that weigh by posteriors."""

    @property
    def recorded(self) -> list[int]:
        """Generations at which weights are kept: every one at first, every fourth later."""
        return [g for g in range(1, self.generations + 1) if g <= 12 or g % 4 == 0]


def trial(config: TrustConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One trial on each target, with the same sources and the same first model."""
    rng = np.random.default_rng(seed)
    sources = [demonstrate(rng, function) for function in SOURCES]
    start = Trust(sources, rng=seed, progress=False)
    for target in (*SOURCES, RASTRIGIN):
        weights: dict[str, list[list[float]]] = {name: [] for name in config.rules}
        last: dict[str, np.ndarray | None] = dict.fromkeys(config.rules)
        trust = start
        for g, (x, y) in enumerate(_run(rng, target, config.generations), start=1):
            trust = trust.observe(x, np.log1p(y))
            if g not in config.recorded:
                continue
            for name in config.rules:
                last[name] = a = trust.weights_by(name, last[name])
                weights[name].append(a.round(3).tolist())
        weights["ucb"] = _ucb(rng, target, sources, config)
        common = {"target": target.name, "right": RIGHT[target.name]}
        for name, rows in weights.items():
            yield {**common, "rule": name, "generations": config.recorded, "weights": rows}


def _run(
    rng: np.random.Generator, target: Function, generations: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The points of each generation of a run without sources, and their values."""
    optimizer = Optimizer(BOUNDS, rng=rng, learner=IN_PLACE)
    objective, before = Objective(target), 0
    for _ in range(generations):
        optimizer.advance(objective)
        seen = optimizer.result()
        yield seen.x_all[before:], seen.fun_all[before:]
        before = seen.nfev


def _ucb(
    rng: np.random.Generator,
    target: Function,
    sources: list[Demonstrations],
    config: TrustConfig,
) -> list[list[float]]:
    """Share of UCB's picks so far, when its picks are reused as in the paper."""
    reuse = paper_rule("ucb").reuse
    optimizer = Optimizer(BOUNDS, sources, rng=rng, learner=IN_PLACE, reuse=reuse)
    objective, picks = Objective(target), []
    optimizer.advance(objective)
    for m in range(1, config.generations + 1):
        optimizer.advance(objective)
        if m in config.recorded:
            picks.append((optimizer.trust.past.pulls / m).round(3).tolist())  # pyright: ignore
    return picks


CONFIG = TrustConfig()
QUICK = TrustConfig(generations=12)
