"""What makes weights say little, told once instead of ending in "nobody" without a word.

Enters: what sources saw and were paid, and the rows of the learner as they come in. Leaves:
warnings after a few looks, or when training ends before that: how many rows are left out and why,
rewards that are equal or rare, observations in other units. Each says what to do.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float64

from bers.errors import DataWarning
from bers.text import printable

LOOKS = 5  # after which doubts are told
_FEW, _MANY = 50, 0.25  # rows that say something; a share of them that is worth a word
_RARE = 0.9  # a share of rewards that are the same
_NORMAL = 0.3  # how near to mean 0 and deviation 1 columns are that somebody normalised
_APART, _UNIT = 4.0, 6.0  # deviations between means, and factor between deviations, of other units


@dataclass
class Doubts:
    """Counts of one run; `look` takes rows in, `tell` says what is wrong with them, once."""

    low: float
    high: float
    """Rewards that the weights can speak of."""
    mean: Float64[np.ndarray, " k"]
    spread: Float64[np.ndarray, " k"]
    """Of the sources' observations, column by column."""
    looks: int = 0
    rows: int = 0
    outside: int = 0
    """Rows that no source was ever paid anything like."""
    paid: list[np.ndarray] = field(default_factory=list)
    seen: list[np.ndarray] = field(default_factory=list)
    told: bool = False

    def look(self, seen: np.ndarray, reward: Float64[np.ndarray, " n"]) -> None:
        """Take in what the learner saw and was paid since the last look."""
        self.looks += 1
        self.rows += len(reward)
        self.outside += int(np.sum((reward < self.low) | (reward > self.high)))
        if not self.told:
            self.paid.append(reward)
            self.seen.append(seen)

    @property
    def share(self) -> float:
        """Of rows that are left out."""
        return self.outside / max(1, self.rows)

    def tell(self) -> None:
        """All doubts, as warnings; after the first time, none."""
        if self.told or not self.rows:
            return
        self.told = True
        seen, paid = np.concatenate(self.seen), np.concatenate(self.paid)
        self.seen, self.paid = [], []
        for text in (self._left_out(paid), _alike(paid), self._other_units(seen)):
            if text:
                warnings.warn(text, DataWarning, stacklevel=2)

    def _left_out(self, paid: np.ndarray) -> str:
        if self.share <= _MANY:
            return ""
        end = " None is left, so nobody is trusted." if self.outside == self.rows else ""
        return (
            f"{self.outside} of the first {self.rows} rows are left out of the weights, since no "
            f"source was paid anything like that (they: {self.low:g} to {self.high:g}; the learner:"
            f" {paid.min():g} to {paid.max():g}).{end} If only one side was normalised, undo it; "
            "if the learner is just a novice, go on: its better rows will count."
        )

    def _other_units(self, seen: np.ndarray) -> str:
        """Whether one side's observations were normalised, or are in other units."""
        if len(seen) < _FEW or seen.shape[1] != len(self.mean):
            return ""
        mean, spread = seen.mean(axis=0, dtype=np.float64), seen.std(axis=0, dtype=np.float64)
        moves = (spread > 0) & (self.spread > 0)
        if not moves.any():
            return ""
        one, other = spread[moves], self.spread[moves]
        ratio, gap = one / other, np.abs(mean[moves] - self.mean[moves])
        apart = (gap > _APART * np.maximum(one, other)) | (ratio > _UNIT) | (ratio < 1 / _UNIT)
        ours = _normalised(mean[moves], one)
        if np.mean(apart) <= 0.5 and ours == _normalised(self.mean[moves], other):
            return ""
        far = np.abs(np.log(ratio)) + gap / np.maximum(one, other)
        worst = int(np.flatnonzero(moves)[far.argmax()])
        return (
            "observations of the learner and of the sources look as if they were in other units: "
            f"entry {worst} is {mean[worst]:.3g} ± {spread[worst]:.3g} in the first {len(seen)} "
            f"rows, and {self.mean[worst]:.3g} ± {self.spread[worst]:.3g} in the logs. Weights and "
            "imitation are then wrong. If only one side was normalised, undo it (VecNormalize is "
            "undone by itself); if the learner just has not been there yet, go on."
        )


def doubts_of(observations: Sequence[np.ndarray], bounds: tuple[float, float]) -> Doubts:
    """Nothing counted yet.

    >>> doubts_of([np.array([[0.0], [2.0]])], (0.0, 1.0)).mean
    array([1.])
    """
    seen = np.concatenate([np.asarray(one, np.float64) for one in observations])
    mean, spread = (seen.mean(axis=0), seen.std(axis=0)) if len(seen) else (seen[:0].sum(0),) * 2
    return Doubts(*bounds, mean, spread)


def warn_of_equal_rewards(names: Sequence[str], paid: Sequence[np.ndarray]) -> None:
    """Sources whose every step was paid the same: nothing says what they wanted.

    >>> warn_of_equal_rewards(["ann"], [np.array([0.0, 1.0])])
    """
    same = [
        f"{printable(name)!r} ({r[0]:g})"
        for name, r in zip(names, paid, strict=True)
        if len(r) > 1 and np.ptp(r) == 0
    ]
    if same:
        warnings.warn(
            f"all rewards are equal in the logs of {', '.join(same[:5])}"
            f"{f' and {len(same) - 5} more' if len(same) > 5 else ''}, so nothing says what was "
            "wanted there, and weights cannot find it. Leave these logs out, or give their "
            "rewards: bers.load(..., rewards=...).",
            DataWarning,
            stacklevel=2,
        )


def _alike(paid: np.ndarray) -> str:
    """Whether the learner's rewards are all equal, or nearly all."""
    values, counts = np.unique(paid, return_counts=True)
    usual, most = float(values[counts.argmax()]), int(counts.max())
    if most == len(paid):
        return (
            f"all of the first {len(paid)} rewards are {usual:g}, and equal rewards cannot tell "
            "sources apart. Pass rule='equal' to learn from all of them until rewards differ, or "
            "give rewards that say how near the goal is."
        )
    if len(paid) < _FEW or most < _RARE * len(paid):
        return ""
    return (
        f"{most} of the first {len(paid)} rewards are {usual:g}: rewards are rare, "
        f"{len(paid) - most} rows say what is wanted, and weights are found slowly or "
        "end in nobody. Pass trimmed=0, so that rare rewards count; rule='equal' or 'single:0' if "
        "you know whom to trust; or give rewards that say how near the goal is."
    )


def _normalised(mean: np.ndarray, spread: np.ndarray) -> bool:
    """Whether all columns have mean 0 and deviation 1, of two columns or more."""
    near = (np.abs(mean) < _NORMAL) & (np.abs(spread - 1) < _NORMAL)
    return len(mean) > 1 and bool(near.all())
