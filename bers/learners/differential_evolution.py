"""Differential Evolution, the base learner for static functions. [Algorithm de]

Enters: a function, bounds, a generator, and a guide to points found elsewhere. Leaves: a population
that improves, and every point that was evaluated on the way. The random choices of a generation
are a `Plan`, made before anything is evaluated, so that the two ways to update share it: agents
replaced in place, one after the other (the paper), or all at once at the end of the generation.
"""

import math
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float64, Int
from numpy.typing import ArrayLike

from bers.data.checks import LARGEST, MOST_POINTS, finite_number, number, one_of, whole
from bers.errors import ConfigError
from bers.learners.base import Evaluate, Experience
from bers.reuse.points import Drawn, PointGuide
from bers.text import printable

_ENOUGH = 0.1  # expected share of guided trials from which islands are worth their price
_BEHIND = 3  # generations that the guided island may be behind
_SMALL = 63  # a table of all triples of so many takes 6 MB
_AHEAD_PER_DIMENSION = 3  # generations, times D, that it must be ahead: a slow search is no loser


@dataclass(frozen=True)
class Islands:
    """Who is in which island, and how the contest stands."""

    guided: Bool[np.ndarray, " NP"]
    ahead: int = 0
    """Generations in a row in which the guided island had the best agent."""
    behind: int = 0
    won: bool | None = None
    """None while it is open; True if the guided island won. Then the losers are to be made anew."""

    @property
    def lost(self) -> Bool[np.ndarray, " NP"]:
        """Agents of the island that lost."""
        return np.zeros_like(self.guided) if self.won is None else self.guided != self.won


