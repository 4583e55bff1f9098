"""Algorithm 1: learn a target while reusing the experience of sources. [Algorithm bers]

Enters: a base learner by its contract, and a `Reuse`: the sources, the model of what they wanted,
and what is known of the target so far. Leaves: learner and `Reuse`, iteration by iteration. This
is the only module that knows both arms: the Bayesian one, which turns observations into weights,
and the learning one, which turns weights into experience.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float64

from bers.data.checks import usable, whole
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform
from bers.errors import ConfigError, DataError
from bers.learners.base import Experience, Learner, State
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit, refine
from bers.reuse.guard import Guard
from bers.reuse.guide import Guide
from bers.reuse.schedule import Power, Schedule, schedule_named
from bers.trust.beliefs import Counts, beliefs
from bers.trust.rules import Past, is_blind, weigh

_GUARDS, _PICKS = ("trial", "success", "none"), ("best", "predicted")
_MORE = 8  # times as many points to choose from, if the target's head picks them


@dataclass(frozen=True)
class ReuseConfig:
    """How a target learns from sources."""

    rule: str = "odds"
    """How to weigh; a name of bers.trust.rules.RULES. Paper: "weights"."""
    schedule: Schedule = field(default_factory=Power)
    """p_m (paper: 0.99^m)."""
    guard: Literal["trial", "success", "none"] = "trial"
    """When a source's point may be used: "trial", if it was tried and is better than the agent it
    replaces; "success", while its trials win more often than others; "none", always (paper)."""
    elites: int = 16
    """Points that a source can hand over, its best ones (paper: only the best)."""
    batches: int = 1
    """Mini-batches of training per iteration (paper: 1 for functions)."""
    subset: int | None = 256
    """Rows per source that refresh its posterior after each iteration. Paper: all (None)."""
    model: ModelConfig = field(default_factory=ModelConfig)
    pick: Literal["best", "predicted"] = "best"
    """Which points a source hands over: its own best, or of many the ones that the target's head
    expects to be best on the target."""

    def __post_init__(self) -> None:
        for name, known in (("guard", _GUARDS), ("pick", _PICKS)):
            if getattr(self, name) not in known:
                raise ConfigError(
                    f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}."
                )
        object.__setattr__(self, "schedule", schedule_named(self.schedule))
        whole(self.elites, "ReuseConfig(elites=...)")


@dataclass(frozen=True)
class Reuse:
    """All that is carried from one iteration to the next, beside the learner's own state."""

    rng: np.random.Generator
    sources: tuple[Demonstrations, ...]
    points: tuple[Float64[np.ndarray, "_ D"], ...]
    """What each source can hand over."""
    values: tuple[Float64[np.ndarray, " _"], ...]
    """What these are worth on the target; not a number before they are tried."""
    config: ReuseConfig
    transform: Transform | None
    """Of the target's labels, fitted anew as they come in."""
    model: Model | None
    """None where the rule looks at no posterior."""
    x: Float64[np.ndarray, "n D"]
    y: Float64[np.ndarray, " n"]
    """What was seen of the target, in its own units."""
    a: Float64[np.ndarray, " N"]
    past: Past
    guard: Guard
    m: int = 0
    """Iterations done."""
    hand: "Callable[[Reuse], Any] | None" = None
    """Makes the guide of a learner that takes something else than points."""
    keep: tuple[float, float] | None = None
    """Least and greatest label that the model is shown of the target (paper: for control)."""

    @property
    def p_m(self) -> float:
        """The chance that the next iteration learns from the sources."""
        return self.config.schedule(self.m + 1)

    def guide(self) -> Any:
        """What the learner may take in the next iteration, and how often."""
        if self.hand is not None:
            return self.hand(self)
        how = self.config.guard
        return Guide(
            self.rng,
            self.a,
            self.p_m,
            self.points,
            values=self.values if how == "trial" else None,
            guard=self.guard if how == "success" else None,
            open=self._open(),
        )

    def _open(self) -> list[np.ndarray] | None:
        """The points that may be drawn: those that the target's head expects to be best."""
        if self.config.pick == "best" or self.model is None:
            return None
        if len(self.model.names) == len(self.sources):
            return None  # the target has no head yet
        expected = [self.model.predict(-1, own).mean for own in self.points]
        return [np.argsort(e, kind="stable")[: self.config.elites] for e in expected]

    @cached_property
    def target(self) -> Demonstrations:
        """The rows seen, as one more source."""
        return rows_seen(self.x, self.y, "target", self.transform, self.keep)


def experience_reuse(
    rng: np.random.Generator, learner: Learner[State], state: State, reuse: Reuse, iterations: int
) -> Iterator[tuple[State, Reuse]]:
    """Algorithm 1 of the paper, after pre-training (`new_reuse`). [Algorithm bers]"""
    for _ in range(iterations):
        # explore the target; train on B ⊂ D_i, i ~ a, with probability p_m, else on own rows
        state, seen = learner.iterate(rng, state, reuse.guide())
        reuse = after(reuse, seen)
        yield state, reuse


