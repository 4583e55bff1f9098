"""Past runs in scipy's own Differential Evolution, by its `strategy`.

Enters: a function, bounds, past runs, and the settings of `bers.minimize`. Leaves: a function, a
strategy and a callback for `scipy.optimize.differential_evolution`, and the weights of the past
runs. scipy tells a strategy neither values nor generations, so the function remembers what it was
asked, and the callback closes a generation. All evaluations must be made in this process.

Two islands are not held here: scipy owns the population. Where a past run can lead into a wrong
valley, `bers.minimize` is the safer choice.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult
from scipy.optimize import differential_evolution as scipys_differential_evolution

from bers.algorithm import ReuseConfig, after
from bers.deprecated import old_words
from bers.errors import ConfigError
from bers.learners.base import Experience
from bers.learners.differential_evolution import DE, DifferentialEvolution, Plan
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers.optimise.ask_tell import Optimizer
from bers.optimise.inputs import box
from bers.optimise.old_words import old_settings
from bers.optimise.result import Result
from bers.reuse.points import Drawn
from bers.trust.ranking import Ranking

_NEAR, _ROUNDING = 1e-9, 1e-14  # of a variable's range and size: the same point for scipy and us
_OLD = old_settings(DE(), ReuseConfig())
_SCIPYS = {"mutation", "recombination", "tol", "atol", "init", "updating", "population_size"}


@dataclass
class _Generation:
    """Trials by the candidate they are for; not a number where one is not made or not evaluated."""

    chosen: Plan
    drawn: Drawn | None
    x: Float64[np.ndarray, "S D"]
    y: Float64[np.ndarray, " S"]
    held: Float64[np.ndarray, " S"]
    """Values of the members that the trials are for."""
    sources: Int[np.ndarray, " S"]
    which: Int[np.ndarray, " S"]

    def experience(self) -> Experience:
        """What was seen. A source's point that scipy did not evaluate broke a constraint."""
        done = ~np.isnan(self.y) | (self.which >= 0)
        y = np.where(np.isnan(self.y), np.inf, self.y)[done]
        paid = ~np.isnan(self.y[done]) & (y <= self.held[done])
        return Experience(self.x[done], y, self.sources[done], paid, self.which[done])


