"""`minimize(fun, bounds, sources=...)`: a search that learns from past runs.

Enters: a function, bounds, past runs, settings in scipy's words. Leaves: scipy's OptimizeResult
with the weights of the past runs. Without sources it is the plain learner, bit for bit.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from bers import progress as bars
from bers.algorithm import ReuseConfig
from bers.data.checks import number, whole
from bers.deprecated import old_words, warn_old
from bers.errors import BersWarning, ObjectiveError
from bers.learners.cma_es import CMAES
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.optimise.ask_tell import Optimizer, default_learner
from bers.optimise.objective import Objective, check_calls
from bers.optimise.old_words import old_settings
from bers.optimise.space import Space, with_words
from bers.parallel import Map

F = TypeVar("F", bound=Callable[..., Any])

_ITERATIONS = 1000
_ENDLESS = 10**9
_RESTARTS = 2  # of CMA-ES, where nobody said how many evaluations there are


def _in_space(function: F) -> F:
    """`integrality` and `constraints`, scipy's words, join the bounds: one `Space`."""

    @wraps(function)
    def call(*args: Any, integrality: Any = None, constraints: Any = None, **words: Any) -> Any:
        if integrality is None and constraints is None:
            return function(*args, **words)
        if len(args) > 1:
            bounds = with_words(args[1], integrality, constraints)
            return function(args[0], bounds, *args[2:], **words)
        if "bounds" in words:  # else Python says what is missing
            words["bounds"] = with_words(words["bounds"], integrality, constraints)
        return function(*args, **words)

    return call  # pyright: ignore[reportReturnType]


@old_words(old_settings(DE(), ReuseConfig(), disp=True))
@_in_space
def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    *,
    sources: Any = (),
    learner: Any = None,
    reuse: ReuseConfig | None = None,
    model: Model | ModelConfig | None = None,
    x0: ArrayLike | None = None,
    maxiter: int | None = None,
    maxfun: float = np.inf,
    rng: int | np.integer | np.random.Generator | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    workers: int | Map | None = 1,
    vectorized: bool = False,
    progress: bool | Literal["lines"] | None = False,
) -> OptimizeResult:
    """Find the minimum of a function over a box, and let past runs help where they do.

    Parameters
    ----------
    fun
        Called with one point, shape (D,), and `args`; gives one number. Not finite counts as the
        worst.
    bounds
        Pairs (low, high), one per variable, or scipy's Bounds. Equal ones fix a variable. Or a
        `bers.Space`, with whole numbers and constraints; `integrality=` and `constraints=`, as
        scipy's differential_evolution has them, are short for it.
    args
        Further arguments of `fun`.
    sources
        Past runs on other functions of the same variables, each (X, y), `Demonstrations`, a file
        or an earlier result; a list, or a mapping by name. Values may be in any units. None: no
        past runs.
    learner
        The base optimiser: `bers.CMAES(...)`, the default, `bers.DE(...)`, or an object with `ask`
        and `tell`.
    reuse
        How past runs are used: a `bers.ReuseConfig`.
    model
        `bers.ModelConfig`, or a `Model` that was fitted on these past runs before.
    x0
        A point to begin with.
    maxiter
        Iterations of the learner, at most; unless given, 1000, or for `CMAES` with `maxfun` as many
        as these evaluations take.
    maxfun
        Evaluations, at most; kept to the last one.
    rng
        The same one gives the same run.
    callback
        Called with the intermediate result after each iteration; it may raise StopIteration or
        return something true, and then the search ends.
    workers
        A number of processes or a map, for whole generations at once.
    vectorized
        Whether `fun` takes many points at once, x of shape (D, S).
    progress
        A bar: yes, no, or (None) on a terminal only. "lines": a line for each iteration.

    Returns
    -------
    OptimizeResult
        x, fun, success, message, nit, nfev, population, population_energies; weights and
        sources_used by name, empty without sources; with sources, weight_history, ranking; x_all
        and fun_all, every point evaluated, so that a result is a source of the next run. With
        constraints, constr, constr_violation and maxcv.

    Examples
    --------
    >>> def past(x):
    ...     return np.sum((x - 0.3) ** 2)
    >>> first = minimize(past, [(-1, 1)] * 3, rng=0, maxiter=40)
    >>> config = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> new = minimize(lambda x: 5 * past(x) + 2, [(-1, 1)] * 3, sources={"first": first}, rng=1,
    ...                maxfun=200, model=config)
    >>> bool(new.fun < 2.001), new.nfev, list(new.weights)
    (True, 200, ['first'])
    """
    none = isinstance(sources, tuple) and not sources
    if isinstance(args, Mapping | list) and none:  # the third place was that of sources
        warn_old("minimize(fun, bounds, runs)", "minimize(fun, bounds, sources=runs)", stacklevel=5)
        args, sources = (), args
    endless = np.isinf(number(maxfun, "maxfun"))
    check_calls(args, callback, workers, vectorized, progress)
    learner = at_once(default_learner() if learner is None else learner, vectorized, workers)
    if isinstance(learner, CMAES) and learner.restarts is None:
        learner = replace(learner, restarts=_RESTARTS if endless else np.inf)
    if maxiter is None:
        maxiter = _ENDLESS if isinstance(learner, CMAES) and not endless else _ITERATIONS
    whole(maxiter, "maxiter", 0)
    if vectorized and isinstance(bounds, Space):
        bounds = replace(bounds, vectorized=True)
    objective = Objective(fun, args, vectorized=vectorized, workers=workers, maxfun=maxfun)
    bar = False if progress == "lines" else progress
    optimizer = Optimizer(
        bounds, sources, learner=learner, reuse=reuse, model=model, x0=x0, rng=rng, progress=bar
    )
    objective.known.update(optimizer.known_points())
    try:
        with bars.progress_bar("generations", maxiter, show=bar) as advance:
            message, success = _run(
                optimizer, objective, maxiter, callback, advance, progress == "lines"
            )
    except ObjectiveError as error:
        optimizer.advance(objective.recall, last=True)  # what was evaluated is not lost
        optimizer.know(objective.known)
        error.result = _result(optimizer, objective, message=str(error), success=False)
        raise
    more = {"ranking": optimizer.ranking()} if optimizer.runs else {}
    return _result(optimizer, objective, message=message, success=success, **more)


