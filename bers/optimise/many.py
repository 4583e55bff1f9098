"""Several related problems at once, each learning from the others: the paper's multi-task form.

Enters: functions of the same variables over one box. Leaves: one result per function. All share
one model with a head each; after every generation there is one program per task, over the heads of
all others. What a task hands over is the best it has found so far.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.optimize import OptimizeResult

from bers import progress
from bers.algorithm import ReuseConfig, charged, rows_seen
from bers.data.checks import whole
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform
from bers.errors import ConfigError, ObjectiveError
from bers.learners.base import Experience
from bers.learners.differential_evolution import DEConfig, DifferentialEvolution, Population
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit, refine
from bers.optimise.bounds import box, first_points
from bers.optimise.objective import Map, Objective
from bers.optimise.past_runs import as_sources, transform_named
from bers.optimise.settings import check_tolerance, converged, pair_or_number, reuse_config
from bers.reuse.guard import Guard
from bers.reuse.guide import Guide
from bers.trust.beliefs import Counts, beliefs
from bers.trust.ranking import unique
from bers.trust.rules import Past, is_blind, weigh


@dataclass
class _Task:
    """One problem under way."""

    name: str
    objective: Objective
    learner: DifferentialEvolution
    rng: np.random.Generator
    own: np.random.Generator
    """Of the guide, so that without others the bits are those of plain Differential Evolution."""
    agents: Population
    x: np.ndarray
    y: np.ndarray
    a: Float64[np.ndarray, " others"]
    past: Past
    guard: Guard
    transform: Transform | None
    done: str = ""
    nit: int = 0
    weight_history: list[np.ndarray] = field(default_factory=list)
    used: list[np.ndarray] = field(default_factory=list)

    def rows(self) -> Demonstrations:
        """What was seen, as the rows of a head."""
        return rows_seen(self.x, self.y, self.name, self.transform)

    def best(self, count: int) -> np.ndarray:
        """What this task can hand over."""
        return self.x[np.argsort(self.y, kind="stable")[:count]]

    def saw(self, seen: Experience) -> None:
        """Take in one generation."""
        self.past = charged(self.past, self.a, self.y, seen.y)
        if seen.sources is not None and seen.paid is not None:
            self.guard = self.guard.after(seen.sources, seen.paid)
            used = seen.sources[seen.sources >= 0]
            self.used.append(np.bincount(used, minlength=len(self.a)))
        self.x, self.y = np.concatenate([self.x, seen.x]), np.concatenate([self.y, seen.y])
        self.nit += 1


def minimize_many(
    funs: Sequence[Callable[..., Any]] | Mapping[str, Callable[..., Any]],
    bounds: Any,
    sources: Any = (),
    *,
    maxiter: int = 1000,
    maxfun: float = np.inf,
    tol: float = 0.01,
    atol: float = 0.0,
    mutation: float | tuple[float, float] = 0.5,
    recombination: float = 0.7,
    population_size: int = 32,
    rng: int | np.integer | np.random.Generator | None = None,
    callback: Callable[[list[OptimizeResult]], object] | None = None,
    progress_bar: bool | None = False,
    init: Any = "random",
    updating: str = "immediate",
    workers: int | Map = 1,
    vectorized: bool = False,
    metric: str = "odds",
    schedule: Any = 0.3,
    guard: str = "trial",
    elites: int = 4,
    transform: Any = "auto",
    batches: int = 1,
    config: ModelConfig | None = None,
) -> list[OptimizeResult]:
    """Minimise several functions of the same variables; each learns from all others as they go.

    funs: a list, or a mapping by name. sources: past runs that all may learn from, too. maxfun is
    for each function. schedule: the chance to use others (paper: 0.3 at all times). elites: points
    that a task hands over (paper: 1). batches: of training per generation. All else is as in
    `minimize`; results come in the order of funs, and their weights are over the other tasks, then
    the past runs.

    >>> funs = {"a": lambda x: np.sum((x - 0.5) ** 2), "b": lambda x: 3 * np.sum((x - 0.5) ** 2)}
    >>> settings = ModelConfig(hidden=(8,), latent_dim=4, batches=20)
    >>> results = minimize_many(funs, [(-1, 1)] * 2, rng=0, maxiter=15, config=settings)
    >>> [result.fun < 0.01 for result in results], list(results[0].weights)
    ([True, True], ['b'])
    """
    named = dict(funs) if isinstance(funs, Mapping) else dict(enumerate(funs))
    if len(named) < 2:
        raise ConfigError("minimize_many needs at least two functions; for one, use minimize.")
    if updating == "immediate" and (vectorized or workers != 1):
        updating = "deferred"
    low, high = box(bounds)
    whole(maxiter, "maxiter", 0)
    check_tolerance(tol, atol)
    config = config or ModelConfig(batches=100)  # there is little to train on before the start
    reuse = reuse_config(metric, schedule, guard, elites, "best", None, config)
    reuse = replace(reuse, batches=batches)
    de = DEConfig(population_size, recombination, pair_or_number(mutation), updating)  # pyright: ignore
    how = transform_named(transform)
    past_runs = [
        run.transformed(how) if how is not None and run.n else run
        for run in as_sources(sources, low, high)
    ]
    streams = np.random.default_rng(rng).spawn(len(named) + 1)
    others = len(named) - 1 + len(past_runs)
    tasks = []
    for (key, fun), stream in zip(named.items(), streams[1:], strict=True):
        objective = Objective(fun, vectorized=vectorized, workers=workers, maxfun=maxfun)
        x, _ = first_points(stream, low, high, de, init, None)  # values belong to one function
        f = objective(x)
        rest = np.full(len(x) - len(f), np.inf)
        tasks.append(
            _Task(
                name=key if isinstance(key, str) else f"task {key}",
                objective=objective,
                learner=DifferentialEvolution(objective, low, high, de),
                rng=stream,
                own=stream.spawn(1)[0],
                agents=Population(x, np.concatenate([f, rest])),
                x=x[: len(f)],
                y=f,
                a=np.full(others, 1 / others),
                past=Past.none(others),
                guard=Guard.new(others),
                transform=how,
            )
        )
    shared = _Shared(streams[0], reuse, past_runs)
    names = unique([task.name for task in tasks] + [run.name for run in past_runs])
    found = partial(_results, tasks, names)
    with progress.progress_bar("generations", maxiter, show=progress_bar) as advance:
        for m in range(1, maxiter + 1):
            shared.weigh(tasks)
            points = [task.best(elites) for task in tasks]
            points += [run.x[np.argsort(run.y)[:elites]].clip(low, high) for run in past_runs]
            try:
                for k, task in enumerate(tasks):
                    if not task.done:
                        _generation(task, k, points, m, reuse, tol, atol)
            except ObjectiveError as error:
                error.result = found()
                raise
            advance(done=sum(bool(task.done) for task in tasks))
            if callback is not None and _stops(callback, found()):
                for task in tasks:
                    task.done = task.done or "callback function requested stop early"
            if all(task.done for task in tasks):
                break
    return found()


def _stops(callback: Callable[[list[OptimizeResult]], object], found: list[OptimizeResult]) -> bool:
    try:
        return bool(callback(found))
    except StopIteration:
        return True


@dataclass
class _Shared:
    """The model of all tasks."""

    rng: np.random.Generator
    config: ReuseConfig
    past_runs: list[Demonstrations]
    model: Model | None = None

    def weigh(self, tasks: list[_Task]) -> None:
        """One program per task, over all others."""
        rule, subset = self.config.rule, self.config.subset
        rows = [task.rows() for task in tasks]
        every = [*rows, *self.past_runs]
        if not any(one.n for one in every):
            return  # nothing is known of any task yet
        if not is_blind(rule):
            if self.model is None:
                self.model = fit(every, config=self.config.model, rng=self.rng, progress=False)
            else:
                self.model = refine(
                    self.model, every, batches=self.config.batches, subset=subset, rng=self.rng,
                    progress=False,
                )  # fmt: skip
        for k, task in enumerate(tasks):
            if self.model is None:
                counts = np.array([one.n for i, one in enumerate(every) if i != k])
                known = Counts(counts, rows[k].n)
            else:
                known = beliefs(self.model, rows[k], head=k, subset=subset)
            if known.n and known.known.any():
                task.a = weigh(known, rule, task.past)
            task.past = Past(task.past.pulls, task.past.gains, task.a)
            task.weight_history.append(task.a)


def _generation(
    task: _Task,
    k: int,
    points: list[np.ndarray],
    m: int,
    reuse: ReuseConfig,
    tol: float,
    atol: float,
) -> None:
    others = [own for i, own in enumerate(points) if i != k]
    known = task.objective.known
    values = [np.array([known.get(p.tobytes(), np.nan) for p in own]) for own in others]
    guide = Guide(
        task.own,
        task.a,
        reuse.schedule(m),
        others,
        values=values if reuse.guard == "trial" else None,
        guard=task.guard if reuse.guard == "success" else None,
    )
    task.agents, seen = task.learner.iterate(task.rng, task.agents, guide)
    if len(seen.y):
        task.saw(seen)
    f = task.agents.f
    if len(seen.y) < len(f):
        task.done = "Maximum number of function evaluations has been exceeded."
    elif converged(f, tol, atol):
        task.done = "Optimization terminated successfully."


def _results(tasks: list[_Task], names: list[str]) -> list[OptimizeResult]:
    return [_result(task, k, names) for k, task in enumerate(tasks)]


def _result(task: _Task, k: int, names: list[str]) -> OptimizeResult:
    others = [name for i, name in enumerate(names) if i != k]
    top = int(np.argmin(task.agents.f))
    used = np.sum(task.used, axis=0) if task.used else np.zeros(len(others))
    return OptimizeResult(
        x=task.agents.x[top].copy(),
        fun=float(task.agents.f[top]),
        success="successfully" in task.done,
        message=task.done or "Maximum number of iterations has been exceeded.",
        nit=task.nit,
        nfev=task.objective.nfev,
        not_finite=task.objective.not_finite,
        population=task.agents.x.copy(),
        population_energies=task.agents.f.copy(),
        weights=dict(zip(others, task.a.tolist(), strict=True)),
        weight_history=np.reshape(task.weight_history, (len(task.weight_history), len(others))),
        sources_used=dict(zip(others, np.asarray(used).astype(int).tolist(), strict=True)),
        x_all=task.x,
        fun_all=task.y,
    )
