"""Changes of the labels that work on one label at a time: √y, log(1 + y), (y - mean) / scale.

Enter: labels y of shape (n,). Leave: labels z of the same shape, and back. Every record is
frozen; the fitted numbers are its fields.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bers.data.label_checks import TINY, finite_number, known, refuse_labels
from bers.errors import ConfigError


@dataclass(frozen=True)
class Sqrt:
    """z = √y, for labels that are never negative.

    The inverse takes z below 0, which only a prediction can be, as 0.

    >>> Sqrt().inverse(Sqrt().forward(np.array([4.0])))
    array([4.])
    """

    name: ClassVar[str] = "sqrt"

    @property
    def fitted(self) -> bool:
        """Always: there is nothing to fit."""
        return True

    def fit(self, y: np.ndarray) -> Self:
        """Nothing to fit; the labels are checked."""
        self.forward(y)
        return self

    def forward(self, y: np.ndarray) -> np.ndarray:
        """√y."""
        refuse_labels(np.less(y, 0), "sqrt needs labels of at least 0", "Shift them first")
        return np.sqrt(y)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """z²."""
        return np.square(np.maximum(z, 0.0))

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}


@dataclass(frozen=True)
class Log1p:
    """z = log(1 + y), for labels above -1.

    >>> Log1p().inverse(Log1p().forward(np.array([0.0])))
    array([0.])
    """

    name: ClassVar[str] = "log1p"

    @property
    def fitted(self) -> bool:
        """Always: there is nothing to fit."""
        return True

    def fit(self, y: np.ndarray) -> Self:
        """Nothing to fit; the labels are checked."""
        self.forward(y)
        return self

    def forward(self, y: np.ndarray) -> np.ndarray:
        """log(1 + y)."""
        refuse_labels(np.less_equal(y, -1), "log1p needs labels above -1", "Shift them first")
        return np.log1p(y)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """exp(z) - 1."""
        return np.expm1(z)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}


@dataclass(frozen=True)
class Standardise:
    """z = (y - mean) / scale. Labels that are all alike get scale 1.

    >>> Standardise().fit(np.array([1.0, 3.0])).forward(np.array([5.0]))
    array([3.])
    """

    mean: float | None = None
    """Centre of the fitted labels."""
    scale: float | None = None
    """Standard deviation of the fitted labels."""
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
        mean, scale = known(self, "mean", "scale")
        return (np.asarray(y, np.float64) - mean) / scale

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """mean + scale z."""
        mean, scale = known(self, "mean", "scale")
        return mean + scale * np.asarray(z, np.float64)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Name, mean and scale."""
        return {"name": self.name, **asdict(self)}
