"""How well the heads learn the paper's test functions: held-out error and calibration.

Enters: seeds and settings. Leaves: one record per head, ready to be written as JSON. In each
trial Differential Evolution demonstrates the three source functions; the model is trained on
four fifths of the rows. Then four targets come one at a time (100 generations on each source
function again, from another start, and on Rastrigin): each gets a head and 100 more batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.model.calibration import record, score, source_records
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit, refine
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import RASTRIGIN, SOURCES

HELD_OUT = 0.2


@dataclass(frozen=True)
class HeadsConfig:
    """One study."""

    models: tuple[tuple[str, ModelConfig], ...] = (
        ("BERS", ModelConfig()),
        ("one network, rate 1e-4", ModelConfig(hidden=(200, 200))),
        ("one network, rate 1e-3", ModelConfig(hidden=(200, 200), learning_rate=1e-3)),
        ("paper, rate 1e-4", ModelConfig.paper()),
        ("paper, rate 1e-3", ModelConfig.paper(learning_rate=1e-3)),
    )
    """Settings by name."""
    generations: int = 100
    """Of Differential Evolution on a target (paper: 100 are shown)."""
    refinements: int = 100
    """Batches on sources and target together (paper: one per generation)."""


def source_split(
    rng: np.random.Generator,
) -> tuple[list[Demonstrations], list[Demonstrations]]:
    """Demonstrations of the three source functions: rows to learn from, rows held out."""
    halves = [demonstrate(rng, function).split(rng, HELD_OUT) for function in SOURCES]
    return [kept for kept, _ in halves], [held for _, held in halves]


def trial(config: HeadsConfig, seed: int) -> Iterator[dict[str, object]]:
    """All settings of one seed: three source heads, then four targets that come later."""
    for name, model_config in config.models:
        rng = np.random.default_rng(seed)
        kept, held_out = source_split(rng)
        model = fit(kept, config=model_config, rng=seed, progress=False)
        yield from source_records(model, held_out, setting=name)
        for function in (*SOURCES, RASTRIGIN):
            run = demonstrate(rng, function, fitness=0.0, max_generations=config.generations)
            seen, unseen = run.split(rng, HELD_OUT)
            grown = refine(model, [*kept, seen], batches=config.refinements, progress=False)
            result = score(grown, len(kept), unseen)
            yield record(result, rows=int(grown.rows[-1]), kind="target", setting=name)


CONFIG = HeadsConfig()
QUICK = HeadsConfig(models=(("BERS, 400 batches", ModelConfig(batches=400)),), generations=20)