def after(reuse: Reuse, seen: Experience, *, start: bool = False) -> Reuse:
    """One iteration later: the target's rows join in, the heads are trained, the QP solved.

    `start`: what was seen before the first iteration, such as a first population.
    """
    config = reuse.config
    x, y = np.concatenate([reuse.x, seen.x]), np.concatenate([reuse.y, seen.y])
    reuse = replace(reuse, x=x, y=y, m=reuse.m + (not start))
    if seen.sources is not None:
        reuse = _reused(reuse, seen)
    if not reuse.target.n:
        return reuse  # nothing is known of the target yet
    if reuse.model is None:
        rows = np.array([source.n for source in reuse.sources])
        return replace(reuse, a=weigh(Counts(rows, len(y)), config.rule, reuse.past))
    every = [*reuse.sources, reuse.target]
    model = refine(
        reuse.model,
        every,
        batches=config.batches,
        subset=config.subset,
        rng=reuse.rng,
        progress=False,
    )
    a = weigh(beliefs(model, reuse.target, subset=config.subset), config.rule, reuse.past)
    return replace(reuse, model=model, a=a)


def new_reuse(
    rng: np.random.Generator,
    sources: Sequence[Demonstrations],
    *,
    transform: Transform | None = None,
    model: Model | None = None,
    config: ReuseConfig | None = None,
    low: Float64[np.ndarray, " D"] | float = -np.inf,
    high: Float64[np.ndarray, " D"] | float = np.inf,
    progress: bool | None = None,
    hand: Callable[[Reuse], Any] | None = None,
    keep: tuple[float, float] | None = None,
) -> Reuse:
    """Pre-train on the sources; equal weights until the first rows of the target come in.

    The best of a source are its rows of the least label, clipped to [low, high]. `model`: one that
    was fitted on these sources before. `hand`: what makes the guide, if not of points. `keep`: the
    range of labels that the model is shown of the target.
    """
    config = config or ReuseConfig()
    if not sources:
        raise ConfigError("new_reuse(sources=...) needs at least one source; got none.")
    if len({source.dim for source in sources}) > 1:
        dims = ", ".join(str(source.dim) for source in sources)
        raise DataError(f"all sources must have the same inputs; they have {dims}.")
    if is_blind(config.rule):
        model = None
    elif model is None:
        model = fit(sources, config=config.model, rng=rng, progress=progress)
    N, D = len(sources), sources[0].dim
    count = config.elites * (1 if config.pick == "best" else _MORE)
    points = tuple(np.clip(best_points(source, count), low, high) for source in sources)
    return Reuse(
        rng=rng,
        sources=tuple(sources),
        points=points,
        values=tuple(np.full(len(own), np.nan) for own in points),
        config=config,
        transform=transform,
        model=model,
        x=np.zeros((0, D)),
        y=np.zeros(0),
        a=np.full(N, 1 / N),
        past=Past.none(N),
        guard=Guard.new(N),
        hand=hand,
        keep=keep,
    )


def best_points(source: Demonstrations, count: int) -> Float64[np.ndarray, "k D"]:
    """The rows of the least labels, best first."""
    best = np.argsort(source.y, kind="stable")[:count]
    return source.x[best].astype(np.float64)


def _reused(reuse: Reuse, seen: Experience) -> Reuse:
    """What the iteration tells about the use of sources, whatever the model says."""
    assert seen.sources is not None
    values = [own.copy() for own in reuse.values]
    tried = np.full(len(seen.y), -1) if seen.tried is None else seen.tried
    for row in np.flatnonzero(tried >= 0):
        values[seen.sources[row]][tried[row]] = seen.y[row]
    return replace(
        reuse,
        values=tuple(values),
        past=_past(reuse, seen),
        guard=reuse.guard if seen.paid is None else reuse.guard.after(seen.sources, seen.paid),
    )


def _past(reuse: Reuse, seen: Experience) -> Past:
    before = reuse.y[: len(reuse.y) - len(seen.y)]
    return replace(charged(reuse.past, reuse.a, before, seen.y), a=reuse.a)


def charged(
    past: Past,
    a: Float64[np.ndarray, " N"],
    before: Float64[np.ndarray, " n"],
    seen: Float64[np.ndarray, " k"],
) -> Past:
    """How far the best value fell, for a rule that learns by trying: a choice of one source.

    Rules that spread their weight are not charged.

    >>> charged(Past.none(2), np.array([0.0, 1.0]), np.array([5.0]), np.array([3.0])).gains.tolist()
    [0.0, 2.0]
    """
    chosen, before, seen = np.flatnonzero(a), before[np.isfinite(before)], seen[np.isfinite(seen)]
    if len(chosen) != 1 or not len(before):
        return past
    return past.after(int(chosen[0]), float(max(0.0, before.min() - seen.min(initial=np.inf))))


def rows_seen(
    x: Float64[np.ndarray, "n D"],
    y: Float64[np.ndarray, " n"],
    name: str,
    transform: Transform | None,
    keep: tuple[float, float] | None = None,
) -> Demonstrations:
    """What was seen of a task, as the rows of a head; failed evaluations are left out.

    So are labels out of the range `keep`.
    """
    fine = usable(y)
    if keep is not None:
        fine &= (y >= keep[0]) & (y <= keep[1])
    rows = Demonstrations(x[fine], y[fine], name)
    return rows.transformed(transform) if transform is not None and rows.n else rows
