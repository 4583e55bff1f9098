"""Early stopping: keep the encoder whose heads predict rows they have not seen best.

Enters: an encoder during training. Leaves: the best one so far, and when to stop. The score is
the log predictive density per held-out row, given other rows of the same source:

    (log p(y_seen, y_held) − log p(y_seen)) / n_held    [Eq. held_out]
"""

from collections.abc import Sequence
from functools import partial

import jax
import numpy as np

from bers.data.source import Source
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
from bers.model.scaling import InputScale, LabelScale
from bers.model.training import Batches, draw_batches, objective

_SEEN, _HELD = 512, 256  # rows per head behind one score


class EarlyStopping:
    """Watches the held-out score; `check` says when to stop, `best` is what to keep."""

    def __init__(
        self,
        rng: np.random.Generator,
        kept: Sequence[Source],
        held: Sequence[Source],
        *,
        inputs: InputScale,
        labels: Sequence[LabelScale],
        config: ModelConfig,
    ) -> None:
        draw = partial(draw_batches, rng, count=1, inputs=inputs, labels=labels)
        self._seen = draw(sources=kept, config=_sized(config, _SEEN))
        self._held = draw(sources=held, config=_sized(config, _HELD))
        self._config = _sized(config, config.batch_size)
        self._patience = config.patience or np.inf
        self._best_score, self._best_at = -np.inf, 0
        self.best: Encoder | None = None
        self.scores: list[tuple[int, float]] = []

    def check(self, encoder: Encoder, done: int) -> bool:
        """Score the encoder after `done` batches; True when patience has run out."""
        score = float(_score(encoder, self._seen, self._held, config=self._config))
        self.scores.append((done, score))
        if score > self._best_score:
            self._best_score, self._best_at, self.best = score, done, encoder
        return done - self._best_at >= self._patience


def _sized(config: ModelConfig, rows: int) -> ModelConfig:
    """The same prior, batches of another size, every head, no penalty."""
    return ModelConfig(
        **{**config.to_dict(), "batch_size": rows, "heads_per_batch": 2**31, "l2": 0.0}
    )


@partial(jax.jit, static_argnames="config")
def _score(encoder: Encoder, seen: Batches, held: Batches, *, config: ModelConfig) -> jax.Array:
    """[Eq. held_out], over all heads."""
    first = jax.tree.map(lambda a: a[0], seen)
    both = jax.tree.map(lambda a, b: jax.numpy.concatenate([a[0], b[0]], axis=1), seen, held)
    total = objective(encoder, both, config=config) * both.used.sum()
    return (total - objective(encoder, first, config=config) * first.used.sum()) / held.used.sum()