class Reuse:
    """What scipy's Differential Evolution needs to learn from past runs.

    Hand `fun`, `strategy` and `callback` to scipy, with the same bounds and integrality. Trials
    are made by rand/1/bin with the learner's mutation and recombination, which scipy ignores for
    a strategy of one's own. Both ways of updating work, and vectorized=True; `workers` must be 1,
    or a map of this process. With no sources it is plain rand/1/bin.

    Parameters
    ----------
    fun
        The function to minimise, as scipy takes it.
    bounds
        As scipy takes them.
    sources
        Past runs, as in `bers.minimize`.
    learner
        `bers.DE(...)`, of which mutation and recombination count here.
    reuse
        How past runs are used: a `bers.ReuseConfig`.
    model
        `bers.ModelConfig`, or a `Model` that was fitted on these past runs before.
    integrality
        Which variables are whole numbers, as scipy takes it.
    callback
        Your own, in either of scipy's forms; it may raise StopIteration.
    rng
        Of the reuse; scipy has its own.
    progress
        Bars while the model is trained.

    Examples
    --------
    >>> from scipy.optimize import differential_evolution as scipys
    >>> def sphere(x):
    ...     return np.sum((x - 0.3) ** 2, axis=0)
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> settings = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> bounds = [(-1, 1)] * 3
    >>> reuse = Reuse(sphere, bounds, {"first": (X, sphere(X.T))}, rng=0, model=settings)
    >>> found = scipys(reuse.fun, bounds, strategy=reuse.strategy, callback=reuse.callback,
    ...                rng=0, maxiter=10, popsize=5)
    >>> found.x.round(3).tolist(), list(reuse.weights), len(reuse.weight_history)
    ([0.3, 0.3, 0.3], ['first'], 11)
    """

    @old_words(_OLD)
    def __init__(
        self,
        fun: Callable[..., Any],
        bounds: Any,
        sources: Any = (),
        *,
        learner: DE | None = None,
        reuse: ReuseConfig | None = None,
        model: Model | ModelConfig | None = None,
        integrality: ArrayLike | None = None,
        callback: Callable[..., object] | None = None,
        rng: int | np.integer | np.random.Generator | None = None,
        progress: bool | None = False,
    ) -> None:
        if not callable(fun):
            raise ConfigError(f"fun must be callable; got {type(fun).__name__}.")
        low, high = box(bounds)
        whole = False if integrality is None else integrality
        self._whole = np.broadcast_to(np.asarray(whole, bool), low.shape)
        low, high = np.where(self._whole, [np.ceil(low), np.floor(high)], [low, high])
        # sources, model, weights and history are kept as for our own loop
        self._past = Optimizer(
            np.stack([low, high], axis=1),
            sources,
            learner=DE() if learner is None else learner,
            reuse=reuse,
            model=model,
            rng=rng,
            progress=progress,
        )
        self._fun, self._callback = fun, callback
        self._low, self._high = _inner(low, high)
        # it only makes trials; scipy evaluates them
        self._learner = DifferentialEvolution(fun, self._low, self._high)
        size = np.maximum(np.abs(low), np.abs(high))
        self._near = _NEAR * (high - low) + _ROUNDING * size + np.finfo(np.float64).tiny
        self._values: dict[bytes, float] = {}
        self._rows: list[tuple[np.ndarray, float]] = []
        self._settled = 0  # rows that have joined a generation
        self._generation: _Generation | None = None
        self._settings: DE | None = None  # for as many agents as scipy has

    # for scipy

    def fun(self, x: Float64[np.ndarray, "..."], *args: Any) -> Any:
        """Your function, remembered.

        Parameters
        ----------
        x
            One point, or (D, S) with vectorized=True.
        *args
            Passed on to your function.

        Returns
        -------
        float or array
            What your function gave.
        """
        points = np.array(x, np.float64, ndmin=2) if np.ndim(x) < 2 else np.array(x, np.float64).T
        values = self._fun(x, *args)
        found = np.asarray(values, np.float64).ravel()
        if len(found) == len(points):  # else scipy says what is wrong
            worst = np.where(np.isfinite(found), found, np.inf).tolist()
            # scipy shows members to the strategy with the very bits that are evaluated here
            self._values.update(zip((p.tobytes() for p in points), worst, strict=True))
            self._rows.extend(zip(points, worst, strict=True))
        return values

    def strategy(
        self,
        candidate: int,
        population: Float64[np.ndarray, "S D"],
        rng: np.random.Generator | np.random.RandomState | None = None,
    ) -> Float64[np.ndarray, " D"]:
        """The trial for one member of the population. [Eq. try_first]

        Parameters
        ----------
        candidate
            The member's position.
        population
            All members, as scipy hands them over.
        rng
            scipy's; the reuse's own if there is none.

        Returns
        -------
        Array
            The point to try.
        """
        self._settle()
        now = self._generation
        if now is None or len(now.y) != len(population) or not np.isnan(now.x[candidate, 0]):
            self._close()
            now = self._generation = self._begin(population, rng)
        first = now.chosen.others[0, candidate]
        f = np.full(len(population), np.nan)  # only these two are looked at
        for member in (first, candidate):
            f[member] = self._values.get(population[member].tobytes(), np.inf)
        drawn = None if self._waits_for_the_same(now, candidate) else now.drawn
        point, source, which = self._learner.trial(population, f, now.chosen, drawn, candidate)
        point = np.where(self._whole, np.round(point), np.clip(point, self._low, self._high))
        now.x[candidate], now.held[candidate] = point, f[candidate]
        now.sources[candidate], now.which[candidate] = source, which
        return point

    def callback(self, intermediate_result: OptimizeResult) -> bool:
        """Close a generation: new weights. Then your own callback is called, if there is one.

        Parameters
        ----------
        intermediate_result
            As scipy hands it over; your own finds `weights` in it.

        Returns
        -------
        bool
            Whether your own wants to stop.
        """
        if intermediate_result.nfev > self.nfev:
            raise ConfigError(
                f"scipy made {intermediate_result.nfev} evaluations, of which {self.nfev} were "
                "seen. Pass reuse.fun as the function, and workers=1: what other processes "
                "evaluate cannot be remembered. vectorized=True is a fast way in one process."
            )
        self._settle()
        self._close()
        if self._callback is None:
            return False
        intermediate_result.weights = self.weights
        if set(inspect.signature(self._callback).parameters) == {"intermediate_result"}:
            return bool(self._callback(intermediate_result=intermediate_result))
        x = np.copy(intermediate_result.x)
        return bool(self._callback(x, intermediate_result.convergence))

    # what is known

    @property
    def weights(self) -> dict[str, float]:
        """The share of each past run now; what is missing to one is "nobody"."""
        return self._past.weights

    @property
    def weight_history(self) -> Float64[np.ndarray, "generations N"]:
        """Weights after the first population, and after each generation."""
        history = self._past.weight_history
        return np.reshape(history, (len(history), len(self._past.names)))

    @property
    def sources_used(self) -> dict[str, int]:
        """How many trials were made with each past run."""
        used = np.sum([np.zeros(len(self._past.names)), *self._past.use_history], axis=0)
        return dict(zip(self._past.names, used.astype(int).tolist(), strict=True))

    @property
    def nfev(self) -> int:
        """Points evaluated; scipy counts calls with vectorized=True."""
        return len(self._rows)

    @property
    def x_all(self) -> Float64[np.ndarray, "n D"]:
        """Every point evaluated, polishing included."""
        return np.array([x for x, _ in self._rows]).reshape(-1, len(self._low))

    @property
    def fun_all(self) -> Float64[np.ndarray, " n"]:
        """Their values; infinite where one was not a number."""
        return np.array([y for _, y in self._rows])

    def ranking(self) -> Ranking | None:
        """The weights with intervals and what they rest on; None where no model was needed."""
        return self._past.ranking()

    # generations

    def _begin(self, population: np.ndarray, rng: Any) -> _Generation:
        S, D = population.shape
        if len(self._low) != D:
            have = len(self._low)
            raise ConfigError(f"Reuse has {have} bounds, scipy has {D}. Give both the same.")
        rng = self._past.rng if rng is None else np.random.default_rng(rng)
        if self._settings is None or self._settings.population != S:
            self._settings = replace(self._past.learner, population=S)  # pyright: ignore
        assert self._settings is not None
        chosen = self._settings.plan(rng, D)
        reuse = self._past.reuse
        drawn = None if reuse is None else reuse.guide().draw(S)
        empty = np.full((2, S), np.nan)
        return _Generation(chosen, drawn, np.full((S, D), np.nan), *empty, *np.full((2, S), -1))

    def _waits_for_the_same(self, now: _Generation, candidate: int) -> bool:
        """Whether the point to try is being tried for another member, its value not yet known."""
        if now.drawn is None or not np.isnan(now.drawn.values[candidate]):
            return False
        source, which = now.drawn.sources[candidate], now.drawn.which[candidate]
        return bool(np.any((now.sources == source) & (now.which == which)))

    def _settle(self) -> None:
        """Find the trials that the new rows are. scipy's scaling moves them by a rounding."""
        now, rows = self._generation, self._rows[self._settled :]
        if now is None:
            return
        self._settled = len(self._rows)
        for x, y in rows:
            gap = np.max(np.abs(now.x - x) / self._near, axis=1)
            gap[np.isnan(gap) | ~np.isnan(now.y)] = np.inf
            j = int(np.argmin(gap))
            if gap[j] > 1:
                raise ConfigError(
                    f"scipy evaluated {x.tolist()}, which is no trial of this strategy. Give Reuse "
                    "and differential_evolution the same bounds and integrality."
                )
            now.x[j], now.y[j] = x, y
            if now.drawn is not None and now.which[j] >= 0:
                same = (now.drawn.sources == now.sources[j]) & (now.drawn.which == now.which[j])
                now.drawn = replace(now.drawn, values=np.where(same, y, now.drawn.values))

    def _close(self) -> None:
        """Rows to weights, after the first population and after each generation."""
        now, rows = self._generation, self._rows[self._settled :]
        self._generation, self._settled = None, len(self._rows)
        past = self._past
        if past.reuse is None or (now is None and not rows):
            return
        if now is None:
            seen = Experience(np.array([x for x, _ in rows]), np.array([y for _, y in rows]))
        else:
            seen = now.experience()
            used = now.sources[now.sources >= 0]
            past.use_history.append(np.bincount(used, minlength=len(past.names)))
        past.reuse = after(past.reuse, seen, start=seen.sources is None)
        past.weight_history.append(past.reuse.trust.weights)


