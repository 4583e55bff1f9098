"""What the sources say, weighed by how well they order the target's rows.

Enters: the sources' heads, rows of the target, and what head and residual foretell of each of these
rows by the others. Leaves: what all of them foretell together. [Eq. order]

Odds ask who would have given these labels. Many sources of few rows are all a little off, and the
one that is least so need not order settings best. A mean of those that order the rows well is off
in another way than the head is, so both together are better than either.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from bers.model.nig import StudentT
from bers.model.scaling import LabelScale
from bers.trust.beliefs import Beliefs
from bers.trust.own import together
from bers.trust.rules import RULES, Past

_SHARE = 1 / 3  # where it foretells as well as the head does, and nobody has no weight
_FEWEST = 4  # rows


@dataclass(frozen=True)
class Order:
    """The mean of the sources by how they order rows, in the target's units. Made by `order`."""

    w: Float64[np.ndarray, " d"]
    """From features to labels."""
    std: float
    """Of what is foretold of a row by the others."""
    dof: float
    share: float

    def beside(self, other: StudentT, Phi: Float64[np.ndarray, "m d"]) -> StudentT:
        """Mean and variance of both together.

        Parameters
        ----------
        other
            What head and residual foretell.
        Phi
            Features of the same rows.

        Returns
        -------
        StudentT
            By shares.
        """
        mine = StudentT(Phi @ self.w, np.full(len(Phi), self.std), np.array(self.dof))
        return together(other, mine, self.share)


def order(
    known: Beliefs,
    scales: tuple[LabelScale, ...],
    nobody: float,
    Phi: Float64[np.ndarray, "n d"],
    y: Float64[np.ndarray, " n"],
    left_out: Float64[np.ndarray, " n"],
) -> Order | None:
    """The sources' mean by the rule "ranking", and its share.

    Parameters
    ----------
    known
        What is believed of sources and target.
    scales
        Of the labels of each source that has rows.
    nobody
        Its weight.
    Phi, y
        Features and labels of rows of the target.
    left_out
        What head and residual foretell of each of them by the others.

    Returns
    -------
    Order or None
        None where the rows are fewer than four, or the sources say the same everywhere.
    """
    if len(y) < _FEWEST or known.N < 2:
        return None
    a = RULES["ranking"].weigh(known, Past.none(known.N))
    some = known.rows > 0
    units = np.array([scale.scale for scale in scales])
    w = (a[some] / units) @ known.sources.mu[some]
    f = Phi @ w
    far, middle = f - f.mean(), float(y.mean())
    size = float(np.mean(far**2))
    if not size > 1e-18 * max(1.0, float(np.mean(f**2))) or not np.ptp(y) > 0:
        return None
    ours = float(np.mean((left_out - y) ** 2))
    slope = max(float(far @ y), 0.0) / ((len(y) + 1) * size)  # one row says: flat
    pull = 1 / len(y) + (far**2 / ((len(y) + 1) * size) if slope > 0 else 0.0)
    left = (y - middle - slope * far) / (1 - pull)  # each row left out, in closed form
    theirs = float(np.mean(left**2))
    share = _SHARE * (1 - nobody) * min(1.0, ours / theirs)
    line = slope * w
    line[-1] += middle - slope * float(f.mean())
    return Order(line, float(np.sqrt(theirs)), float(len(y) + 1), share)
