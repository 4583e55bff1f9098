"""How good a head is on rows it has not seen: error, density and calibration.

Enters: a model, the position or name of a head, held-out demonstrations. Leaves: a `HeadScore`.
A head is calibrated when its central intervals hold the share of labels that they promise,
that is, when the probability integral transform of the labels is uniform. [Eq. coverage]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64

from bers.data.source import Source
from bers.errors import DataError
from bers.model.neural_linear import Model
from bers.model.scaling import Moments

LEVELS = np.linspace(0.05, 0.95, 19)
"""The promised shares at which coverage is measured."""


@dataclass(frozen=True)
class HeadScore:
    """One head on held-out rows."""

    name: str
    rows: int
    r2: float
    """Share of the labels' variance that the posterior mean explains."""
    rmse: float
    log_density: float
    """Mean log predictive density of a row."""
    coverage: Float64[np.ndarray, " levels"]
    """Share of rows inside the central interval of each of `LEVELS`."""


def score(model: Model, which: str | int, held_out: Source) -> HeadScore:
    """Score one head on rows it has not seen, streamed.

    >>> from bers import Demonstrations, ModelConfig, fit
    >>> x = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    >>> seen, held_out = Demonstrations(x, x[:, 0], "alice").split(np.random.default_rng(1), 0.5)
    >>> model = fit([seen], config=ModelConfig(hidden=(8,), latent_dim=4, batches=100))
    >>> score(model, "alice", held_out).r2 > 0.9
    True
    """
    if held_out.n == 0:
        raise DataError("score() needs held-out rows; got none. Split a source first.")
    spread, inside = Moments(np.zeros(1)), np.zeros(len(LEVELS))
    squares = density = 0.0
    for x, y in held_out.blocks():
        predicted = model.predict(which, x)
        spread.add(y[:, None])
        squares += float(np.sum((y - predicted.mean) ** 2))
        density += float(np.sum(predicted.log_density(y)))
        inside += len(y) * coverage(predicted.cdf(y))
    n, variance = spread.n, float(spread.spread[0]) ** 2
    return HeadScore(
        name=model.names[model.index(which)],
        rows=n,
        r2=1 - squares / n / variance if variance > 0 else float("nan"),
        rmse=float(np.sqrt(squares / n)),
        log_density=density / n,
        coverage=inside / n,
    )


def coverage(pit: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " levels"]:
    """Share of probability integral transforms inside each central interval. [Eq. coverage]

    The interval of level ℓ is (½ − ℓ/2, ½ + ℓ/2), so a transform u lies in it if |2u − 1| < ℓ.

    >>> coverage((np.arange(1000) + 0.5) / 1000)[[0, 18]].round(3).tolist()
    [0.05, 0.95]
    """
    return (np.abs(2 * pit - 1)[:, None] < LEVELS).mean(axis=0)


def source_records(
    model: Model, held_out: Sequence[Source], **labels: object
) -> list[dict[str, object]]:
    """The score of every source head; not a number where no rows could be held out."""
    nan = float("nan")
    nothing = HeadScore("", 0, nan, nan, nan, np.full(len(LEVELS), nan))
    records = []
    for i, held in enumerate(held_out):
        result = score(model, i, held) if held.n else replace(nothing, name=model.names[i])
        records.append(record(result, rows=model.rows[i], kind="source", **labels))
    return records


def record(result: HeadScore, *, rows: int, **labels: object) -> dict[str, object]:
    """A score as plain values, under `labels`."""
    return {
        **labels,
        "head": result.name,
        "rows": int(rows),
        "held_out": result.rows,
        "r2": result.r2,
        "rmse": result.rmse,
        "log_density": result.log_density,
        "levels": LEVELS.round(2).tolist(),
        "coverage": result.coverage.tolist(),
    }
