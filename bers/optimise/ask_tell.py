"""Minimising step by step, for people who own their loop: ask, tell, weights, save, load.

Enters: bounds and past runs; then values of points, asked for or not. Leaves: points to evaluate
next, weights of the past runs, and a result in scipy's form. The same object drives `minimize`,
which merely calls the function itself.
"""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from bers.algorithm import Reuse, ReuseConfig, after, up_to_date
from bers.data.checks import whole
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import transform_named
from bers.deprecated import old_words
from bers.errors import BersError, ConfigError, DataError, DataWarning, FileError
from bers.integrity import read_sealed, write_sealed
from bers.learners.ask_and_tell import AskTell
from bers.learners.base import Experience, PointLearner
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.learners.limits import Limits, feasible
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.optimise.inputs import as_sources, two_streams
from bers.optimise.old_words import old_settings
from bers.optimise.result import Result
from bers.optimise.rows import recognised, told_rows
from bers.optimise.space import limits_of, limits_parts, space_of, with_words
from bers.reuse.points import Guard, PointReuse
from bers.schedules import schedule_of, schedule_parts
from bers.text import unique
from bers.trust.ranking import Ranking
from bers.trust.trust import Trust

_WITHOUT_NEWS = 100  # generations of nothing but known points, after which a search has ended
_WITHIN_LIMITS = 500  # the same where points may be known or infeasible for long, at no cost
_PATIENCE = 1.0  # growth of the rows after which past runs are weighed anew by CMA-ES
_AGAIN = 1e-5  # of a range: with fewer digits a row is not taken for one of those told before
_WHOLE = 1e-6  # how far from a whole number one may be written
_DRAWS = 100  # for the intervals of the ranking that a result shows
_FORMAT = "bers-run-2"
_SAVED = {"DE": DE, "CMAES": CMAES}


