"""The posteriors of all heads under one encoder, in one streamed pass over the rows.

Enters: an encoder and sources of any size. Leaves: one prior and one posterior per source. Rows
go through the encoder a block at a time, while the block before is boiled down to its
triangular factor; memory does not grow with the rows.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float32, Float64, Int

from bers.data.source import Source
from bers.errors import DataWarning
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
from bers.model.scaling import InputScale, LabelScale
from bers.progress import progress_bar

_BLOCK_ROWS = 4096
_SUBSETS: WeakKeyDictionary[Source, dict[int, tuple]] = WeakKeyDictionary()
_run = eqx.filter_jit(lambda encoder, x: encoder(x))


@dataclass(frozen=True)
class Posteriors:
    """One prior and one posterior per head, and the rows behind each."""

    priors: nig.NIG
    heads: nig.NIG
    rows: Int[np.ndarray, " heads"]


def features(encoder: Encoder, x: Float32[np.ndarray, "n k"]) -> Float64[np.ndarray, "n D"]:
    """φ of standardised rows, for the heads' float64 algebra."""
    parts = [np.asarray(_encode(encoder, rows))[: len(rows)] for rows in _cut(x)]
    return np.concatenate([np.zeros((0, encoder.features)), *parts])


def summarise(encoder: Encoder, source: Source, *, inputs: InputScale) -> nig.Summary:
    """All rows of a source as one triangular factor, in one pass."""
    summary = nig.empty(encoder.features)
    running = None
    for x, y in source.blocks():
        for rows, labels in zip(_cut(x), _cut(y), strict=True):
            upcoming = _encode(encoder, inputs.standardise(rows)), labels
            summary = _absorb(summary, running)  # while the encoder runs
            running = upcoming
    return _absorb(summary, running)


def summarise_subsets(
    encoder: Encoder, sources: Sequence[Source], *, inputs: InputScale, subset: int
) -> list[nig.Summary]:
    """A fixed random choice of `subset` rows of each source, each counted n / subset times."""
    chosen = [_chosen(source, subset) for source in sources]
    x = np.concatenate([inputs.standardise(rows) for rows, _ in chosen])
    ends = np.cumsum([len(y) for _, y in chosen])
    parts = np.split(features(encoder, x), ends[:-1])
    return [
        nig.scaled(nig.summarise(Phi, y), source.n)
        for source, Phi, (_, y) in zip(sources, parts, chosen, strict=True)
    ]


def posteriors(
    encoder: Encoder,
    sources: Sequence[Source],
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
    subset: int | None = None,
    show: bool | None = None,
) -> Posteriors:
    """Condition every head on its source's rows, or on a random subset of them."""
    priors = nig.stack([scale.prior(encoder.features, config=config) for scale in labels])
    with progress_bar("posteriors", sum(source.n for source in sources), show=show) as advance:
        if subset is not None:
            parts = summarise_subsets(encoder, sources, inputs=inputs, subset=subset)
        else:
            parts = []
            for source in sources:
                parts.append(summarise(encoder, source, inputs=inputs))
                advance(source.n, source=source.name)
    summary = nig.Summary(np.stack([p.R for p in parts]), np.stack([p.n for p in parts]))
    _warn_of_dead_features(summary)
    return Posteriors(priors, nig.condition(priors, summary), summary.n)


def _chosen(source: Source, subset: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows that speak for a source; drawn once, since a source never changes."""
    kept = _SUBSETS.setdefault(source, {})
    if subset not in kept:
        if source.n <= subset:
            blocks = [(np.zeros((0, source.dim)), np.zeros(0)), *source.blocks()]
            x, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
        else:
            x, y, used = source.draw(np.random.default_rng(source.n), 1, subset)
            x, y = x[used], y[used]
        kept[subset] = x, y
    return kept[subset]


def _cut(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), _BLOCK_ROWS):
        yield rows[start : start + _BLOCK_ROWS]


def _encode(encoder: Encoder, x: Float32[np.ndarray, "n k"]) -> Float32[Array, "m D"]:
    """Start encoding a block, padded to a power of two: growing data compile a few times only."""
    size = max(64, 1 << (len(x) - 1).bit_length())
    return _run(encoder, np.pad(x, ((0, size - len(x)), (0, 0))))


def _absorb(summary: nig.Summary, block: tuple[Array, np.ndarray] | None) -> nig.Summary:
    if block is None:
        return summary
    Phi, y = block
    return nig.extend(summary, np.asarray(Phi)[: len(y)], y)


def _warn_of_dead_features(summary: nig.Summary) -> None:
    """A learned feature that is the same on every row of every source tells nothing apart."""
    if summary.n.sum() < 2:
        return
    R = nig.merge(*(nig.Summary(R, n) for R, n in zip(summary.R, summary.n, strict=True))).R
    gram = R.T @ R
    mean = gram[:-1, -2] / gram[-2, -2]
    variance = np.diagonal(gram)[:-1] / gram[-2, -2] - mean**2
    dead = int(np.sum(variance[:-1] < 1e-12 * (1 + mean[:-1] ** 2)))
    if dead:
        warnings.warn(
            f"{dead} of {len(variance) - 1} features are the same on every row of every source; "
            "their weights stay at the prior. The encoder may be saturated, or an input column "
            "constant: lower learning_rate, or drop the column.",
            DataWarning,
            stacklevel=3,
        )
