"""What the rows of all groups say together, as columns that each group's head may use.

Enters: inputs and labels of every group. Leaves: two columns for each row. Boosted trees on all
rows foretell the labels as they are, and in the units of their group. A row that trained them would
be foretold too well, so it gets what the trees of the other rows say.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

_FOLDS = 5
_LEAF = 40  # rows; smaller leaves learn single groups
_LEAST = 10 * _LEAF  # rows in all; below, such trees cannot say anything


class CommonPart:
    """Trees on the rows of all groups, as they are and in the units of each group.

    Parameters
    ----------
    groups
        For each group its inputs and its labels.

    Attributes
    ----------
    columns
        For each group, the columns of its own rows, from trees that have not seen them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (2, 300, 1))
    >>> common = CommonPart([(x[0], x[0, :, 0]), (x[1], 5 + x[1, :, 0])])
    >>> common.columns[1].shape
    (300, 2)
    >>> bool(common(x[0])[:, 1].std() > 0.5)
    True
    """

    def __init__(self, groups: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
        sizes = [len(y) for _, y in groups]
        X = np.concatenate([x for x, _ in groups])
        y = np.concatenate([labels for _, labels in groups])
        units = np.concatenate([_in_units(labels) for _, labels in groups])
        fold = np.random.default_rng(0).permutation(len(X)) % _FOLDS
        told = np.zeros((len(X), 2))
        for column, labels in enumerate((y, units)):
            for each in range(_FOLDS):
                trees = _trees(X[fold != each], labels[fold != each])
                told[fold == each, column] = trees.predict(X[fold == each])
        self._middle, spread = told.mean(axis=0), told.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._trees = [_trees(X, labels) for labels in (y, units)]
        scaled = (told - self._middle) / self._spread
        self.columns = np.split(scaled, np.cumsum(sizes)[:-1])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The columns of rows that were not among those of the groups."""
        told = np.stack([trees.predict(X) for trees in self._trees], axis=1)
        return (told - self._middle) / self._spread

    @staticmethod
    def worth_it(groups: int, rows: int) -> bool:
        """Whether there is somebody to share with, and rows enough for trees."""
        return groups > 1 and rows >= _LEAST


def _in_units(y: np.ndarray) -> np.ndarray:
    """Labels of one group about their mean, in their standard deviations."""
    spread = y.std()
    return (y - y.mean()) / (spread if spread > 0 else 1.0)


def _trees(X: np.ndarray, y: np.ndarray) -> HistGradientBoostingRegressor:
    settings: dict[str, Any] = {
        "learning_rate": 0.05,
        "max_iter": 150,
        "max_leaf_nodes": 8,
        "min_samples_leaf": _LEAF,
        "early_stopping": False,
        "random_state": 0,
    }
    return HistGradientBoostingRegressor(**settings).fit(X, y)
