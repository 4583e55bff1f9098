"""The target's head: where it begins, and what its rows make of that.

Enters: the sources' heads and the target's rows, under one encoder. Leaves: one head. Its prior is
not one but several: what all sources have in common, with several widths, in shared units and in
the target's own; single sources that the target is believed to be like; and priors that know
nothing of any source. The evidence of the target's rows weighs them, so sources that mislead lose
their say as rows come in. [Eq. target_head]

What no source's features can say is a smooth function of the inputs beside the head. [Eq. residual]
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from bers.data.demonstrations import Demonstrations
from bers.data.source import Source
from bers.errors import PrecisionWarning
from bers.model.neural_linear import Model
from bers.model.nig import NIG, StudentT, predict, stack, summarise
from bers.model.pooling import Averaged, Pool, average, pool
from bers.model.posteriors import features, summary_of
from bers.model.residual import ROWS, Residual, residual
from bers.trust.beliefs import Beliefs
from bers.trust.order import Order, order
from bers.trust.own import Own, own

_NOBODY = 0.5  # of the weight, from which a model of the target's own is asked, too
_PRIORS = 2  # of the head, the likeliest, that a residual is looked for beside
_NOISE = (0.03, 1e-3)  # of the labels' variance, beside heads that know nothing of any source


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


@dataclass(frozen=True)
class Beside:
    """What stands beside the target's head, for what no source knows. Made by `beside`."""

    residual: Residual | None = None
    order: Order | None = None
    own: Own | None = None

    def predict(self, head: NIG, model: Model, x: ArrayLike) -> StudentT:
        """What is foretold of labels.

        Parameters
        ----------
        head
            The target's.
        model
            Its encoder.
        x
            Rows of inputs.

        Returns
        -------
        StudentT
            Of all of them together.
        """
        x = model.rows_of(x)
        Phi = model.features(x)
        said = predict(head, Phi)
        if self.residual is not None:
            inputs = model.inputs.standardise(x)
            said = self.residual.beside(said, Phi, inputs.astype(np.float64))
        if self.order is not None:
            said = self.order.beside(said, Phi)
        return said if self.own is None else self.own.beside(said, x)


def beside(
    common: Pool,
    known: Beliefs,
    weights: Float64[np.ndarray, " N"],
    *,
    model: Model,
    target: Source,
    head: NIG,
) -> Beside:
    """What no source knows of the target; nothing where its rows cannot be looked at one by one.

    Where somebody is believed, so is the order that the sources see in the rows [Eq. order]; where
    nobody is, a model of the target's own stands beside it. [Eq. own]
    """
    if not isinstance(target, Demonstrations) or not target.n:
        return Beside()
    like = weights[known.rows > 0]
    residual, seen = residual_of(common, like, model=model, target=target, head=head)
    if weights.sum() > 1 - _NOBODY:
        left_out = residual.left_out(seen.alone.left_out(seen.Phi, seen.y))
        nobody = float(1 - weights.sum())
        rows = {"Phi": seen.Phi, "y": seen.y, "left_out": left_out}
        return Beside(residual, order(known, common.scales, nobody, **rows))

    def others(rows: Demonstrations, asked: np.ndarray) -> np.ndarray:
        _, Phi, y = _rows(model, rows, np.arange(rows.n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            first = common.new(summarise(Phi, y), like=like).head
        found, _ = residual_of(common, like, model=model, target=rows, head=first)
        return Beside(found).predict(first, model, asked).mean

    return Beside(residual, own=own(target, others, model.config))


class Seen(NamedTuple):
    """Rows that a residual is found by, and the head by these alone."""

    alone: Averaged
    Phi: np.ndarray
    y: np.ndarray


def residual_of(
    common: Pool,
    like: Float64[np.ndarray, " N"],
    *,
    model: Model,
    target: Demonstrations,
    head: NIG,
) -> tuple[Residual, Seen]:
    """A smooth function beside the target's head, by its rows; and these. [Eq. residual]

    It stands beside the likeliest priors of the head, and beside two that know nothing of any
    source: a wide one, and one that says next to nothing.
    Of many rows it sees some; on others it must then be better than the head alone.
    """
    some = np.unique(np.linspace(0, target.n - 1, min(ROWS, target.n)).astype(int))
    x, Phi, y = _rows(model, target, some)
    rows = summarise(Phi, y)
    priors, log_odds, cost = common.priors(rows, like=like)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the head has said so
        alone = average(priors, rows, log_odds, cost)
    best = alone.which[np.argsort(-alone.share, kind="stable")[:_PRIORS]]
    wide, flat = (
        priors[k] for k in (int(np.argmin(common.informed)) + 1, len(common.informed) - 1)
    )
    quiet = [NIG(p.mu, p.U, p.alpha, p.beta * part) for p in (wide, flat) for part in _NOISE]
    beside = stack([*(priors[int(k)] for k in best), *quiet])
    odds = -np.append(cost[best], np.zeros(len(quiet))) - np.log(len(best) + len(quiet))
    found = residual(beside, odds, alone.log_evidence, Phi, x, y)
    seen = Seen(alone, Phi, y)
    others = np.setdiff1d(np.arange(target.n), some)
    if not found.parts or not len(others):
        return found, seen
    x, Phi, y = _rows(model, target, others[:: -(-len(others) // ROWS)])
    said = predict(head, Phi)  # it has seen these rows, and must still be worse at them
    both = found.beside(said, Phi, x)
    better = np.mean((both.mean - y) ** 2) < np.mean((said.mean - y) ** 2)
    return found if better else replace(found, parts=()), seen


def _rows(model: Model, target: Demonstrations, some: np.ndarray) -> tuple[np.ndarray, ...]:
    """Standardised inputs, features and labels."""
    x = model.inputs.standardise(target.x[some])
    return x.astype(np.float64), features(model.state.encoder, x), target.y[some]


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
