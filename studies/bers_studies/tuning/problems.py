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

    >>> [problem.name for problem in family("boosting")]
    ['young', 'middle-aged', 'old']
    """
    return {
        "kernel ridge": _ridge,
        "support vectors": _parts_of_digits,
        "boosting": _ages,
        "support vectors, other data": _data_sets,
        "boosting, other data": _regressions,
    }[name]()


FAMILIES = (
    "kernel ridge",
    "support vectors",
    "boosting",
    "support vectors, other data",
    "boosting, other data",
)
"""Three with data of one kind each, and two with data that have little in common."""


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


def _support(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    """Share of wrong classes of a support vector machine."""
    from sklearn.svm import SVC

    space = {
        "C": Number(1e-3, 1e4, 36),
        "gamma": Number(1e-5, 1e1, 31),
        "kernel": ("rbf", "sigmoid", "poly"),
    }

    def error(params: dict[str, Any]) -> float:
        wrong = [
            SVC(**params, max_iter=20000).fit(X[fit], y[fit]).predict(X[score]) != y[score]
            for fit, score in _folds(len(y))
        ]
        return float(np.mean(np.concatenate(wrong)))

    return Problem(name, space, error)


def _parts_of_digits() -> tuple[Problem, ...]:
    """The same question about other rows, as in a model that is tuned anew once a month."""
    from sklearn.datasets import load_digits

    digits: Any = load_digits(return_X_y=True)
    X, y = digits[0] / 6 - 0.8, digits[1]  # about mean 0 and spread 1, the same for all parts
    return tuple(_support(f"part {k + 1}", X[k::6], y[k::6]) for k in range(3))


def _data_sets() -> tuple[Problem, ...]:
    from sklearn import datasets

    def problem(name: str, load: Callable[..., Any]) -> Problem:
        X, y = load(return_X_y=True)
        return _support(name, *_some(X, y, np.random.default_rng(0)))

    return (
        problem("digits", datasets.load_digits),
        problem("wine", datasets.load_wine),
        problem("breast cancer", datasets.load_breast_cancer),
    )


def _boosted(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    """Root mean square error of boosted trees, in standard deviations."""
    from sklearn.ensemble import GradientBoostingRegressor

    trees = Number(5, 80, 13, whole=True)
    space = {
        "learning_rate": Number(0.02, 1.0, 8),
        "trees": trees,
        "depth": Number(1, 4, 4, log=False, whole=True),
        "leaf": Number(1, 27, 4, whole=True),
    }
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


def _ages() -> tuple[Problem, ...]:
    """Diabetes, in three groups of patients by age."""
    from sklearn.datasets import load_diabetes

    found: Any = load_diabetes(return_X_y=True)
    X, y = found
    groups = np.array_split(np.argsort(X[:, 0], kind="stable"), 3)
    mixed = [np.random.default_rng(0).permutation(group) for group in groups]
    names = ("young", "middle-aged", "old")
    return tuple(_boosted(name, X[g], y[g]) for name, g in zip(names, mixed, strict=True))


def _regressions() -> tuple[Problem, ...]:
    from sklearn import datasets

    made: dict[str, Any] = {"n_samples": _ROWS, "random_state": 0}
    diabetes: Any = datasets.load_diabetes(return_X_y=True)
    given = {
        "diabetes": diabetes,
        "Friedman 1": datasets.make_friedman1(noise=1.0, **made),
        "Friedman 2": datasets.make_friedman2(noise=100.0, **made),
    }
    return tuple(
        _boosted(name, *_some(X, y, np.random.default_rng(0))) for name, (X, y) in given.items()
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
    )
