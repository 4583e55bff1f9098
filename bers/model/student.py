"""Student's t: what a Normal-Inverse-Gamma head says about one number.

Enters: location, scale and degrees of freedom, arrays of one shape. Leaves: means, spreads,
densities, intervals. Predictions and the marginals of w are both of this family.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy import stats

from bers.errors import ConfigError

if TYPE_CHECKING:
    Numbers = np.ndarray
else:
    Numbers = np.ndarray | np.generic  # NumPy turns an array without axes into a scalar


@dataclass(frozen=True)
class StudentT:
    """A t distribution for every entry of its arrays.

    >>> t = StudentT(loc=np.zeros(1), scale=np.ones(1), dof=np.array(8.0))
    >>> low, high = t.interval(0.95)
    >>> float(high[0].round(3))
    2.306
    """

    loc: Float[np.ndarray, "*shape"]
    scale: Float[np.ndarray, "*shape"]
    dof: Float[Numbers, "..."]

    @property
    def mean(self) -> Float[np.ndarray, "*shape"]:
        """The centre (the mean, where there are more than one degrees of freedom)."""
        return self.loc

    @property
    def std(self) -> Float[np.ndarray, "*shape"]:
        """Standard deviation; infinite for two degrees of freedom or fewer."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.dof > 2, self.dof / (self.dof - 2), np.inf)
        return self.scale * np.sqrt(ratio)

    def cdf(self, value: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Probability of a value at or below `value`; uniform if the model is right."""
        return stats.t.cdf(value, self.dof, loc=self.loc, scale=self.scale)

    def log_density(self, value: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Logarithm of the density at `value`."""
        return stats.t.logpdf(value, self.dof, loc=self.loc, scale=self.scale)

    def interval(
        self, level: float = 0.9
    ) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """The central interval that holds `level` of the probability."""
        if not 0 < level < 1:
            raise ConfigError(f"interval(level=...) must lie between 0 and 1; got {level}.")
        return stats.t.interval(level, self.dof, loc=self.loc, scale=self.scale)
