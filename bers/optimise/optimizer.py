"""Minimising step by step, for people who own their loop: ask, tell, weights, save, load.

Enters: bounds and past runs; then values of the points that were asked for. Leaves: points to
evaluate next, weights of the past runs, and a result in scipy's form. The same object drives
`minimize`, which merely calls the function itself.
"""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from bers.algorithm import Reuse, ReuseConfig, after, new_reuse
from bers.errors import DataError, DataWarning
from bers.learners.base import Experience
from bers.learners.differential_evolution import (
    DEConfig,
    DifferentialEvolution,
    Plan,
    Population,
    plan,
)
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.optimise.bounds import box, first_points
from bers.optimise.past_runs import as_sources, transform_named
from bers.optimise.saved import load, save
from bers.optimise.settings import pair_or_number, reuse_config, two_streams
from bers.reuse.guide import Drawn
from bers.trust.ranking import Ranking, rank_by, unique

_WITHOUT_NEWS = 100  # generations of nothing but known points, after which a search has ended


@dataclass(frozen=True)
class Started:
    """A generation whose random choices are made."""

    agents: Population
    chosen: Plan
    drawn: Drawn | None


class Optimizer:
    """Differential Evolution that learns from past runs, a step at a time.

    `ask` gives points, `tell` takes their values, in parts and in any order if you like. With
    `updating="deferred"`, the default here, a whole generation is asked for at once; with
    "immediate", one point at a time. All other settings are those of `minimize`; `reuse` is a
    record that replaces the words from `metric` to `config`.

    >>> optimizer = Optimizer([(-5, 5)] * 2, rng=0)
    >>> for _ in range(40):
    ...     points = optimizer.ask()
    ...     optimizer.tell(points, np.sum((points - 1) ** 2, axis=1))
    >>> optimizer.result().x.round(3).tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        bounds: Any,
        sources: Any = (),
        *,
        population_size: int = 32,
        mutation: float | tuple[float, float] = 0.5,
        recombination: float = 0.7,
        updating: str = "deferred",
        init: Any = "random",
        x0: ArrayLike | None = None,
        rng: int | np.integer | np.random.Generator | None = None,
        metric: str = "odds",
        schedule: Any = "paper",
        guard: str = "trial",
        elites: int = 16,
        pick: str = "best",
        feasible: str | None = None,
        transform: Any = "auto",
        model: Model | None = None,
        config: ModelConfig | None = None,
        reuse: ReuseConfig | None = None,
        progress: bool | None = False,
    ) -> None:
        reuse = reuse or reuse_config(metric, schedule, guard, elites, pick, feasible, config)
        self.low, self.high = box(bounds)
        self.de = DEConfig(
            population_size,
            recombination,
            pair_or_number(mutation),
            updating,  # pyright: ignore[reportArgumentType]
        )
        self.rng, own = two_streams(rng)
        self.runs = as_sources(sources, self.low, self.high)
        self.names = unique([run.name for run in self.runs])
        self.transform = transform_named(transform)
        self.nit = 0
        self.weight_history: list[np.ndarray] = []
        self.use_history: list[np.ndarray] = []
        self.agents: Population | None = None
        self.reuse: Reuse | None = None
        self._x: list[np.ndarray] = []
        self._y: list[np.ndarray] = []
        self._told: dict[bytes, float] = {}
        self._started: Started | None = None
        self._first, known = first_points(self.rng, self.low, self.high, self.de, init, x0)
        if known is not None:
            fine = np.isfinite(known)  # agents that lost a contest of camps are infinite copies
            self.tell(self._first[fine], known[fine])
        self._states = self._rng_states(own)
        if self._usable():
            mapped = [self._mapped(run) for run in self.runs]
            self.reuse = new_reuse(
                own, mapped, transform=self.transform, model=model, config=reuse,
                progress=progress, low=self.low, high=self.high,
            )  # fmt: skip
            self._states = self._rng_states(own)

    # asking and telling

    def ask(self) -> Float64[np.ndarray, "k D"]:
        """Points whose values are wanted next; the same ones until they are told.

        None are wanted, shape (0, D), once the search finds no point that is new.
        """
        missing: list[np.ndarray] = []

        def look(points: np.ndarray) -> np.ndarray:
            values = [self._told.get(point.tobytes()) for point in points]
            missing.extend(p for p, v in zip(points, values, strict=True) if v is None)
            known = values.index(None) if None in values else len(values)
            return np.array(values[:known], np.float64)

        for _ in range(_WITHOUT_NEWS):
            if not self.advance(look):
                break
        # two agents may want the same point
        new = list({point.tobytes(): point for point in missing}.values())
        return np.array(new).reshape(len(new), len(self.low))

    def tell(self, x: ArrayLike, y: ArrayLike) -> None:
        """Values of points, not finite where an evaluation failed; these count as the worst.

        Points that were not asked for are taken as known, and used if they come up.
        """
        points = np.atleast_2d(np.asarray(x, np.float64))
        values = np.atleast_1d(np.asarray(y, np.float64)).ravel()
        if points.shape != (len(values), len(self.low)):
            raise DataError(
                f"tell(x, y) needs points of shape ({len(values)}, {len(self.low)}) for "
                f"{len(values)} values; got {points.shape}."
            )
        worst = np.where(np.isfinite(values), values, np.inf)
        self._told.update(zip((p.tobytes() for p in points), worst.tolist(), strict=True))

    def advance(self, evaluate: Callable[[np.ndarray], np.ndarray], *, last: bool = False) -> bool:
        """One generation, if `evaluate` has values for all of it; else nothing changes.

        With `last`, an unfinished generation counts as well.
        """
        learner = DifferentialEvolution(evaluate, self.low, self.high, self.de)
        if self.agents is None:
            f = evaluate(self._first)
            if not len(f) or (len(f) < len(self._first) and not last):
                return False
            rest = np.full(len(self._first) - len(f), np.inf)
            agents = Population(self._first, np.concatenate([f, rest]))
            self._commit(agents, Experience(self._first[: len(f)], f))
            return len(rest) == 0
        begun = self._begin(learner)
        agents, seen = learner.generation(begun.agents, begun.chosen, begun.drawn)
        whole = len(seen.y) == self.de.population
        if not whole and not (last and len(seen.y)):
            return False
        self._commit(agents, seen)
        self.nit += 1
        return whole

    def _begin(self, learner: DifferentialEvolution) -> Started:
        if self._started is None:
            assert self.agents is not None
            guide = None if self.reuse is None else self.reuse.guide()
            agents = learner.in_camps(self.agents, guide)
            chosen = plan(self.rng, len(self.low), config=self.de, camps=agents.camps)
            self._started = Started(agents, chosen, learner.drawn(agents, guide))
        return self._started

    def _commit(self, agents: Population, seen: Experience) -> None:
        start = self.agents is None
        self.agents, self._started = agents, None
        self._x.append(seen.x)
        self._y.append(seen.y)
        if self.reuse is not None:
            self.reuse = after(self.reuse, seen, start=start)
            self.weight_history.append(self.reuse.a)
            if seen.sources is not None:
                used = seen.sources[seen.sources >= 0]
                self.use_history.append(np.bincount(used, minlength=len(self.runs)))
            self._states = self._rng_states(self.reuse.rng)
        else:
            self._states = self._rng_states(None)

    # what is known

    @property
    def weights(self) -> dict[str, float]:
        """The share of each past run now; what is missing to one is "nobody"."""
        a = self.reuse.a if self.reuse is not None else np.zeros(len(self.runs))
        return dict(zip(self.names, a.tolist(), strict=True))

    @property
    def best(self) -> float:
        """The least value so far."""
        return float(self.agents.f.min()) if self.agents is not None else np.inf

    def known_points(self) -> dict[bytes, float]:
        """Values that were told, by the bytes of their points."""
        return dict(self._told)

    def ranking(self) -> Ranking | None:
        """The weights with intervals and what they rest on; None where no model was needed."""
        if self.reuse is None or self.reuse.model is None or not self.reuse.target.n:
            return None
        reuse, model = self.reuse, self.reuse.model
        return rank_by(
            model, reuse.sources, reuse.target, rule=reuse.config.rule,
            rng=np.random.default_rng(len(reuse.y)), past=reuse.past,
            subset=reuse.config.subset,
        )  # fmt: skip

    def result(self, **more: Any) -> OptimizeResult:
        """What was found so far, in scipy's form."""
        x_all = np.concatenate([np.zeros((0, len(self.low))), *self._x])
        fun_all = np.concatenate([np.zeros(0), *self._y])
        found: dict[str, Any] = {"x": np.full(len(self.low), np.nan), "fun": np.inf}
        if self.agents is not None:
            top = int(np.argmin(self.agents.f))
            found = {
                "x": self.agents.x[top].copy(),
                "fun": float(self.agents.f[top]),
                "population": self.agents.x.copy(),
                "population_energies": self.agents.f.copy(),
            }
        found |= {"nit": self.nit, "nfev": len(fun_all), "x_all": x_all, "fun_all": fun_all}
        if self.runs:  # scipy cannot print an empty mapping
            found |= self._of_sources()
        return OptimizeResult(**found, **more)

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
        """Write the run, past runs included; `Optimizer.load` goes on with the same bits."""
        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Optimizer":
        """A run that `save` wrote; damaged and foreign files are refused.

        >>> Optimizer.load("nowhere.bers")
        Traceback (most recent call last):
        bers.errors.FileError: there is no run file nowhere.bers. Check the path.
        """
        optimizer = cls.__new__(cls)
        load(optimizer, path)
        return optimizer

    def _rng_states(self, own: np.random.Generator | None) -> list[Any]:
        """Where both streams stand between two generations: what a saved run goes on from."""
        streams = [self.rng] if own is None else [self.rng, own]
        return [stream.bit_generator.state for stream in streams]  # made anew at each call

    def _usable(self) -> bool:
        if self.runs and all(run.n == 0 for run in self.runs):
            warnings.warn(
                "no past run has any points, so this is plain Differential Evolution.",
                DataWarning,
                stacklevel=3,
            )
            return False
        return bool(self.runs)

    def _mapped(self, run: Any) -> Any:
        return run.transformed(self.transform) if self.transform is not None and run.n else run
