"""Models of the target's rows alone, where no source deserves a say.

Enters: rows of the target, and what head and residual foretell of some that they have not seen.
Leaves: what all of them foretell together. [Eq. own]

The sources' encoder has features for what sources want. Where nobody is like the target, an encoder
of the target's own may have better ones, and sources that mislead should cost no more than that.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from bers.data.demonstrations import Demonstrations
from bers.errors import PrecisionWarning
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit
from bers.model.nig import StudentT

_FEWEST = 16  # rows of the target: fewer train nothing
_PARTS = 4  # of the rows; each is held out once, to say who foretells better
_SPREAD = 0.15  # of the share around a half, before rows tell


@dataclass(frozen=True)
class Own:
    """Models of the target alone, and their share. Made by `own`."""

    whole: Model
    """It has seen all rows."""
    parts: tuple[Model, ...]
    """Each has seen all rows but some. Half of what is said is theirs: steadier than one alone."""
    share: float

    def beside(self, other: StudentT, x: Float64[np.ndarray, "m D"]) -> StudentT:
        """Mean and variance of both together.

        Parameters
        ----------
        other
            What is foretold with the help of the sources.
        x
            The inputs.

        Returns
        -------
        StudentT
            By shares.
        """
        mine = self.parts[0].predict(0, x)
        for k, model in enumerate(self.parts[1:], 2):
            mine = together(mine, model.predict(0, x), 1 / k)
        return together(other, together(mine, self.whole.predict(0, x), 0.5), self.share)


def together(a: StudentT, b: StudentT, share: float) -> StudentT:
    """With the mean and the variance of both, of which b has a share.

    >>> both = together(
    ...     StudentT(np.zeros(1), np.ones(1), np.array(9.0)),
    ...     StudentT(np.full(1, 4.0), np.ones(1), np.array(9.0)),
    ...     0.25,
    ... )
    >>> both.mean.tolist(), round(float(both.std[0] ** 2), 3)
    ([1.0], 4.286)
    """
    mean = (1 - share) * a.mean + share * b.mean
    square = (1 - share) * (a.std**2 + a.mean**2) + share * (b.std**2 + b.mean**2)
    dof = float((1 - share) * np.mean(a.dof) + share * np.mean(b.dof))
    variance = np.maximum(square - mean**2, 0.0)
    return StudentT(mean, np.sqrt(variance * (dof - 2) / dof), np.array(dof))


def own(
    target: Demonstrations,
    others: Callable[[Demonstrations, Float64[np.ndarray, "m D"]], Float64[np.ndarray, " m"]],
    config: ModelConfig | None,
) -> Own | None:
    """The target's own models, and how much of them to take, by rows that are held out.

    Parameters
    ----------
    target
        Its rows.
    others
        What is expected with the help of the sources: of some rows, given others.
    config
        Of the model.

    Returns
    -------
    Own or None
        None where the rows are few, or where it is of no use.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (40, 1))
    >>> rows = Demonstrations(x, 3 * x[:, 0], "new")
    >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=100, skip=True)
    >>> found = own(rows, lambda known, asked: np.zeros(len(asked)), config)
    >>> bool(found.share > 0.9)
    True
    """
    if target.n < _FEWEST or not np.ptp(target.y) > 0:
        return None
    order = np.random.default_rng(target.n).permutation(target.n)
    theirs, mine, models = np.zeros(target.n), np.zeros(target.n), []
    for part in range(_PARTS):
        held, kept = np.sort(order[part::_PARTS]), np.sort(np.delete(order, np.s_[part::_PARTS]))
        known = Demonstrations(target.x[kept], target.y[kept], target.name)
        asked = target.x[held]
        models.append(_fitted(known, config))
        theirs[held], mine[held] = others(known, asked), models[-1].predict(0, asked).mean
    share = _share(mine - theirs, target.y - theirs)
    return Own(_fitted(target, config), tuple(models), share) if share > 0 else None


def _share(apart: Float64[np.ndarray, " n"], left: Float64[np.ndarray, " n"]) -> float:
    """By least squares of what is left on what sets both apart, around a half.

    Where the rows tell well, with little noise, the half has no say.
    """
    size = float(apart @ apart)
    if not size > 0:
        return 0.0
    best = float(apart @ left) / size
    pull = float(np.mean((left - best * apart) ** 2)) / _SPREAD**2
    return min(max((float(apart @ left) + 0.5 * pull) / (size + pull), 0.0), 1.0)


def _fitted(rows: Demonstrations, config: ModelConfig | None) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # the target's head has said so
        return fit([rows], config=config, rng=rows.n, progress=False)
