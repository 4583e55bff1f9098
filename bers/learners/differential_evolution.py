"""Differential Evolution, the base learner for static functions. [Algorithm de]

Enters: a function, bounds, a generator, and a guide to points found elsewhere. Leaves: a population
that improves, and every point that was evaluated on the way. The random choices of a generation
are a `Plan`, made before anything is evaluated, so that the two ways to update share it: agents
replaced in place, one after the other (the paper), or all at once at the end of the generation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float64, Int

from bers.data.checks import whole
from bers.errors import ConfigError
from bers.learners.base import Experience
from bers.learners.camps import Camps, divided, judged, three_others, worth_dividing
from bers.reuse.guide import Drawn, Guide

Evaluate = Callable[[Float64[np.ndarray, "k D"]], Float64[np.ndarray, " k"]]
"""Values of some points. Fewer values than points: the budget is used up. An attribute `one`, for a
single point, saves time; it gives None when the budget is used up."""


@dataclass(frozen=True)
class DEConfig:
    """The numbers of Differential Evolution, with the paper's values."""

    population: int = 32
    """Number of agents, NP (paper: 32)."""
    crossover_rate: float = 0.7
    """Chance that a coordinate comes from the mutant, CR (paper: 0.7)."""
    differential_weight: float | tuple[float, float] = 0.5
    """Length of the difference that is added, F (paper: 0.5). A pair: drawn anew from between
    the two for each generation."""
    updating: Literal["immediate", "deferred"] = "immediate"
    """Replace agents in place (paper), or all at once after a generation."""

    def __post_init__(self) -> None:
        whole(self.population, "DEConfig(population=...)", 4)
        if not 0 <= self.crossover_rate <= 1:
            raise ConfigError(
                f"DEConfig(crossover_rate=...) must be in [0, 1]; got {self.crossover_rate}."
            )
        if self.updating not in ("immediate", "deferred"):
            raise ConfigError(
                f'DEConfig(updating=...) must be "immediate" or "deferred"; got {self.updating!r}.'
            )
        F = self.differential_weight
        ends = np.atleast_1d(np.asarray(F, np.float64))
        fits = ends.shape == (2,) if isinstance(F, tuple | list) else ends.shape == (1,)
        if not fits or not np.all((ends >= 0) & (ends <= 2)) or ends[0] > ends[-1]:
            raise ConfigError(
                f"DEConfig(differential_weight=...) must be in [0, 2], one number or a pair "
                f"(low, high); got {F}."
            )
        if isinstance(F, list):
            object.__setattr__(self, "differential_weight", tuple(F))


@dataclass(frozen=True)
class Population:
    """Agents and their values."""

    x: Float64[np.ndarray, "NP D"]
    f: Float64[np.ndarray, " NP"]
    camps: Camps | None = None
    """None before sources are used, and after the contest."""
    contest: Literal["not yet", "open", "won", "lost"] = "not yet"
    """How the one contest of camps stands, seen from the agents that use sources."""

    @property
    def to_beat(self) -> Float64[np.ndarray, " NP"]:
        """What a source's point must be better than to take an agent's place. [Eq. try_first]"""
        return self.f if self.contest != "lost" else np.full_like(self.f, self.f.min())


@dataclass(frozen=True)
class Plan:
    """What is left to chance in one generation."""

    others: Int[np.ndarray, "3 NP"]
    """For every agent three others, all different."""
    cross: Bool[np.ndarray, "NP D"]
    """The coordinates that come from the mutant."""
    F: float


def plan(rng: np.random.Generator, D: int, *, config: DEConfig, camps: Camps | None = None) -> Plan:
    """Draw one generation's choices.

    >>> chosen = plan(np.random.default_rng(0), 2, config=DEConfig(population=4))
    >>> sorted(chosen.others[:, 0].tolist()), chosen.cross.shape, chosen.F
    ([1, 2, 3], (4, 2), 0.5)
    """
    NP = config.population
    u = rng.random((D + 2) * NP)  # one call: most of the time goes into calls
    others = three_others(u[:NP], camps)
    cross = u[2 * NP :] < config.crossover_rate
    one = (u[NP : 2 * NP] * D).astype(np.intp)
    one += np.arange(0, NP * D, D)
    cross[one] = True
    cross = cross.reshape(NP, D)
    F = config.differential_weight
    if isinstance(F, tuple):
        F = float(rng.uniform(*F))
    return Plan(others, cross, F)


