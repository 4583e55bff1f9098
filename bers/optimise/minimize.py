"""`minimize(fun, bounds, sources=...)`: Differential Evolution that learns from past runs.

Enters: a function, bounds, past runs, settings in scipy's words. Leaves: scipy's OptimizeResult
with the weights of the past runs. Without sources it is plain Differential Evolution, bit for bit.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult

from bers import progress
from bers.data.checks import whole
from bers.errors import BersWarning, ObjectiveError
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.optimise.objective import Map, Objective
from bers.optimise.optimizer import Optimizer
from bers.optimise.settings import check_tolerance, converged


def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    sources: Any = (),
    args: tuple[Any, ...] = (),
    *,
    maxiter: int = 1000,
    maxfun: float = np.inf,
    tol: float = 0.01,
    atol: float = 0.0,
    mutation: float | tuple[float, float] = 0.5,
    recombination: float = 0.7,
    population_size: int = 32,
    rng: int | np.integer | np.random.Generator | None = None,
    callback: Callable[[OptimizeResult], object] | None = None,
    disp: bool = False,
    progress_bar: bool | None = False,
    init: Any = "random",
    x0: ArrayLike | None = None,
    updating: str = "immediate",
    workers: int | Map = 1,
    vectorized: bool = False,
    metric: str = "odds",
    schedule: Any = "paper",
    guard: str = "trial",
    elites: int = 16,
    pick: str = "best",
    feasible: str | None = None,
    transform: Any = "auto",
    model: Model | None = None,
    config: ModelConfig | None = None,
) -> OptimizeResult:
    """Find the minimum of `fun` over a box, and let past runs help where they do.

    sources: past runs on other functions of the same variables, each (X, y), Demonstrations, a
    file or an earlier result; a list, or a mapping by name. Values may be in any units.

    From scipy: args, maxiter, maxfun (kept to the last evaluation), tol and atol, mutation,
    recombination, rng, callback(intermediate_result), which may raise StopIteration, disp, init,
    x0, updating, workers, vectorized (x of shape (D, S)). `population_size` is a number of agents,
    not a multiple of D. An earlier result as `init` goes on from its population, whose values are
    known and not evaluated again.

    Reuse: metric, how past runs are weighed (bers.trust.rules.RULES; "weights" is the paper's);
    schedule, the chance p_m of generation m ("paper" for 0.99^m, a number, or one of
    bers.reuse.schedule); guard, when a point of a past run is used: "trial", once it was tried
    and as long as it is better than what it replaces, "success" or "none" (paper); elites, points
    that a run can hand over (paper: 1); pick, "best" or "predicted"; feasible, for a metric of
    the quadratic program, "simplex" (paper) or "at_most_one", which allows "nobody"; transform of
    all values before they are modelled: "auto", "rank", "log", "paper" (sqrt, then log) or "none";
    model, one fitted on these sources before; config of the model.

    The result has x, fun, success, message, nit, nfev, population, population_energies; with
    sources, weights and sources_used by name, weight_history, ranking; x_all and fun_all, every
    point evaluated, so that a result is a source of the next run.

    >>> def past(x):
    ...     return np.sum((x - 0.3) ** 2)
    >>> first = minimize(past, [(-1, 1)] * 3, rng=0, maxiter=40)
    >>> settings = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> new = minimize(lambda x: 5 * past(x) + 2, [(-1, 1)] * 3, {"first": first}, rng=1,
    ...                maxfun=200, config=settings)
    >>> bool(new.fun < 2.001), new.nfev, list(new.weights)
    (True, 200, ['first'])
    """
    if updating == "immediate" and (vectorized or workers != 1):
        if workers != 1 and not vectorized:
            warnings.warn(
                'workers works on a whole generation, so updating is "deferred".',
                BersWarning,
                stacklevel=2,
            )
        updating = "deferred"
    whole(maxiter, "maxiter", 0)
    check_tolerance(tol, atol)
    objective = Objective(fun, args, vectorized=vectorized, workers=workers, maxfun=maxfun)
    optimizer = Optimizer(
        bounds, sources, population_size=population_size, mutation=mutation,
        recombination=recombination, updating=updating, init=init, x0=x0, rng=rng,
        metric=metric, schedule=schedule, guard=guard, elites=elites, pick=pick, feasible=feasible,
        transform=transform, model=model, config=config, progress=progress_bar,
    )  # fmt: skip
    objective.known.update(optimizer.known_points())
    try:
        message, success = _run(
            optimizer, objective, maxiter, tol, atol, callback, disp, progress_bar
        )
    except ObjectiveError as error:
        optimizer.advance(objective.recall, last=True)  # what was evaluated is not lost
        error.result = _result(optimizer, objective, message=str(error), success=False)
        raise
    more = {"ranking": optimizer.ranking()} if optimizer.runs else {}
    return _result(optimizer, objective, message=message, success=success, **more)


def _run(
    optimizer: Optimizer,
    objective: Objective,
    maxiter: int,
    tol: float,
    atol: float,
    callback: Callable[[OptimizeResult], object] | None,
    disp: bool,
    show: bool | None,
) -> tuple[str, bool]:
    """Generations until something says stop: why, and whether that is a success."""
    with progress.progress_bar("generations", maxiter, show=show) as advance:
        while True:
            if not optimizer.advance(objective, last=True):
                return "Maximum number of function evaluations has been exceeded.", False
            if optimizer.nit:
                advance(best=optimizer.best)
            if disp and optimizer.nit:
                print(_line(optimizer))
            f = optimizer.agents.f  # pyright: ignore[reportOptionalMemberAccess]
            if callback is not None and optimizer.nit:
                try:
                    if callback(_result(optimizer, objective)):
                        raise StopIteration
                except StopIteration:
                    return "callback function requested stop early", False
            if converged(f, tol, atol):
                return "Optimization terminated successfully.", True
            if optimizer.nit >= maxiter:
                return "Maximum number of iterations has been exceeded.", False
            if objective.nfev >= objective.maxfun:
                return "Maximum number of function evaluations has been exceeded.", False


def _result(optimizer: Optimizer, objective: Objective, **more: Any) -> OptimizeResult:
    result = optimizer.result(**more)
    result.nfev = objective.nfev
    result.not_finite = objective.not_finite
    return result


def _line(optimizer: Optimizer) -> str:
    shares = "  ".join(f"{name} {a:.2f}" for name, a in optimizer.weights.items())
    return f"bers generation {optimizer.nit}: f(x) = {optimizer.best:.6g}  {shares}".rstrip()
