"""Any object with `ask` and `tell` as a learner of points.

Enters: somebody else's optimiser. Leaves: a learner for `minimize(learner=...)`. Points of past
runs are put in place of some that it asked for, and it is told their values as if it had asked for
them. With the guard "trial" each is put there once, to be tried; with the others, whenever it is
drawn.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy.typing import ArrayLike

from bers.errors import ConfigError
from bers.learners.base import Evaluate, Experience
from bers.reuse.points import Drawn, PointGuide


@dataclass(frozen=True)
class AskTell:
    """An optimiser of your own, for `minimize` and `Optimizer`.

    Parameters
    ----------
    optimizer
        Has `ask()`, which gives one point or rows of points, and `tell(x, y)`, which takes rows and
        their values, the less the better. If it has `should_stop()`, that ends the search.

    Examples
    --------
    >>> class Halving:
    ...     def __init__(self):
    ...         self.best, self.width = np.zeros(2), 1.0
    ...     def ask(self):
    ...         steps = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    ...         return np.clip(self.best + self.width * steps, -1, 1)
    ...     def tell(self, x, y):
    ...         self.best, self.width = x[np.argmin(y)], 0.7 * self.width
    >>> from bers import minimize
    >>> bool(minimize(lambda x: np.sum((x - 0.5) ** 2), [(-1, 1)] * 2, rng=0, maxiter=30,
    ...               learner=AskTell(Halving())).fun < 0.01)
    True
    """

    optimizer: Any

    def __post_init__(self) -> None:
        for name in ("ask", "tell"):
            if not callable(getattr(self.optimizer, name, None)):
                raise ConfigError(
                    f"learner must be one of bers.learners, or have ask and tell; "
                    f"{type(self.optimizer).__name__} has no {name}."
                )

    def first(
        self, rng: np.random.Generator, low: np.ndarray, high: np.ndarray, x0: ArrayLike | None
    ) -> tuple[np.ndarray, None]:
        """None: what to begin with is the optimiser's own affair.

        Parameters
        ----------
        rng
            Not used.
        low, high
            Ends of the box.
        x0
            Must be None: start your own optimiser there instead.

        Returns
        -------
        tuple
            No rows of points, and None for their values.
        """
        if x0 is not None:
            raise ConfigError("x0 is for learners of ours. Start your own optimiser at x0 instead.")
        return np.zeros((0, len(low))), None

    def on(self, evaluate: Evaluate, low: np.ndarray, high: np.ndarray) -> "_Asking":
        """The search over a box.

        Parameters
        ----------
        evaluate
            From rows of points to their values; fewer values than rows: no more are known.
        low, high
            Ends of the box; points asked for are moved inside.

        Returns
        -------
        Search
            See `bers.learners.base.Search`.
        """
        return _Asking(self.optimizer, evaluate, low, high)


@dataclass(frozen=True)
class _Told:
    """The last points and their values."""

    x: Float64[np.ndarray, "k D"]
    f: Float64[np.ndarray, " k"]


@dataclass(frozen=True)
class _Asked:
    """What an iteration wants to know."""

    state: _Told
    x: Float64[np.ndarray, "k D"]
    drawn: Drawn | None
    new: np.ndarray
    """Where a point of a source stands."""

    @property
    def size(self) -> int:
        """Values that it needs."""
        return len(self.x)


@dataclass(frozen=True)
class _Asking:
    optimizer: Any
    evaluate: Evaluate
    low: np.ndarray
    high: np.ndarray

    def opened(self, x: np.ndarray, f: np.ndarray) -> _Told:
        return _Told(x, f)

    def begin(self, rng: np.random.Generator, state: _Told, guide: PointGuide | None) -> _Asked:
        x = np.clip(_asked(self.optimizer.ask(), len(self.low)), self.low, self.high)
        new, drawn = np.zeros(len(x), bool), None
        if guide is not None:
            drawn = guide.draw(len(x))
            # not tried yet; or, for guards that ask for no trial, whatever it is worth
            new = drawn.reused & (np.isnan(drawn.values) | np.isneginf(drawn.values))
            pairs = np.stack([drawn.sources, drawn.which], axis=1)[new]
            new[np.flatnonzero(new)] = _first_of_each(pairs)
            x = np.where(new[:, None], drawn.points, x)
        return _Asked(state, x, drawn, new)

    def advance(self, begun: _Asked) -> tuple[_Told, Experience]:
        y = self.evaluate(begun.x)
        x = begun.x[: len(y)]
        if begun.drawn is None:
            seen = Experience(x, y)
        else:
            sources = np.where(begun.new, begun.drawn.sources, -1)[: len(y)]
            tried = np.where(begun.new, begun.drawn.which, -1)[: len(y)]
            best = begun.state.f.min(initial=np.inf)
            seen = Experience(x, y, sources, y < best, tried)
        if len(y) < begun.size:
            return begun.state, seen
        self.optimizer.tell(x.copy(), y.copy())
        return _Told(x, y), seen

    def iterate(
        self, rng: np.random.Generator, state: _Told, guide: PointGuide | None = None
    ) -> tuple[_Told, Experience]:
        return self.advance(self.begin(rng, state, guide))

    def converged(self, state: _Told) -> bool:
        stop = getattr(self.optimizer, "should_stop", None)
        return bool(stop()) if callable(stop) and len(state.f) else False


def _asked(points: Any, D: int) -> np.ndarray:
    try:
        x = np.atleast_2d(np.array(points, np.float64))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"ask() must give rows of {D} numbers: {error}.") from error
    if x.ndim != 2 or x.shape[1] != D or not len(x):
        raise ConfigError(f"ask() must give one or more rows of {D} numbers; got shape {x.shape}.")
    if not np.isfinite(x).all():
        raise ConfigError("ask() must give finite numbers; some are not.")
    return x


def _first_of_each(pairs: np.ndarray) -> np.ndarray:
    first = np.zeros(len(pairs), bool)
    if len(pairs):
        first[np.unique(pairs, axis=0, return_index=True)[1]] = True
    return first