@dataclass(frozen=True)
class DifferentialEvolution:
    """The learner: what stays the same over generations."""

    evaluate: Evaluate
    low: Float64[np.ndarray, " D"]
    high: Float64[np.ndarray, " D"]
    config: DEConfig = DEConfig()

    def start(self, rng: np.random.Generator) -> Population:
        """Agents spread uniformly over the bounds, and evaluated."""
        x = rng.uniform(self.low, self.high, (self.config.population, len(self.low)))
        return Population(x, self.evaluate(x))

    def iterate(
        self, rng: np.random.Generator, agents: Population, guide: Guide | None = None
    ) -> tuple[Population, Experience]:
        """One generation. The guide has a generator of its own, so with p_m = 0 the bits are those
        of plain Differential Evolution.

        >>> box = -np.ones(2), np.ones(2)
        >>> learner = DifferentialEvolution(lambda x: np.sum(x**2, -1), *box)
        >>> rng = np.random.default_rng(0)
        >>> agents = learner.start(rng)
        >>> for _ in range(30):
        ...     agents, seen = learner.iterate(rng, agents)
        >>> bool(agents.f.min() < 1e-6)
        True
        """
        agents = self.in_camps(agents, guide)
        chosen = plan(rng, len(self.low), config=self.config, camps=agents.camps)
        return self.generation(agents, chosen, self.drawn(agents, guide))

    def drawn(self, agents: Population, guide: Guide | None) -> Drawn | None:
        """Points of sources for this generation's trials; none for agents of the other camp."""
        if guide is None:
            return None
        drawn = guide.draw(self.config.population)
        if agents.camps is None or agents.camps.won is not None:
            return drawn
        return replace(drawn, sources=np.where(agents.camps.guided, drawn.sources, -1))

    def generation(
        self, agents: Population, chosen: Plan, drawn: Drawn | None
    ) -> tuple[Population, Experience]:
        """One generation by a plan: the new population, and what was tried.

        # Paper: the test for replacement is printed inside the coordinate loop; it belongs after
        # it.
        """
        in_place = self.config.updating == "immediate"
        x, f, seen = (self._one_by_one if in_place else self._at_once)(agents, chosen, drawn)
        return self._judged(Population(x, f, agents.camps, agents.contest)), seen

    def _at_once(
        self, agents: Population, chosen: Plan, drawn: Drawn | None
    ) -> tuple[np.ndarray, np.ndarray, Experience]:
        tried, sources, which = self.trial(agents.x, agents.to_beat, chosen, drawn, slice(None))
        values = self.evaluate(tried)
        n, NP = len(values), len(tried)
        new = values if n == NP else np.concatenate([values, np.full(NP - n, np.nan)])
        better = new <= agents.f
        x = np.where(better[:, None], tried, agents.x)
        f = np.where(better, new, agents.f)
        return x, f, _seen(tried, values, better[:n], drawn, sources, which)

    def _one_by_one(
        self, agents: Population, chosen: Plan, drawn: Drawn | None
    ) -> tuple[np.ndarray, np.ndarray, Experience]:
        """Trials are made for all at once, and made again where an agent in them has changed."""
        x, f = agents.x.copy(), agents.f.copy()
        NP, to_beat = len(x), agents.to_beat
        tried, sources, which = self.trial(x, to_beat, chosen, drawn, slice(None))
        stale = [False] * NP if drawn is None else drawn.reused.tolist()
        now, values, parents = f.tolist(), [], chosen.others.T.tolist()
        changed = [False] * NP
        evaluate = getattr(self.evaluate, "one", None) or self._one
        for j, (a, b, c) in enumerate(parents):
            if stale[j] or changed[a] or changed[b] or changed[c]:
                if drawn is not None:
                    to_beat = Population(x, f, None, agents.contest).to_beat
                tried[j], source, itself = self.trial(x, to_beat, chosen, drawn, j)
                if drawn is not None:
                    sources[j], which[j] = source, itself  # pyright: ignore[reportIndexIssue]
            value = evaluate(tried[j])
            if value is None:
                break
            values.append(value)
            if value <= now[j]:
                x[j], f[j], now[j], changed[j] = tried[j], value, value, True
            if drawn is not None and stale[j] and which[j] >= 0:  # pyright: ignore
                drawn = _with_value(drawn, sources[j], which[j], value)  # pyright: ignore
        done = len(values)
        better = np.array(changed[:done], bool)
        return x, f, _seen(tried, np.array(values), better, drawn, sources, which)

    def _one(self, point: Float64[np.ndarray, " D"]) -> float | None:
        value = self.evaluate(point[None])
        return float(value[0]) if len(value) else None

    def trial(
        self,
        x: Float64[np.ndarray, "NP D"],
        to_beat: Float64[np.ndarray, " NP"],
        chosen: Plan,
        drawn: Drawn | None,
        agent: int | np.integer | slice,
    ) -> tuple[Float64[np.ndarray, "... D"], object, object]:
        """The trial point of one agent or of several; the source used, and the point if tried.

        Where a source's point was drawn, it takes the place of the first of the three others if
        it is better than what that one has `to_beat`; if its value is not known yet, it is the
        trial itself. [Eq. try_first]
        """
        parents = chosen.others[:, agent]
        base, b, c = x.take(parents, axis=0)
        sources, itself, which = -1, False, -1
        if drawn is not None:
            reused = drawn.reused[agent] & (drawn.values[agent] < to_beat[parents[0]])
            itself = _first_to_try(drawn, agent)
            base = np.where(np.expand_dims(reused, -1), drawn.points[agent], base)
            sources = np.where(reused | itself, drawn.sources[agent], -1)
            which = np.where(itself, drawn.which[agent], -1)
        mutant = b - c
        mutant *= chosen.F
        mutant += base
        np.maximum(mutant, self.low, out=mutant)
        np.minimum(mutant, self.high, out=mutant)
        tried = np.where(chosen.cross[agent], mutant, x[agent])
        if drawn is not None:
            np.copyto(tried, drawn.points[agent], where=np.expand_dims(itself, -1))
        return tried, sources, which

    def in_camps(self, agents: Population, guide: Guide | None) -> Population:
        """Divide the agents when sources that are tried first begin to be used much."""
        if agents.contest != "not yet" or guide is None or guide.values is None:
            return agents
        if not worth_dividing(guide.share, self.config.population):
            return agents
        return replace(agents, camps=divided(guide.rng, len(agents.f)), contest="open")

    def _judged(self, agents: Population) -> Population:
        """The contest after a generation; when it is over, the losers are made anew."""
        if agents.camps is None:
            return agents
        if agents.camps.won is not None:
            return replace(agents, camps=None)
        camps = judged(agents.camps, agents.f, len(self.low))
        lost = camps.lost
        if not lost.any():
            return replace(agents, camps=camps)
        x, f = agents.x.copy(), agents.f.copy()
        # the next trial of a loser, made from winners, replaces it in any case
        x[lost], f[lost] = np.resize(x[~lost], x[lost].shape), np.inf
        return Population(x, f, camps, "won" if camps.won else "lost")


def _first_to_try(drawn: Drawn, agent: int | np.integer | slice) -> np.ndarray | np.bool_:
    """Where a point's value is not known; of several agents with the same point, the first."""
    unknown = drawn.reused & np.isnan(drawn.values)
    if not isinstance(agent, slice):
        return unknown[agent]
    first = np.zeros(len(unknown), bool)
    at = np.flatnonzero(unknown)
    pairs = np.stack([drawn.sources[at], drawn.which[at]], axis=1)
    first[at[np.unique(pairs, axis=0, return_index=True)[1]]] = True
    return first[agent]


def _with_value(
    drawn: Drawn, source: int | np.integer, which: int | np.integer, value: float
) -> Drawn:
    """The rest of this generation knows the value of a point that was just tried."""
    same = (drawn.sources == source) & (drawn.which == which)
    return replace(drawn, values=np.where(same, value, drawn.values))


def _seen(
    tried: np.ndarray,
    values: np.ndarray,
    better: np.ndarray,
    drawn: Drawn | None,
    sources: object,
    which: object,
) -> Experience:
    n = len(values)
    if drawn is None:
        return Experience(tried[:n], values, None, better)
    return Experience(tried[:n], values, np.asarray(sources)[:n], better, np.asarray(which)[:n])
