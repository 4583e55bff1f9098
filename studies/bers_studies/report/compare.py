"""Two sets of journals side by side: two versions, or two settings.

Enters: two folders of one kind of study. Leaves: for each target and method that both have, the
mean over trials of a score in each, and how likely a trial of the second is better than one of the
first. The score of a trial is the mean of its curve; of optimisation runs, of the log10 of it.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bers.errors import FileError
from bers_studies.report.curves import Runs, read_runs
from bers_studies.report.statistics import interval, probability_of_improvement
from bers_studies.report.views import CURVES, Curve, has, matching, place_name, places


@dataclass(frozen=True)
class Side:
    """One of the two."""

    mean: float
    low: float
    high: float
    trials: int


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
            scores = [_scores(runs, place, method, curve) for runs in (first, second)]
            if all(len(score) for score in scores):
                found.append(_compared(place_name(place) or "all", method, curve, *scores))
    if not found:
        raise FileError(f"{one} and {other} have no target and method in common.")
    return found


def _scores(
    runs: Runs, place: dict[str, Any], method: str, curve: Curve
) -> Float[np.ndarray, " n"]:
    curves = [np.asarray(c, float) for c in matching(runs, place, method, curve.field)]
    if curve.log:
        curves = [np.log10(np.maximum(c, 1e-12)) for c in curves]
    return np.array([c.mean() for c in curves])


def _compared(
    target: str, method: str, curve: Curve, one: np.ndarray, other: np.ndarray
) -> Compared:
    sign = 1.0 if curve.log else -1.0  # lower is better in `probability_of_improvement`
    better = probability_of_improvement(sign * other, sign * one)
    score = f"mean log10 of the {curve.y_label}" if curve.log else f"mean {curve.y_label}"
    return Compared(target, method, score, _side(one), _side(other), *better)


def _side(scores: np.ndarray) -> Side:
    return Side(float(scores.mean()), *interval(scores, np.mean), len(scores))
