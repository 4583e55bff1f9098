"""One optimisation run as a record: what every study of static functions is made of.

Enters: a function, past runs, a method. Leaves: a record, ready for a journal: the best value after
each generation, evaluations until thresholds, weights. All methods of a trial start from the same
population and share the random stream of Differential Evolution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bers.algorithm import ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Log1p, transform_named
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit
from bers.optimise.ask_tell import Optimizer
from bers.optimise.objective import Objective
from bers.trust.rules import rule_named
from bers_studies.static.demonstrations import BOUNDS, IN_PLACE
from bers_studies.static.functions import Function

THRESHOLDS = (1.0, 0.1, 0.01)


@dataclass(frozen=True)
class Method:
    """A way to use past runs."""

    reuse: ReuseConfig | None
    """None: plain Differential Evolution."""
    model: ModelConfig = field(default_factory=ModelConfig)


OURS = Method(ReuseConfig())
"""The library's defaults."""
PAPER = Method(ReuseConfig.paper(transform=Log1p()), ModelConfig.paper())
"""Everything as the paper prints it."""


def paper_rule(rule: str) -> Method:
    """Another rule with the paper's way to reuse: the best point of a source, without a guard."""
    return replace(PAPER, reuse=replace(PAPER.reuse, rule=rule))  # pyright: ignore


def our_rule(rule: str) -> Method:
    """Another rule with our way to reuse."""
    return replace(OURS, reuse=replace(OURS.reuse, rule=rule))  # pyright: ignore


class Models:
    """Models fitted on one set of past runs, each once."""

    def __init__(self, sources: Sequence[Demonstrations], seed: int) -> None:
        self.sources = [Demonstrations(s.x, s.original_y, s.name) for s in sources]
        self.seed = seed
        self._fitted: dict[tuple[str, ModelConfig], Model] = {}

    def get(self, method: Method) -> Model | None:
        """The model that a method starts from; None if its rule looks at no posterior."""
        assert method.reuse is not None
        if rule_named(method.reuse.rule).needs != "posteriors":
            return None
        transform = transform_named(method.reuse.transform)
        assert transform is not None
        key = transform.name, method.model
        if key not in self._fitted:
            mapped = [source.transformed(transform) for source in self.sources]
            self._fitted[key] = fit(mapped, config=method.model, rng=self.seed, progress=False)
        return self._fitted[key]


def curve(
    function: Function, models: Models | None, method: Method, *, seed: int, generations: int
) -> dict[str, Any]:
    """One run of one method."""
    rng = np.random.default_rng([seed, 1])
    if method.reuse is None or models is None:
        optimizer = Optimizer(BOUNDS, rng=rng, learner=IN_PLACE)
    else:
        optimizer = Optimizer(
            BOUNDS, models.sources, rng=rng, learner=IN_PLACE, reuse=method.reuse,
            model=models.get(method),
        )  # fmt: skip
    objective = Objective(function)
    best = []
    for _ in range(generations + 1):
        optimizer.advance(objective)
        best.append(optimizer.best)
    record = record_of(best, optimizer.result().fun_all)
    if optimizer.weight_history:
        record |= weights_of(np.array(optimizer.weight_history), np.array(optimizer.use_history))
    return record


def record_of(best: Sequence[float], values: np.ndarray) -> dict[str, Any]:
    """Best values by generation, and evaluations until each threshold; None if never."""
    so_far = np.minimum.accumulate(values)
    reached = {str(t): int(np.argmax(so_far <= t)) + 1 for t in THRESHOLDS if so_far[-1] <= t}
    return {
        "best": [float(f"{value:.5g}") for value in best],
        "evaluations_to": {str(t): reached.get(str(t)) for t in THRESHOLDS},
    }


def weights_of(weights: np.ndarray, used: np.ndarray) -> dict[str, Any]:
    """Weights at some generations, counted from 1, and how many trials of each used a source."""
    at = [g for g in range(1, len(used) + 1) if g <= 12 or g % 4 == 0]
    return {
        "weights_at": at,
        "weights": [weights[g - 1].round(3).tolist() for g in at],
        "used": [int(used[g - 1].sum()) for g in at],
    }


def digests(runs: Sequence[Demonstrations]) -> dict[str, str]:
    """Fingerprints of the past runs of a trial."""
    return {run.name: run.digest[:16] for run in runs}
