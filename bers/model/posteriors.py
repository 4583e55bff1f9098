"""The posteriors of all heads under one encoder, in one streamed pass over the rows.

Enters: an encoder and sources of any size. Leaves: one prior and one posterior per source. Rows
go through the encoder a block at a time and are boiled down to a triangular factor; sources, and
the parts of a source on disk, are worked on side by side. Memory does not grow with the rows.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Float, Float32, Float64, Int

from bers.data.source import Source
from bers.errors import DataWarning
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
from bers.model.scaling import InputScale, LabelScale, Memory
from bers.parallel import Map, in_threads
from bers.progress import progress_bar

_BLOCK_ROWS = 4096  # go through the encoder at once
_FEW_ROWS, _ROWS = 64, 512  # or so many: three programs for data of all sizes
_RAW_ROWS = 65536  # are read at once where there is no encoder
_run = jax.jit(lambda encoder, x: encoder(x))


@dataclass(frozen=True)
class Posteriors:
    """One prior and one posterior per head, and the rows behind each."""

    priors: nig.NIG
    heads: nig.NIG
    rows: Int[np.ndarray, " heads"]


def features(encoder: Encoder, x: Float32[np.ndarray, "n k"]) -> Float64[np.ndarray, "n D"]:
    """φ of standardised rows, for the heads' float64 algebra."""
    whole = len(x) - len(x) % _BLOCK_ROWS
    ends = [*range(_BLOCK_ROWS, whole + 1, _BLOCK_ROWS), *range(whole + _ROWS, len(x), _ROWS)]
    blocks = [_encode(encoder, rows) for rows in np.split(x, ends) if len(rows)]
    return np.concatenate([np.zeros((0, encoder.features)), *blocks])


def summarise_rows(source: Source, workers: Map | None = None) -> nig.Summary:
    """All rows of a source, its columns taken as the features: no encoder.

    >>> from bers import Demonstrations
    >>> x = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])  # the last column is the bias
    >>> summary = summarise_rows(Demonstrations(x, [1.0, 3.0, 5.0], "line"))
    >>> weak = nig.prior(2, weight_precision=1e-9, bias_precision=1e-9)
    >>> nig.condition(weak, summary).mu.round(6).tolist()
    [2.0, 1.0]
    """
    return next(_side_by_side([source], _RawRows(source.dim), workers=workers))


def summarise(
    encoder: Encoder,
    sources: Sequence[Source],
    *,
    inputs: InputScale,
    seen: Callable[[int], object] = lambda rows: None,
    workers: Map | None = None,
) -> Iterator[nig.Summary]:
    """All rows of each source as one triangular factor; `seen` is told of rows that are done."""
    return _side_by_side(sources, _EncodedRows(encoder, inputs), seen, workers)


def summarise_subsets(
    encoder: Encoder, sources: Sequence[Source], *, inputs: InputScale, subset: int, memory: Memory
) -> Iterator[nig.Summary]:
    """A fixed random choice of `subset` rows of each source, each counted n / subset times.

    A source that was summarised last by the same encoder is not looked at again.
    """
    last = [memory.recall(source, ("last", subset), dict) for source in sources]
    new = [i for i, known in enumerate(last) if known.get("encoder") is not encoder]
    chosen = [_chosen(sources[i], subset, memory) for i in new]
    if new:
        x = np.concatenate([inputs.standardise(rows) for rows, _ in chosen])
        ends = np.cumsum([len(y) for _, y in chosen])
        parts = np.split(features(encoder, x), ends[:-1])
        for i, Phi, (_, y) in zip(new, parts, chosen, strict=True):
            summary = nig.scaled(nig.summarise(Phi, y), sources[i].n)
            last[i].update(encoder=encoder, summary=summary)
    for known in last:
        yield known["summary"]


def summary_of(
    encoder: Encoder,
    source: Source,
    *,
    inputs: InputScale,
    memory: Memory,
    subset: int | None = None,
    workers: Map | None = None,
) -> nig.Summary:
    """All rows of one source, or a subset, as one factor; not made again if it was made last."""
    if subset is not None:
        some = summarise_subsets(encoder, [source], inputs=inputs, subset=subset, memory=memory)
        return next(some)
    last = memory.recall(source, ("last", None), dict)
    if last.get("encoder") is not encoder:
        found = next(summarise(encoder, [source], inputs=inputs, workers=workers))
        last.update(encoder=encoder, summary=found)
    return last["summary"]


