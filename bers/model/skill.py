"""How well heads do on rows of their own sources that neither they nor the encoder have seen.

Enters: an encoder, rows it was trained on, held-out rows of the same sources. Leaves: a `Skill`.
What a head explains of rows that it was fitted to says little: sixty columns that do not matter are
enough to explain all of them. The head that is measured here is conditioned on the others alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from bers.data.source import Source
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
from bers.model.posteriors import features, posteriors
from bers.model.scaling import InputScale, LabelScale, Memory

_SEEN, _HELD = 4096, 2048  # rows of one source behind its skill, at most
_LEVEL = 0.9


@dataclass(frozen=True)
class Skill:
    """Of every head, on held-out rows; not a number where there were none."""

    r2: Float64[np.ndarray, " heads"]
    """Share of the labels' variance that the head explains; below 0: worse than their mean."""
    coverage: Float64[np.ndarray, " heads"]
    """Share of labels inside the head's 90% intervals."""
    rows: Int[np.ndarray, " heads"]
    """Held out."""

    @classmethod
    def unknown(cls, heads: int) -> "Skill":
        """Before anything was held out.

        >>> Skill.unknown(2).rows.tolist()
        [0, 0]
        """
        return cls(np.full(heads, np.nan), np.full(heads, np.nan), np.zeros(heads, int))

    def carried(self, names: Sequence[str], sources: Sequence[Source]) -> "Skill":
        """Of the heads of now: who had a head before, at the same place, keeps his skill."""
        new = Skill.unknown(len(sources))
        same = [i for i, (a, b) in enumerate(zip(names, sources, strict=False)) if a == b.name]
        for mine, theirs in (
            (new.r2, self.r2),
            (new.coverage, self.coverage),
            (new.rows, self.rows),
        ):
            mine[same] = theirs[same]
        return new


def measured_skill(
    encoder: Encoder,
    kept: Sequence[Source],
    held: Sequence[Source],
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
) -> Skill:
    """Of heads conditioned on `kept`, at the rows `held`."""
    heads = posteriors(
        encoder,
        kept,
        inputs=inputs,
        labels=labels,
        config=config,
        memory=Memory(),
        subset=_SEEN,
        show=False,
    ).heads
    rng, skill = np.random.default_rng(0), Skill.unknown(len(kept))
    for i, (source, seen) in enumerate(zip(held, kept, strict=True)):
        if not source.n or not seen.n:
            continue
        x, y, used = source.draw(rng, 1, min(_HELD, source.n))
        y = y[used].astype(np.float64)
        predicted = nig.predict(heads[i], features(encoder, inputs.standardise(x[used])))
        low, high = predicted.interval(_LEVEL)
        variance = np.var(y)
        skill.rows[i] = len(y)
        skill.coverage[i] = np.mean((y >= low) & (y <= high))
        if variance > 1e-24 * np.mean(y**2):  # more than rounding leaves of a constant
            skill.r2[i] = 1 - np.mean((y - predicted.mean) ** 2) / variance
    return skill
