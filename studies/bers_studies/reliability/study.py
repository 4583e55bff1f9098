"""How often is a source right that is said to be right with 99%?

Enters: settings and the number of a part. Leaves: one record for each target: for every number of
rows the source on top, its weight, and the weight of nobody.

There are 15 sets of BBOB's functions, ten of tables and nine of each of the other kinds, with 24
targets each. A model is fitted to the sources once and serves all
targets of a set. Constants of the rule were chosen on the half that is not reported (problems.py).
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import BersWarning
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit
from bers.trust.trust import Trust
from bers_studies.reliability.problems import counts, set_of

PARTS = 6
"""Of a trial, run one by one."""


@dataclass(frozen=True)
class ReliabilityConfig:
    """One study."""

    half: str = "report"
    sets: tuple[tuple[str, int], ...] = (
        ("bbob", 15),
        ("tables", 10),
        ("functions", 9),
        ("control", 9),
    )
    """Kinds, and how many sets of each."""
    rows: tuple[int, ...] = (5, 10, 20, 40, 100, 300)
    """Of a target, that are seen."""
    data: str = "../shared/data"
    """Folder of the files; the environment variable BERS_DATA goes before."""
    model: ModelConfig | None = None
    """The library's default, as long as there is none."""


def sets(config: ReliabilityConfig) -> list[tuple[str, int]]:
    """Kind and number of every set, the kinds in turn.

    >>> sets(ReliabilityConfig(sets=(("bbob", 2), ("control", 1))))
    [('bbob', 0), ('control', 0), ('bbob', 1)]
    """
    most = max(number for _, number in config.sets)
    return [(kind, k) for k in range(most) for kind, number in config.sets if k < number]


def trial(config: ReliabilityConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One part: every sixth of the sets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BersWarning)  # a target with few rows, a feature at rest
        for kind, number in sets(config)[seed % PARTS :: PARTS]:
            for record in _set(config, kind, number):
                yield {"kind": kind, "set": number, **record}


def _set(config: ReliabilityConfig, kind: str, number: int) -> Iterator[dict[str, Any]]:
    made = set_of(kind, config.half, number, Path(config.data))
    model = fit(made.sources, config=config.model, rng=number, progress=False)
    start = Trust(made.sources, model=model, robust=False, rng=number, progress=False)
    for target in made.targets:
        seen, top, claimed, nobody = [], [], [], []
        for n, name in counts(target, config.rows):
            trust = start.observe(target.x[:n], target.y[:n])
            seen.append(name)
            top.append(int(np.argmax(trust.weights)))
            claimed.append(round(float(trust.weights.max()), 4))
            nobody.append(round(trust.nobody, 4))
        about = {"about": target.about, "right": target.right}
        yield {**about, "rows": seen, "top": top, "claimed": claimed, "nobody": nobody}


CONFIG = ReliabilityConfig()
QUICK = ReliabilityConfig(
    sets=(("bbob", 1), ("functions", 1), ("control", 1)),
    rows=(10, 100),
    model=ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2),
)
