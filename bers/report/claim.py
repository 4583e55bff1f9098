"""One claim, and what became of it."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Claim:
    """One claim, and what became of it."""

    id: str
    claim: str
    said_by: str
    """paper, or BERS."""
    measured: str
    interval: tuple[float, float] | None
    """95%, of the figure that decides, where it has one."""
    trials: int
    holds: bool
    journal: str

    def to_dict(self) -> dict[str, Any]:
        """As plain values; an infinite end of the interval is None, since JSON has no infinity."""
        pair = self.interval and tuple(end if np.isfinite(end) else None for end in self.interval)
        return asdict(self) | {"interval": pair}


def ends(pair: Any) -> tuple[float, float] | None:
    """An interval for a claim, or None where there is none.

    >>> ends((0.5, 1.0)), ends((float("nan"), float("nan")))
    ((0.5, 1.0), None)
    """
    low, high = float(pair[0]), float(pair[1])
    return None if np.isnan(low) else (low, high)