class Optimizer:
    """A search that learns from past runs, a step at a time.

    `ask` gives points, `tell` takes their values, in parts and in any order if you like. How many
    are asked for at once is the learner's affair: `CMAES(batch=8)` asks for 8 or more, `DE()` for a
    whole generation, and `DE(updating="immediate")` for one point at a time.

    Parameters
    ----------
    bounds
        Pairs (low, high), one per variable, scipy's Bounds, or a `bers.Space`.
    sources
        Past runs: a list, or a mapping by name, of (X, y), `Demonstrations`, files or results.
        None: no past runs.
    learner
        `CMAES(...)`, the default, `DE(...)`, or an object with `ask` and `tell`.
    reuse
        How past runs are used: a `ReuseConfig`.
    model
        `ModelConfig`, or a `Model` that was fitted on these past runs before.
    x0
        A point to begin with.
    integrality
        Which variables are whole numbers: one truth value for each, or one for all.
    constraints
        scipy's LinearConstraint, NonlinearConstraint or Bounds, one or a list. No point that breaks
        one is asked for.
    rng
        The same one gives the same run.
    progress
        Bars while the model is trained: yes, no, or (None) on a terminal only.

    Examples
    --------
    >>> optimizer = Optimizer([(-5, 5)] * 2, rng=0)
    >>> for _ in range(25):
    ...     points = optimizer.ask()
    ...     optimizer.tell(points, np.sum((points - 1) ** 2, axis=1))
    >>> optimizer.result().x.round(3).tolist()
    [1.0, 1.0]
    """

    @old_words(old_settings(DE(), ReuseConfig()))
    def __init__(
        self,
        bounds: Any,
        sources: Any = (),
        *,
        learner: Any = None,
        reuse: ReuseConfig | None = None,
        model: Model | ModelConfig | None = None,
        x0: ArrayLike | None = None,
        integrality: ArrayLike | None = None,
        constraints: Any = None,
        rng: int | np.integer | np.random.Generator | None = None,
        progress: bool | None = False,
    ) -> None:
        self.learner = as_learner(default_learner() if learner is None else learner)
        if getattr(self.learner, "updating", "") is None:
            self.learner = replace(self.learner, updating="deferred")  # pyright: ignore
        if reuse is not None and not isinstance(reuse, ReuseConfig):
            raise ConfigError(f"reuse must be a bers.ReuseConfig; got {type(reuse).__name__}.")
        if integrality is not None or constraints is not None:
            bounds = with_words(bounds, integrality, constraints)
        self.low, self.high, self.limits = space_of(bounds)
        self.rng, own = two_streams(rng)
        self.runs = as_sources(sources, self.low, self.high)
        self.names = unique([run.name for run in self.runs])
        self.nit = 0
        self.weight_history: list[np.ndarray] = []
        self.use_history: list[np.ndarray] = []
        self.state: Any = None
        self.reuse: Reuse | None = None
        self._x: list[np.ndarray] = []
        self._y: list[np.ndarray] = []
        self._least = np.inf  # of these values
        self._nearest: tuple[float, np.ndarray | None] = (np.inf, None)  # of what is infeasible
        self._done: set[bytes] = set()  # rows of finished iterations, where points may come again
        self._told: dict[bytes, float] = {}
        self._again: list[tuple[bytes, float]] = []  # more values of told points, to join the rows
        self._heard: set[tuple[bytes, float]] = set()  # rows, each of which counts once
        self._begun: Any = None
        self._reopened = False  # an iteration of a saved run is to be begun again
        self._wanted: dict[bytes, np.ndarray] = {}  # what was asked for and is not told yet
        self._waiting: dict[bytes, bool] = {}  # told, not committed; whether it was asked for
        self._first, known = self.learner.first(self.rng, *self._ends, x0)
        if known is not None:
            fine = np.isfinite(known)  # agents that lost a contest of islands are infinite copies
            self._know([p.tobytes() for p in self._rounded(self._first[fine])], known[fine])
        self._states = self._rng_states(own)
        if self._usable():
            self.reuse = past_points(
                own,
                self.runs,
                reuse or ReuseConfig(),
                model,
                self.low,
                self.high,
                progress,
                self.limits,
            )
            if isinstance(self.learner, CMAES):  # its iterations are short
                self.reuse = replace(self.reuse, patience=_PATIENCE)
            self._states = self._rng_states(own)

    # asking and telling

    def ask(self, n: int | None = None) -> Float64[np.ndarray, "k D"]:
        """Points whose values are wanted next; the same ones until they are told.

        Parameters
        ----------
        n
            How many at most; unless given, all that can be evaluated side by side: a generation, or
            one point with `DE(updating="immediate")`.

        Returns
        -------
        Array
            One row per point. None are wanted, shape (0, D), once the search finds no point that
            is new.

        Examples
        --------
        >>> optimizer = Optimizer([(-5, 5)] * 2, rng=0, learner=DE())
        >>> optimizer.ask().shape, optimizer.ask(3).shape
        ((32, 2), (3, 2))
        """
        if n is not None:
            whole(n, "ask(n)")
        missing: list[np.ndarray] = []

        def look(points: np.ndarray) -> np.ndarray:
            values = [self._told.get(point.tobytes()) for point in points]
            missing.extend(p for p, v in zip(points, values, strict=True) if v is None)
            return _up_to_the_first_unknown(values)

        for _ in range(self.patience):
            if not self.advance(look):
                break
        # two agents may want the same point
        self._wanted = {point.tobytes(): point for point in missing}
        new = list(self._wanted.values())
        one_by_one = getattr(self.learner, "updating", "") == "immediate"
        new = new[: 1 if one_by_one and n is None else n]
        return np.array(new).reshape(len(new), len(self.low))

    def tell(self, x: ArrayLike, y: ArrayLike) -> None:
        """Take in values of points, in any order, in parts, from anywhere.

        A point that was asked for is recognised by the digits that it is told with: a copy in
        single precision or from a table with four decimals will do. Points that nobody asked for
        are rows like others: they count in `best` and `result`, the past runs are judged by them,
        and the search goes on from them where they are good. So are further values of a point that
        was told before, such as repeated measurements: each is a row, none takes another's place,
        and `best` is the least of all. The very same row told again counts once, so a table that
        grows may be told as a whole each time.

        Parameters
        ----------
        x
            One point, or rows of points.
        y
            Their values; nan or inf where an evaluation failed, which counts as the worst.

        Examples
        --------
        >>> optimizer = Optimizer([(-5, 5)] * 2, rng=0, learner=DE())
        >>> points = optimizer.ask()
        >>> optimizer.tell(points[:3].round(4), [1.0, 2.0, 3.0])
        >>> len(optimizer.ask()), optimizer.best
        (29, 1.0)
        >>> optimizer.tell(points[:1], 0.5)  # measured once more
        >>> optimizer.best, optimizer.result().nfev
        (0.5, 4)
        """
        points, values = told_rows(x, y, self.low, self.high)
        wanted = dict(self._wanted)
        if self.state is None:  # the first points are known before they are asked for
            wanted |= {point.tobytes(): point for point in self._rounded(self._first)}
        keys: list[bytes] = []
        for given, point in zip(np.atleast_2d(np.asarray(x)), points, strict=True):
            key = point.tobytes()
            if key not in wanted and key not in self._told and key not in keys:
                key = self._same(given, list(wanted)) or self._same(
                    given, [*self._told, *keys], _AGAIN
                )
            key = self._own(point).tobytes() if key is None else key
            keys.append(key)
            wanted.pop(key, None)
        self._know(keys, values)
        if self._begun is not None or (self.state is None and len(self._first)):
            self.advance(self._recall)  # so that best, weights and result are of all that is known

    def _same(self, given: Any, keys: list[bytes], coarsest: float | None = None) -> bytes | None:
        """Which of these points a row is, by the digits that it was told with."""
        more = {} if coarsest is None else {"coarsest": coarsest}
        at = _points(keys, len(self.low))
        same = recognised(given, at, self.low, self.high, **more)
        return None if same is None else keys[same]

    def _own(self, point: np.ndarray) -> np.ndarray:
        """A point that nobody asked for, if it could have been."""
        limits, why = self.limits, ""
        if np.any((point < self.low) | (point > self.high)):
            why = "lies outside the bounds"
        elif limits is not None:
            rounded = limits.rounded(point[None])
            if np.any(np.abs(rounded[0] - point) > _WHOLE):
                why = "has numbers that must be whole"
            elif limits.broken(rounded)[0] > 0:
                why = "breaks a constraint"
            point = rounded[0]
        if why:
            raise DataError(
                f"tell: {point.tolist()} {why}, and was not asked for. Leave it out, or give it to "
                "a new Optimizer among its sources."
            )
        return point

    def _know(self, keys: list[bytes], values: np.ndarray) -> None:
        first: set[bytes] = set()
        if self.state is None:
            first = {point.tobytes() for point in self._rounded(self._first)}
        for key, value in zip(keys, values.tolist(), strict=True):
            if (key, value) in self._heard:  # the same row once more: a table that has grown
                continue
            self._heard.add((key, value))
            if key not in self._told:
                self._waiting[key] = self._wanted.pop(key, None) is not None or key in first
                self._told[key] = value
            elif np.isinf(self._told[key]):  # it failed then: the search goes by this one
                failed, self._told[key] = self._told[key], value
                self._again.append((key, failed if key in self._waiting else value))
            else:
                self._again.append((key, value))

    def know(self, values: Mapping[bytes, float]) -> None:
        """Rows by the bytes of their points, for results only: the search does not go on.

        Parameters
        ----------
        values
            As `known_points` gives them.
        """
        done = {point.tobytes() for points in self._x for point in points}
        self._waiting = {key: True for key in values if key not in done}
        self._told |= values

    def _recall(self, points: np.ndarray) -> np.ndarray:
        return _up_to_the_first_unknown([self._told.get(point.tobytes()) for point in points])

    def advance(self, evaluate: Callable[[np.ndarray], np.ndarray], *, last: bool = False) -> bool:
        """One iteration, if `evaluate` has values for all of it; else nothing changes.

        Parameters
        ----------
        evaluate
            From rows of points to their values; fewer values than points if no more are known.
        last
            Whether an unfinished iteration counts as well.

        Returns
        -------
        bool
            Whether a whole iteration was made.

        Examples
        --------
        >>> optimizer = Optimizer([(-5, 5)] * 2, rng=0)
        >>> optimizer.advance(lambda points: np.sum(points**2, axis=1)), optimizer.nit
        (True, 1)
        """
        if self.limits is not None:
            evaluate = self.limits.within(evaluate)
        search = self._search(evaluate)
        if self.state is None:
            f = evaluate(self._first) if len(self._first) else np.zeros(0)
            if len(f) < len(self._first) and not (last and len(f)):
                return False
            self._commit(search.opened(self._first, f), Experience(self._first[: len(f)], f))
            if len(self._first):
                return len(f) == len(self._first)
        if self._begun is None:
            if not self._reopened:
                self._adopt(search)
            self._reopened = False
            guide = None if self.reuse is None else self.reuse.guide()
            self._begun = search.begin(self.rng, self.state, guide)  # pyright: ignore
        state, seen = search.advance(self._begun)
        whole = len(seen.y) == self._begun.size
        if not whole and not (last and len(seen.y)):
            return False
        self._commit(state, seen)
        self.nit += 1
        return whole

    def _commit(self, state: Any, seen: Experience) -> None:
        start = self.state is None
        self.state, self._begun, self._wanted = state, None, {}
        if self.limits is not None:
            seen = self._allowed(seen)
        self._keep(seen)
        if self.reuse is not None:
            self.reuse = after(self.reuse, seen, start=start)
            self.weight_history.append(self.reuse.trust.weights)
            if seen.sources is not None:
                used = seen.sources[seen.sources >= 0]
                self.use_history.append(np.bincount(used, minlength=len(self.runs)))
        self._states = self._rng_states(None if self.reuse is None else self.reuse.rng)

    def _search(self, evaluate: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The learner at work; one that knows nothing of limits has values of any point."""
        if self.limits is None:
            return self.learner.on(evaluate, self.low, self.high)
        if isinstance(self.learner, CMAES):
            return self.learner.on(evaluate, self.low, self.high, self.limits)
        return self.learner.on(evaluate, *self._ends)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Of the box that the learner searches."""
        known = self.limits is None or isinstance(self.learner, CMAES)
        return (self.low, self.high) if known else self.limits.ends  # pyright: ignore

    def _rounded(self, points: np.ndarray) -> np.ndarray:
        return points if self.limits is None else self.limits.rounded(points)

    def _allowed(self, seen: Experience) -> Experience:
        """The rows that are new and feasible; past runs' points that are not feasible failed."""
        assert self.limits is not None
        x, fine = self.limits.rounded(seen.x), feasible(seen.y) | np.isinf(seen.y)
        if not fine.all():
            least = int(np.argmin(np.where(fine, np.inf, seen.y)))
            if seen.y[least] < self._nearest[0]:
                self._nearest = float(seen.y[least]), x[least]
            if self.reuse is not None:
                failed = replace(_rows_of(seen, ~fine), y=np.full(int(np.sum(~fine)), np.inf))
                self.reuse = replace(self.reuse, offer=self.reuse.offer.after(failed))
        for row in np.flatnonzero(fine):  # whole numbers come up again and again
            fine[row] = x[row].tobytes() not in self._done
            self._done.add(x[row].tobytes())
        return _rows_of(replace(seen, x=x), fine)

    def _adopt(self, search: Any) -> None:
        """Rows that nobody asked for join the search, between two iterations."""
        told = [(key, self._told[key]) for key, asked in self._waiting.items() if not asked]
        told, self._again = [*told, *self._again], []
        if not told:
            return
        keys = [key for key, _ in told]
        self._done.update(keys)
        rows = Experience(_points(keys, len(self.low)), np.array([value for _, value in told]))
        self._keep(rows, among=dict.fromkeys(key for key in keys if not self._waiting.get(key)))
        adopt = getattr(search, "adopted", None)
        if adopt is not None:
            self.state = adopt(self.state, rows.x, rows.y)
        if self.reuse is not None:
            self.reuse = after(self.reuse, rows, start=True)
            self._states = self._rng_states(self.reuse.rng)

    def _keep(self, seen: Experience, among: Mapping[bytes, Any] | None = None) -> None:
        self._x.append(seen.x)
        self._y.append(seen.y)
        self._least = min(self._least, float(seen.y.min(initial=np.inf)))
        for key in map(np.ndarray.tobytes, seen.x):
            if among is None or key in among:
                self._waiting.pop(key, None)

    # what is known

    @property
    def trust(self) -> Trust | None:
        """Whom the search believes; None without past runs."""
        return None if self.reuse is None else self.reuse.trust

    @property
    def weights(self) -> dict[str, float]:
        """The share of each past run now; what is missing to one is "nobody"."""
        a = np.zeros(len(self.runs)) if self.trust is None else self.trust.weights
        return dict(zip(self.names, a.tolist(), strict=True))

    @property
    def best(self) -> float:
        """The least value so far, of all that was told."""
        told = (self._told[key] for key in self._waiting)
        return min([self._least, *told, *(value for _, value in self._again)])

    @property
    def patience(self) -> int:
        """Iterations of nothing but known and infeasible points, after which a search has ended."""
        return _WITHOUT_NEWS if self.limits is None else _WITHIN_LIMITS

    @property
    def converged(self) -> bool:
        """Whether the learner says that going on is of no use."""
        search = self._search(_nothing)
        return self.state is not None and search.converged(self.state)

    def known_points(self) -> dict[bytes, float]:
        """Values that were told, by the bytes of their points."""
        return dict(self._told)

    def ranking(self) -> Ranking | None:
        """The weights with intervals and what they rest on; None where no model was needed."""
        if self.reuse is not None:
            self.reuse = up_to_date(self.reuse)
        if self.trust is None or not self.trust.has_target:
            return None
        return self.trust.ranking(draws=_DRAWS)

    def result(self, **more: Any) -> OptimizeResult:
        """What was found so far, in scipy's form.

        Parameters
        ----------
        **more
            Further entries of the result.

        Returns
        -------
        OptimizeResult
            x, fun, nit, nfev, population, population_energies, x_all and fun_all; with past runs,
            weights, weight_history and sources_used.

        Examples
        --------
        >>> Optimizer([(-5, 5)] * 2, rng=0).result().nfev
        0
        """
        x_all, fun_all = self._rows()
        found: dict[str, Any] = {"x": np.full(len(self.low), np.nan), "fun": np.inf}
        at, f = np.zeros((0, len(self.low))), np.zeros(0)
        if self.state is not None:
            at, f = self._rounded(self.state.x), self.state.f
            if self.limits is not None:
                f = np.where(feasible(f), f, np.inf)
            found |= {"population": at.copy(), "population_energies": f.copy()}
        if len(fun_all):
            x, y = x_all, fun_all
            if len(f) and fun_all.min() >= f.min():
                x, y = at, f  # of points that are as good, the learner's
            top = int(np.argmin(y))
            found |= {"x": x[top].copy(), "fun": float(y[top])}
        found |= {"nit": self.nit, "nfev": len(fun_all), "x_all": x_all, "fun_all": fun_all}
        if self.limits is not None and self.limits.constraints:
            found |= self._of_constraints(found["x"], bool(len(fun_all)))
        if self.runs:
            found |= self._of_sources()
        return Result(**found, **more)

    def _of_constraints(self, x: np.ndarray, evaluated: bool) -> dict[str, Any]:
        """By how much the best point breaks each constraint, as scipy has it."""
        assert self.limits is not None
        if not evaluated and self._nearest[1] is not None:  # nothing is feasible: the nearest
            x = self._nearest[1].copy()
        if np.isnan(x).any():
            return {}
        constr = [excess[0] for excess in self.limits.excesses(x[None])]
        most = float(max(excess.max(initial=0.0) for excess in constr))
        return {"x": x, "constr": constr, "constr_violation": most, "maxcv": most}

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """All points and values: those of finished iterations, then what was told since."""
        rows = [*((key, self._told[key]) for key in self._waiting), *self._again]
        self._x = [np.concatenate([np.zeros((0, len(self.low))), *self._x])]
        self._y = [np.concatenate([np.zeros(0), *self._y])]
        told = np.array([value for _, value in rows], np.float64)
        x_all = np.concatenate([*self._x, _points([key for key, _ in rows], len(self.low))])
        return x_all, np.concatenate([*self._y, told])

    def _of_sources(self) -> dict[str, Any]:
        N = len(self.runs)
        used = np.sum(self.use_history, axis=0) if self.use_history else np.zeros(N)
        return {
            "weights": self.weights,
            "weight_history": np.reshape(self.weight_history, (len(self.weight_history), N)),
            "sources_used": dict(zip(self.names, used.astype(int).tolist(), strict=True)),
        }

    # keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run, past runs included; `Optimizer.load` goes on with the same bits.

        A generation that was asked for and not yet told is begun again, with what was told.

        Parameters
        ----------
        path
            The file to write.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Optimizer([(-5, 5)] * 2, rng=0).save(f"{folder}/run.bers")
        ...     Optimizer.load(f"{folder}/run.bers").ask().shape
        (6, 2)
        """
        if not isinstance(self.learner, tuple(_SAVED.values())):
            raise ConfigError("a run with an optimiser of your own cannot be saved: save that one.")
        from bers.trust.files import plain

        limits = limits_parts(self.limits)
        told = list(self._told.items())
        D, N = len(self.low), len(self.runs)
        arrays, settings = self.learner.parts(self.state)  # pyright: ignore
        arrays |= {
            "low": self.low,
            "high": self.high,
            "first": self._first,
            "x": np.concatenate([np.zeros((0, D)), *self._x]),
            "y": np.concatenate([np.zeros(0), *self._y]),
            "told.x": _points([key for key, _ in told], D),
            "told.y": np.array([value for _, value in told], np.float64),
            "wanted.x": _points(list(self._wanted), D),
            "waiting.x": _points(list(self._waiting), D),
            "waiting.asked": np.array(list(self._waiting.values()), bool),
            "again.x": _points([key for key, _ in self._again], D),
            "again.y": np.array([value for _, value in self._again], np.float64),
            "weight_history": np.reshape(self.weight_history, (len(self.weight_history), N)),
            "use_history": np.reshape(self.use_history, (len(self.use_history), N)).astype(
                np.int64
            ),
        }
        arrays |= limits
        for i, run in enumerate(self.runs):
            arrays |= {f"run.{i}.x": run.x, f"run.{i}.y": run.y}
        about: dict[str, Any] = {
            "learner": settings,
            "names": [run.name for run in self.runs],
            "nit": self.nit,
            "open": self._begun is not None or self._reopened,
            "streams": self._states,
        }
        if self.reuse is not None:
            more, about["reuse"] = _reuse_parts(self.reuse)
            arrays |= more
        write_sealed(path, _FORMAT, arrays, plain(about))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Optimizer":
        """A run that `save` wrote; damaged and foreign files are refused.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        Optimizer
            It goes on with the same bits.

        Examples
        --------
        >>> Optimizer.load("nowhere.bers")
        Traceback (most recent call last):
        bers.errors.FileError: there is no run file nowhere.bers. Check the path.
        """
        arrays, about = read_sealed(path, _FORMAT, "a BERS run")
        optimizer = cls.__new__(cls)
        try:
            optimizer._fill(arrays, about)
        except BersError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            said = f"{path} is damaged or not a BERS run: {error}. Save it again."
            raise FileError(said) from error
        return optimizer

    def _fill(self, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
        from bers.trust.files import stream_of

        kind = _SAVED[about["learner"].pop("kind", "DE")]
        self.learner, self.state = kind.of_parts(arrays, about["learner"])
        self.low, self.high, self._first = arrays["low"], arrays["high"], arrays["first"]
        self.limits = limits_of(arrays)
        self._nearest = (np.inf, None)
        self._done = {row.tobytes() for row in arrays["x"]}
        self.runs = [
            Demonstrations(arrays[f"run.{i}.x"], arrays[f"run.{i}.y"], name)
            for i, name in enumerate(about["names"])
        ]
        self.names = unique(about["names"])
        self.nit, self._begun = about["nit"], None
        self._x, self._y = [arrays["x"]], [arrays["y"]]
        self._least = float(arrays["y"].min(initial=np.inf))
        self.weight_history = list(arrays["weight_history"])
        self.use_history = list(arrays["use_history"])
        keys = [row.tobytes() for row in arrays["told.x"]]
        self._told = dict(zip(keys, arrays["told.y"].tolist(), strict=True))
        done = {row.tobytes() for row in arrays["x"]}
        waiting = {key: True for key in keys if key not in done}  # as files had it before
        if "waiting.x" in arrays:
            asked = arrays["waiting.asked"].tolist()
            waiting = dict(zip(map(np.ndarray.tobytes, arrays["waiting.x"]), asked, strict=True))
        self._waiting, self._reopened = waiting, about.get("open", False)
        self._wanted = {row.tobytes(): row for row in arrays.get("wanted.x", ())}
        self._again = []
        if "again.x" in arrays:
            values = arrays["again.y"].tolist()
            self._again = list(zip(map(np.ndarray.tobytes, arrays["again.x"]), values, strict=True))
        rows = zip(map(np.ndarray.tobytes, arrays["x"]), arrays["y"].tolist(), strict=True)
        self._heard = {*self._told.items(), *self._again, *rows}
        streams = [stream_of(state) for state in about["streams"]]
        self.rng, self._states, self.reuse = streams[0], about["streams"], None
        if "reuse" in about:
            self.reuse = _reuse_of(arrays, about["reuse"], self.runs, streams[1])

    def _rng_states(self, own: np.random.Generator | None) -> list[Any]:
        """Where both streams stand between two generations: what a saved run goes on from."""
        streams = [self.rng] if own is None else [self.rng, own]
        return [stream.bit_generator.state for stream in streams]  # made anew at each call

    def _usable(self) -> bool:
        if self.runs and all(run.n == 0 for run in self.runs):
            warnings.warn(
                "no past run has any points, so this is a search without any.",
                DataWarning,
                stacklevel=4,
            )
            return False
        return bool(self.runs)


def default_learner() -> CMAES:
    """The base optimiser unless one is named.

    Developed on 12 functions of BBOB in 10 dimensions, up to 1,000 evaluations. Other dimensions
    and larger budgets have not been compared yet; if they differ, this is the place to choose.

    >>> default_learner() == CMAES()
    True
    """
    return CMAES()


def as_learner(learner: Any) -> PointLearner:
    """A learner of points from what a user wrote: one of ours, or an object with ask and tell.

    >>> as_learner(DE()) == DE()
    True
    """
    if isinstance(learner, type):
        raise ConfigError(f"learner must be an object, not a class: {learner.__name__}(...).")
    ours = callable(getattr(learner, "first", None)) and callable(getattr(learner, "on", None))
    return learner if ours else AskTell(learner)


def past_points(
    rng: np.random.Generator,
    runs: list[Demonstrations],
    config: ReuseConfig,
    model: Model | ModelConfig | None,
    low: np.ndarray,
    high: np.ndarray,
    progress: bool | None,
    limits: Limits | None = None,
) -> Reuse:
    """What Algorithm 1 carries along, for a search over a box with past runs."""
    trust = Trust(
        runs,
        rule=config.rule,
        model=model,
        batches=config.batches,
        frozen=config.batches == 0,
        robust=False,
        subset=config.subset,
        transform=transform_named(config.transform),
        predicts=config.pick == "predicted",
        rng=rng,
        progress=progress,
    )
    offered = [(run.x, run.y) for run in trust.sources]  # pyright: ignore
    points = PointReuse.of(
        offered if limits is None else [_as_allowed(x, y, limits) for x, y in offered],
        elites=config.elites,
        how=config.guard,
        pick=config.pick,
        low=low,
        high=high,
    )
    points = replace(points, runs=tuple((run.x, run.y) for run in runs))  # before any transform
    return Reuse(trust, points, config.schedule, rng)


def _as_allowed(x: np.ndarray, y: np.ndarray, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """A run's points rounded; those that break a constraint are its worst."""
    x = limits.rounded(x.astype(np.float64))
    broken = limits.broken(x)
    return x, np.where(broken > 0, limits.coded(broken), y)


def _reuse_parts(reuse: Reuse) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    from bers.trust.files import trust_parts

    arrays, trust = trust_parts(reuse.trust)
    offer: Any = reuse.offer
    arrays |= {"guard.paid": offer.guard.paid, "guard.failed": offer.guard.failed}
    for i, (points, values) in enumerate(zip(offer.points, offer.values, strict=True)):
        arrays |= {f"points.{i}": points, f"values.{i}": values}
    return arrays, {
        "trust": trust,
        "schedule": schedule_parts(reuse.schedule),
        "how": offer.how,
        "pick": offer.pick,
        "elites": offer.elites,
        "m": reuse.m,
        "patience": reuse.patience,
        "unseen": sum(len(one.y) for one in reuse.unseen),
    }


def _reuse_of(
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    runs: list[Demonstrations],
    rng: np.random.Generator,
) -> Reuse:
    trust, places = Trust.of_parts(arrays, about["trust"], runs, rng), range(len(runs))
    # what is not one of ours is refused
    config = ReuseConfig(guard=about["how"], pick=about["pick"], elites=about["elites"])
    points = PointReuse(
        points=tuple(arrays[f"points.{i}"] for i in places),
        values=tuple(arrays[f"values.{i}"] for i in places),
        guard=Guard(arrays["guard.paid"], arrays["guard.failed"]),
        how=config.guard,
        pick=config.pick,
        elites=config.elites,
        runs=tuple((run.x, run.y) for run in runs),
    )
    unseen, done = about.get("unseen", 0), len(arrays["y"])
    rows = Experience(arrays["x"][done - unseen :], arrays["y"][done - unseen :])
    return Reuse(
        trust,
        points,
        schedule_of(about["schedule"]),
        rng,
        about["m"],
        about.get("patience", 0.0),
        (rows,) if unseen else (),
    )


def _points(keys: list[bytes], D: int) -> np.ndarray:
    return np.array([np.frombuffer(key) for key in keys]).reshape(len(keys), D)


def _rows_of(seen: Experience, which: np.ndarray) -> Experience:
    parts = (seen.sources, seen.paid, seen.tried)
    return Experience(
        seen.x[which], seen.y[which], *(None if one is None else one[which] for one in parts)
    )


def _up_to_the_first_unknown(values: list[float | None]) -> np.ndarray:
    return np.array(values[: values.index(None) if None in values else None], np.float64)


def _nothing(points: np.ndarray) -> np.ndarray:
    return np.zeros(0)
