"""Does the default say who is right, on tables whose true answer is known?

Enters: cases and a seed. Leaves: one record for each case (whom `rank` trusts by default, and
whether that is right) and, for the first seeds, one for each table of sources that heads are
fitted to: how much of fresh labels they explain, beside gradient boosting.

For some cases the intervals are checked too. Fresh rows of the target are drawn many times from the
same truth, each draw is ranked by the same fitted model, and the median of each weight is what the
interval of the first ranking should hold.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit
from bers.trust.ranking import Ranking
from bers.trust.trust import rank
from bers_studies.known_truth.cases import CASES, Case, Setting, Tables, judged, one_right

TOLERANCE = 0.0
"""By which a median may lie outside of an interval."""


@dataclass(frozen=True)
class KnownTruthConfig:
    """One study."""

    cases: tuple[str, ...] = tuple(name for name, case in CASES.items() if case.half == "report")
    """By name. The other half is what settings were chosen on."""
    draws: int = 15
    """Fresh targets by which intervals are checked."""
    triples: tuple[tuple[str, str], ...] = (
        ("report", "ridges steps rational"),
        ("report", "bumps monotone ridges"),
        ("report", "steps rational monotone"),
    )
    """Families of the sources that heads are fitted to, and the half that they belong to."""
    irrelevant: tuple[int, ...] = (0, 25, 60, 100)
    """Columns that do not matter, for the heads."""
    head_seeds: int = 3
    """Seeds for which heads are fitted: the first ones."""
    fresh_rows: int = 2000
    """Of each source, by which heads are judged."""
    model: ModelConfig | None = None
    """The library's default, as long as there is none."""


def trial(config: KnownTruthConfig, seed: int) -> Iterator[dict[str, Any]]:
    """All cases, then the heads."""
    for name in config.cases:
        yield _ranked(config, CASES[name], seed)
    if seed < config.head_seeds:
        for half, families in config.triples:
            for irrelevant in config.irrelevant:
                yield _explained(config, half, families, irrelevant, seed)


def _ranked(config: KnownTruthConfig, case: Case, seed: int) -> dict[str, Any]:
    tables = case.tables(seed)
    target = tables.target(case.target_rng(seed))
    ranking = rank(tables.sources, target, model=config.model, rng=seed, progress=False)
    low, high = _intervals(ranking)
    found = {
        "what": "ranking",
        "case": case.name,
        "kind": case.kind,
        "half": case.half,
        **judged(tables, ranking),
        "true": sorted(tables.right),
        "names": [one.name for one in ranking.sources],
        "weights": _with_nobody(ranking).round(4).tolist(),
        "low": low.round(4).tolist(),
        "high": high.round(4).tolist(),
    }
    if config.draws:
        assert ranking.model is not None
        medians = _medians(config, case, tables, ranking.model, seed)
        covered = (low - TOLERANCE <= medians) & (medians <= high + TOLERANCE)
        found |= {"medians": medians.round(4).tolist(), "covered": covered.tolist()}
    return found


def _medians(
    config: KnownTruthConfig, case: Case, tables: Tables, model: Model, seed: int
) -> np.ndarray:
    """Of the weights over fresh targets, the model of the sources being the same."""
    weights = []
    for draw in range(1, 1 + config.draws):
        target = tables.target(case.target_rng(seed, draw))
        ranking = rank(tables.sources, target, model=model, draws=1, rng=seed, progress=False)
        weights.append(_with_nobody(ranking))
    return np.median(weights, axis=0)


def _with_nobody(ranking: Ranking) -> np.ndarray:
    """Weights of the sources, then of nobody."""
    return np.append(ranking.weights, ranking.nobody)


def _intervals(ranking: Ranking) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the intervals of the sources, then of nobody."""
    low = [*(one.low for one in ranking.sources), ranking.nobody_low]
    high = [*(one.high for one in ranking.sources), ranking.nobody_high]
    return np.array(low), np.array(high)


def _explained(
    config: KnownTruthConfig, half: str, families: str, irrelevant: int, seed: int
) -> dict[str, Any]:
    """R² on fresh rows of each source, of the heads and of gradient boosting."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng([zlib.crc32(families.encode()), irrelevant, seed])
    tables = one_right(rng, Setting(tuple(families.split()), irrelevant=irrelevant))
    fresh = [tables.fresh(one.name, rng, config.fresh_rows) for one in tables.sources]
    model = fit(tables.sources, config=config.model, rng=seed, progress=False)
    peers = [HistGradientBoostingRegressor().fit(one.x, one.y) for one in tables.sources]
    return {
        "what": "heads",
        "half": half,
        "families": families,
        "irrelevant": irrelevant,
        "heads": _r2(fresh, [model.predict(one.name, one.x).mean for one in fresh]),
        "boosting": _r2(fresh, [p.predict(one.x) for p, one in zip(peers, fresh, strict=True)]),
    }


def _r2(fresh: Sequence[Demonstrations], expected: Sequence[np.ndarray]) -> list[float]:
    left = [np.mean((one.y - y) ** 2) for one, y in zip(fresh, expected, strict=True)]
    return [round(float(1 - e / one.y.var()), 4) for e, one in zip(left, fresh, strict=True)]


CONFIG = KnownTruthConfig()
QUICK = KnownTruthConfig(
    cases=(
        "develop: right",
        "develop: noise, 25 irrelevant",
        "report: right, normal inputs",
        "report: noise, 10 irrelevant",
    ),
    draws=3,
    triples=(("report", "ridges steps rational"),),
    irrelevant=(0, 25),
    head_seeds=1,
)
