"""CMA-ES that asks a model before it asks the function. [Algorithm cma]

Enters: a function, bounds, a generator, and a guide to points found elsewhere. Leaves: every point
that was evaluated on the way. The evolution strategy is that of the package `cmaes`, on the unit
cube. A quadratic model of the rows near the search orders the points of a generation; the best of
them are evaluated, a few at a time, until the model is found to order them well, and it answers for
the rest (Hansen, "A global surrogate assisted CMA-ES", 2019). Past runs are tried before they are
believed: the best point of each is evaluated, and the search starts from the best of all.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from numpy.typing import ArrayLike

from bers.data.checks import MOST_POINTS, finite_number, flag, number, whole
from bers.errors import ConfigError
from bers.learners.base import Evaluate, Experience
from bers.learners.differential_evolution import start_point
from bers.learners.limits import Limits, feasible
from bers.learners.quadratic import Quadratic, Trade, Valley, agreement, grid_with
from bers.reuse.points import PointGuide

_WIDTH_NEAR_SOURCES = 0.1  # of the box: a source's optimum is not the target's, but not far
_SOON = 3  # times D + 2 evaluations, in which a run near a source should pay
_NARROW = 0.02  # of the box: the second run near a source, if its own valley is a narrow one
_AGREED = 0.85  # Kendall's correlation from which the model answers for the rest of a generation
_AT_LEAST = 15  # rows that agreement is measured on
_NEAR = 4.0  # times √D: rows farther from the centre do not teach the model
_STEP = 1.5  # times √D: how far the model's own minimum may be
_AGAIN = 20  # times that a point out of bounds is drawn anew
_MOST = 32  # times the first population, and restarts do not double it any more
_ROUNDS = 20  # over all variables, to find the model's minimum where bounds are in the way
_ROWS = 300  # that the model is made of, at most
_POLLED = 50  # neighbours of the best point, by one whole number, that a run tries in the end
_ROOM = 1e-9  # of the distances to constraints, left so that roundings do not break them
_HALVED = 40
_KEPT = 2000  # rows to choose these from
_RECHOSEN = 1.1, 1.25  # growth of few and of many rows after which the trade is chosen anew
_FEW = 100
_REACHES = (0.06, 0.25)  # of the box, per variable: how far a past run's shape is looked at
_SHOWN = 400  # rows of a past run that its shape is made of, at most
_TAUGHT = 3  # times as many rows as curvatures: a past run's shape has nothing to add
_TRIED_FIRST, _TRIED_NEXT = 32, 8  # sources at once; of more, the next only while that pays
_ALIKE = 0.3  # rank correlation from which a source is tried though the last ones brought nothing
_NEIGHBOURS = 5  # rows of a source that say what it expects at a point
_LOOKED_AT = 2000, 100  # rows of a source, and of the target, for that


@dataclass(frozen=True)
class CMAES:
    """CMA-ES with a quadratic model, restarted with twice the population when it has converged.

    Parameters
    ----------
    population
        Points of a generation; None: 4 + 3 log D, as is usual.
    sigma
        First step, as a share of each variable's range.
    surrogate
        Whether a quadratic model answers for a part of each generation. False: plain CMA-ES.
    batch
        Points that are evaluated side by side, at least; None: 1, and whole generations where
        `minimize` has workers or a vectorised function.
    restarts
        How often to start again, with twice the population, after convergence. None: as often as
        `maxfun` allows, twice in `minimize` without `maxfun`, and for ever in `Optimizer`.
    init
        An earlier result, whose values are known and not evaluated again; the search goes on from
        the best of them.
    tol, atol
        A run has converged when the values of its last generations differ by at most
        atol + tol times the spread of its first generation: the same for any offset and scale.

    Examples
    --------
    >>> from bers import minimize
    >>> def valley(x): return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    >>> found = minimize(valley, [(-2, 2)] * 2, rng=0, learner=CMAES(), maxfun=300)
    >>> bool(found.fun < 1e-6), found.nfev
    (True, 300)
    """

    population: int | None = None
    sigma: float = 0.3
    surrogate: bool = True
    batch: int | None = None
    restarts: float | None = None
    init: Any = None
    tol: float = 1e-12
    atol: float = 0.0

    def __post_init__(self) -> None:
        flag(self.surrogate, "CMAES(surrogate=...)")
        if self.population is not None:
            whole(self.population, "CMAES(population=...)", 4, MOST_POINTS)
        if self.batch is not None:
            whole(self.batch, "CMAES(batch=...)")
        if not 0 < finite_number(self.sigma, "CMAES(sigma=...)") <= 1:
            raise ConfigError(
                f"CMAES(sigma=...) is a share of the range, in (0, 1]; got {self.sigma}."
            )
        if self.restarts is not None and not number(self.restarts, "CMAES(restarts=...)") >= 0:
            raise ConfigError(f"CMAES(restarts=...) must be 0 or more; got {self.restarts}.")
        for name in ("tol", "atol"):
            if not number(getattr(self, name), f"CMAES({name}=...)", "0 or more") >= 0:
                raise ConfigError(
                    f"CMAES({name}=...) must be 0 or more; got {getattr(self, name)}."
                )

    def first(
        self,
        rng: np.random.Generator,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
        x0: ArrayLike | None = None,
    ) -> tuple[Float64[np.ndarray, "k D"], Float64[np.ndarray, " k"] | None]:
        """x0, and the points of an earlier result with their values.

        Parameters
        ----------
        rng
            Not used.
        low, high
            Ends of the box.
        x0
            Where the search starts, moved into the box.

        Returns
        -------
        tuple
            Rows of points, perhaps none; their values or None, not a number where x0 stands.

        Examples
        --------
        >>> CMAES().first(np.random.default_rng(0), np.zeros(2), np.ones(2), [0.5, 3.0])[0].tolist()
        [[0.5, 1.0]]
        """
        D = len(low)
        x, f = np.zeros((0, D)), np.zeros(0)
        if self.init is not None:
            x, f = _known(self.init, low, high)
        if x0 is not None:
            x = np.concatenate([np.clip(start_point(x0, D), low, high)[None], x])
            f = np.concatenate([[np.nan], f])
        return x, (f if self.init is not None else None)

    def on(
        self,
        evaluate: Evaluate,
        low: Float64[np.ndarray, " D"],
        high: Float64[np.ndarray, " D"],
        limits: Limits | None = None,
    ) -> "EvolutionStrategy":
        """The search over a box.

        Parameters
        ----------
        evaluate
            From rows of points to their values; fewer values than rows: no more are known.
        low, high
            Ends of the box.
        limits
            Whole variables and constraints, if there are any.

        Returns
        -------
        EvolutionStrategy
            These settings at work there.
        """
        return EvolutionStrategy(evaluate, low, high, self, limits)

    def parts(self, state: "Evolution | None") -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Settings and state as arrays and plain values, for a file; `init` is not kept.

        Parameters
        ----------
        state
            The search so far; None before there is one.

        Returns
        -------
        tuple
            Arrays by name, and plain values by name.
        """
        about: dict[str, Any] = {"kind": "CMAES"}
        about |= {f.name: getattr(self, f.name) for f in fields(self)} | {"init": None}
        if state is None:
            return {}, about
        arrays, plain = _apart(state)
        return arrays, about | {"state": plain}

    @classmethod
    def of_parts(
        cls, arrays: dict[str, np.ndarray], about: dict[str, Any]
    ) -> tuple["CMAES", "Evolution | None"]:
        """What `parts` took apart.

        Parameters
        ----------
        arrays
            Arrays by name.
        about
            Plain values by name.

        Returns
        -------
        tuple
            The settings; the state, or None.
        """
        about = dict(about)
        plain = about.pop("state", None)
        about.pop("kind", None)
        return cls(**about), None if plain is None else _together(arrays, plain)