def posteriors(
    encoder: Encoder,
    sources: Sequence[Source],
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
    memory: Memory,
    subset: int | None = None,
    workers: Map | None = None,
    show: bool | None = None,
) -> Posteriors:
    """Condition every head on its source's rows, or on a random subset of them."""
    priors = nig.stack([scale.prior(encoder.features, config=config) for scale in labels])
    with progress_bar("posteriors", sum(source.n for source in sources), show=show) as advance:
        if subset is None:
            last = [memory.recall(source, ("last", None), dict) for source in sources]
            new = [i for i, known in enumerate(last) if known.get("encoder") is not encoder]
            found = summarise(
                encoder, [sources[i] for i in new], inputs=inputs, seen=advance, workers=workers
            )
            for i, part in zip(new, found, strict=True):
                last[i].update(encoder=encoder, summary=part)
            parts = [known["summary"] for known in last]
        else:
            some = summarise_subsets(encoder, sources, inputs=inputs, subset=subset, memory=memory)
            parts = list(some)
            advance(sum(source.n for source in sources))
    summary = nig.stack_summaries(parts)
    _warn_of_dead_features(summary)
    return Posteriors(priors, nig.condition(priors, summary), summary.n)


@dataclass(frozen=True)
class _RawRows:
    """The summary of a part whose columns are the features. Can be sent to another process."""

    d: int

    def __call__(self, part: Source) -> nig.Summary:
        summary = nig.empty(self.d)
        for x, y in part.blocks(_RAW_ROWS):
            summary = nig.extend(summary, x, y)
        return summary


@dataclass(frozen=True)
class _EncodedRows:
    """The summary of a part that goes through the encoder. Can be sent to another process."""

    encoder: Encoder
    inputs: InputScale

    def __call__(self, part: Source) -> nig.Summary:
        summary = nig.empty(self.encoder.features)
        for x, y in part.blocks(_BLOCK_ROWS):
            summary = nig.extend(summary, _encode(self.encoder, self.inputs.standardise(x)), y)
        return summary


def _side_by_side(
    sources: Sequence[Source],
    summary_of: Callable[[Source], nig.Summary],
    seen: Callable[[int], object] = lambda rows: None,
    workers: Map | None = None,
) -> Iterator[nig.Summary]:
    """One summary per source, in order, while others work on the parts of the next ones."""
    split = [source.parts() for source in sources]
    every = [part for parts in split for part in parts]
    # sources in memory are not worth a trip to other processes
    work = workers if workers is not None and len(every) > len(sources) else in_threads
    found = iter(work(summary_of, every))
    for parts in split:
        own = []
        for _ in parts:
            own.append(next(found))
            seen(int(own[-1].n))
        yield nig.merge(*own)


def _chosen(source: Source, subset: int, memory: Memory) -> tuple[np.ndarray, np.ndarray]:
    """The rows that speak for a source; drawn once, since a source never changes."""

    def find() -> tuple[np.ndarray, np.ndarray]:
        if source.n <= subset:
            blocks = [(np.zeros((0, source.dim)), np.zeros(0)), *source.blocks()]
            x, y = (np.concatenate(part) for part in zip(*blocks, strict=True))
            return x, y
        x, y, used = source.draw(np.random.default_rng(source.n), 1, subset)
        return x[used], y[used]

    return memory.recall(source, ("rows", subset), find)


def _encode(encoder: Encoder, x: Float32[np.ndarray, "n k"]) -> Float[np.ndarray, "n D"]:
    """φ of one block, padded so that growing data compile three times at most."""
    n = len(x)
    size = _FEW_ROWS if n <= _FEW_ROWS else _ROWS if n <= _ROWS else _BLOCK_ROWS
    rows = x if size == n else np.pad(x, ((0, size - n), (0, 0)))
    return np.asarray(_run(encoder, rows))[:n]


def _warn_of_dead_features(summary: nig.Summary) -> None:
    """A learned feature that is the same on every row of every source tells nothing apart."""
    if summary.n.sum() < 2:
        return
    gram = np.tensordot(summary.R, summary.R, axes=((0, 1), (0, 1)))
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
