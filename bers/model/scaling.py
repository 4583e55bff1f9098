"""Scales of inputs and labels: what makes one encoder and one prior fit any units.

Enters: sources. Leaves: the mean and spread of each input column over all sources, which are
stored with the model, and of each source's labels, which set that head's prior.

An affine change of labels is a change of prior: with y = loc + scale · ỹ and the standard prior
for ỹ, the head's prior has its bias centred at loc and β⁰ multiplied by scale². [Eq. label_prior]
Heads therefore stay in the labels' own units and can be compared.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Float32, Float64

from bers.data.source import Source
from bers.errors import DataError
from bers.model import nig
from bers.model.config import ModelConfig
from bers.parallel import Map, in_threads
from bers.progress import progress_bar
from bers.text import printable


class Memory:
    """What was found out about sources, by source, for as long as somebody else holds it.

    A source never changes, so its moments and its chosen subset need to be found once. Whoever
    calls again and again with the same sources keeps one; a source that cannot be a key, or that
    has grown, is simply looked at again.
    """

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Source, dict[Any, Any]] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[type["Memory"], tuple[()]]:
        return Memory, ()  # what is kept here can be found again

    def recall(self, source: Source, key: object, find: Callable[[], Any]) -> Any:
        """What `find` found for this source and key, now or before."""
        try:
            known = self._kept.setdefault(source, {})
        except TypeError:  # not hashable, or not open to weak references
            return find()
        if (key, source.n) not in known:
            known[key, source.n] = find()
        return known[key, source.n]


_ENOUGH_ROWS = 8  # fewer labels say too little about their own spread


@dataclass(frozen=True)
class InputScale:
    """Mean and spread of every input column; a constant column has spread 1."""

    mean: Float64[np.ndarray, " k"]
    spread: Float64[np.ndarray, " k"]

    def standardise(self, x: Float[np.ndarray, "... k"]) -> Float32[np.ndarray, "... k"]:
        """Inputs as the encoder sees them. In float64 first: large offsets would drown in 32."""
        return ((x - self.mean) / self.spread).astype(np.float32)


@dataclass(frozen=True)
class LabelScale:
    """Centre and spread of one head's labels."""

    loc: float = 0.0
    scale: float = 1.0

    def standardise(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Labels as training sees them."""
        return (y - self.loc) / self.scale

    def prior(self, d: int, *, config: ModelConfig) -> nig.NIG:
        """The prior of a head with d features. [Eq. label_prior]"""
        return nig.prior(
            d,
            weight_precision=config.weight_precision,
            bias_precision=config.bias_precision,
            bias_mean=self.loc,
            alpha=config.alpha,
            beta=config.beta * self.scale**2,
        )


def input_scale(
    sources: Sequence[Source],
    *,
    memory: Memory,
    workers: Map | None = None,
    show: bool | None = False,
) -> InputScale:
    """Pooled over all rows of all sources, in one streamed pass; labels are measured along.

    Parts of sources on disk are read side by side, and joined in their order: the same bits,
    whoever does the work.
    """
    dims = {source.dim for source in sources}
    if len(dims) != 1:
        first, other = sources[0], next(s for s in sources if s.dim != sources[0].dim)
        raise DataError(
            f"sources must have the same input columns; {printable(first.name)!r} has shape "
            f"({first.n}, {first.dim}), {printable(other.name)!r} has shape "
            f"({other.n}, {other.dim}). Choose columns that both have."
        )
    total = Moments(np.zeros(dims.pop()))
    with progress_bar("measuring inputs", sum(s.n for s in sources), show=show) as advance:
        found = _side_by_side(sources, workers, advance)
        for source, (inputs, labels) in zip(sources, found, strict=True):
            total.join(inputs)
            memory.recall(source, "inputs", lambda inputs=inputs: inputs)
            memory.recall(source, "labels", lambda labels=labels: labels)
    return InputScale(total.mean, np.where(total.varies, total.spread, 1.0))


def label_scales(
    sources: Sequence[Source], *, config: ModelConfig, memory: Memory, show: bool | None = False
) -> list[LabelScale]:
    """Each source's own centre and spread.

    A source whose labels are too few or constant takes the median spread of the others, and one
    without rows their median centre too.
    """
    if config.labels == "raw":
        return [LabelScale() for _ in sources]
    moments = [label_moments(source, memory, show) for source in sources]
    known = [float(m.spread[0]) for m in moments if m.n >= _ENOUGH_ROWS and m.varies[0]]
    centres = [float(m.mean[0]) for m in moments if m.n > 0]
    common = float(np.median(known)) if known else 1.0
    middle = float(np.median(centres)) if centres else 0.0
    return [
        LabelScale(
            loc=float(m.mean[0]) if m.n > 0 else middle,
            scale=float(m.spread[0]) if m.n >= _ENOUGH_ROWS and m.varies[0] else common,
        )
        for m in moments
    ]


def input_moments(source: Source, memory: Memory) -> "Moments":
    """Mean and spread of the input columns of one source, measured once."""
    return memory.recall(source, "inputs", lambda: next(_side_by_side([source]))[0])


def label_moments(
    source: Source, memory: Memory, show: bool | None = False, workers: Map | None = None
) -> "Moments":
    """Mean and spread of the labels of one source, measured once, since a source never changes."""

    def find() -> Moments:
        with progress_bar("measuring labels", source.n, show=show) as advance:
            return next(_side_by_side([source], workers, advance))[1]

    return memory.recall(source, "labels", find)


def _side_by_side(
    sources: Sequence[Source],
    workers: Map | None = None,
    advance: Callable[..., object] = lambda rows, **columns: None,
) -> Iterator[tuple["Moments", "Moments"]]:
    """Moments of inputs and of labels of each source, in order; several work on their parts."""
    split = [source.parts() for source in sources]
    every = [part for parts in split for part in parts]
    # sources in memory are not worth a trip to other processes, nor to other threads
    work = map if len(every) == len(sources) else workers if workers is not None else in_threads
    found = iter(work(_moments, every))
    for source, parts in zip(sources, split, strict=True):
        inputs, labels = Moments(np.zeros(source.dim)), Moments(np.zeros(1))
        for _ in parts:
            own_inputs, own_labels = next(found)
            inputs.join(own_inputs)
            labels.join(own_labels)
            advance(own_labels.n, source=source.name)
        yield inputs, labels


def _moments(part: Source) -> tuple["Moments", "Moments"]:
    """Of one part; can be sent to another process."""
    inputs, labels = Moments(np.zeros(part.dim)), Moments(np.zeros(1))
    for x, y in part.blocks():
        inputs.add(x)
        labels.add(y[:, None])
    return inputs, labels


class Moments:
    """Running mean, variance and range of columns; the update of Chan, Golub and LeVeque."""

    def __init__(self, zeros: np.ndarray) -> None:
        self.n = 0
        self.mean = zeros.astype(np.float64)
        self.low, self.high = np.full_like(self.mean, np.inf), np.full_like(self.mean, -np.inf)
        self._squares = self.mean.copy()

    def add(self, rows: np.ndarray) -> None:
        """Take in some rows."""
        if len(rows) == 0:
            return
        rows = rows.astype(np.float64, copy=False)
        mean = rows.mean(axis=0)
        self._widen(rows.min(axis=0), rows.max(axis=0))
        self._join(len(rows), mean, np.square(rows - mean).sum(axis=0))

    def join(self, other: "Moments") -> None:
        """Take in all rows that another has taken in."""
        if other.n:
            self._widen(other.low, other.high)
            self._join(other.n, other.mean, other._squares)

    def _widen(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def _join(self, rows: int, mean: np.ndarray, squares: np.ndarray) -> None:
        shift, n = mean - self.mean, self.n + rows
        self._squares = self._squares + squares + shift**2 * (self.n * rows / n)
        self.mean, self.n = self.mean + shift * (rows / n), n

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of each column."""
        return np.sqrt(self._squares / max(self.n, 1))

    @property
    def varies(self) -> np.ndarray:
        """False where the spread is nothing but rounding."""
        return self.spread > 1e-12 * np.abs(self.mean)
