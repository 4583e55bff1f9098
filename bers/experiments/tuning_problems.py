"""Related tuning problems: models of scikit-learn on the data sets that come with it.

Enters: the name of a family. Leaves: its problems, each an objective for Optuna. Numbers are
snapped to a grid before a model is fitted, and what was fitted once is remembered, so that many
searches cost little. Every value is a cross-validated error of a model that was really fitted.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

_ROWS = 120  # of a data set at most: what matters is the shape of the error, not its size
_FOLDS = 3


@dataclass(frozen=True)
class Number:
    """A parameter on a grid of `levels` values from low to high."""

    low: float
    high: float
    levels: int
    log: bool = True
    whole: bool = False

    def level(self, value: float) -> int:
        """The nearest grid point.

        >>> Number(0.01, 100, 5).level(0.9)
        2
        """
        ends = np.log([self.low, self.high]) if self.log else np.array([self.low, self.high])
        at = np.log(value) if self.log else value
        return int(np.rint((at - ends[0]) / (ends[1] - ends[0]) * (self.levels - 1)))

    def value(self, level: int) -> float:
        """The value at a grid point.

        >>> round(Number(0.01, 100, 5).value(2), 9)
        1.0
        """
        space = np.geomspace if self.log else np.linspace
        return float(space(self.low, self.high, self.levels)[level])


Parameter = Number | tuple[str, ...]


@dataclass
class Problem:
    """One objective; the less the better."""

    name: str
    space: Mapping[str, Parameter]
    error: Callable[[dict[str, Any]], float]
    known: dict[tuple[Any, ...], float] = field(default_factory=dict)

    def __call__(self, trial: Any) -> float:
        """Suggest all parameters to a trial of Optuna, and give the error there."""
        return self.at({name: suggest(trial, name, of) for name, of in self.space.items()})

    def at(self, params: Mapping[str, Any]) -> float:
        """The error at the nearest grid point."""
        key = tuple(
            of.level(params[name]) if isinstance(of, Number) else params[name]
            for name, of in self.space.items()
        )
        if key not in self.known:
            snapped = {
                name: of.value(at) if isinstance(of, Number) else at
                for (name, of), at in zip(self.space.items(), key, strict=True)
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # bad settings fail to converge; the error says so
                self.known[key] = float(self.error(snapped))
        return self.known[key]


def suggest(trial: Any, name: str, of: Parameter) -> Any:
    """A parameter from Optuna."""
    if isinstance(of, tuple):
        return trial.suggest_categorical(name, of)
    if of.whole:
        return trial.suggest_int(name, int(of.low), int(of.high), log=of.log)
    return trial.suggest_float(name, of.low, of.high, log=of.log)


@cache
def family(name: str) -> tuple[Problem, ...]:
    """The problems of a family, by name.

    >>> [problem.name for problem in family("support vectors")]
    ['digits', 'wine', 'breast cancer', 'iris']
    """
    return {"support vectors": _support, "boosting": _boosting, "kernel ridge": _ridge}[name]()


FAMILIES = ("kernel ridge", "support vectors", "boosting")


def _some(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random part of the rows, every column scaled."""
    rows = rng.permutation(len(y))[:_ROWS]
    X = X[rows]
    spread = X.std(0)
    return (X - X.mean(0)) / np.where(spread > 0, spread, 1.0), y[rows]


def _folds(n: int):
    """Rows to fit on and rows to score, fold by fold."""
    part = np.arange(n) % _FOLDS
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(_FOLDS)]


