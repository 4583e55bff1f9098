"""One claim, and what became of it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs
from bers_studies.report.statistics import interval


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
    where: str = ""
    """The place in the paper, or our page, that says it."""
    reading: str = ""
    """The reading of the paper that it was asked of; empty: as printed."""
    best: "Claim | None" = None
    """The same claim in the reading that suits it best, if others than as printed were tried."""

    @property
    def holds_somehow(self) -> bool:
        """Whether it holds as printed, or at least in its best reading.

        >>> read = Claim("a", "b", "paper", "c", None, 3, True, "d", reading="another")
        >>> Claim("a", "b", "paper", "c", None, 3, False, "d", best=read).holds_somehow
        True
        """
        return self.holds or (self.best is not None and self.best.holds)

    @property
    def span(self) -> str:
        """The interval in words; empty where there is none.

        >>> Claim("a", "b", "BERS", "c", (0.5, 1500.0), 3, True, "d").span
        '0.5 to 1,500'
        """
        return " to ".join(_figure(end) for end in self.interval or ())

    def to_dict(self) -> dict[str, Any]:
        """As plain values; an infinite end of the interval is None, since JSON has no infinity."""
        pair = self.interval and tuple(end if np.isfinite(end) else None for end in self.interval)
        best = None if self.best is None else self.best.to_dict()
        return asdict(replace(self, best=None)) | {"interval": pair, "best": best}


def claim_of(
    runs: Runs, id: str, text: str, who: str, measured: str, holds: object, values: Any = None
) -> Claim:
    """A claim about all trials of a study; where the mean of `values` decides, with its interval.

    >>> runs = Runs(({"trial": 0}, {"trial": 1}), 2, 0, "runs/a")
    >>> claim_of(runs, "a", "it works", "BERS", "0.9", 0.9 > 0.5).trials
    2
    """
    pair = None if values is None else ends(interval(np.asarray(values), np.mean))
    return Claim(id, text, who, measured, pair, runs.trials, bool(holds), runs.folder)


def _figure(value: float) -> str:
    if np.isinf(value):
        return "never"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def ends(pair: Any) -> tuple[float, float] | None:
    """An interval for a claim, or None where there is none.

    >>> ends((0.5, 1.0)), ends((float("nan"), float("nan")))
    ((0.5, 1.0), None)
    """
    low, high = float(pair[0]), float(pair[1])
    return None if np.isnan(low) else (low, high)
