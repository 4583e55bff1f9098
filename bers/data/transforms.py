"""Invertible changes of the labels, and trimming; each can be fitted, stored and undone.

Enter: labels y of shape (n,). Leave: labels z of the same shape and a frozen record with the
fitted numbers in it, which turns into JSON and back without losing a bit. `keep` marks the
rows that stay; only `Trim` (and a chain with one) drops any.
"""

import difflib
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from bers.data.checks import finite_number, whole
from bers.errors import ConfigError, DataError, DataWarning
from bers.text import printable

__all__ = [
    "TRANSFORMS",
    "Chain",
    "Log1p",
    "LogGap",
    "RankNormal",
    "Sqrt",
    "Standardise",
    "Transform",
    "Trim",
    "from_dict",
    "transform_named",
    "undo",
]
"""What users import from `bers.transforms`."""

TINY = 1e-150
"""Labels closer together than this count as all alike: 1 / TINY² would leave the floats."""

FEWEST = 2
"""Rows that trimming leaves at least, where there are as many."""


@runtime_checkable
class Transform(Protocol):
    """What all transforms can do.

    Attributes
    ----------
    name : str
        Under which it is stored, such as "sqrt".

    Examples
    --------
    >>> transform: Transform = Sqrt()
    >>> transform.name, transform.fitted
    ('sqrt', True)
    """

    name: ClassVar[str]

    @property
    def fitted(self) -> bool:
        """Whether it holds the numbers it needs."""
        ...

    def fit(self, y: np.ndarray) -> Self:
        """Copy it, with the numbers it needs from these labels.

        Parameters
        ----------
        y : array of shape (n,)
            Labels.

        Returns
        -------
        Transform
            Of the same kind, fitted.

        Raises
        ------
        DataError
            If a label lies where the transform is not defined.
        """
        ...

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map labels.

        Parameters
        ----------
        y : array of shape (n,)
            Labels in the units before it.

        Returns
        -------
        array of shape (n,)
            Labels in the units after it.
        """
        ...

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map back.

        Parameters
        ----------
        z : array of shape (n,)
            Labels in the units after it.

        Returns
        -------
        array of shape (n,)
            Labels in the units before it.
        """
        ...

    def keep(self, y: np.ndarray) -> np.ndarray:
        """Mark the rows that stay.

        Parameters
        ----------
        y : array of shape (n,)
            Labels in the units before it.

        Returns
        -------
        array of bool, of shape (n,)
            False where a row is dropped.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """Name and numbers, ready for JSON.

        Returns
        -------
        dict
            From which `from_dict` makes the same transform.
        """
        ...


class _KeepsAll:
    """What a transform that drops no row has in common with the others."""

    name: ClassVar[str]

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Name and fitted numbers."""
        return {"name": self.name, **asdict(self)}  # pyright: ignore[reportArgumentType]