def _support() -> tuple[Problem, ...]:
    """Share of wrong classes of a support vector machine."""
    from sklearn import datasets
    from sklearn.svm import SVC

    space = {
        "C": Number(1e-3, 1e4, 36),
        "gamma": Number(1e-5, 1e1, 31),
        "kernel": ("rbf", "sigmoid", "poly"),
    }

    def problem(name: str, load: Callable[..., Any]) -> Problem:
        X_all, y_all = load(return_X_y=True)
        X, y = _some(X_all, y_all, np.random.default_rng(0))

        def error(params: dict[str, Any]) -> float:
            wrong = [
                SVC(**params, max_iter=20000).fit(X[fit], y[fit]).predict(X[score]) != y[score]
                for fit, score in _folds(len(y))
            ]
            return float(np.mean(np.concatenate(wrong)))

        return Problem(name, space, error)

    return (
        problem("digits", datasets.load_digits),
        problem("wine", datasets.load_wine),
        problem("breast cancer", datasets.load_breast_cancer),
        problem("iris", datasets.load_iris),
    )


def _boosting() -> tuple[Problem, ...]:
    """Root mean square error of boosted trees, in standard deviations."""
    from sklearn import datasets
    from sklearn.ensemble import GradientBoostingRegressor

    trees = Number(5, 80, 13, whole=True)
    space = {
        "learning_rate": Number(0.02, 1.0, 8),
        "trees": trees,
        "depth": Number(1, 4, 4, log=False, whole=True),
        "leaf": Number(1, 27, 4, whole=True),
    }

    def problem(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
        X, y = _some(X, y, np.random.default_rng(0))
        y = (y - y.mean()) / y.std()

        @cache
        def errors(rate: float, depth: int, leaf: int) -> np.ndarray:
            squares = np.zeros(int(trees.high))
            for fit, score in _folds(len(y)):
                model = GradientBoostingRegressor(
                    learning_rate=rate, max_depth=depth, min_samples_leaf=leaf,
                    n_estimators=len(squares), random_state=0,
                ).fit(X[fit], y[fit])  # fmt: skip
                for i, guess in enumerate(model.staged_predict(X[score])):
                    squares[i] += np.sum((guess - y[score]) ** 2)
            return np.sqrt(squares / len(y))

        def error(params: dict[str, Any]) -> float:
            own = params["learning_rate"], round(params["depth"]), round(params["leaf"])
            return float(errors(*own)[round(params["trees"]) - 1])

        return Problem(name, space, error)

    made: dict[str, Any] = {"n_samples": _ROWS, "random_state": 0}
    diabetes: Any = datasets.load_diabetes(return_X_y=True)
    return (
        problem("diabetes", *diabetes),
        problem("Friedman 1", *datasets.make_friedman1(noise=1.0, **made)),
        problem("Friedman 2", *datasets.make_friedman2(noise=100.0, **made)),
        problem("Friedman 3", *datasets.make_friedman3(noise=0.1, **made)),
    )


def _ridge() -> tuple[Problem, ...]:
    """Root mean square error of kernel ridge regression on questions about digits."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge

    space = {
        "alpha": Number(1e-5, 1e2, 29),
        "gamma": Number(1e-5, 1e1, 25),
        "kernel": ("rbf", "laplacian", "sigmoid"),
        "components": Number(2, 40, 10, whole=True),
    }
    digits: Any = load_digits(return_X_y=True)
    X_all, digit = digits

    def problem(name: str, which: tuple[int, ...], part: int) -> Problem:
        rows = np.flatnonzero(np.arange(len(digit)) % 4 == part)
        X, y = _some(X_all[rows], np.isin(digit[rows], which), np.random.default_rng(0))
        y = 2.0 * y - 1.0
        turned = PCA(40, random_state=0).fit_transform(X)

        def error(params: dict[str, Any]) -> float:
            Z = turned[:, : round(params["components"])]
            model = KernelRidge(
                alpha=params["alpha"], gamma=params["gamma"], kernel=params["kernel"]
            )
            squares = [
                np.sum((model.fit(Z[fit], y[fit]).predict(Z[score]) - y[score]) ** 2)
                for fit, score in _folds(len(y))
            ]
            return float(np.sqrt(sum(squares) / len(y)))

        return Problem(name, space, error)

    return (
        problem("even", (0, 2, 4, 6, 8), 0),
        problem("below five", (0, 1, 2, 3, 4), 1),
        problem("with a loop", (0, 6, 8, 9), 2),
        problem("prime", (2, 3, 5, 7), 3),
    )
