"""A guard by success: reuse a source only if that pays more often than the learner's own way.

Enters: for every step of an iteration, whose point was used and whether the step paid. Leaves:
steps that are allowed. Successes are counted with a discount, so that a source that paid at first
and no longer does is dropped. [Eq. guard]
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int

_DISCOUNT = 0.8  # of old counts, per iteration


@dataclass(frozen=True)
class Guard:
    """Discounted counts; the learner's own way comes last.

    >>> guard = Guard.new(1)
    >>> for _ in range(5):
    ...     guard = guard.after(np.array([0] * 16 + [-1] * 16), np.arange(32) >= 16)
    >>> guard.allowed(np.random.default_rng(0), np.zeros(8, int)).tolist()
    [-1, -1, -1, -1, -1, -1, -1, -1]
    """

    paid: Float64[np.ndarray, " ways"]
    failed: Float64[np.ndarray, " ways"]

    @classmethod
    def new(cls, N: int) -> "Guard":
        """Nothing known of N sources."""
        return cls(np.zeros(N + 1), np.zeros(N + 1))

    def allowed(
        self, rng: np.random.Generator, sources: Int[np.ndarray, " n"]
    ) -> Int[np.ndarray, " n"]:
        """The sources that look better than the own way, by a draw of both rates; -1 elsewhere."""
        rates = rng.beta(1 + self.paid, 1 + self.failed, (len(sources), len(self.paid)))
        better = rates[np.arange(len(sources)), sources] > rates[:, -1]
        return np.where(better, sources, -1)

    def after(self, sources: Int[np.ndarray, " n"], paid: Bool[np.ndarray, " n"]) -> "Guard":
        """One iteration later."""
        ways = len(self.paid)
        won = np.bincount(sources[paid] % ways, minlength=ways)  # -1 is the last
        lost = np.bincount(sources[~paid] % ways, minlength=ways)
        return replace(
            self, paid=_DISCOUNT * self.paid + won, failed=_DISCOUNT * self.failed + lost
        )
