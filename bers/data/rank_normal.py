"""Labels to normal scores by their rank, and back: the Gaussian copula transform.

Enter: labels y. The fit keeps pairs (label, score), at most `max_knots`: score = Φ⁻¹((rank -
1/2) / n), ties sharing their average rank. Leave: scores by straight lines between the
knots; outside them a line of the mean slope goes on, so that the map rises everywhere and
can be undone for labels never seen.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from bers.data.label_checks import TINY, finite_number, known
from bers.data.settings import whole
from bers.errors import ConfigError


@dataclass(frozen=True)
class RankNormal:
    """z = Φ⁻¹(rank of y), a straight line between knots.

    >>> t = RankNormal().fit(np.array([1.0, 10.0, 100.0]))
    >>> t.forward(np.array([10.0]))
    array([0.])
    >>> t.inverse(t.forward(np.array([7.0, 1000.0])))
    array([   7., 1000.])
    """

    max_knots: int = 2048
    """At most this many knots are kept, evenly spread over quantiles and scores."""
    labels: tuple[float, ...] | None = None
    """Labels at the knots, rising."""
    scores: tuple[float, ...] | None = None
    """Scores at the knots, rising."""
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
        labels, scores = known(self, "labels", "scores")
        return _along(np.asarray(y, np.float64), np.array(labels), np.array(scores))

    def inverse(self, z: np.ndarray) -> np.ndarray:
        """Labels of scores."""
        labels, scores = known(self, "labels", "scores")
        return _along(np.asarray(z, np.float64), np.array(scores), np.array(labels))

    def keep(self, y: np.ndarray) -> np.ndarray:
        """All rows."""
        return np.ones(np.shape(y), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Name and knots."""
        knots = {"labels": self.labels, "scores": self.scores}
        lists = {key: None if value is None else list(value) for key, value in knots.items()}
        return {"name": self.name, "max_knots": self.max_knots, **lists}


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
