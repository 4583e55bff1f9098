"""Ranking many real sources: eleven firms, each in turn the new task.

Enters: settings and the number of a firm. Leaves: one record per protocol and rule. Grunfeld's data
(in statsmodels) have, for eleven firms and twenty years, a firm's investment, its value and its
stock of capital. One firm is the target: half of its years are seen, the other ten firms are ranked
by them, and the mixture Σ aᵢfᵢ of their heads predicts the other half; so does the mixture with
equal weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.errors import ConfigError
from bers.model.config import ModelConfig
from bers.trust.trust import Trust

Years = Literal["every other", "first ten"]


def firms() -> list[Demonstrations]:
    """Investment given value and capital, in the data's own units, one source per firm."""
    try:
        from statsmodels.datasets import grunfeld
    except ImportError as error:
        raise ConfigError("Grunfeld's data are in statsmodels: pip install statsmodels") from error
    table: Any = grunfeld.load_pandas().data
    return [
        Demonstrations(rows[["value", "capital"]].to_numpy(), rows["invest"].to_numpy(), str(firm))
        for firm, rows in table.groupby("firm", sort=False)
    ]


@dataclass(frozen=True)
class GrunfeldConfig:
    """One study."""

    years: tuple[Years, ...] = ("every other", "first ten")
    """Those that are seen."""
    rules: tuple[str, ...] = ("odds", "function", "weights", "evidence")
    model: ModelConfig = ModelConfig()  # noqa: RUF009


def trial(config: GrunfeldConfig, seed: int) -> Iterator[dict[str, object]]:
    """Error of the ranked and of the equal mixture on the unseen years of firm number `seed`."""
    every = firms()
    firm, others = every[seed], [*every[:seed], *every[seed + 1 :]]
    for protocol in config.years:
        year = np.arange(firm.n)
        seen = year % 2 == 0 if protocol == "every other" else year < 10
        target, unseen = firm.take(seen), firm.take(~seen)
        trust = Trust(others, model=config.model, progress=False).observe(target)
        model = trust.model
        assert model is not None
        heads = model.features(unseen.x) @ model.heads.mu[:-1].T
        equal = _error(heads.mean(axis=1), unseen.y)
        for rule in config.rules:
            a = trust.weights_by(rule)
            share = a / a.sum() if a.sum() > 0 else np.full(len(a), 1 / len(a))
            yield {
                "years": protocol,
                "firm": firm.name,
                "rule": rule,
                "error": _error(heads @ share, unseen.y),
                "equal": equal,
                "nobody": max(0.0, 1 - float(a.sum())),
            }


def _error(predicted: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - y) ** 2)))


CONFIG = GrunfeldConfig()
QUICK = GrunfeldConfig(model=ModelConfig(batches=300))
