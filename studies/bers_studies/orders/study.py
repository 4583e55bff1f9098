"""Whose order of settings holds on a new data set, after a few trials?

Enters: settings and the number of a data set. Leaves: one record for each number of rows and way to
foretell: how well the order of settings that were not tried is foretold from 33 other data sets.
A way is to weigh what the others say (rivals.py), or the target's head: `Trust.predict`.

LCBench has 34 data sets. The last 17 are reported; the others are there to choose settings.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from bers.data.demonstrations import Demonstrations
from bers.errors import BersWarning
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit
from bers.trust.trust import Trust
from bers_studies.lcbench.surrogate import accuracies, tuning_tasks
from bers_studies.orders.rivals import WEIGHTS

OURS = "BERS, the target's head"


@dataclass(frozen=True)
class OrdersConfig:
    """One study."""

    half: str = "report"
    rows: tuple[int, ...] = (5, 10, 20, 40)
    """Of the new data set, that are seen."""
    source_rows: int = 40
    asked: int = 500
    """Settings whose order is foretold."""
    data: str = "../shared/data"
    """Folder of the files; the environment variable BERS_DATA goes before."""
    model: ModelConfig | None = None
    """The library's default, as long as there is none."""


def trial(config: OrdersConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One data set: seed 0 is the last one, or the first one of those to choose by."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BersWarning)  # a target with few rows, a feature at rest
        yield from _orders(config, seed)


def _orders(config: OrdersConfig, number: int) -> Iterator[dict[str, Any]]:
    folder = Path(config.data)
    tasks = len(tuning_tasks(folder))
    own = tasks - 1 - number if config.half == "report" else number
    rng = np.random.default_rng([7, own])
    sources = []
    for task in range(tasks):
        x = rng.random((config.source_rows, 7))
        if task != own:
            sources.append(Demonstrations(x, accuracies(folder, task, x), f"data set {task}"))
    model = fit(sources, config=config.model, rng=number, progress=False)
    start = Trust(sources, model=model, robust=False, rng=number, progress=False)
    asked = rng.random((config.asked, 7))
    truth = accuracies(folder, own, asked)
    x = rng.random((max(config.rows), 7))
    y = accuracies(folder, own, x)

    def said(where: np.ndarray) -> np.ndarray:
        return np.stack([model.predict(i, where).mean for i in range(len(sources))], axis=1)

    everywhere = said(rng.random((config.asked, 7)))
    middle, spread = everywhere.mean(0), np.maximum(everywhere.std(0), 1e-9)
    there, here = (said(asked) - middle) / spread, (said(x) - middle) / spread
    for n in config.rows:
        trust = start.observe(x[:n], y[:n])
        foretold = {OURS: trust.predict(asked).mean}
        foretold |= {name: there @ weigh(trust, here[:n], y[:n]) for name, weigh in WEIGHTS.items()}
        for name, order in foretold.items():
            found = spearmanr(order, truth).statistic if np.ptp(order) > 0 else 0.0
            yield {"task": own, "rows": n, "rule": name, "spearman": round(float(found), 4)}


CONFIG = OrdersConfig()
QUICK = replace(
    CONFIG,
    rows=(5, 10),
    asked=100,
    model=ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2),
)