@dataclass(frozen=True)
class Generation:
    """A generation under way, in the unit cube of the variables that are free."""

    points: Float64[np.ndarray, "size D"]
    values: Float64[np.ndarray, " size"]
    """Not a number where nothing was evaluated yet."""
    order: Int[np.ndarray, " size"]
    """In which the points are evaluated."""
    done: int = 0
    free: int = 0
    """The first of these that cost nothing, since they break a constraint."""


@dataclass(frozen=True)
class Evolution:
    """A search so far."""

    x: Float64[np.ndarray, "k D"]
    """The last points evaluated, in the user's units."""
    f: Float64[np.ndarray, " k"]
    rows: Float64[np.ndarray, "n free"]
    """All points that the model may be made of, in the unit cube."""
    values: Float64[np.ndarray, " n"]
    inside: dict[str, Any] | None = None
    """The state of the package's CMA; None before a run has started."""
    start: Float64[np.ndarray, " free"] | None = None
    """Where the next run starts; None: the middle at first, then anywhere."""
    sigma: float = 0.0
    """How wide the next run starts; 0: as set."""
    under_way: Generation | None = None
    size: int = 0
    """Of the next run's population."""
    batch: int = 1
    """Points that were evaluated before the model was believed, last time."""
    runs: int = 0
    """Runs that have started."""
    best: tuple[float, ...] = ()
    """Least values of this run's last generations."""
    spread: float = 0.0
    """Of the values of this run's first generation."""
    model: Quadratic | None = None
    """Of the last generation, with all that was evaluated."""
    metric: "_Metric | None" = None
    """Its coordinates."""
    trade: Trade | None = None
    chosen_at: int = 0
    """Number of rows that the model's trade was chosen for."""
    tried: int = 0
    """Sources whose best points were tried; -1: no more will be."""
    paid: bool = False
    """Whether the last of these brought a new best."""
    home: Float64[np.ndarray, " free"] | None = None
    """The past runs' best point."""
    widths: tuple[float, ...] = ()
    """Of runs that are still to start there."""
    owed: int = 0
    """Evaluations within which a run from there is to find something better; 0: it has."""
    centres: Float64[np.ndarray, "shapes free"] | None = None
    """Of shapes of past runs: where they are flat."""
    bends: Float64[np.ndarray, "shapes free free"] | None = None
    """Of these: second derivatives."""
    over: bool = False
    polled: float = np.inf
    """The least value whose point's whole neighbours have all been tried."""


@dataclass(frozen=True)
class Begun:
    """An iteration whose random choices are made: some points to evaluate."""

    state: Evolution
    points: Float64[np.ndarray, "k free"]
    sources: Int[np.ndarray, " k"] | None = None
    """If these are points of sources: whose; -1 is the search's own start."""
    runs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    """All rows of these sources."""
    neighbours: bool = False
    """Whether these are the best point's, one whole number away."""

    @property
    def size(self) -> int:
        """Values that it needs."""
        return len(self.points)


