"""Labels to the logarithm of their gap to the least: robust to far outliers, in any units.

Enter: labels y. The fit keeps the least label and a unit, the gap between the least and the
median. Leave: z = log(1 + (y - least) / unit); below the least, which only an unseen label can
be, a straight line of slope one goes on. Labels a + b y with b > 0 give the same z.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bers.data.label_checks import TINY, finite_number, known
from bers.errors import ConfigError


@dataclass(frozen=True)
class LogGap:
    """z = log(1 + (y - least) / unit).

    >>> t = LogGap().fit(np.array([1.0, 3.0, 1e9]))
    >>> t.forward(np.array([1.0, 3.0, 1e9])).round(2).tolist()
    [0.0, 0.69, 20.03]
    >>> t.inverse(t.forward(np.array([0.0, 7.0]))).tolist()
    [0.0, 7.0]
    """

    least: float | None = None
    """The least of the fitted labels."""
    unit: float | None = None
    """Gap at which the map turns from straight to logarithmic."""
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
        least, unit = known(self, "least", "unit")
        gap = (np.asarray(y, np.float64) - least) / unit
        return np.where(gap > 0, np.log1p(np.maximum(gap, 0.0)), gap)

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Map back."""
        least, unit = known(self, "least", "unit")
        z = np.asarray(z, np.float64)
        return least + unit * np.where(z > 0, np.expm1(np.maximum(z, 0.0)), z)

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Name, least and unit."""
        return {"name": self.name, **asdict(self)}
