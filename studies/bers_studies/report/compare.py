"""Two sets of journals side by side: two versions, or two settings.

Enters: two folders of one kind of study. Leaves: for each target and method that both have, the
mean over trials of a score in each, and how likely a trial of the second is better than one of the
first. The score of a trial is the mean of its curve; of optimisation runs, of the log10 of it. Only
what both have is compared: trials of the same seeds, and curves as far as the shorter ones go.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bers.errors import FileError
from bers_studies.report.curves import Runs, read_runs
from bers_studies.report.statistics import interval, probability_of_improvement
from bers_studies.report.views import CURVES, Curve, has, place_name, places


@dataclass(frozen=True)
class Side:
    """One of the two."""

    mean: float
    low: float
    high: float
    trials: int
    """Those that count."""
    all_trials: int = 0
    """Those that are there."""
    length: int = 0
    """Of its shortest curve."""


@dataclass(frozen=True)
class Compared:
    """A target and a method, in both."""

    target: str
    method: str
    score: str
    one: Side
    other: Side
    better: float
    """How likely a trial of the second is better."""
    low: float
    high: float
    length: int = 0
    """How much of the curves counts."""

    @property
    def notes(self) -> list[str]:
        """What one has and the other has not, in words; none where both are alike."""
        found = []
        if self.one.length != self.other.length:
            found.append(
                f"curves have {self.one.length} and {self.other.length} values: the first "
                f"{self.length} are compared"
            )
        if (self.one.all_trials, self.other.all_trials) != (self.one.trials, self.other.trials):
            found.append(
                f"{self.one.all_trials} and {self.other.all_trials} trials: the "
                f"{self.one.trials} of the same seeds are compared"
            )
        elif self.one.trials != self.other.trials:
            found.append(
                f"{self.one.trials} and {self.other.trials} trials, none of the same seed: all are "
                "compared"
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain values; None where there is no interval."""

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: plain(inner) for name, inner in value.items()}
            return None if isinstance(value, float) and not np.isfinite(value) else value

        return plain(asdict(self))


def compare(one: Path, other: Path) -> list[Compared]:
    """Everything that both folders have."""
    first, second = read_runs(one), read_runs(other)
    curve = next((c for c in CURVES if has(first, c.field) and has(second, c.field)), None)
    if curve is None:
        raise FileError(
            f"{one} and {other} hold no curves of one kind. Give two of one study; where a study "
            "has no curves, set its tables.md side by side, or show both with `report`."
        )
    found = []
    for place in places(first):
        for method in first.values("method"):
            curves = [_curves(runs, place, method, curve) for runs in (first, second)]
            if all(curves):
                found.append(_compared(place_name(place) or "all", method, curve, *curves))
    if not found:
        raise FileError(f"{one} and {other} have no target and method in common.")
    return found


def _curves(
    runs: Runs, place: dict[str, Any], method: str, curve: Curve
) -> list[tuple[Any, np.ndarray]]:
    """Curves of a target and a method, each with the seed and trial that it is of."""
    wanted = {**place, "method": method}
    rows = [r for r in runs.records if all(r.get(k) == v for k, v in wanted.items())]
    return [
        ((r.get("seed"), r.get("trial")), np.asarray(r[curve.field], float))
        for r in rows
        if r.get(curve.field)
    ]


def _compared(target: str, method: str, curve: Curve, one: list[Any], other: list[Any]) -> Compared:
    lengths = [min(len(values) for _, values in side) for side in (one, other)]
    length = min(lengths)
    both = {key for key, _ in one} & {key for key, _ in other}
    scores = [
        np.array([_score(c[:length], curve) for key, c in side if key in both or not both])
        for side in (one, other)
    ]
    sign = 1.0 if curve.log else -1.0  # lower is better in `probability_of_improvement`
    better = probability_of_improvement(sign * scores[1], sign * scores[0])
    score = f"mean log10 of the {curve.y_label}" if curve.log else f"mean {curve.y_label}"
    first, second = (
        Side(float(s.mean()), *interval(s, np.mean), len(s), len(every), long)
        for s, every, long in zip(scores, (one, other), lengths, strict=True)
    )
    chance, low, high = better
    return Compared(target, method, score, first, second, chance, low, high, length)


def _score(values: Float[np.ndarray, " n"], curve: Curve) -> float:
    return float((np.log10(np.maximum(values, 1e-12)) if curve.log else values).mean())
