"""Points of a list to be tried side by side, each chosen as if those before it had a value.

Enters: a belief, and the points to choose from. Leaves: expected improvements, which change as
points are supposed to have the value that is expected of them. A guess is no evidence: how likely
each hypothesis is stays as the rows left it, and a guess costs one row of each factor.
"""

import numpy as np
from jaxtyping import Float64

from bers.model.process import Belief, Given, Places, improvement_of


class Plate:
    """A belief at points to choose from, and what was supposed of some.

    Parameters
    ----------
    belief
        By what is known.
    to
        The points to choose from.

    Examples
    --------
    >>> from bers.model.process import family
    >>> x = np.linspace(0, 1, 21)[:, None]
    >>> found = family([(x, (x[:, 0] - at) ** 2) for at in (0.3, 0.4, 0.5, 0.6)])
    >>> plate = Plate(found.observe(x[[0, 20]], np.array([0.2, 0.3])), found.places(x))
    >>> best = int(np.argmax(plate.improvement()))
    >>> plate.suppose(best)
    >>> best != int(np.argmax(plate.improvement()))
    True
    """

    def __init__(self, belief: Belief, to: Places) -> None:
        self._goal = float(belief.z.min())
        self._given = list(belief.given(to))
        self._alone = list(belief.alone.given(to))

    def improvement(self, *, alone: bool = False) -> Float64[np.ndarray, " m"]:
        """Expected improvement of the points; of those supposed, too.

        Parameters
        ----------
        alone
            As if there were no earlier tasks.

        Returns
        -------
        ndarray
            One entry for each point.
        """
        given = self._alone if alone else self._given
        return improvement_of((part for one in given for part in one.parts()), self._goal)

    def suppose(self, i: int) -> None:
        """From now on a point has the value that is expected of it, but none better than the best.

        Parameters
        ----------
        i
            Its place among the points.
        """
        guess = max(_middle(self._given, i), self._goal)
        self._given = [one.supposing(i, guess) for one in self._given]
        self._alone = [one.supposing(i, guess) for one in self._alone]


def _middle(given: list[Given], i: int) -> float:
    """What is expected of one point, as the processes see values."""
    parts = [(share, float(m[i])) for one in given for share, m, _ in one.parts()]
    return sum(share * m for share, m in parts) / sum(share for share, _ in parts)