class _NothingToFit(_KeepsAll):
    """What a transform without numbers of its own has in common with the others."""

    @property
    def fitted(self) -> bool:
        """Always: there is nothing to fit."""
        return True

    def fit(self, y: np.ndarray) -> Self:
        """Nothing to fit; the labels are checked."""
        self.forward(y)
        return self

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map labels."""
        return y


@dataclass(frozen=True)
class Sqrt(_NothingToFit):
    """z = √y, for labels that are never negative.

    The inverse takes z below 0, which only a prediction can be, as 0.

    Examples
    --------
    >>> Sqrt().inverse(Sqrt().forward(np.array([4.0])))
    array([4.])
    """

    name: ClassVar[str] = "sqrt"

    def forward(self, y: np.ndarray) -> np.ndarray:
        """√y."""
        _refuse_labels(np.less(y, 0), "sqrt needs labels of at least 0", "Shift them first")
        return np.sqrt(y)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """z²."""
        return np.square(np.maximum(z, 0.0))


@dataclass(frozen=True)
class Log1p(_NothingToFit):
    """z = log(1 + y), for labels above -1.

    Examples
    --------
    >>> Log1p().inverse(Log1p().forward(np.array([0.0])))
    array([0.])
    """

    name: ClassVar[str] = "log1p"

    def forward(self, y: np.ndarray) -> np.ndarray:
        """log(1 + y)."""
        _refuse_labels(np.less_equal(y, -1), "log1p needs labels above -1", "Shift them first")
        return np.log1p(y)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """exp(z) - 1."""
        return np.expm1(z)


@dataclass(frozen=True)
class Standardise(_KeepsAll):
    """z = (y - mean) / scale. Labels that are all alike get scale 1.

    Parameters
    ----------
    mean : float, optional
        Centre of the fitted labels.
    scale : float, optional
        Standard deviation of the fitted labels.

    Examples
    --------
    >>> Standardise().fit(np.array([1.0, 3.0])).forward(np.array([5.0]))
    array([3.])
    """

    mean: float | None = None
    scale: float | None = None
    name: ClassVar[str] = "standardise"

    def __post_init__(self) -> None:
        if self.mean is not None:
            finite_number(self.mean, "Standardise(mean=...)")
        if self.scale is not None and finite_number(self.scale, "Standardise(scale=...)") <= 0:
            raise ConfigError(f"Standardise(scale=...) must be above 0; got {self.scale!r}.")

    @property
    def fitted(self) -> bool:
        """Whether mean and scale are known."""
        return self.mean is not None and self.scale is not None

    def fit(self, y: np.ndarray) -> Self:
        """Mean and standard deviation of these labels."""
        y = np.asarray(y, np.float64)
        if y.size == 0 or y.max() - y.min() < TINY:
            return replace(self, mean=float(y[0]) if y.size else 0.0, scale=1.0)
        return replace(self, mean=float(y.mean()), scale=float(y.std()))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """(y - mean) / scale."""
        mean, scale = _known(self, "mean", "scale")
        return (np.asarray(y, np.float64) - mean) / scale

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """mean + scale z."""
        mean, scale = _known(self, "mean", "scale")
        return mean + scale * np.asarray(z, np.float64)


@dataclass(frozen=True)
class LogGap(_KeepsAll):
    """z = log(1 + (y - least) / unit): robust to far outliers, in any units.

    The fit takes the least label, and as the unit the gap between it and the median. Below the
    least, which only an unseen label can be, a straight line of slope one goes on. Labels
    a + b y with b > 0 give the same z.

    Parameters
    ----------
    least : float, optional
        The least of the fitted labels.
    unit : float, optional
        Gap at which the map turns from straight to logarithmic.

    Examples
    --------
    >>> t = LogGap().fit(np.array([1.0, 3.0, 1e9]))
    >>> t.forward(np.array([1.0, 3.0, 1e9])).round(2).tolist()
    [0.0, 0.69, 20.03]
    >>> t.inverse(t.forward(np.array([0.0, 7.0]))).tolist()
    [0.0, 7.0]
    """

    least: float | None = None
    unit: float | None = None
    name: ClassVar[str] = "log_gap"

    def __post_init__(self) -> None:
        if self.least is not None:
            finite_number(self.least, "LogGap(least=...)")
        if self.unit is not None and finite_number(self.unit, "LogGap(unit=...)") <= 0:
            raise ConfigError(f"LogGap(unit=...) must be above 0; got {self.unit!r}.")

    @property
    def fitted(self) -> bool:
        """Whether least and unit are known."""
        return self.least is not None and self.unit is not None

    def fit(self, y: np.ndarray) -> Self:
        """Least label and unit of these labels; where half of them are the least, the mean gap."""
        y = np.asarray(y, np.float64)
        if y.size == 0 or y.max() - y.min() < TINY:
            return replace(self, least=float(y.min()) if y.size else 0.0, unit=1.0)
        least = float(y.min())
        unit = float(np.median(y) - least)
        return replace(self, least=least, unit=unit if unit > TINY else float(np.mean(y - least)))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map labels."""
        least, unit = _known(self, "least", "unit")
        gap = (np.asarray(y, np.float64) - least) / unit
        return np.where(gap > 0, np.log1p(np.maximum(gap, 0.0)), gap)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map back."""
        least, unit = _known(self, "least", "unit")
        z = np.asarray(z, np.float64)
        return least + unit * np.where(z > 0, np.expm1(np.maximum(z, 0.0)), z)


@dataclass(frozen=True)
class RankNormal(_KeepsAll):
    """z = Φ⁻¹(rank of y), a straight line between knots: the Gaussian copula transform.

    The fit keeps pairs (label, score): score = Φ⁻¹((rank - 1/2) / n), ties sharing their average
    rank. Outside the knots a line of the mean slope goes on, so that the map rises everywhere and
    can be undone for labels never seen.

    Parameters
    ----------
    max_knots : int, default 2048
        At most this many knots are kept, evenly spread over quantiles and scores.
    labels : tuple of float, optional
        Labels at the knots, rising.
    scores : tuple of float, optional
        Scores at the knots, rising.

    Examples
    --------
    >>> t = RankNormal().fit(np.array([1.0, 10.0, 100.0]))
    >>> t.forward(np.array([10.0]))
    array([0.])
    >>> t.inverse(t.forward(np.array([7.0, 1000.0])))
    array([   7., 1000.])
    """

    max_knots: int = 2048
    labels: tuple[float, ...] | None = None
    scores: tuple[float, ...] | None = None
    name: ClassVar[str] = "rank_normal"

    def __post_init__(self) -> None:
        whole(self.max_knots, "RankNormal(max_knots=...)", 2)
        for name in ("labels", "scores"):
            knots = getattr(self, name)
            if knots is not None:
                what = f"RankNormal({name}=...)"
                if not isinstance(knots, (tuple, list)):
                    raise ConfigError(f"{what} must hold numbers; got {type(knots).__name__}.")
                checked = tuple(finite_number(knot, what) for knot in knots)
                if not checked or any(b <= a for a, b in pairwise(checked)):
                    raise ConfigError(f"{what} must hold a rising number or more.")
                object.__setattr__(self, name, checked)
        if len(self.labels or ()) != len(self.scores or ()):
            raise ConfigError("RankNormal needs as many labels as scores.")

    @property
    def fitted(self) -> bool:
        """Whether the knots are known."""
        return self.labels is not None and self.scores is not None

    def fit(self, y: np.ndarray) -> Self:
        """Knots at these labels."""
        from scipy.special import ndtri

        y = np.asarray(y, np.float64)
        if y.size == 0 or y.max() - y.min() < TINY:
            return replace(self, labels=(float(y[0]) if y.size else 0.0,), scores=(0.0,))
        values, counts = np.unique(y, return_counts=True)
        level = (np.cumsum(counts) - counts / 2) / y.size
        scores = ndtri(level)
        if len(values) > self.max_knots:
            # Half by quantile, half by score: quantiles alone leave the tails to one long line.
            half = self.max_knots // 2
            places = [
                np.searchsorted(axis, np.linspace(axis[0], axis[-1], half + odd))
                for axis, odd in ((level, self.max_knots % 2), (scores, 0))
            ]
            chosen = np.unique(
                np.concatenate([*places, [len(values) - 1]]).clip(0, len(values) - 1)
            )
            values, scores = values[chosen], scores[chosen]
        return replace(self, labels=tuple(values.tolist()), scores=tuple(scores.tolist()))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Scores of labels."""
        labels, scores = _known(self, "labels", "scores")
        return _along(np.asarray(y, np.float64), np.array(labels), np.array(scores))

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Labels of scores."""
        labels, scores = _known(self, "labels", "scores")
        return _along(np.asarray(z, np.float64), np.array(scores), np.array(labels))

    def to_dict(self) -> dict[str, Any]:
        """Name and knots."""
        knots = {"labels": self.labels, "scores": self.scores}
        lists = {key: None if value is None else list(value) for key, value in knots.items()}
        return {"name": self.name, "max_knots": self.max_knots, **lists}


@dataclass(frozen=True)
class Trim:
    """Keep the labels between two quantiles, both included; drop the rows of all others.

    The labels themselves are not changed. Trimming never leaves fewer than two rows of two or
    more: it keeps the nearest ones and says so.

    Parameters
    ----------
    lower : float, default 0.025
        Quantile below which rows are dropped.
    upper : float, default 0.975
        Quantile above which rows are dropped.
    low : float, optional
        Label at the lower quantile, once fitted.
    high : float, optional
        Label at the upper quantile, once fitted.

    Examples
    --------
    >>> t = Trim(0.25, 0.75).fit(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    >>> t.keep(np.array([2.0, 3.0, 4.0, 100.0]))
    array([ True,  True,  True, False])
    """

    lower: float = 0.025
    upper: float = 0.975
    low: float | None = None
    high: float | None = None
    name: ClassVar[str] = "trim"

    def __post_init__(self) -> None:
        lower = finite_number(self.lower, "Trim(lower=...)")
        upper = finite_number(self.upper, "Trim(upper=...)")
        if not 0 <= lower < upper <= 1:
            raise ConfigError(
                f"Trim needs 0 <= lower < upper <= 1; got lower={lower}, upper={upper}."
            )
        if self.low is not None and self.high is not None:
            low = finite_number(self.low, "Trim(low=...)")
            if low > finite_number(self.high, "Trim(high=...)"):
                raise ConfigError(f"Trim needs low <= high; got {low} and {self.high}.")
        elif self.low is not None or self.high is not None:
            raise ConfigError("Trim needs both low and high, or neither.")

    @property
    def fitted(self) -> bool:
        """Whether the two labels are known."""
        return self.low is not None and self.high is not None

    def fit(self, y: np.ndarray) -> Self:
        """The labels at the two quantiles."""
        y = np.asarray(y, np.float64)
        if y.size == 0:
            return replace(self, low=-sys.float_info.max, high=sys.float_info.max)
        low, high = np.quantile(y, [self.lower, self.upper])
        return replace(self, low=float(low), high=float(max(low, high)))

    def forward(self, y: np.ndarray) -> np.ndarray:
        """The labels as they are."""
        return np.asarray(y, np.float64)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """The labels as they are."""
        return np.asarray(z, np.float64)

    def inside(self, y: np.ndarray) -> np.ndarray:
        """Mark the labels between the two bounds, however few."""
        low, high = _known(self, "low", "high")
        return (y >= low) & (y <= high)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """Mark the rows that stay: those inside, but at least two where there are two."""
        y = np.asarray(y, np.float64)
        mask = self.inside(y)
        if mask.sum() >= min(FEWEST, y.size):
            return mask
        low, high = _known(self, "low", "high")
        distance = np.maximum(np.maximum(low - y, y - high), 0.0)
        nearest = np.argsort(distance, kind="stable")[:FEWEST]
        warnings.warn(
            f"trimming to labels from {low:g} to {high:g} would leave {int(mask.sum())} of "
            f"{y.size} rows; the {len(nearest)} nearest were kept instead.",
            DataWarning,
            stacklevel=2,
        )
        mask = np.zeros(y.shape, dtype=bool)
        mask[nearest] = True
        return mask

    def widened(self, labels: np.ndarray) -> Self:
        """A copy whose bounds take in these labels too."""
        low, high = _known(self, "low", "high")
        low, high = min(low, float(labels.min())), max(high, float(labels.max()))
        return replace(self, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Name, quantiles and bounds."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True, init=False)
class Chain:
    """Several transforms, first to last, as one.

    Parameters
    ----------
    *transforms : Transform
        The parts, in the order they are applied.

    Examples
    --------
    >>> t = Chain(Sqrt(), Standardise()).fit(np.array([1.0, 9.0]))
    >>> t.forward(np.array([25.0]))
    array([3.])
    """

    transforms: tuple[Transform, ...]
    name: ClassVar[str] = "chain"

    def __init__(self, *transforms: Transform) -> None:
        for part in transforms:
            if type(part) not in KINDS.values():
                raise ConfigError(f"Chain takes transforms; got {printable(repr(part))}.")
        object.__setattr__(self, "transforms", transforms)

    @property
    def fitted(self) -> bool:
        """Whether all parts are."""
        return all(part.fitted for part in self.transforms)

    def fit(self, y: np.ndarray) -> Self:
        """Fit each part that is not, on the labels that the parts before it leave."""
        fitted = []
        for part in self.transforms:
            part, _, y = fit_and_apply(part, y)
            fitted.append(part)
        return type(self)(*fitted)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map labels through all parts; none is dropped."""
        for part in self.transforms:
            y = part.forward(y)
        return np.asarray(y, np.float64)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map back, last part first."""
        return undo(self.transforms, z)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """Mark the rows that every part keeps."""
        mask = np.ones(np.shape(y), dtype=bool)
        for part in self.transforms:
            kept, y = apply(part, y)
            mask[np.flatnonzero(mask)[~kept]] = False
        return mask

    def to_dict(self) -> dict[str, Any]:
        """Name and parts."""
        return {"name": self.name, "transforms": [part.to_dict() for part in self.transforms]}


KINDS: dict[str, type] = {
    kind.name: kind for kind in (Sqrt, Log1p, LogGap, Standardise, RankNormal, Trim, Chain)
}
"""All kinds of transform, by the name under which they are stored."""


def apply(transform: Transform, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mask of the rows that stay, and their mapped labels.

    >>> apply(Sqrt(), np.array([4.0]))
    (array([ True]), array([2.]))
    """
    keep = transform.keep(y)
    return keep, transform.forward(np.asarray(y)[keep])


def fit_and_apply(transform: Transform, y: np.ndarray) -> tuple[Transform, np.ndarray, np.ndarray]:
    """The fitted transform, the mask of the rows that stay, and their mapped labels.

    >>> fit_and_apply(Standardise(), np.array([1.0, 3.0]))
    (Standardise(mean=2.0, scale=1.0), array([ True,  True]), array([-1.,  1.]))
    """
    if type(transform) not in KINDS.values():
        raise ConfigError(
            f"{printable(repr(transform))} is not a transform; use one of {', '.join(KINDS)} "
            "from bers.transforms."
        )
    fitted = transform if transform.fitted else transform.fit(y)
    return fitted, *apply(fitted, y)


def undo(transforms: Sequence[Transform], z: np.ndarray) -> np.ndarray:
    """Labels before the transforms.

    Parameters
    ----------
    transforms : sequence of Transform
        Fitted, in the order they were applied.
    z : array of shape (n,)
        Labels after them.

    Returns
    -------
    array of shape (n,)
        Labels in the units before the first.

    Examples
    --------
    >>> undo((Sqrt(), Standardise(1.0, 2.0)), np.array([1.0]))
    array([9.])
    """
    for part in reversed(transforms):
        z = part.inverse(z)
    return np.asarray(z, np.float64)


def from_dict(stored: Mapping[str, Any]) -> Transform:
    """The transform that `to_dict` stored.

    Parameters
    ----------
    stored : mapping
        Name and numbers.

    Returns
    -------
    Transform
        The same to the last bit.

    Raises
    ------
    ConfigError
        If there is no such transform, or it has no such number.

    Examples
    --------
    >>> from_dict({"name": "standardise", "mean": 0.5, "scale": 2.0})
    Standardise(mean=0.5, scale=2.0)
    """
    if not isinstance(stored, Mapping):
        raise ConfigError(f"a stored transform must be a mapping; got {type(stored).__name__}.")
    name = stored.get("name")
    if not isinstance(name, str) or name not in KINDS:
        raise ConfigError(f"there is no transform named {name!r}.{_nearest(name, KINDS)}")
    values = {key: value for key, value in stored.items() if key != "name"}
    kind = KINDS[name]
    allowed = [field.name for field in fields(kind)]
    for key in values:
        if key not in allowed:
            raise ConfigError(f"transform {name!r} has no {key!r}.{_nearest(key, allowed)}")
    if kind is Chain:
        parts = values.get("transforms", [])
        if not isinstance(parts, (list, tuple)):
            raise ConfigError(f"the parts of a chain must be a list; got {type(parts).__name__}.")
        return Chain(*(from_dict(part) for part in parts))
    return kind(**values)


def _nearest(word: object, known: Any) -> str:
    close = difflib.get_close_matches(str(word), list(known), 1)
    return f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(known)}."


