"""How transitions of sources are handed to a learner, and with what rewards.

Enters: the transitions of all sources, and a `Reuse`: weights, chance, a model of the rewards.
Leaves: a guide for one episode. Dynamics are shared by source and target, only rewards differ; so
a source's transition is valid experience of the target once its reward is what the target's head
expects there, less a multiple of how unsure it is. [Eq. relabel]
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from bers.algorithm import Reuse
from bers.reuse.batches import BatchGuide, Mix


@dataclass(frozen=True)
class HandConfig:
    """What is done with the sources' transitions. `HandConfig.paper()` does nothing with them."""

    mix: Mix = "batch"
    """Whole batches of a source (paper), or rows mixed into every batch."""
    relabel: bool = True
    """Replace a source's rewards by what the target's head expects. Paper: no."""
    pessimism: float = 0.0
    """Standard deviations of that head to subtract."""
    at_once: bool = True
    """Hand rows over before the target has a head, with the sources' own rewards (paper). If not,
    the first episode is the learner's alone."""
    clone: float = 0.0
    """Weight of imitating the sources' actions, times p_m Σa. Paper: 0."""

    @classmethod
    def paper(cls) -> "HandConfig":
        """The paper's way: whole batches, rewards as they are."""
        return cls(mix="batch", relabel=False)


@dataclass(frozen=True)
class Hand:
    """Transitions of all sources, one source behind the other, as the model of the rewards sees
    them."""

    x: Float[np.ndarray, "rows k"]
    r_t: Float[np.ndarray, " rows"]
    counts: Int[np.ndarray, " N"]
    """Rows of each source."""
    config: HandConfig = HandConfig()

    def __call__(self, reuse: Reuse) -> BatchGuide:
        """The guide of the next episode."""
        p_m = reuse.p_m if self.config.at_once or _has_target(reuse) else 0.0
        share = p_m * min(1.0, float(reuse.a.sum()))
        return BatchGuide(
            rng=reuse.rng,
            a=reuse.a,
            p_m=p_m,
            counts=self.counts,
            rewards=self._rewards(reuse),
            mix=self.config.mix,
            clone=self.config.clone * share,
        )

    def _rewards(self, reuse: Reuse) -> Callable[[np.ndarray], np.ndarray]:
        model = reuse.model
        if not self.config.relabel or model is None or not _has_target(reuse):
            return partial(np.take, self.r_t)

        def expected(rows: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
            once, back = np.unique(rows, return_inverse=True)
            if not len(once):
                return np.zeros(0)
            found = model.predict(-1, self.x[once])
            return (found.mean - self.config.pessimism * found.scale)[back]

        return expected


def _has_target(reuse: Reuse) -> bool:
    return reuse.model is not None and len(reuse.model.names) > len(reuse.sources)