def at_once(learner: Any, vectorized: bool, workers: int | Map | None) -> Any:
    """The learner, asking for whole generations where these are evaluated at once."""
    one_by_one = not vectorized and (workers is None or workers == 1)
    if isinstance(learner, CMAES):
        side_by_side = workers if isinstance(workers, int) and workers > 1 else _ENDLESS
        if one_by_one or learner.batch is not None:
            return learner
        return replace(learner, batch=side_by_side)
    # a class instead of an object is refused where the learner is taken
    updating = "deferred" if isinstance(learner, type) else getattr(learner, "updating", "deferred")
    if one_by_one and updating is None:
        return replace(learner, updating="immediate")  # pyright: ignore
    if one_by_one or updating == "deferred":
        return learner
    if not vectorized:
        warnings.warn(
            'workers works on a whole generation, so updating is "deferred".',
            BersWarning,
            stacklevel=5,
        )
    return replace(learner, updating="deferred")  # pyright: ignore


def _run(
    optimizer: Optimizer,
    objective: Objective,
    maxiter: int,
    callback: Callable[[OptimizeResult], object] | None,
    advance: Callable[..., object],
    lines: bool,
) -> tuple[str, bool]:
    """Iterations until something says stop: why, and whether that is a success."""
    evaluated, vain = 0, 0
    while True:
        if not optimizer.advance(objective, last=True):
            return "Maximum number of function evaluations has been exceeded.", False
        if optimizer.nit:
            advance(best=optimizer.best)
            if lines:
                print(_line(optimizer))
        if callback is not None and optimizer.nit:
            try:
                if callback(_result(optimizer, objective)):
                    raise StopIteration
            except StopIteration:
                return "callback function requested stop early", False
        if optimizer.converged:
            return "Optimization terminated successfully.", True
        if optimizer.nit >= maxiter:
            return "Maximum number of iterations has been exceeded.", False
        if objective.nfev >= objective.maxfun:
            return "Maximum number of function evaluations has been exceeded.", False
        vain, evaluated = vain + 1 if objective.nfev == evaluated else 0, objective.nfev
        if optimizer.limits is not None and vain > optimizer.patience:
            return "The search finds no point that is new and feasible.", True


def _result(optimizer: Optimizer, objective: Objective, **more: Any) -> OptimizeResult:
    result = optimizer.result(**more)
    if result.get("maxcv", 0) > 0:
        said = f"The solution does not satisfy the constraints, MAXCV = {result.maxcv}"
        result.update(success=False, message=said)
    result.nfev = objective.nfev
    result.not_finite = objective.not_finite
    return result


def _line(optimizer: Optimizer) -> str:
    shares = "  ".join(f"{name} {a:.2f}" for name, a in optimizer.weights.items())
    return f"bers generation {optimizer.nit}: f(x) = {optimizer.best:.6g}  {shares}".rstrip()
