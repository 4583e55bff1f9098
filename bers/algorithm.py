"""Algorithm 1: learn a target while reusing the experience of sources. [Algorithm bers]

Enters: a base learner by its contract, and a `Reuse`: whom to believe, what can be handed over, and
how often. Leaves: learner and `Reuse`, iteration by iteration. This is the only module that knows
both arms: the Bayesian one, which turns observations into weights (`Trust`), and the learning one,
which turns weights into experience.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from jaxtyping import Float64

from bers.data.checks import MOST_BATCHES, finite_number, whole
from bers.data.transforms import Transform, transform_named
from bers.errors import ConfigError
from bers.learners.base import Experience, Learner, State
from bers.schedules import Power, Schedule, schedule_named
from bers.trust.rules import Rule, rule_named
from bers.trust.trust import Trust

_GUARDS, _PICKS = ("trial", "success", "none"), ("best", "predicted")


@dataclass(frozen=True)
class ReuseConfig:
    """How a search for points learns from past runs.

    Parameters
    ----------
    rule
        How to weigh: a name of `bers.rules.RULES`, or a `bers.rules.Rule`. Paper: "weights".
    schedule
        p_m, the chance that iteration m asks the past runs (paper: 0.99^m): one of
        `bers.schedules`, a number for a constant chance, or "paper".
    guard
        When a past run's point may be used: "trial", if it was tried and is better than the agent
        it replaces; "success", while its trials win more often than others; "none", always (paper).
    elites
        Points that a past run can hand over, its best ones (paper: only the best).
    pick
        Which points are handed over: a run's own "best", or those "predicted" to be best by the
        new task's head.
    transform
        Of all values before they are modelled: "auto", "rank", "log", "paper" (sqrt, then log),
        "none", or one of `bers.transforms`.
    batches
        Mini-batches of training per iteration, on the new task's rows too, which are then judged
        by an encoder that has seen them (paper: 1). 0: it stays as the past runs left it.
    subset
        Rows per run that refresh its posterior after each iteration. Paper: all (None).

    Examples
    --------
    >>> ReuseConfig(schedule=0.3).schedule, ReuseConfig.paper().rule
    (Constant(p=0.3), 'weights')
    """

    rule: str | Rule = "odds"
    schedule: Schedule = field(default_factory=Power)
    guard: Literal["trial", "success", "none"] = "trial"
    elites: int = 16
    pick: Literal["best", "predicted"] = "best"
    transform: str | Transform | None = "auto"
    batches: int = 0
    subset: int | None = 256

    @classmethod
    def paper(cls, **changes: Any) -> "ReuseConfig":
        """The paper's way: its metric, one point a run, used blindly.

        Parameters
        ----------
        **changes
            Settings that shall differ from it.

        Returns
        -------
        ReuseConfig
            With rule "weights", guard "none", one elite, one batch, and all rows, unless changed.

        Examples
        --------
        >>> ReuseConfig.paper(elites=4).guard
        'none'
        """
        printed = {"rule": "weights", "guard": "none", "elites": 1, "batches": 1, "subset": None}
        return cls(**{**printed, **changes})

    def __post_init__(self) -> None:
        rule_named(self.rule)
        for name, known in (("guard", _GUARDS), ("pick", _PICKS)):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}."
                )
        transform_named(self.transform)
        object.__setattr__(self, "schedule", schedule_named(self.schedule))
        whole(self.elites, "ReuseConfig(elites=...)")
        object.__setattr__(self, "elites", int(self.elites))
        whole(self.batches, "ReuseConfig(batches=...)", 0, MOST_BATCHES)
        if self.subset is not None:
            whole(self.subset, "ReuseConfig(subset=...)", 2)


class Offer(Protocol):
    """What sources can hand to a learner: `PointReuse`, `TransitionReuse`."""

    def guide(self, rng: np.random.Generator, trust: Any, p_m: float) -> Any:
        """What the learner may take in the next iteration, and how often."""
        ...

    def after(self, seen: Experience) -> Any:
        """The same one iteration later."""
        ...

    def gain(self, before: Float64[np.ndarray, " n"], seen: Experience) -> float | None:
        """How much better the learner became, where that can be said."""
        ...


@dataclass(frozen=True)
class Reuse:
    """All that is carried from one iteration to the next, beside the learner's own state."""

    trust: Trust
    offer: Offer
    schedule: Schedule
    rng: np.random.Generator
    """Of the guide; a `Trust` that was made with it shares it."""
    m: int = 0
    """Iterations done."""
    patience: float = 0.0
    """Weights are found anew when the rows have grown by this share; 0: after each iteration."""
    unseen: tuple[Experience, ...] = ()
    """What `trust` has not observed yet."""

    @property
    def p_m(self) -> float:
        """The chance that the next iteration learns from the sources."""
        chance = self.schedule(self.m + 1)
        plain = chance.item() if isinstance(chance, np.generic | np.ndarray) else chance
        return finite_number(plain, "what a schedule gives")

    def guide(self) -> Any:
        """What the learner may take in the next iteration, and how often."""
        return self.offer.guide(self.rng, self.trust, self.p_m)


def experience_reuse(
    rng: np.random.Generator, learner: Learner[State], state: State, reuse: Reuse, iterations: int
) -> Iterator[tuple[State, Reuse]]:
    """Algorithm 1 of the paper, after pre-training (`Trust`). [Algorithm bers]"""
    for _ in range(iterations):
        # explore the target; train on B ⊂ D_i, i ~ a, with probability p_m, else on own rows
        state, seen = learner.iterate(rng, state, reuse.guide())
        reuse = after(reuse, seen)
        yield state, reuse


def after(reuse: Reuse, seen: Experience, *, start: bool = False) -> Reuse:
    """One iteration later: the target's rows join in, the heads are trained, the QP solved.

    `start`: what was seen before the first iteration, such as a first population.
    """
    waiting = (*reuse.unseen, seen)
    later = replace(reuse, offer=reuse.offer.after(seen), m=reuse.m + (not start), unseen=waiting)
    new = sum(len(one.y) for one in waiting)
    return later if new < reuse.patience * len(reuse.trust.y) else up_to_date(later)


def up_to_date(reuse: Reuse) -> Reuse:
    """The same with weights that know all rows."""
    if not reuse.unseen:
        return reuse
    x = np.concatenate([one.x for one in reuse.unseen])
    y = np.concatenate([one.y for one in reuse.unseen])
    sources = None
    if any(one.sources is not None for one in reuse.unseen):
        own = [
            np.full(len(one.y), -1) if one.sources is None else one.sources for one in reuse.unseen
        ]
        sources = np.concatenate(own)
    seen = Experience(x, y, sources)
    gain = reuse.offer.gain(reuse.trust.y, seen)
    return replace(reuse, trust=reuse.trust.observe(x, y, gain=gain), unseen=())
