"""Usual ways to learn from several groups, with penalties chosen by cross-validation.

Enters: rows to learn from, rows to foretell, the group of each. Leaves: labels foretold.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bers_studies.regression.problems import Problem

_PENALTIES = np.logspace(-2, 5, 15)
_TREES = {"min_samples_leaf": [5, 20], "max_leaf_nodes": [8, 31]}
Rival = Callable[[Problem, np.ndarray, np.ndarray], np.ndarray]
"""From rows with labels, and inputs and groups without, to labels."""


def pooled_ridge(known: Problem, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """One line for all groups."""
    return _ridge().fit(known.X, known.y).predict(X)


def ridge_alone(known: Problem, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """A line for each group, from its own rows, with a penalty of its own."""
    found = np.zeros(len(X))
    for group in np.unique(groups):
        own, asked = known.groups == group, groups == group
        found[asked] = _ridge().fit(known.X[own], known.y[own]).predict(X[asked])
    return found


def residual_ridge(known: Problem, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """One line for all, and for each group a line for what is left; one penalty for all of these.

    The penalty is the one with the least squared error of leaving out one row at a time.
    """
    scale = StandardScaler().fit(known.X)
    whole = RidgeCV(_PENALTIES).fit(scale.transform(known.X), known.y)
    left = known.y - whole.predict(scale.transform(known.X))
    errors = np.zeros(len(_PENALTIES))
    for group in np.unique(known.groups):
        own = known.groups == group
        Z = np.column_stack([scale.transform(known.X[own]), np.ones(own.sum())])
        errors += [_left_out_error(Z, left[own], penalty) for penalty in _PENALTIES]
    penalty = _PENALTIES[np.argmin(errors)]
    found = whole.predict(scale.transform(X))
    for group in np.unique(groups):
        own, asked = known.groups == group, groups == group
        Z = np.column_stack([scale.transform(known.X[own]), np.ones(own.sum())])
        w = np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ left[own])
        found[asked] += np.column_stack([scale.transform(X[asked]), np.ones(asked.sum())]) @ w
    return found


def boosting(known: Problem, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Boosted trees with the group as a category."""
    names = np.unique(known.groups)
    code = np.searchsorted(names, known.groups)[:, None], np.searchsorted(names, groups)[:, None]
    model = _trees(len(known.y), categorical_features=[known.X.shape[1]])
    return model.fit(np.hstack([known.X, code[0]]), known.y).predict(np.hstack([X, code[1]]))


def boosting_alone(known: Problem, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Boosted trees for each group, from its own rows."""
    found = np.zeros(len(X))
    for group in np.unique(groups):
        own, asked = known.groups == group, groups == group
        model = _trees(int(own.sum()))
        found[asked] = model.fit(known.X[own], known.y[own]).predict(X[asked])
    return found


RIVALS: dict[str, Rival] = {
    "pooled ridge": pooled_ridge,
    "ridge alone": ridge_alone,
    "pooled + residual ridge": residual_ridge,
    "boosting, group as category": boosting,
    "boosting alone": boosting_alone,
}
"""By name."""


def _ridge() -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(_PENALTIES))


def _trees(n: int, **more: Any) -> Any:
    model = HistGradientBoostingRegressor(learning_rate=0.05, max_iter=200, random_state=0, **more)
    if n < 20:
        return model.set_params(min_samples_leaf=max(1, n // 4))
    return GridSearchCV(model, _TREES, cv=3)


def _left_out_error(Z: np.ndarray, y: np.ndarray, penalty: float) -> float:
    """Sum of squared errors when each row is left out once, in closed form."""
    H = Z @ np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T)
    return float(np.sum(((y - H @ y) / (1 - np.diagonal(H))) ** 2))
