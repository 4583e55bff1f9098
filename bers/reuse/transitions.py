"""What demonstrators' transitions are to a learner that trains on batches.

Enters: transitions of all sources; then weights, a chance p_m, and a head that knows what is paid
in the target. Leaves: for each of an episode's batches the rows of the sources' pool that are in
it, with the rewards to learn from; slots that are left free are filled from the learner's own rows.
[Algorithm bers]
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Float32, Float64, Int, Num

Mix = Literal["batch", "row", "half"]
"""Decide per batch (paper), per row, or give every batch a fixed half (RLPD)."""


@dataclass(frozen=True)
class BatchGuide:
    """Weights, chance and sizes of one iteration.

    >>> rng, a, counts = np.random.default_rng(0), np.array([0.0, 1.0]), np.array([5, 3])
    >>> guide = BatchGuide(rng, a, 1.0, counts, rewards=np.arange(8.0).take)
    >>> guide.draw(2, 4).tolist()
    [[7, 7, 6, 7], [6, 7, 7, 5]]
    """

    rng: np.random.Generator
    a: Float64[np.ndarray, " N"]
    p_m: float
    """Chance to reuse at all; what `a` is short of one lowers it further."""
    counts: Int[np.ndarray, " N"]
    """Rows of each source; the pool holds them one source behind the other."""
    rewards: Callable[[Int[np.ndarray, " rows"]], Float[np.ndarray, " rows"]]
    """The rewards to learn from at some rows of the pool."""
    mix: Mix = "batch"
    clone: float = 0.0
    """How much to imitate the actions in these rows."""

    @property
    def share(self) -> float:
        """Expected share of rows that come from sources."""
        return self.p_m * min(1.0, float(np.sum(self.a)))

    def draw(self, batches: int, size: int) -> Int[np.ndarray, "batches size"]:
        """Rows of the pool, or -1 where the learner uses its own."""
        decisions = (batches, 1) if self.mix == "batch" else (batches, size)
        coin, u = self.rng.random((2, *decisions))
        sources = np.cumsum(self.a).searchsorted(u, side="right")  # beyond the last: nobody
        counts = np.append(self.counts, 0)
        starts = np.cumsum(counts) - counts
        held = counts.take(sources)
        known = held > 0
        if self.mix == "half":
            known &= np.arange(size) < size // 2
        else:
            known &= coin < self.p_m
        rows = starts.take(sources) + (self.rng.random((batches, size)) * held).astype(np.int64)
        return np.where(known, rows, -1)


@dataclass(frozen=True)
class TransitionConfig:
    """What is done with the sources' transitions. `TransitionConfig.paper()` leaves them alone.

    >>> TransitionConfig.paper().relabel
    False
    """

    mix: Mix = "batch"
    """Whole batches of a source (paper), or rows mixed into every batch."""
    relabel: bool = True
    """Replace a source's rewards by what the target's head expects. [Eq. relabel] Paper: no."""
    pessimism: float = 0.0
    """Standard deviations of that head to subtract."""
    at_once: bool = True
    """Hand rows over before the target has a head, with the sources' own rewards (paper). If not,
    the first episode is the learner's alone."""
    clone: float = 0.0
    """Weight of imitating the sources' actions, times p_m Σa. Paper: 0."""

    @classmethod
    def paper(cls) -> "TransitionConfig":
        """The paper's way: whole batches, rewards as they are."""
        return cls(mix="batch", relabel=False)


@runtime_checkable
class Judges(Protocol):
    """What a transition's reward can be asked of: a `Trust`."""

    @property
    def weights(self) -> Float64[np.ndarray, " N"]:
        """Of the sources."""
        ...

    @property
    def has_target(self) -> bool:
        """Whether there is anything to ask yet."""
        ...

    def relabel(self, x: Any, *, pessimism: float) -> Float64[np.ndarray, " n"]:
        """What rows would have earned in the target's task."""
        ...


@dataclass(frozen=True)
class TransitionReuse:
    """Transitions of all sources, one source behind the other, as the model of the rewards sees
    them.

    >>> two = TransitionReuse(np.zeros((2, 1)), np.array([1.0, 2.0]), np.array([2]))
    >>> two.counts.tolist(), two.config.mix
    ([2], 'batch')
    """

    x: Float[np.ndarray, "rows k"]
    r_t: Float[np.ndarray, " rows"]
    counts: Int[np.ndarray, " N"]
    """Rows of each source."""
    config: TransitionConfig = TransitionConfig()

    def guide(self, rng: np.random.Generator, trust: Judges, p_m: float) -> BatchGuide:
        """The guide of the next episode."""
        p_m = p_m if self.config.at_once or trust.has_target else 0.0
        share = p_m * min(1.0, float(trust.weights.sum()))
        return BatchGuide(
            rng=rng,
            a=trust.weights,
            p_m=p_m,
            counts=self.counts,
            rewards=self._rewards(trust),
            mix=self.config.mix,
            clone=self.config.clone * share,
        )

    def _rewards(self, trust: Judges) -> Callable[[np.ndarray], np.ndarray]:
        if not self.config.relabel or not trust.has_target:
            return partial(np.take, self.r_t)

        def expected(rows: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
            once, back = np.unique(rows, return_inverse=True)
            if not len(once):
                return np.zeros(0)
            return trust.relabel(self.x[once], pessimism=self.config.pessimism)[back]

        return expected

    def after(self, seen: Any) -> "TransitionReuse":
        """Nothing is used up."""
        return self

    def gain(self, before: Float64[np.ndarray, " n"], seen: Any) -> float | None:
        """Episodes do not say whose rows helped them."""
        return None


def with_products(
    s_tm1: Num[np.ndarray, "n k"], a_tm1: Float[np.ndarray, "n A"], s_t: Num[np.ndarray, "n k"]
) -> Float32[np.ndarray, "n inputs"]:
    """State, next state, action, and every product of a state's entry with an action's.

    Most rewards are a price times how much is done, and how much is done is often a share of what
    is there; so products do what no single entry does.

    >>> one = np.array([[2.0, 3.0]])
    >>> with_products(one, np.array([[0.5]]), one + 1).tolist()
    [[2.0, 3.0, 3.0, 4.0, 0.5, 1.0, 1.5]]
    """
    products = (s_tm1[:, :, None] * a_tm1[:, None, :]).reshape(len(s_tm1), -1)
    return np.concatenate([s_tm1, s_t, a_tm1, products], axis=1, dtype=np.float32)


def with_squares(
    s_tm1: Num[np.ndarray, "n k"], a_tm1: Float[np.ndarray, "n A"], s_t: Num[np.ndarray, "n k"]
) -> Float32[np.ndarray, "n inputs"]:
    """The same, and the square of every entry: most other rewards are the squared distance from
    where somebody wants to be.

    >>> one = np.array([[2.0]])
    >>> with_squares(one, np.array([[0.5]]), one + 1).tolist()
    [[2.0, 3.0, 0.5, 1.0, 4.0, 9.0, 0.25]]
    """
    plain = with_products(s_tm1, a_tm1, s_t)
    squares = [np.square(part, dtype=np.float32) for part in (s_tm1, s_t, a_tm1)]
    return np.concatenate([plain, *squares], axis=1)