def _refuse_labels(wrong: np.ndarray, needs: str, advice: str) -> None:
    """Raise where any label is wrong; say how many and where the first one is."""
    wrong = np.atleast_1d(wrong)
    if wrong.any():
        raise DataError(
            f"{needs}; {wrong.sum()} of {wrong.size} are not, the first in row "
            f"{int(wrong.argmax())}. {advice}, or use another transform."
        )


def _known(transform: Transform, *names: str) -> tuple:
    """The fitted numbers, or an error where there are none yet."""
    if not transform.fitted:
        raise ConfigError(f"{transform.name} has not been fitted; call fit(y) first.")
    return tuple(getattr(transform, name) for name in names)


def _along(at: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Map `at` from the axis of `start` to that of `end`.

    Written with fractions of an interval: a slope between knots a rounding apart could be
    infinite.
    """
    if len(start) == 1:
        return end[0] + (at - start[0])
    left = np.searchsorted(start, at, side="right").clip(1, len(start) - 1) - 1
    fraction = (at - start[left]) / (start[left + 1] - start[left])
    inside = end[left] + fraction * (end[left + 1] - end[left])
    # The upper knot itself, exactly: rounding may miss it by one step.
    inside = np.where(at == start[-1], end[-1], inside)
    width, height = start[-1] - start[0], end[-1] - end[0]
    below = end[0] + (at - start[0]) / width * height
    above = end[-1] + (at - start[-1]) / width * height
    return np.where(at < start[0], below, np.where(at > start[-1], above, inside))


TRANSFORMS: dict[str, Transform | None] = {
    "auto": LogGap(),
    "rank": RankNormal(),
    "log": Log1p(),
    "paper": Chain(Sqrt(), Log1p()),
    "none": None,
}
"""What a name stands for: "auto" suits any units, "paper" values of 0 and above."""


def transform_named(what: str | Transform | None) -> Transform | None:
    """A transform of labels from what a user wrote.

    >>> transform_named("auto")
    LogGap(least=None, unit=None)
    """
    if what is None or (callable(getattr(what, "fit", None)) and hasattr(what, "fitted")):
        return what
    if not isinstance(what, str):
        raise ConfigError(
            f"transform must be one of bers.transforms or a name, {', '.join(TRANSFORMS)}; got "
            f"{type(what).__name__}."
        )
    if what not in TRANSFORMS:
        raise ConfigError(f"there is no transform {what!r}. Known: {', '.join(TRANSFORMS)}.")
    return TRANSFORMS[what]