@dataclass(frozen=True)
class EvolutionStrategy:
    """The learner: what stays the same over iterations."""

    evaluate: Evaluate
    low: Float64[np.ndarray, " D"]
    high: Float64[np.ndarray, " D"]
    config: CMAES = field(default_factory=CMAES)
    limits: Limits | None = None

    @cached_property
    def steps(self) -> Int[np.ndarray, " free"] | None:
        """How many whole numbers each free variable has, 0 where it is not whole; None: no one."""
        if self.limits is None or not self.limits.whole.any():
            return None
        count = np.where(self.limits.whole, self.high - self.low + 1, 0).astype(np.int64)
        return count[self.free] if count[self.free].any() else None

    @property
    def free(self) -> Bool[np.ndarray, " D"]:
        """Variables that are not fixed by equal bounds."""
        return self.high > self.low

    def opened(self, x: Float64[np.ndarray, "k D"], f: Float64[np.ndarray, " known"]) -> Evolution:
        """The state after known points; the search starts from the best of them."""
        x = x[: len(f)]
        rows, D = self._unit(x), int(self.free.sum())
        start = rows[int(np.argmin(f))] if np.isfinite(f).any() else None
        size = self.config.population or _usual(D)
        near = _WIDTH_NEAR_SOURCES if len(f) > 1 else 0.0
        return Evolution(x, f, rows, f, start=start, sigma=near, size=size)

    def adopted(
        self, state: Evolution, x: Float64[np.ndarray, "k D"], f: Float64[np.ndarray, " k"]
    ) -> Evolution:
        """Points that somebody else evaluated; a new run starts from one that is far and better."""
        top, best = int(np.argmin(f)), state.values.min(initial=np.inf)
        rows = self._unit(x)
        grown = replace(
            state,
            model=None,
            metric=None,
            rows=np.concatenate([state.rows, rows]),
            values=np.concatenate([state.values, f]),
        )
        if not f[top] < best:
            return grown
        if state.inside is not None:
            z = self._metric(state.inside).round(rows[top : top + 1])
            if np.linalg.norm(z) <= _NEAR * math.sqrt(rows.shape[1]):
                return grown
        return replace(
            grown, inside=None, under_way=None, start=rows[top], sigma=_WIDTH_NEAR_SOURCES
        )

    def begin(self, rng: np.random.Generator, state: Evolution, guide: PointGuide | None) -> Begun:
        """All choices of an iteration: sources to try, or some points of a generation."""
        if not self.free.any():
            return Begun(replace(state, over=True), np.zeros((1, 0)))
        if state.inside is None and guide is not None and guide.p_m > 0 and state.tried >= 0:
            begun = self._sources(state, guide)
            if begun is not None:
                return begun
            state = replace(state, tried=-1)
        if state.inside is None:
            near = self._unpolled(state)
            if len(near):
                return Begun(state, rng.permutation(near)[:_POLLED], neighbours=True)
        if state.inside is None:
            state = self._started(rng, state)
        if state.under_way is None:
            state = self._sampled(rng, state)
        now = state.under_way
        assert now is not None
        count = len(now.order)
        if self._modelled(state):
            done = max(0, now.done - now.free)
            step = state.batch if done == 0 else math.ceil(done / 2)
            count = min(count, now.free + done + max(step, self.config.batch or 1))
        return Begun(state, self._snapped(now.points[now.order[now.done : count]]))

    def advance(self, begun: Begun) -> tuple[Evolution, Experience]:
        """The iteration, as far as there are values."""
        state, x = begun.state, self._own(begun.points)
        y = self.evaluate(x)
        n = len(y)
        better = y < state.values.min(initial=np.inf)
        seen = Experience(x[:n], y, None, better)
        if begun.sources is not None:
            sources = begun.sources[:n]
            seen = Experience(x[:n], y, sources, better, np.where(sources >= 0, 0, -1))
        if n < begun.size:
            return state, seen
        state = replace(
            state,
            x=x,
            f=y,
            **self._kept_rows(state, begun.points, y),
        )
        if begun.sources is not None:
            return self._tried(state, begun, better), seen
        if begun.neighbours:
            state = replace(state, polled=float(begun.state.values.min()))
            if better.any():
                start = begun.points[int(np.argmin(y))]
                state = replace(state, start=start, sigma=_WIDTH_NEAR_SOURCES)
            return state, seen
        if state.under_way is None:
            return state, seen
        if state.owed:
            state = replace(state, owed=0 if better.any() else state.owed - n or -1)
        return self._evaluated(state, y), seen

    def _kept_rows(self, state: Evolution, points: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        """Rows and values with new ones; of infeasible ones none once there are others."""
        rows, values = state.rows, state.values
        if self.steps is not None:
            there = {row.tobytes() for row in rows}
            keys = {row.tobytes(): i for i, row in enumerate(points)}
            new = sorted(i for key, i in keys.items() if key not in there)
            points, y = points[new], y[new]
        if self.limits is not None and (feasible(y).any() or feasible(values).any()):
            old, new = ~_infeasible(values), ~_infeasible(y)
            rows, values, points, y = rows[old], values[old], points[new], y[new]
        return {
            "rows": np.concatenate([rows, points])[-_KEPT:],
            "values": np.concatenate([values, y])[-_KEPT:],
        }

    def iterate(
        self, rng: np.random.Generator, state: Evolution, guide: PointGuide | None = None
    ) -> tuple[Evolution, Experience]:
        """One iteration.

        >>> search = CMAES().on(lambda x: np.sum(x**2, -1), -np.ones(2), np.ones(2))
        >>> rng, state = np.random.default_rng(0), search.opened(np.zeros((0, 2)), np.zeros(0))
        >>> for _ in range(40):
        ...     state, seen = search.iterate(rng, state)
        >>> bool(state.values.min() < 1e-10), len(state.values) < 150
        (True, True)
        """
        return self.advance(self.begin(rng, state, guide))

    def converged(self, state: Evolution) -> bool:
        """Whether the last run that was allowed has converged."""
        allowed = math.inf if self.config.restarts is None else self.config.restarts
        return state.over or (state.inside is None and state.runs > allowed) or self._every(state)

    def _every(self, state: Evolution) -> bool:
        """Whether all there is has been evaluated."""
        if self.steps is None or not self.steps.all() or math.prod(self.steps.tolist()) > _KEPT:
            return False
        return len(np.unique(state.rows, axis=0)) >= math.prod(self.steps.tolist())

    # past runs

    def _sources(self, state: Evolution, guide: PointGuide) -> Begun | None:
        """The best points of some sources, or None: those with the largest weights first.

        When some were tried, the next are those that expect what was seen. [Eq. try_first]
        """
        order = np.argsort(-guide.a, kind="stable")
        ways = [int(i) for i in order if len(guide.points[i]) and not self._is_known(guide, i)]
        chosen = ways[:_TRIED_FIRST]
        if ways and state.tried > 0:
            alike = np.array([self._foresees(state, guide, i) for i in ways])
            best = np.argsort(-(alike + guide.a[ways]), kind="stable")[:_TRIED_NEXT]
            chosen = [ways[j] for j in best] if state.paid or alike.max() >= _ALIKE else []
        if not chosen:
            return None
        points = self._unit(np.array([guide.points[i][0] for i in chosen]))
        sources = np.array(chosen)
        if state.tried == 0 and not len(state.values):  # the own start, to compare with
            points = np.concatenate([points, np.full((1, points.shape[1]), 0.5)])
            sources = np.append(sources, -1)
        runs = tuple(guide.runs[i] for i in chosen) if len(guide.runs) else ()
        return Begun(state, self._snapped(points), sources, runs)

    def _foresees(self, state: Evolution, guide: PointGuide, i: int) -> float:
        """Rank correlation of what was seen with a source's own values nearby."""
        fine = np.flatnonzero(feasible(state.values))[-_LOOKED_AT[1] :]
        if not len(guide.runs) or len(fine) < 3:
            return 0.0
        x, y = guide.runs[i]
        some = slice(None, None, math.ceil(len(y) / _LOOKED_AT[0]))
        x, y = self._unit(x[some].astype(np.float64)), _ranks(y[some])
        seen = state.rows[fine]
        away = np.sum((seen[:, None] - x) ** 2, axis=2)
        near = np.argsort(away, axis=1)[:, :_NEIGHBOURS]
        share = 1 / (np.take_along_axis(away, near, axis=1) + 1e-9)
        expected = np.sum(share * y[near], axis=1) / share.sum(axis=1)
        if not np.ptp(expected) or not np.ptp(state.values[fine]):
            return 0.0
        return float(np.corrcoef(_ranks(expected), _ranks(state.values[fine]))[0, 1])

    def _is_known(self, guide: PointGuide, i: int) -> bool:
        return guide.values is not None and not np.isnan(guide.values[i][0])

    def _tried(self, state: Evolution, begun: Begun, better: np.ndarray) -> Evolution:
        """Start from the best."""
        assert begun.sources is not None
        own = begun.sources < 0
        top = int(np.argmin(state.f))
        paid = bool(better.any()) and not own[top]
        state = replace(state, tried=state.tried + int(np.sum(~own)), paid=paid)
        state = self._looked(state, begun, bool(better[top]))
        if not better[top]:
            return state
        if own[top]:
            return replace(state, start=begun.points[top], sigma=0.0)
        start = begun.points[top]
        return replace(
            state,
            start=start,
            sigma=_WIDTH_NEAR_SOURCES,
            home=start,
            widths=(_NARROW,),
            owed=_SOON * (len(start) + 2),
        )

    def _looked(self, state: Evolution, begun: Begun, better: bool) -> Evolution:
        """The shape of the past run whose best point was worth most, near to it and wider."""
        if not len(begun.runs) or not (better or state.centres is None):
            return state
        x, y = begun.runs[int(np.argmin(state.f[: len(begun.runs)]))]
        inside = np.all((x >= self.low) & (x <= self.high), axis=1)
        u, y = self._unit(x[inside].astype(np.float64)), y[inside]
        rows = min(_SHOWN, 2 * _curvatures(u.shape[1]))
        looks = [Valley.of(u, y, reach, rows) for reach in _REACHES] if len(u) else []
        found = [one for one in looks if one is not None]
        if not found:
            return state
        centres, bends = zip(*((one.centre, one.bend) for one in found), strict=True)
        return replace(state, centres=np.array(centres), bends=np.array(bends))

    # generations

    def _started(self, rng: np.random.Generator, state: Evolution) -> Evolution:
        from cmaes import CMA

        D, first = state.rows.shape[1], state.runs == 0 or state.start is not None
        mean = rng.random(D) if not first else np.full(D, 0.5)
        mean = mean if state.start is None else state.start
        sigma = state.sigma or self.config.sigma
        search = CMA(mean.copy(), sigma, seed=0, population_size=state.size)
        inside = _kept(search)
        if self.steps is not None:
            inside["margin"] = np.ones(D)
        return replace(
            state,
            inside=inside,
            start=None,
            sigma=0.0,
            runs=state.runs + 1,
            batch=1,
            best=(),
            spread=0.0,
        )

    def _sampled(self, rng: np.random.Generator, state: Evolution) -> Evolution:
        """A generation, in the order of what the model expects; its own minimum is one of them."""
        assert state.inside is not None
        metric = self._metric(state.inside)
        points, order = self._drawn(rng, metric, state), np.arange(state.size)
        if self._modelled(state) and not self._costless(state, points).all():
            model = None
            if state.model is not None and state.metric is not None:
                model = state.model.seen_by(*state.metric.other(metric))
            else:
                state, model = self._model(state, metric)
            if model is not None:
                points[-1] = self._least(state, model, metric)
                order = np.argsort(model(metric.round(self._snapped(points))), kind="stable")
                order = np.concatenate([[state.size - 1], order[order != state.size - 1]])
        now = Generation(points, np.full(state.size, np.nan), order)
        if self.limits is not None:
            costless = self._costless(state, points)[order]
            order = np.concatenate([order[costless], order[~costless]])
            now = replace(now, order=order, free=int(costless.sum()))
        return replace(state, under_way=now)

    def _costless(self, state: Evolution, points: np.ndarray) -> np.ndarray:
        """Points that are known, or break a constraint: the function is not called there."""
        x = self._snapped(points)
        costless = np.zeros(len(x), bool)
        if self.steps is not None:
            there = {row.tobytes() for row in state.rows}
            costless = np.array([row.tobytes() in there for row in x], bool)
        if self.limits is not None and self.limits.constraints:
            costless |= self._broken(x) > 0
        return costless

    def _least(self, state: Evolution, model: Quadratic, metric: "_Metric") -> np.ndarray:
        """The model's own minimum within constraints; of whole numbers one not known yet."""
        radius = _STEP * math.sqrt(len(metric.mean))
        x = _least(model, metric, radius)
        barred = self.limits is not None and bool(self.limits.constraints)
        if self.steps is None:
            found = self._allowed(state, model, metric, x) if barred and self._out(x) else None
            return x if found is None else found
        x = self._snapped(x)
        for _ in range(_ROUNDS):
            near = self._neighbours(x)
            values = model(metric.round(np.concatenate([x[None], near])))
            if not values[1:].min() < values[0]:
                break
            x = near[int(np.argmin(values[1:]))]
        if barred and self._out(x):
            starts = [x, state.rows[np.argmin(state.values)]]
            pulled = [self._allowed(state, model, metric, start) for start in starts]
            some = [one for one in pulled if one is not None]
            if some:
                x = some[int(np.argmin(model(metric.round(np.array(some)))))]
        some = np.concatenate([x[None], self._neighbours(x)])
        new = ~self._costless(state, some)
        values = np.where(new, model(metric.round(some)), np.inf)
        return some[int(np.argmin(values))]

    def _out(self, x: np.ndarray) -> bool:
        return bool(self._broken(x[None])[0] > 0)

    def _allowed(
        self, state: Evolution, model: Quadratic, metric: "_Metric", x: np.ndarray
    ) -> np.ndarray | None:
        """The model's minimum within the constraints, with the whole numbers of x; None: none."""
        away = _STEP * math.sqrt(len(x)) * np.linalg.norm(metric.fro, axis=0)
        best = state.rows[np.argmin(state.values)]
        if self.steps is None or np.array_equal(x[self.steps > 0], best[self.steps > 0]):
            x = best  # which is feasible
        low = np.maximum(0, np.minimum(metric.mean - away, x))
        high = np.minimum(1, np.maximum(metric.mean + away, x))
        here = model.seen_by(metric.round(x), metric.to)  # in steps from x
        size = max(float(np.abs(here.slope).max()), float(np.abs(here.bend).max()), 1e-300)
        slope, bend = here.slope / size, here.bend / size

        def value(u: np.ndarray) -> tuple[float, np.ndarray]:
            z = u - x
            return float(z @ slope + 0.5 * z @ bend @ z), slope + bend @ z

        return self._solved(value, x, low, high)

    def _solved(
        self,
        value: Callable[[np.ndarray], tuple[float, np.ndarray]],
        x: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> np.ndarray | None:
        """The least of a smooth function within the constraints, by SLSQP from x; None: none.

        Whole numbers stay as they are. What is out by a rounding is drawn back towards x.
        """
        from scipy.optimize import minimize

        assert self.limits is not None
        if self.steps is not None:
            low, high = np.where(self.steps > 0, x, low), np.where(self.steps > 0, x, high)
        slack = self.limits.slack
        sizes = np.maximum(np.abs(slack(self._own(x[None])[0])), 1e-300)

        def room(u: np.ndarray) -> np.ndarray:
            return slack(self._own(u[None])[0]) / sizes - _ROOM

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on the way out of bounds, and back
            found = minimize(
                value,
                x,
                jac=True,
                bounds=np.stack([low, high], axis=1),
                constraints={"type": "ineq", "fun": room},
                method="SLSQP",
                options={"maxiter": _ROUNDS, "ftol": 1e-12},
            ).x
        if not np.isfinite(found).all():
            return None
        found = self._snapped(np.clip(found, low, high))
        if not self._out(found):
            return found
        if self._out(x):
            return None
        inside, outside = 0.0, 1.0
        for _ in range(_HALVED):
            middle = 0.5 * (inside + outside)
            if self._out(self._snapped(x + middle * (found - x))):
                outside = middle
            else:
                inside = middle
        return self._snapped(x + inside * (found - x))

    def _pulled(self, x: np.ndarray) -> np.ndarray:
        """The nearest feasible point with the same whole numbers; itself if there is none."""

        def value(u: np.ndarray) -> tuple[float, np.ndarray]:
            return 0.5 * float((u - x) @ (u - x)), u - x

        found = self._solved(value, x, np.zeros(len(x)), np.ones(len(x)))
        return x if found is None else found

    def _unpolled(self, state: Evolution) -> np.ndarray:
        """Neighbours of the best point when a run has ended, unless they were tried before."""
        least = state.values.min(initial=np.inf)
        if self.steps is None or not state.runs or not least < state.polled:
            return np.zeros((0, 0))
        near = self._neighbours(state.rows[np.argmin(state.values)])
        if self.limits is not None and self.limits.constraints and (self.steps == 0).any():
            out = self._broken(near) > 0
            near[out] = [self._pulled(x) for x in near[out]] if out.any() else near[out]
        return near[~self._costless(state, near)]

    def _neighbours(self, x: np.ndarray) -> np.ndarray:
        """Points with one whole number more or less."""
        assert self.steps is not None
        step = np.where(self.steps > 0, 1 / np.maximum(self.steps, 1), 0.0)
        moves = np.diag(step)[self.steps > 0]
        return self._snapped(x + np.concatenate([moves, -moves]))

    def _drawn(self, rng: np.random.Generator, metric: "_Metric", state: Evolution) -> np.ndarray:
        """A generation's points; those that break a constraint are drawn again for a while."""
        points = metric.sample(rng, state.size, self._bounded)
        if self.limits is None or not self.limits.constraints:
            return points
        if not feasible(state.values).any():
            return points  # how much they break it shows the way
        out = self._broken(points) > 0
        for _ in range(_AGAIN):
            if not out.any():
                break
            points[out] = metric.sample(rng, int(out.sum()), self._bounded)
            out[out] = self._broken(points[out]) > 0
        return points

    def _broken(self, points: np.ndarray) -> np.ndarray:
        assert self.limits is not None
        return self.limits.broken(self._own(self._snapped(points)))

    def _modelled(self, state: Evolution) -> bool:
        return self.config.surrogate and feasible(state.values).sum() >= state.rows.shape[1] + 2

    def _model(self, state: Evolution, metric: "_Metric") -> tuple[Evolution, Quadratic | None]:
        """Of the rows near the search; how it trades is chosen anew when these have grown."""
        D, shapes = state.rows.shape[1], 0 if state.centres is None else len(state.centres)
        if len(state.values) > _TAUGHT * _curvatures(D):
            shapes = 0
        fine = feasible(state.values)
        z, y = metric.round(state.rows[fine]), state.values[fine]
        away = np.linalg.norm(z, axis=1)
        near = np.argsort(away, kind="stable")[: min(_ROWS, 2 * D + _curvatures(D))]
        reach = max(_NEAR * math.sqrt(D), np.sort(away)[min(len(away), 2 * D + 2) - 1])
        near = near[away[near] <= reach]
        if len(near) > 3 * D:  # the worst tell little of where the best are
            near = near[y[near] <= np.sort(y[near])[int(0.9 * (len(near) - 1))]]
        if len(near) < D + 2:
            return state, None
        valleys = ()
        if state.centres is not None and state.bends is not None:
            valleys = metric.valleys(state.centres, state.bends)
        growth = _RECHOSEN[state.chosen_at > _FEW]
        kept = state.trade is not None and len(state.values) < growth * state.chosen_at
        grid = (state.trade,) if kept else grid_with(shapes)
        try:
            model = Quadratic.of(z[near], y[near], grid, valleys)  # pyright: ignore[reportArgumentType]
        except ValueError:  # nothing on the grid could be solved
            return state, None
        if not kept:
            state = replace(state, trade=model.trade, chosen_at=len(state.values))
        return state, model

    def _evaluated(self, state: Evolution, y: np.ndarray) -> Evolution:
        """After some points of a generation: it ends if the model can answer for the others."""
        now, inside, size = state.under_way, state.inside, state.size
        assert now is not None
        assert inside is not None
        values, done = now.values.copy(), now.done + len(y)
        values[now.order[now.done : done]] = y
        now = replace(now, values=values, done=done)
        state = replace(state, under_way=now)
        if done == size:
            batch = state.batch if len(y) == size else _next_batch(state.batch, done - now.free)
            state = replace(state, batch=batch, model=None, metric=None)
            return self._ended(state, now.values)
        metric = self._metric(inside)
        state, model = self._model(state, metric)
        if model is None:
            return state
        recent = slice(-max(done, min(_AT_LEAST, len(state.values))), None)
        fine = feasible(state.values[recent])
        told = state.values[recent][fine]
        if len(told) < 2 or not feasible(values).any():
            return state
        if agreement(model(metric.round(state.rows[recent][fine])), told) < _AGREED:
            return state
        expected, missing = model(metric.round(self._snapped(now.points))), np.isnan(values)
        # what is only expected is never better than what was seen
        lift = max(0.0, np.nanmin(values) - expected[missing].min())
        filled = np.where(missing, expected + lift, values)
        batch = _next_batch(state.batch, done - now.free)
        state = replace(state, batch=batch, model=model, metric=metric)
        return self._ended(state, filled)

    def _ended(self, state: Evolution, values: np.ndarray) -> Evolution:
        """The strategy learns from a generation, by ranks; a run that has converged ends."""
        now, inside = state.under_way, state.inside
        assert now is not None
        assert inside is not None
        search, inside = self._learned(inside, now.points, _ranks(values))
        seen = now.values[np.isfinite(now.values)]
        if self.limits is not None and feasible(seen).any():
            seen = seen[feasible(seen)]
        known = bool(feasible(seen).any())
        spread = state.spread or (float(np.ptp(seen)) if known else 0.0)
        enough = 10 + math.ceil(30 * now.points.shape[1] / state.size)
        best = (*state.best, float(seen.min(initial=np.inf)))[-enough:]
        state = replace(state, inside=inside, under_way=None, best=best, spread=spread)
        vain = state.owed < 0  # nothing better than the start, for too long
        if not vain and not self._at_rest(state, seen, enough) and not search.should_stop():
            return state
        state = replace(state, inside=None, model=None, metric=None, trade=None, chosen_at=0)
        if state.widths:  # wide steps may have left the valley that the past run knew
            width, *later = state.widths
            start = state.home if width == _NARROW else state.rows[np.argmin(state.values)]
            later = [*later, _WIDTH_NEAR_SOURCES] if vain else later
            return replace(state, start=start, sigma=width, widths=tuple(later), owed=0)
        first = self.config.population or _usual(len(now.points[0]))
        return replace(state, size=min(2 * state.size, max(_MOST * first, state.size)))

    def _at_rest(self, state: Evolution, seen: np.ndarray, enough: int) -> bool:
        """Whether values differ by nothing that counts; what numbers can show is the least."""
        if len(state.best) < enough or not len(seen) or not np.isfinite(state.best).all():
            return False
        least, most = min(state.best), max(*state.best, float(seen.max()))
        if self.steps is not None:  # neighbours of a whole number never have the same value
            most = max(state.best)
        resolution = 4 * np.spacing(max(abs(least), abs(most)))
        return most - least <= max(self.config.atol + self.config.tol * state.spread, resolution)

    # units

    @property
    def _bounded(self) -> np.ndarray | None:
        """Variables whose points are drawn again beyond bounds; whole ones are rounded instead."""
        return None if self.steps is None else self.steps == 0

    def _snapped(self, u: np.ndarray) -> np.ndarray:
        """Whole variables in the middle of their part of the unit cube."""
        if self.steps is None:
            return u
        n = np.maximum(self.steps, 1)
        return np.where(self.steps > 0, (np.clip(np.floor(u * n), 0, n - 1) + 0.5) / n, u)

    def _metric(self, inside: dict[str, Any]) -> "_Metric":
        metric = _Metric.of(inside)
        return metric if self.steps is None else metric.stretched(inside["margin"])

    def _learned(
        self, inside: dict[str, Any], points: np.ndarray, ranks: np.ndarray
    ) -> tuple[Any, dict[str, Any]]:
        """The strategy after a generation; whole variables keep a margin to their neighbours."""
        search = _restored(inside)
        if self.steps is None:
            search.tell(list(zip(points, ranks.tolist(), strict=True)))
            return search, _kept(search)
        from cmaes import CMAwM

        n = np.maximum(self.steps, 1)
        edge = np.where(self.steps > 0, 0.5 / n, 0.0)
        bounds = np.stack([edge, 1 - edge], axis=1)
        step = np.where(self.steps > 0, 1 / n, 0.0)
        mean = inside["_mean"]
        marginal = CMAwM(
            np.full(len(mean), 0.5), 1.0, bounds, step, seed=0, population_size=len(points)
        )
        marginal._cma, marginal._A = search, inside["margin"].copy()
        drawn = mean + (points - mean) / marginal._A
        marginal.tell(list(zip(drawn, ranks.tolist(), strict=True)))
        return search, _kept(search) | {"margin": marginal._A}

    def _unit(self, x: np.ndarray) -> np.ndarray:
        free = self.free
        if self.steps is not None:
            half, n = 0.5 * (self.steps > 0), (self.high - self.low)[free]
            return np.clip((x[:, free] - self.low[free] + half) / (n + 2 * half), 0, 1)
        return np.clip((x[:, free] - self.low[free]) / (self.high - self.low)[free], 0, 1)

    def _own(self, u: np.ndarray) -> np.ndarray:
        x = np.tile(self.low, (len(u), 1))
        free = self.free
        if self.steps is not None:
            n = np.maximum(self.steps, 1)
            at = np.clip(np.floor(u * n), 0, n - 1)
            wide = (self.high - self.low)[free]
            x[:, free] = self.low[free] + np.where(self.steps > 0, at, u * wide)
            return np.clip(x, self.low, self.high)
        x[:, free] = self.low[free] + u * (self.high - self.low)[free]
        return np.clip(x, self.low, self.high)


@dataclass(frozen=True)
class _Metric:
    """Coordinates in which the search is round."""

    mean: np.ndarray
    to: np.ndarray
    fro: np.ndarray

    @classmethod
    def of(cls, inside: dict[str, Any]) -> "_Metric":
        B, d = inside["_B"], np.maximum(inside["_D"], 1e-150)
        return cls(inside["_mean"], B / (d * inside["_sigma"]), (B * d).T * inside["_sigma"])

    def sample(
        self, rng: np.random.Generator, size: int, which: np.ndarray | None = None
    ) -> np.ndarray:
        """Points of the strategy; those out of the cube are drawn again, then moved inside.

        `which`: the variables that this is about; None: all.
        """
        x = self.back(rng.normal(size=(size, len(self.mean))))
        which = np.ones(x.shape[1], bool) if which is None else which
        for _ in range(_AGAIN):
            out = np.any(((x < 0) | (x > 1)) & which, axis=1)
            if not out.any():
                return x
            x[out] = self.back(rng.normal(size=(int(out.sum()), len(self.mean))))
        return np.where(which, np.clip(x, 0, 1), x)

    def stretched(self, by: np.ndarray) -> "_Metric":
        """Wider by a factor for each variable."""
        return _Metric(self.mean, self.to / by[:, None], self.fro * by)

    def round(self, x: np.ndarray) -> np.ndarray:
        return (x - self.mean) @ self.to

    def valleys(self, centres: np.ndarray, bends: np.ndarray) -> tuple[Valley, ...]:
        return tuple(
            Valley(c, B).seen_by(self.mean, self.to, self.fro)
            for c, B in zip(centres, bends, strict=True)
        )

    def other(self, now: "_Metric") -> tuple[np.ndarray, np.ndarray]:
        """Where the centre of others is here, and their axes."""
        return self.round(now.mean), now.fro @ self.to

    def back(self, z: np.ndarray) -> np.ndarray:
        return self.mean + z @ self.fro


def _ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)


def _infeasible(values: np.ndarray) -> np.ndarray:
    """Values that stand for a broken constraint; a failure is not one."""
    return np.isfinite(values) & ~feasible(values)


def _usual(D: int) -> int:
    """Points of a generation, unless set.

    >>> _usual(10)
    10
    """
    return 4 + int(3 * math.log(max(D, 1)))


def _curvatures(D: int) -> int:
    """Of a quadratic function, with slopes and level.

    >>> _curvatures(2)
    6
    """
    return (D + 1) * (D + 2) // 2


def _next_batch(batch: int, done: int) -> int:
    """How many points the next generation begins with, if this one took `done`."""
    return max(1, done - 1) if done > batch else max(1, batch // 2)


def _least(model: Quadratic, metric: _Metric, radius: float) -> np.ndarray:
    """The model's own minimum in the unit cube, no farther than `radius` in the search's metric.

    Where the way out of the cube is barred, the other variables go on: one by one, some rounds.
    """
    own = metric.back(model.minimum(radius))
    x = np.clip(own, 0, 1)
    if np.array_equal(own, x):
        return x
    away = radius * np.linalg.norm(metric.fro, axis=0)
    low, high = np.maximum(0, metric.mean - away), np.minimum(1, metric.mean + away)
    here = model.seen_by(metric.round(x), metric.to)
    slope, bend, now = here.slope.tolist(), here.bend, x.tolist()
    for _ in range(_ROUNDS):
        before = list(now)
        for j in range(len(now)):
            step = -slope[j] / bend[j, j] if bend[j, j] > 0 else -math.copysign(1.0, slope[j])
            at = min(max(now[j] + step, low[j]), high[j])
            if at != now[j]:
                slope = (slope + bend[j] * (at - now[j])).tolist()
                now[j] = at
        if np.allclose(now, before, rtol=0, atol=1e-9):
            break
    return np.array(now)


def _kept(search: Any) -> dict[str, Any]:
    """All that the package's object is, without its generator, which is never used."""
    search._eigen_decomposition()
    return {name: value for name, value in vars(search).items() if name != "_rng"}


def _restored(inside: dict[str, Any]) -> Any:
    """The package's object again; what it shares is copied."""
    from cmaes import CMA

    search = CMA.__new__(CMA)
    search.__dict__.update(
        {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in inside.items()}
    )
    return search


def _known(init: Any, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for x, f in (("x_all", "fun_all"), ("population", "population_energies")):
        if hasattr(init, x) and hasattr(init, f):
            points = np.array(getattr(init, x), np.float64).reshape(-1, len(low))
            values = np.array(getattr(init, f), np.float64)
            fine = np.isfinite(values)
            if np.any((points[fine] < low) | (points[fine] > high)):
                raise ConfigError("the earlier result given as init= lies outside the bounds.")
            return points[fine], values[fine]
    raise ConfigError("CMAES(init=...) must be an earlier result of minimize, or None.")


def _apart(state: Evolution) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}

    def put(name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            arrays[f"state.{name}"] = value
        else:
            plain[name] = value

    for one in fields(state):
        value = getattr(state, one.name)
        if one.name == "inside" and value is not None:
            plain["inside"] = True
            for key, part in value.items():
                put(f"inside.{key}", part if not isinstance(part, np.generic) else part.item())
        elif isinstance(value, Generation):
            for part in fields(value):
                put(f"under_way.{part.name}", getattr(value, part.name))
        elif isinstance(value, Trade):
            put(one.name, [value.curvature, value.noise, value.valley])
        elif isinstance(value, Quadratic | _Metric):
            for part in fields(value):
                if part.name != "trade":  # the state has it
                    put(f"{one.name}.{part.name}", getattr(value, part.name))
        elif isinstance(value, tuple):
            put(one.name, np.array(value))
        else:
            put(one.name, value)
    return arrays, plain


def _together(arrays: dict[str, np.ndarray], plain: dict[str, Any]) -> Evolution:
    every: dict[str, Any] = {
        name[6:]: value for name, value in arrays.items() if name.startswith("state.")
    }
    every |= plain

    def under(prefix: str) -> dict[str, Any]:
        return {k[len(prefix) :]: every.pop(k) for k in list(every) if k.startswith(prefix)}

    inside, generation = under("inside."), under("under_way.")
    model, metric = under("model."), under("metric.")
    every["inside"] = inside if every.get("inside") else None
    every["under_way"] = Generation(**generation) if generation else None
    every["trade"] = None if every["trade"] is None else Trade(*every["trade"])
    every["model"] = Quadratic(**model, trade=every["trade"]) if model else None  # pyright: ignore
    every["metric"] = _Metric(**metric) if metric else None
    for name in ("best", "widths"):
        every[name] = tuple(every[name].tolist())
    return Evolution(**every)
