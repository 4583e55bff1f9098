"""The target's head: where it begins, and what its rows make of that.

Enters: the sources' heads and the target's rows, under one encoder. Leaves: one head. Its prior is
not one but several: what all sources have in common, with several widths, in shared units and in
the target's own; single sources that the target is believed to be like; and priors that know
nothing of any source. The evidence of the target's rows weighs them, so sources that mislead lose
their say as rows come in. [Eq. target_head]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from bers.data.source import Source
from bers.model.neural_linear import Model
from bers.model.nig import NIG
from bers.model.pooling import Pool, pool
from bers.model.posteriors import summary_of
from bers.trust.beliefs import Beliefs


class Common:
    """What the sources' heads have in common; found when it is first asked for, then kept.

    The encoder that judges never changes, and neither do the sources.
    """

    def __init__(self) -> None:
        self._found: Pool | None = None

    def __reduce__(self) -> tuple[type["Common"], tuple[()]]:
        return Common, ()  # it can be found again

    def of(self, model: Model, sources: Sequence[Source], settings: Any) -> Pool:
        """By the rows that the sources' heads rest on."""
        if self._found is None:
            how = {"subset": settings.subset, "workers": settings.workers}
            rows = [
                summary_of(
                    model.state.encoder, one, inputs=model.inputs, memory=settings.memory, **how
                )
                for one in sources
                if one.n
            ]
            self._found = pool(rows, config=model.config)
        return self._found


def informed_head(common: Pool, known: Beliefs, weights: Float64[np.ndarray, " N"]) -> NIG:
    """The head of the target's rows; `weights` say which sources it is believed to be like."""
    return common.new(known.summary, like=weights[known.rows > 0]).head


def unseen_share(target: NIG, source: NIG) -> float:
    """How much of what the model does not see in a source's labels is to be kept. [Eq. relabel]

    All of it where the target's labels have as much that is not seen; no more than they have.

    >>> from bers.model import nig
    >>> loud, quiet = nig.prior(1, beta=4.0), nig.prior(1, beta=1.0)
    >>> unseen_share(quiet, loud), unseen_share(loud, quiet)
    (0.5, 1.0)
    """
    own, theirs = (float(head.beta / head.alpha) for head in (target, source))
    return min(1.0, float(np.sqrt(own / theirs))) if theirs > 0 else 1.0