def divided(rng: np.random.Generator, NP: int) -> Islands:
    """Half of the agents, drawn at random, follow the guide.

    >>> int(divided(np.random.default_rng(0), 32).guided.sum())
    16
    """
    return Islands(rng.permutation(NP) < NP // 2)


def worth_dividing(share: float, NP: int) -> bool:
    """Whether so many trials will be guided that it can go wrong; an island needs four agents.

    >>> worth_dividing(0.5, 32), worth_dividing(0.01, 32), worth_dividing(0.5, 6)
    (True, False, False)
    """
    return share > _ENOUGH and NP >= 8


def judged(islands: Islands, f: Float64[np.ndarray, " NP"], D: int) -> Islands:
    """The contest after one more generation. [Eq. islands]

    >>> islands = Islands(np.array([True, True, False, False]))
    >>> for _ in range(4):
    ...     islands = judged(islands, np.array([5.0, 4.0, 3.0, 9.0]), 10)
    >>> islands.won, islands.lost.tolist()
    (False, [True, True, False, False])
    """
    if f[islands.guided].min() > f[~islands.guided].min():
        islands = replace(islands, ahead=0, behind=islands.behind + 1)
    else:
        islands = replace(islands, ahead=islands.ahead + 1, behind=0)
    if islands.behind > _BEHIND:
        return replace(islands, won=False)
    return replace(islands, won=True) if islands.ahead >= _AHEAD_PER_DIMENSION * D else islands


def three_others(
    u: Float64[np.ndarray, " NP"],
    islands: Islands | None = None,
    triples: "_Triples | None" = None,
) -> Int[np.ndarray, "3 NP"]:
    """For every agent three others, all different, from its own island, by uniform numbers u.

    Agents that lost have parents among the winners.

    >>> three_others(np.array([0.1, 0.9, 0.5, 0.2])).T.tolist()
    [[1, 2, 3], [3, 2, 0], [1, 3, 0], [0, 2, 1]]
    """
    NP, some = len(u), triples or _Triples()
    if islands is None:
        return some.others(u, np.arange(NP))
    others = np.empty((3, NP), np.intp)
    if islands.won is None:
        for island in (np.flatnonzero(islands.guided), np.flatnonzero(~islands.guided)):
            others[:, island] = island[some.others(u[island], np.arange(len(island)))]
        return others
    winners, losers = np.flatnonzero(~islands.lost), np.flatnonzero(islands.lost)
    others[:, winners] = winners[some.others(u[winners], np.arange(len(winners)))]
    # a place beyond the last winner: none of them is stepped over
    beyond = np.full(len(losers), len(winners))
    others[:, losers] = winners[some.others(u[losers], beyond, len(winners))]
    return others


class _Triples:
    """Ordered triples of different things, by number; looking up is faster than working out."""

    def __init__(self) -> None:
        self._tables: dict[int, np.ndarray] = {}

    def others(
        self, u: Float64[np.ndarray, " k"], own: Int[np.ndarray, " k"], left: int | None = None
    ) -> Int[np.ndarray, "3 k"]:
        """One of the triples of those that are left, and then a step over the own place."""
        left = len(own) - 1 if left is None else left
        which = (u * (left * (left - 1) * (left - 2))).astype(np.intp)
        others = self._table(left).take(which, axis=1) if left <= _SMALL else _triples(which, left)
        others += others >= own
        return others

    def _table(self, left: int) -> Int[np.ndarray, "3 count"]:
        if left not in self._tables:
            self._tables[left] = _triples(np.arange(left * (left - 1) * (left - 2)), left)
        return self._tables[left]


def _triples(which: Int[np.ndarray, " k"], left: int) -> Int[np.ndarray, "3 k"]:
    """By number, the ordered triples of `left` things: each steps over the ones before it."""
    a, b, c = (np.array(part) for part in np.unravel_index(which, (left, left - 1, left - 2)))
    b += b >= a
    first, second = np.minimum(a, b), np.maximum(a, b)
    c += c >= first
    c += c >= second
    return np.stack([a, b, c])


_INITS = ("random", "latinhypercube", "sobol", "halton")


@dataclass(frozen=True)
class DE:
    """Differential Evolution, rand/1/bin, with the paper's values. [Algorithm de]

    Parameters
    ----------
    population
        Number of agents, NP (paper: 32). Not a multiple of the number of variables.
    mutation
        Length of the difference that is added, F (paper: 0.5). A pair: drawn anew from between
        the two for each generation.
    recombination
        Chance that a coordinate comes from the mutant, CR (paper: 0.7).
    updating
        "immediate": agents are replaced in place (paper); "deferred": all at once after a
        generation, which can be evaluated in parallel. None: the first in `minimize`, the second
        where points are asked for, in `Optimizer`.
    init
        The first population: "random" (paper), "latinhypercube", "sobol", "halton", an array, or
        an earlier result, whose values are known and not evaluated again.
    tol, atol
        The search has converged when the values' standard deviation is at most
        atol + tol |their mean|, as in scipy. A negative tol switches that off.

    Examples
    --------
    >>> from bers import minimize
    >>> found = minimize(lambda x: np.sum(x**2), [(-1, 1)] * 2, rng=0, learner=DE(population=16))
    >>> bool(found.fun < 1e-3), len(found.population)
    (True, 16)
    """

    population: int = 32
    mutation: float | tuple[float, float] | list[float] | np.ndarray = 0.5
    recombination: float = 0.7
    updating: Literal["immediate", "deferred"] | None = None
    init: Any = "random"
    tol: float = 0.01
    atol: float = 0.0

    def __post_init__(self) -> None:
        whole(self.population, "DE(population=...)", 4, MOST_POINTS)
        if not 0 <= finite_number(self.recombination, "DE(recombination=...)") <= 1:
            raise ConfigError(f"DE(recombination=...) must be in [0, 1]; got {self.recombination}.")
        if self.updating is not None:
            one_of(self.updating, "DE(updating=...)", "immediate", "deferred")
        if isinstance(self.init, str) and self.init not in _INITS:
            known = ", ".join(_INITS)
            raise ConfigError(f"there is no init {self.init!r}. Known: {known}, or an array.")
        for name in ("tol", "atol"):
            number(getattr(self, name), f"DE({name}=...)")
        F = self.mutation
        if isinstance(F, list | tuple) or (isinstance(F, np.ndarray) and F.ndim == 1):
            F = tuple(finite_number(end, "DE(mutation=...)") for end in F)
            object.__setattr__(self, "mutation", F)
        ends = np.array(F if isinstance(F, tuple) else [finite_number(F, "DE(mutation=...)")])
        fits = len(ends) == (2 if isinstance(F, tuple) else 1)
        if not fits or not np.all((ends >= 0) & (ends <= 2)) or ends[0] > ends[-1]:
            raise ConfigError(
                f"DE(mutation=...) must be in [0, 2], one number or a pair (low, high); got {F}."
            )

    def on(
        self,
        evaluate: Evaluate,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
    ) -> "DifferentialEvolution":
        """The search over a box.

        Parameters
        ----------
        evaluate
            From rows of points to their values; fewer values than rows: no more are known.
        low, high
            Ends of the box.

        Returns
        -------
        DifferentialEvolution
            These settings at work there.
        """
        return DifferentialEvolution(evaluate, low, high, self)

    def first(
        self,
        rng: np.random.Generator,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
        x0: ArrayLike | None = None,
    ) -> tuple[Float64[np.ndarray, "NP D"], Float64[np.ndarray, " NP"] | None]:
        """The first population, and its values if `init` is an earlier result.

        Parameters
        ----------
        rng
            Draws the points, if `init` is a name.
        low, high
            Ends of the box.
        x0
            Takes the first agent's place, moved into the box.

        Returns
        -------
        tuple
            Rows of points; their values or None, not a number where x0 stands.

        Examples
        --------
        >>> DE(init="sobol").first(np.random.default_rng(0), np.zeros(2), np.ones(2))[0].shape
        (32, 2)
        """
        NP, D = self.population, len(low)
        init, values = self.init, None
        if isinstance(init, str):
            x = _spread(rng, low, high, NP, init)
        else:
            try:
                if hasattr(init, "population"):
                    x = np.array(init.population, np.float64)
                    values = np.array(init.population_energies, np.float64)
                else:
                    x = np.array(init, np.float64)
            except (TypeError, ValueError) as error:
                raise ConfigError(f"init must hold points of numbers: {error}.") from error
            if x.shape != (NP, D):
                raise ConfigError(
                    f"init must hold {NP} points of {D} variables; got shape {x.shape}. "
                    "Set DE(population=...) to the number of points."
                )
            if not np.all(np.isfinite(x)):
                raise ConfigError("init must hold finite points; some are not.")
            inside = np.clip(x, low, high)
            if values is not None and not np.array_equal(inside, x):
                raise ConfigError("the earlier result given as init= lies outside the bounds.")
            x = inside
        if x0 is not None:
            x[0] = np.clip(start_point(x0, D), low, high)
            values = None if values is None else np.concatenate([[np.nan], values[1:]])
        return x, values

    def plan(self, rng: np.random.Generator, D: int, islands: Islands | None = None) -> "Plan":
        """Draw one generation's choices.

        Parameters
        ----------
        rng
            Draws them.
        D
            Number of variables.
        islands
            Who is in which; None if all agents are together.

        Returns
        -------
        Plan
            Parents, coordinates to cross, and F.

        Examples
        --------
        >>> chosen = DE(population=4).plan(np.random.default_rng(0), 2)
        >>> sorted(chosen.others[:, 0].tolist()), chosen.cross.shape, chosen.F
        ([1, 2, 3], (4, 2), 0.5)
        """
        NP = self.population
        u = rng.random((D + 2) * NP)  # one call: most of the time goes into calls
        others = three_others(u[:NP], islands, self._triples)
        cross = u[2 * NP :] < self.recombination
        one = (u[NP : 2 * NP] * D).astype(np.intp)
        one += np.arange(0, NP * D, D)
        cross[one] = True
        cross = cross.reshape(NP, D)
        F = self.mutation
        if isinstance(F, tuple):
            F = float(rng.uniform(*F))
        return Plan(others, cross, F)  # pyright: ignore[reportArgumentType]

    def parts(self, agents: "Population | None") -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Settings and population as arrays and plain values, for a file; `init` is not kept.

        Parameters
        ----------
        agents
            The population; None before there is one.

        Returns
        -------
        tuple
            Arrays by name, and plain values by name.
        """
        about: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        about |= {"init": "random"}
        if agents is None:
            return {}, about
        arrays = {"agents.x": agents.x, "agents.f": agents.f}
        about["contest"] = agents.contest
        if agents.islands is not None:
            arrays["islands.guided"] = agents.islands.guided
            about["islands"] = {
                name: getattr(agents.islands, name) for name in ("ahead", "behind", "won")
            }
        return arrays, about

    @classmethod
    def of_parts(
        cls, arrays: dict[str, np.ndarray], about: dict[str, Any]
    ) -> tuple["DE", "Population | None"]:
        """What `parts` took apart.

        Parameters
        ----------
        arrays
            Arrays by name.
        about
            Plain values by name; those of the population are taken out of it.

        Returns
        -------
        tuple
            The settings; the population, or None.
        """
        contest, islands = about.pop("contest", None), about.pop("islands", None)
        if contest is None:
            return cls(**about), None
        held = None if islands is None else Islands(arrays["islands.guided"], **islands)
        return cls(**about), Population(arrays["agents.x"], arrays["agents.f"], held, contest)

    @cached_property
    def _triples(self) -> "_Triples":
        return _Triples()


def start_point(x0: ArrayLike, D: int) -> Float64[np.ndarray, " D"]:
    """A point to begin with, as somebody wrote it.

    >>> start_point([1, 2], 2).tolist()
    [1.0, 2.0]
    """
    try:
        start = np.asarray(x0, np.float64)
    except (ValueError, TypeError):
        start = np.zeros(0)
    if start.shape != (D,) or not np.all(np.isfinite(start)):
        raise ConfigError(f"x0 must be {D} finite numbers; got {printable(repr(x0))}.")
    return start


def _spread(
    rng: np.random.Generator, low: np.ndarray, high: np.ndarray, NP: int, init: str
) -> np.ndarray:
    if init == "random":
        return rng.uniform(low, high, (NP, len(low)))
    from scipy.stats import qmc

    kinds = {"latinhypercube": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}
    if init not in kinds:
        raise ConfigError(f"there is no init {init!r}. Known: {', '.join(_INITS)}, or an array.")
    points = kinds[init](len(low), rng=rng)
    # Sobol's points are balanced in powers of two only
    size = 1 << (NP - 1).bit_length() if init == "sobol" else NP
    return low + (high - low) * points.random(size)[:NP]


@dataclass(frozen=True)
class Population:
    """Agents and their values."""

    x: Float64[np.ndarray, "NP D"]
    f: Float64[np.ndarray, " NP"]
    islands: Islands | None = None
    """None before sources are used, and after the contest."""
    contest: Literal["not yet", "open", "won", "lost"] = "not yet"
    """How the one contest of islands stands, seen from the agents that use sources."""

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


@dataclass(frozen=True)
class Begun:
    """A generation whose random choices are made."""

    agents: Population
    plan: Plan
    drawn: Drawn | None

    @property
    def size(self) -> int:
        """Values that it needs."""
        return len(self.agents.f)


@dataclass(frozen=True)
class DifferentialEvolution:
    """The learner: what stays the same over generations."""

    evaluate: Evaluate
    low: Float64[np.ndarray, " D"]
    high: Float64[np.ndarray, " D"]
    config: DE = DE()

    def start(self, rng: np.random.Generator) -> Population:
        """Agents spread uniformly over the bounds, and evaluated."""
        x = rng.uniform(self.low, self.high, (self.config.population, len(self.low)))
        return Population(x, self.evaluate(x))

    def iterate(
        self, rng: np.random.Generator, agents: Population, guide: PointGuide | None = None
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
        return self.advance(self.begin(rng, agents, guide))

    def opened(
        self, x: Float64[np.ndarray, "NP D"], f: Float64[np.ndarray, " known"]
    ) -> Population:
        """The first population, evaluated; agents without a value are the worst."""
        return Population(x, np.concatenate([f, np.full(len(x) - len(f), np.inf)]))

    def adopted(
        self, agents: Population, x: Float64[np.ndarray, "k D"], f: Float64[np.ndarray, " k"]
    ) -> Population:
        """Points that somebody else evaluated, each in the worst agent's place if it is better.

        An agent that was measured once more has its least value.

        >>> search = DE().on(lambda x: x[:, 0], np.zeros(1), np.ones(1))
        >>> agents = Population(np.array([[0.2], [0.9]]), np.array([2.0, 9.0]))
        >>> search.adopted(agents, np.array([[0.1], [0.5]]), np.array([1.0, 5.0])).f.tolist()
        [2.0, 1.0]
        """
        at, values = agents.x.copy(), agents.f.copy()
        for point, value in zip(x, f, strict=True):
            same = np.all(at == point, axis=1)
            if same.any():
                values[same] = np.minimum(values[same], value)
                continue
            worst = int(np.argmax(values))
            if value < values[worst]:
                at[worst], values[worst] = point, value
        return replace(agents, x=at, f=values)

    def begin(
        self, rng: np.random.Generator, agents: Population, guide: PointGuide | None
    ) -> Begun:
        """All choices of a generation."""
        agents = self.on_islands(agents, guide)
        chosen = self.config.plan(rng, len(self.low), agents.islands)
        return Begun(agents, chosen, self.drawn(agents, guide))

    def advance(self, begun: Begun) -> tuple[Population, Experience]:
        """The generation, as far as there are values: the new population, and what was tried.

        # Paper: the test for replacement is printed inside the coordinate loop; it belongs after
        # it.
        """
        in_place = self.config.updating != "deferred"
        agents = begun.agents
        x, f, seen = (self._one_by_one if in_place else self._at_once)(
            agents, begun.plan, begun.drawn
        )
        return self._judged(Population(x, f, agents.islands, agents.contest)), seen

    def converged(self, agents: Population) -> bool:
        """scipy's test: the values' standard deviation is at most atol + tol |their mean|.

        >>> search = DE().on(lambda x: x[:, 0], np.zeros(1), np.ones(1))
        >>> [search.converged(Population(np.zeros((2, 1)), np.array([1.0, f]))) for f in (1.001, 2)]
        [True, False]
        """
        values = agents.f.tolist()  # plain numbers overflow without a warning
        mean = sum(values) / len(values)
        if not math.isfinite(mean) or max(values) > LARGEST:  # some are not feasible yet
            return False
        away = math.dist(values, [mean] * len(values))
        return away / math.sqrt(len(values)) <= self.config.atol + self.config.tol * abs(mean)

    def drawn(self, agents: Population, guide: PointGuide | None) -> Drawn | None:
        """Points of sources for this generation's trials; none for agents of the other island."""
        if guide is None:
            return None
        drawn = guide.draw(self.config.population)
        if agents.islands is None or agents.islands.won is not None:
            return drawn
        return replace(drawn, sources=np.where(agents.islands.guided, drawn.sources, -1))

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

    def on_islands(self, agents: Population, guide: PointGuide | None) -> Population:
        """Divide the agents when sources that are tried first begin to be used much."""
        if agents.contest != "not yet" or guide is None or guide.values is None:
            return agents
        if not worth_dividing(guide.share, self.config.population):
            return agents
        return replace(agents, islands=divided(guide.rng, len(agents.f)), contest="open")

    def _judged(self, agents: Population) -> Population:
        """The contest after a generation; when it is over, the losers are made anew."""
        if agents.islands is None:
            return agents
        if agents.islands.won is not None:
            return replace(agents, islands=None)
        islands = judged(agents.islands, agents.f, len(self.low))
        lost = islands.lost
        if not lost.any():
            return replace(agents, islands=islands)
        x, f = agents.x.copy(), agents.f.copy()
        # the next trial of a loser, made from winners, replaces it in any case
        x[lost], f[lost] = np.resize(x[~lost], x[lost].shape), np.inf
        return Population(x, f, islands, "won" if islands.won else "lost")


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
