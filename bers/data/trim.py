"""Drop the rows with the lowest and the highest labels.

Enter: two quantiles; the fit turns them into two labels. Leave: a mask of the rows that stay.
The labels themselves are not changed. Trimming never leaves fewer than two rows of two or
more: it keeps the nearest ones and says so.
"""

import sys
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bers.data.label_checks import finite_number, known
from bers.errors import ConfigError, DataWarning

FEWEST = 2
"""Rows that trimming leaves at least, where there are as many."""


@dataclass(frozen=True)
class Trim:
    """Keep the labels between two quantiles, both included.

    >>> t = Trim(0.25, 0.75).fit(np.array([1.0, 2.0, 3.0, 4.0, 100.0]))
    >>> t.keep(np.array([2.0, 3.0, 4.0, 100.0]))
    array([ True,  True,  True, False])
    """

    lower: float = 0.025
    """Quantile below which rows are dropped."""
    upper: float = 0.975
    """Quantile above which rows are dropped."""
    low: float | None = None
    """Label at the lower quantile."""
    high: float | None = None
    """Label at the upper quantile."""
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
        low, high = known(self, "low", "high")
        return (y >= low) & (y <= high)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """Mark the rows that stay: those inside, but at least two where there are two."""
        y = np.asarray(y, np.float64)
        mask = self.inside(y)
        if mask.sum() >= min(FEWEST, y.size):
            return mask
        low, high = known(self, "low", "high")
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
        low, high = known(self, "low", "high")
        low, high = min(low, float(labels.min())), max(high, float(labels.max()))
        return replace(self, low=low, high=high)

    def to_dict(self) -> dict[str, Any]:
        """Name, quantiles and bounds."""
        return {"name": self.name, **asdict(self)}
