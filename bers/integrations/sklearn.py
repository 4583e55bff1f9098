"""A regressor for rows of several groups, in the words of scikit-learn.

Enters: inputs, labels, and the group of each row. Leaves: an estimator with fit and predict. The
groups are the sources of one model: they share its encoder, and each has a head whose prior comes
from the others' heads (`bers.model.pooling`).
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from bers.data.demonstrations import Demonstrations
from bers.errors import ConfigError, DataError
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit
from bers.model.pooling import Averaged, pool
from bers.model.scaling import InputScale

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.metrics import r2_score
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

    from bers.integrations.common_part import CommonPart
except ImportError as error:
    raise ConfigError(
        "bers.sklearn needs scikit-learn 1.6 or later: pip install 'bers[sklearn]'"
    ) from error

_HELD_OUT = 0.2  # of the rows, where the model held out none
_DOUBT = 3.0  # rows of a new group that would say: views count as they do for the others
_SMALL = 1e-9
_ENOUGH_ROWS = 8  # fewer say too little about the spread of their columns


class MultiSourceRegressor(RegressorMixin, BaseEstimator):
    """Regression on rows of several groups: schools, machines, people, laboratories.

    Groups share what they have in common, and each keeps what is its own. A group with few rows
    leans on the others, one with many on itself, and one that is unlike the others is left alone.

    Parameters
    ----------
    model
        Encoder, prior and training; None for the defaults of `bers.ModelConfig`.
    random_state
        The same whole number gives the same estimator.

    Attributes
    ----------
    groups_
        The groups seen in fit, sorted, then those that were added by `adapt`.
    weights_
        For each of them, how much its prior is the others': 0 is alone, 1 is wholly.
    model_
        The `bers.Model` behind it.
    n_features_in_
        Columns of X.
    feature_names_in_
        Their names, where X was a data frame.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 2))
    >>> groups = np.repeat(["ann", "bob", "cy"], 100)
    >>> y = X[:, 0] + np.repeat([1.0, 2.0, 3.0], 100)
    >>> config = ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2)
    >>> known = MultiSourceRegressor(model=config).fit(X, y, groups=groups)
    >>> known.predict([[0.5, 0.0], [0.5, 0.0]], groups=["ann", "cy"]).round(1).tolist()
    [1.5, 3.5]
    >>> more = known.adapt([[0.0, 0.0], [1.0, 0.0]], [9.0, 10.0], group="dee")
    >>> more.predict([[0.5, 0.0]], groups=["dee"]).round().tolist()
    [10.0]
    """

    def __init__(self, model: ModelConfig | None = None, random_state: Any = 0) -> None:
        self.model = model
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """Learn from the rows of all groups.

        Parameters
        ----------
        X
            Rows of numbers, an array or a data frame.
        y
            One label for each row.
        groups
            The group of each row: numbers or words. None: all are of one group.

        Returns
        -------
        MultiSourceRegressor
            Itself.
        """
        if self.model is not None and not isinstance(self.model, ModelConfig):
            raise ConfigError(
                f"MultiSourceRegressor(model=...) must be a bers.ModelConfig or None; got "
                f"{type(self.model).__name__}. Write model=bers.ModelConfig(...)."
            )
        X, y = _rows(self, X, y, reset=True)
        self.groups_, number = np.unique(_groups(groups, len(X), 0), return_inverse=True)
        parts = [np.flatnonzero(number == i) for i in range(len(self.groups_))]
        names = [str(group) for group in self.groups_]
        sources = [_Watched(X[p], y[p], name) for p, name in zip(parts, names, strict=True)]
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        self.model_ = fit(sources, config=self.model, rng=seed, progress=False)
        self._usual = np.median([_spread(X[p], np.ones(X.shape[1])) for p in parts], axis=0)
        self._common = self._common_part(sources)
        found = self._all_summarised(sources)
        views = list(zip(*(group.rows for group in found), strict=True))
        self._pools = [pool(view, config=self.model_.config) for view in views]
        self._shares = self._stacked(sources, found)
        heads = zip(*(each.heads for each in self._pools), strict=True)
        self._groups = [replace(g, heads=own) for g, own in zip(found, heads, strict=True)]
        return self

    def predict(
        self, X: ArrayLike, groups: ArrayLike | None = None, return_std: bool = False
    ) -> Any:
        """What each row's group is expected to say.

        Parameters
        ----------
        X
            Rows of numbers, with the columns of fit.
        groups
            The group of each row. One that was never seen gets what groups have in common. None:
            the only group, or, if there are several, one that was never seen.
        return_std
            Give the standard deviation of each label too, its noise included.

        Returns
        -------
        Array, or two
            One entry for each row.
        """
        check_is_fitted(self)
        rows: Any = validate_data(self, cast(Any, X), dtype=np.float64, reset=False)
        known = {group: i for i, group in enumerate(self.groups_.tolist())}
        only = self.groups_[0] if len(known) == 1 else None
        places = [known.get(group, -1) for group in _groups(groups, len(rows), only).tolist()]
        mean, std = np.zeros(len(rows)), np.zeros(len(rows))
        for place in set(places):
            chosen = np.flatnonzero(np.array(places) == place)
            mean[chosen], std[chosen] = self._predict(place, rows[chosen])
        return (mean, std) if return_std else mean

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """The share of the labels' variance that is explained.

        Parameters
        ----------
        X
            Rows of numbers, with the columns of fit.
        y
            Their labels.
        sample_weight
            How much each row counts in the score.
        groups
            The group of each row, as in predict.

        Returns
        -------
        float
            At most 1; scikit-learn's R².
        """
        said = self.predict(X, groups=groups)
        return float(r2_score(y, said, sample_weight=sample_weight))

    def adapt(self, X: ArrayLike, y: ArrayLike, group: Any) -> Any:
        """Take in rows of a new group, or more of a known one, without training again.

        Parameters
        ----------
        X
            Rows of numbers, with the columns of fit.
        y
            Their labels.
        group
            The one group that they are of.

        Returns
        -------
        MultiSourceRegressor
            Another one. This one is as it was.
        """
        check_is_fitted(self)
        X, y = _rows(self, X, y, reset=False)
        names = self.groups_.tolist()
        after = copy.copy(self)
        after._groups = list(self._groups)
        if group in names:
            place = names.index(group)
            known = self._groups[place]
            more = self._summarised(X, y, known.scale)
            rows = [nig.merge(*pair) for pair in zip(known.rows, more.rows, strict=True)]
            found = replace(known, rows=rows, seen=_joined(known.seen, (X, y)))
            fitted = place if place < len(self._pools[0].heads) else None
        else:
            after.groups_ = _groups([*names, group], len(names) + 1, None)
            place, fitted = len(names), None
            found = replace(self._summarised(X, y), seen=(X, y))
        pairs = zip(self._pools, found.rows, strict=True)
        found = replace(found, heads=[each.new(rows, without=fitted) for each, rows in pairs])
        after._groups[place:] = [self._weighed(found), *after._groups[place + 1 :]]
        return after

    @property
    def weights_(self) -> np.ndarray:
        """For each group, how much its prior is the others'."""
        check_is_fitted(self)
        informed = self._pools[0].informed
        leaning = [[h.share @ informed[h.which] for h in g.heads] for g in self._groups]
        shares = [self._shares if g.shares is None else g.shares for g in self._groups]
        return np.sum(np.array(leaning) * shares, axis=1)

    def _common_part(self, sources: Sequence[Demonstrations]) -> CommonPart | None:
        """What all groups say together; None where they are one, or too small."""
        if not CommonPart.worth_it(len(sources), sum(len(source.y) for source in sources)):
            return None
        return CommonPart([(source.x, source.y) for source in sources])

    def _views(
        self, X: np.ndarray, scale: InputScale | None, common: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """What heads can be linear in: encoder and inputs, inputs, the common part, inputs in own
        units. The columns of the common part are given for rows that its trees have seen."""
        x, one = self.model_.inputs.standardise(X).astype(np.float64), np.ones((len(X), 1))
        Phi = self.model_.features(X)
        found = [Phi if self.model_.config.skip else np.hstack([x, Phi]), np.hstack([x, one])]
        if self._common is not None:
            found.append(np.hstack([self._common(X) if common is None else common, one]))
        if scale is not None:
            found.append(np.hstack([(X - scale.mean) / scale.spread, one]))
        return found

    def _summarised(
        self,
        X: np.ndarray,
        y: np.ndarray,
        scale: InputScale | None = None,
        common: np.ndarray | None = None,
    ) -> "_Group":
        """The rows of one group in every view."""
        scale = scale or InputScale(X.mean(axis=0), _spread(X, self._usual))
        return _Group(scale, [nig.summarise(Phi, y) for Phi in self._views(X, scale, common)])

    def _all_summarised(
        self, sources: Sequence[Demonstrations], groups: Sequence["_Group"] | None = None
    ) -> list["_Group"]:
        """The rows that the common part has seen, in every view; in the units of `groups`."""
        nothing = [None] * len(sources)
        columns = self._common.columns if self._common is not None else nothing
        scales = [group.scale for group in groups] if groups else nothing
        each = zip(sources, scales, columns, strict=True)
        return [self._summarised(source.x, source.y, scale, told) for source, scale, told in each]

    def _stacked(self, sources: Sequence["_Watched"], groups: Sequence["_Group"]) -> np.ndarray:
        """The share of each view with which rows that the encoder has not seen are foreseen best.

        An encoder finds what it has seen likely, so the evidence cannot compare it with the inputs.
        """
        rng = np.random.default_rng(0)
        halves = [source.halves or source.split(rng, _HELD_OUT) for source in sources]
        kept = [first for first, _ in halves]
        whole, self._common = self._common, self._common and CommonPart([(k.x, k.y) for k in kept])
        seen = self._all_summarised(kept, groups)
        views = list(zip(*(group.rows for group in seen), strict=True))
        pools = [pool(view, config=self.model_.config) for view in views]
        foreseen, labels = [], []
        for i, ((_, held), group) in enumerate(zip(halves, groups, strict=True)):
            heads = [each.heads[i] for each in pools]
            unit = self._pools[0].label_scale(group.rows[0]).scale
            said = zip(heads, self._views(held.x, group.scale), strict=True)
            foreseen.append(np.stack([head.predict(Phi)[0] for head, Phi in said], axis=1) / unit)
            labels.append(held.y / unit)
        self._common = whole
        return _simplex_fit(np.concatenate(foreseen), np.concatenate(labels))

    def _weighed(self, group: "_Group") -> "_Group":
        """With shares of its own for each view, where nobody has seen its rows in fit: as they
        foresee each row by the others, drawn towards the shares of all. [Eq. left_out]
        """
        if group.seen is None:
            return group
        X, y = group.seen
        pairs = zip(group.heads, self._views(X, group.scale), strict=True)
        foreseen = np.stack([head.left_out(Phi, y) for head, Phi in pairs], axis=1)
        return replace(group, shares=_simplex_fit(foreseen, y, self._shares, _DOUBT))

    def _predict(self, place: int, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation for rows of one group; -1 is a group never seen."""
        if place < 0:
            views = self._views(X, None)
            heads: Sequence[Averaged] = [each.new() for each in self._pools[: len(views)]]
            shares = self._shares[: len(views)] + _SMALL
            shares = shares / shares.sum()
        else:
            group = self._groups[place]
            views, heads = self._views(X, group.scale), group.heads
            shares = self._shares if group.shares is None else group.shares
        found = [head.predict(view) for head, view in zip(heads, views, strict=True)]
        means, stds = (np.stack(part) for part in zip(*found, strict=True))
        mean = shares @ means
        return mean, np.sqrt(shares @ (stds**2 + (means - mean) ** 2))


@dataclass(frozen=True)
class _Group:
    """Rows and heads of one group in every view."""

    scale: InputScale
    rows: list[nig.Summary]
    heads: Sequence[Averaged] = ()
    seen: tuple[np.ndarray, np.ndarray] | None = None
    """Inputs and labels of one that was not there in fit."""
    shares: np.ndarray | None = None
    """Of its views; None: as all groups."""


class _Watched(Demonstrations):
    """Remembers which of its rows were held out."""

    halves: tuple[Demonstrations, Demonstrations] | None = None

    def split(
        self, rng: np.random.Generator, fraction: float
    ) -> tuple[Demonstrations, Demonstrations]:
        self.__dict__["halves"] = super().split(rng, fraction)
        return self.__dict__["halves"]


def _joined(
    a: tuple[np.ndarray, np.ndarray] | None, b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of a group that was not there in fit, and more of them."""
    return None if a is None else (np.vstack([a[0], b[0]]), np.append(a[1], b[1]))


def _simplex_fit(
    foreseen: np.ndarray, y: np.ndarray, towards: np.ndarray | None = None, doubt: float = 1.0
) -> np.ndarray:
    """Shares, at least 0 and adding up to one, whose average is closest to y.

    They are pulled towards others, or equal ones, so that few rows do not decide: as by so many
    rows for each view.
    """
    n, views = foreseen.shape
    towards = np.full(views, 1 / views) if towards is None else towards
    pull = np.sqrt(doubt * np.mean((y - foreseen @ towards) ** 2)) if n else 1.0
    off = foreseen - y[:, None]  # shares add up to one, so y can go to the other side
    rows = np.vstack([off, pull * (np.eye(views) - towards[:, None])])
    total = 1e4 * max(float(np.linalg.norm(rows)), 1e-100) * np.ones((1, views))
    shares, _ = nnls(np.vstack([rows, total]), np.r_[np.zeros(len(rows)), total[0, :1]])
    return shares / shares.sum()


def _spread(X: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Of each column; the usual one where rows are few or all the same."""
    spread = X.std(axis=0)
    return np.where(
        (len(X) >= _ENOUGH_ROWS) & (spread > 1e-12 * np.abs(X.mean(axis=0))), spread, usual
    )


def _rows(
    estimator: MultiSourceRegressor, X: ArrayLike, y: ArrayLike, *, reset: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels as scikit-learn checks them."""
    checks: Any = {"dtype": np.float64, "y_numeric": True, "reset": reset}
    rows, labels = validate_data(estimator, cast(Any, X), cast(Any, y), **checks)
    return np.asarray(rows), np.asarray(labels, np.float64)


def _groups(groups: ArrayLike | None, n: int, default: object) -> np.ndarray:
    """The group of every row."""
    if groups is None:
        return np.full(n, default, dtype=object if default is None else None)
    found = np.asarray(groups)
    if found.dtype.kind not in "biufUSO" or found.shape != (n,):
        raise DataError(
            f"groups must be one number or word for each of {n} rows; got shape {found.shape} of "
            f"{found.dtype}. Give a column."
        )
    given = (
        list(groups) if isinstance(groups, list | tuple) else found.tolist()
    )  # [1, "a"] is words
    kinds = {isinstance(value, str) for value in given}
    if any(value is None or value != value for value in found.tolist()):
        raise DataError("groups are missing in some rows. Fill them in, or drop these rows.")
    if len(kinds) > 1:
        raise DataError(
            "groups mix numbers and words, which have no order. Make all of them strings."
        )
    return found
