"""Several related problems at once, each learning from the others: the paper's multi-task form.

Enters: functions of the same variables over one box. Leaves: one result per function. All share
one model with a head each; after every generation there is one program per task, over the heads of
all others. What a task hands over is the best it has found so far.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from bers import progress as bars
from bers.algorithm import ReuseConfig
from bers.data.checks import random_numbers, whole
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform, transform_named
from bers.deprecated import old_words
from bers.errors import ConfigError, ObjectiveError
from bers.learners.ask_and_tell import AskTell
from bers.learners.base import Experience, Search
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.inputs import as_sources, box
from bers.optimise.minimize import at_once
from bers.optimise.objective import Objective, check_calls
from bers.optimise.old_words import old_settings
from bers.optimise.space import Space
from bers.parallel import Map
from bers.reuse.points import Guard, PointGuide, best_points, fall
from bers.text import unique
from bers.trust.trust import JointTrust, mapped_by, rows_seen

_REUSE = ReuseConfig(schedule=0.3, elites=4)  # pyright: ignore[reportArgumentType]


@dataclass
class _Task:
    """One problem under way."""

    name: str
    objective: Objective
    search: Search[Any]
    rng: np.random.Generator
    own: np.random.Generator
    """Of the guide, so that without others the bits are those of the plain learner."""
    state: Any
    x: np.ndarray
    y: np.ndarray
    guard: Guard
    transform: Transform | None
    gain: float | None = None
    """Of the last iteration."""
    done: str = ""
    nit: int = 0
    weight_history: list[np.ndarray] = field(default_factory=list)
    used: list[np.ndarray] = field(default_factory=list)

    def rows(self) -> Demonstrations:
        """What was seen, as the rows of a head."""
        return rows_seen(self.x, self.y, self.name, self.transform)

    def saw(self, seen: Experience) -> None:
        """Take in one iteration."""
        self.gain = fall(self.y, seen.y)
        if seen.sources is not None and seen.paid is not None:
            self.guard = self.guard.after(seen.sources, seen.paid)
            used = seen.sources[seen.sources >= 0]
            self.used.append(np.bincount(used, minlength=len(self.guard.paid) - 1))
        self.x, self.y = np.concatenate([self.x, seen.x]), np.concatenate([self.y, seen.y])
        self.nit += 1


@old_words(old_settings(DE(), _REUSE))
def minimize_many(
    funs: Sequence[Callable[..., Any]] | Mapping[str, Callable[..., Any]],
    bounds: Any,
    *,
    sources: Any = (),
    learner: Any = None,
    reuse: ReuseConfig | None = None,
    model: ModelConfig | None = None,
    maxiter: int = 1000,
    maxfun: float = np.inf,
    rng: int | np.integer | np.random.Generator | None = None,
    callback: Callable[[list[OptimizeResult]], object] | None = None,
    workers: int | Map | None = 1,
    vectorized: bool = False,
    progress: bool | None = False,
) -> list[OptimizeResult]:
    """Minimise several functions of the same variables; each learns from all others as they go.

    Parameters
    ----------
    funs
        A list, or a mapping by name.
    bounds
        Pairs (low, high), one per variable, or scipy's Bounds.
    sources
        Past runs that all may learn from, too.
    learner
        The base optimiser of each: `bers.DE(...)`, the default.
    reuse
        How the others are used. Unless given: `ReuseConfig(schedule=0.3, elites=4)`; the paper has
        0.3 at all times, and one point.
    model
        Settings of the one model that all share.
    maxiter
        Iterations of each learner, at most.
    maxfun
        Evaluations of each function, at most.
    rng
        The same one gives the same runs.
    callback
        Called with all intermediate results after each iteration; it may end the search.
    workers
        A number of processes or a map, for whole generations at once.
    vectorized
        Whether the functions take many points at once, x of shape (D, S).
    progress
        A bar: yes, no, or (None) on a terminal only.

    Returns
    -------
    list of OptimizeResult
        In the order of funs; their weights are over the other tasks, then the past runs.

    Examples
    --------
    >>> funs = {"a": lambda x: np.sum((x - 0.5) ** 2), "b": lambda x: 3 * np.sum((x - 0.5) ** 2)}
    >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=20)
    >>> results = minimize_many(funs, [(-1, 1)] * 2, rng=0, maxiter=15, model=config)
    >>> [result.fun < 0.01 for result in results], list(results[0].weights)
    ([True, True], ['b'])
    """
    if isinstance(funs, str) or not isinstance(funs, Mapping | Sequence):
        raise ConfigError(
            f"funs must be a list of functions, or a mapping by name; got {type(funs).__name__}."
        )
    named = dict(funs) if isinstance(funs, Mapping) else dict(enumerate(funs))
    if len(named) < 2:
        raise ConfigError("minimize_many needs at least two functions; for one, use minimize.")
    if isinstance(bounds, Space):
        raise ConfigError(
            "minimize_many takes no bers.Space. Give pairs (low, high), or minimise one by one."
        )
    check_calls((), callback, workers, vectorized, progress)
    for name, value, kind in (("reuse", reuse, ReuseConfig), ("model", model, ModelConfig)):
        if value is not None and not isinstance(value, kind):
            raise ConfigError(
                f"{name} must be a bers.{kind.__name__}; got {type(value).__name__}. Leave it out, "
                "or give one."
            )
    whole_generations = vectorized or workers not in (1, None)
    learner = at_once(DE() if learner is None else learner, whole_generations, 1)
    if isinstance(learner, AskTell) or not callable(getattr(learner, "on", None)):
        raise ConfigError(
            "minimize_many needs a learner of ours, such as bers.DE(), one for each function; got "
            f"{type(learner).__name__}."
        )
    low, high = box(bounds)
    whole(maxiter, "maxiter", 0)
    # tasks teach the encoder as they go: there is little to choose it by before the start
    model = model or ModelConfig(hidden=(200, 200), batches=100)
    reuse = reuse or _REUSE
    if reuse.pick != "best":
        raise ConfigError('minimize_many hands over what is "best" so far. Leave pick= out.')
    how = transform_named(reuse.transform)
    past_runs = [mapped_by(run, how) for run in as_sources(sources, low, high)]
    streams = random_numbers(rng).spawn(len(named) + 1)
    tasks = []
    for (key, fun), stream in zip(named.items(), streams[1:], strict=True):
        objective = Objective(fun, vectorized=vectorized, workers=workers, maxfun=maxfun)
        x, _ = learner.first(stream, low, high, None)  # values belong to one function
        f, search = objective(x), learner.on(objective, low, high)
        tasks.append(
            _Task(
                name=key if isinstance(key, str) else f"task {key}",
                objective=objective,
                search=search,
                rng=stream,
                own=stream.spawn(1)[0],
                state=search.opened(x, f),
                x=x[: len(f)],
                y=f,
                guard=Guard.new(len(named) - 1 + len(past_runs)),
                transform=how,
            )
        )
    trust = JointTrust.new(
        len(tasks),
        past_runs,
        rule=reuse.rule,
        config=model,
        batches=max(reuse.batches, 1),
        subset=reuse.subset,
        rng=streams[0],
    )
    names = unique([task.name for task in tasks] + [run.name for run in past_runs])
    with bars.progress_bar("generations", maxiter, show=progress) as advance:
        for m in range(1, maxiter + 1):
            trust = trust.observe([task.rows() for task in tasks], [task.gain for task in tasks])
            points = [best_points(task.x, task.y, reuse.elites) for task in tasks]
            points += [best_points(run.x, run.y, reuse.elites).clip(low, high) for run in past_runs]
            try:
                for k, task in enumerate(tasks):
                    task.gain = None
                    task.weight_history.append(trust.weights[k])
                    if not task.done:
                        _generation(task, k, trust.weights[k], points, m, reuse)
            except ObjectiveError as error:
                error.result = _results(tasks, trust, names)
                raise
            advance(done=sum(bool(task.done) for task in tasks))
            if callback is not None and _stops(callback, _results(tasks, trust, names)):
                for task in tasks:
                    task.done = task.done or "callback function requested stop early"
            if all(task.done for task in tasks):
                break
    return _results(tasks, trust, names)


def _stops(callback: Callable[[list[OptimizeResult]], object], found: list[OptimizeResult]) -> bool:
    try:
        return bool(callback(found))
    except StopIteration:
        return True


def _generation(
    task: _Task,
    k: int,
    a: np.ndarray,
    points: list[np.ndarray],
    m: int,
    reuse: ReuseConfig,
) -> None:
    others = [own for i, own in enumerate(points) if i != k]
    known = task.objective.known
    values = [np.array([known.get(p.tobytes(), np.nan) for p in own]) for own in others]
    guide = PointGuide(
        task.own,
        a,
        reuse.schedule(m),
        others,
        values=values if reuse.guard == "trial" else None,
        guard=task.guard if reuse.guard == "success" else None,
    )
    begun = task.search.begin(task.rng, task.state, guide)
    task.state, seen = task.search.advance(begun)
    if len(seen.y):
        task.saw(seen)
    if len(seen.y) < begun.size:
        task.done = "Maximum number of function evaluations has been exceeded."
    elif task.search.converged(task.state):
        task.done = "Optimization terminated successfully."


def _results(tasks: list[_Task], trust: JointTrust, names: list[str]) -> list[OptimizeResult]:
    return [_result(task, k, trust.weights[k], names) for k, task in enumerate(tasks)]


def _result(task: _Task, k: int, a: np.ndarray, names: list[str]) -> OptimizeResult:
    others = [name for i, name in enumerate(names) if i != k]
    top = int(np.argmin(task.state.f))
    used = np.sum(task.used, axis=0) if task.used else np.zeros(len(others))
    return OptimizeResult(
        x=task.state.x[top].copy(),
        fun=float(task.state.f[top]),
        success="successfully" in task.done,
        message=task.done or "Maximum number of iterations has been exceeded.",
        nit=task.nit,
        nfev=task.objective.nfev,
        not_finite=task.objective.not_finite,
        population=task.state.x.copy(),
        population_energies=task.state.f.copy(),
        weights=dict(zip(others, a.tolist(), strict=True)),
        weight_history=np.reshape(task.weight_history, (len(task.weight_history), len(others))),
        sources_used=dict(zip(others, np.asarray(used).astype(int).tolist(), strict=True)),
        x_all=task.x,
        fun_all=task.y,
    )