def _but_scipys(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Our words of the version before as those of now; what scipy has a word for stays.

    >>> _but_scipys({"elites": 4, "mutation": 0.8})[1]
    {'elites': 'reuse=bers.ReuseConfig(elites=4)'}
    """
    found, said = _OLD({name: words[name] for name in words if name not in _SCIPYS})
    return found | {name: words[name] for name in words if name in _SCIPYS}, said


@old_words(_but_scipys)
def differential_evolution(
    func: Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    *,
    sources: Any = (),
    rng: int | np.integer | np.random.Generator | None = None,
    integrality: ArrayLike | None = None,
    workers: Any = 1,
    **settings: Any,
) -> OptimizeResult:
    """scipy's differential_evolution with a `Reuse`: one call.

    Parameters
    ----------
    func, bounds, args, integrality
        As scipy takes them.
    sources
        Past runs, as in `bers.minimize`.
    rng
        Of scipy and of the reuse: the same one gives the same run.
    workers
        1, or a map of this process.
    **settings
        All other arguments of scipy, and all of `Reuse`, whose defaults hold for both.

    Returns
    -------
    OptimizeResult
        scipy's, with x_all and fun_all, every point evaluated, which make it a source of the next
        run; and, given sources, with weights, weight_history, sources_used and ranking.

    Examples
    --------
    >>> def sphere(x):
    ...     return np.sum((x - 0.3) ** 2)
    >>> first = differential_evolution(sphere, [(-1, 1)] * 3, rng=0, popsize=5, maxiter=20)
    >>> settings = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2)
    >>> new = differential_evolution(lambda x: 5 * sphere(x) + 2, [(-1, 1)] * 3, rng=1, popsize=5,
    ...                              sources={"first": first}, maxiter=3, model=settings)
    >>> bool(new.fun < 2.001), list(new.weights), len(new.fun_all) == new.nfev
    (True, ['first'], True)
    """
    if "strategy" in settings:
        raise ConfigError("strategy is rand/1/bin with reuse here. Leave it out, or call scipy.")
    if not callable(workers) and workers != 1:
        raise ConfigError(
            f"workers must be 1; got {workers!r}. What other processes evaluate cannot be "
            "remembered. Use vectorized=True, or bers.minimize(workers=...)."
        )
    stream = np.random.default_rng(rng)
    own = stream.spawn(1)[0]  # draws nothing, so the first population is scipy's own
    both = {"mutation", "recombination"} & settings.keys()  # scipy's words, and our learner's
    if both and settings.get("learner") is not None:
        raise ConfigError(f"{min(both)}= is part of learner=DE(...) here. Set it in one place.")
    if both:
        settings["learner"] = DE(**{name: settings.pop(name) for name in both})
    names = inspect.signature(Reuse).parameters.keys() & settings.keys()
    ours = {name: settings.pop(name) for name in names}
    reuse = Reuse(func, bounds, sources, rng=own, integrality=integrality, **ours)
    settings.update(strategy=reuse.strategy, callback=reuse.callback, rng=stream)
    settings.update(integrality=integrality, workers=workers)
    result = Result(scipys_differential_evolution(reuse.fun, bounds, args, **settings))
    result.update(x_all=reuse.x_all, fun_all=reuse.fun_all)
    if reuse.weights:
        result.update(
            weights=reuse.weights, weight_history=reuse.weight_history,
            sources_used=reuse.sources_used, ranking=reuse.ranking(),
        )  # fmt: skip
    return result


def _inner(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends that scipy's scaling to [0, 1] keeps inside: what falls outside is drawn anew."""
    middle, width = 0.5 * (low + high), np.abs(low - high)
    with np.errstate(divide="ignore"):
        scale = np.where(width > 0, 1 / width, 0.0)
    step = np.spacing(np.maximum(np.abs(low), np.abs(high)))
    for _ in range(8):
        low = np.where((low - middle) * scale + 0.5 < 0, low + step, low)
        high = np.where((high - middle) * scale + 0.5 > 1, high - step, high)
    return low, high
