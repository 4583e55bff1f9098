"""Invertible changes of the labels, and trimming; each can be fitted, stored and undone.

Enter: labels y of shape (n,). Leave: labels z of the same shape and a frozen record with the
fitted numbers in it, which turns into JSON and back without losing a bit. `keep` marks the
rows that stay; only `Trim` (and a chain with one) drops any.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from bers.data.elementwise import Log1p, Sqrt, Standardise
from bers.data.log_gap import LogGap
from bers.data.rank_normal import RankNormal
from bers.data.trim import Trim
from bers.errors import ConfigError
from bers.text import printable

__all__ = [
    "Chain",
    "Log1p",
    "LogGap",
    "RankNormal",
    "Sqrt",
    "Standardise",
    "Transform",
    "Trim",
    "apply",
    "fit_and_apply",
    "from_dict",
    "undo",
]


@runtime_checkable
class Transform(Protocol):
    """What all transforms can do.

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
        """Copy it, with the numbers it needs from these labels."""
        ...

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map labels."""
        ...

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map back."""
        ...

    def keep(self, y: np.ndarray) -> np.ndarray:
        """Mark the rows that stay."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Name and numbers, ready for JSON."""
        ...


@dataclass(frozen=True, init=False)
class Chain:
    """Several transforms, first to last, as one.

    >>> t = Chain(Sqrt(), Standardise()).fit(np.array([1.0, 9.0]))
    >>> t.forward(np.array([25.0]))
    array([3.])
    """

    transforms: tuple[Transform, ...]
    """The parts, in the order they are applied."""
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
            "from bers.data.transforms."
        )
    fitted = transform if transform.fitted else transform.fit(y)
    return fitted, *apply(fitted, y)


def undo(transforms: Sequence[Transform], z: np.ndarray) -> np.ndarray:
    """Labels before the transforms.

    >>> undo((Sqrt(), Standardise(1.0, 2.0)), np.array([1.0]))
    array([9.])
    """
    for part in reversed(transforms):
        z = part.inverse(z)
    return np.asarray(z, np.float64)


def from_dict(stored: Mapping[str, Any]) -> Transform:
    """The transform that `to_dict` stored.

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
