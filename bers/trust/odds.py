"""The library's own rule: the odds that the target is like each source, like a mix, like nobody.

Enters: `Beliefs`. Leaves: weights whose sum is at most one; the rest is "nobody". [Eq. odds]

Each hypothesis says that the target's labels are an offset, plus a positive multiple of one
function, plus noise. The function is that of one source, or of the best mixture of all (the
quadratic program in the metric `affine`), or there is none. Its Bayes factor against "none" has a
closed form, and the weights are averages over the hypotheses. Offset and scale of labels cancel.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.special import logsumexp
from scipy.stats import t as student

from bers.trust.beliefs import Beliefs
from bers.trust.objective import Program, drawn_programs, program, solved

_ROW_COUNTS = 1 / 3  # rows of one run are alike and heads are not exact: three count as one
_MIXTURE_PRICE = 0.2  # a mixture must leave at most e⁻⁰·² of the squared error of one source
_NOBODY = 0.75  # chance, before any target data, that no source is like the target


@dataclass(frozen=True)
class Odds:
    """Probabilities of the hypotheses; arrays may lead with a batch axis."""

    single: Float64[np.ndarray, "*batch N"]
    """That the target is like one source."""
    mixed: Float64[np.ndarray, "*batch"]
    """That it is like the mixture."""
    mixture: Float64[np.ndarray, "*batch N"]
    """The mixture's weights."""
    match: Float64[np.ndarray, "*batch N"]
    """Correlation of each source's function with the target's labels."""

    @property
    def a(self) -> Float64[np.ndarray, "*batch N"]:
        """The weights: averaged over the hypotheses."""
        return self.single + self.mixed[..., None] * self.mixture


def odds(known: Beliefs) -> Odds:
    """Of the posterior means."""
    return _odds(known, program(known, "affine"))


def drawn_odds(rng: np.random.Generator, known: Beliefs, draws: int) -> Odds:
    """One for each draw of all w from their posteriors."""
    return _odds(known, drawn_programs(rng, known, "affine", draws))


def _odds(known: Beliefs, problem: Program) -> Odds:
    mixture = solved(problem, "affine")
    mixed = np.einsum("...n,...nk->...k", mixture, problem.M)
    members = np.sum(mixture > 1e-9, -1)
    match, trust = _match(known, problem.M), _trust(known, np.eye(known.N))
    single = log_bayes_factor(match, trust, known.n, 1)
    both = log_bayes_factor(_match(known, mixed), _trust(known, mixture), known.n, members)
    both = both - 0.5 * _MIXTURE_PRICE * _ROW_COUNTS * max(known.n - 1, 0)
    single = np.where(known.known, single, -np.inf)
    both = np.where(members > 1, both, -np.inf)
    share = np.log(1 - _NOBODY) - np.log(max(int(np.sum(known.known)), 1))
    parts = np.concatenate([single + share, both[..., None] + share], axis=-1)
    nobody = np.full((*parts.shape[:-1], 1), np.log(_NOBODY))
    chance = np.exp(parts - logsumexp(np.concatenate([parts, nobody], -1), -1, keepdims=True))
    return Odds(chance[..., :-1], chance[..., -1], mixture, match)


def _match(known: Beliefs, f: Float64[np.ndarray, "*batch k"]) -> Float64[np.ndarray, "*batch"]:
    """Correlation of functions with the target's labels over the target's rows."""
    size = np.linalg.norm(f, axis=-1) * np.sqrt(known.label_variance)
    varies = size > 1e-12 * known.label_variance
    return np.where(varies, f @ known.label / np.where(varies, size, 1.0), 0.0).clip(-1, 1)


def _trust(known: Beliefs, a: Float64[np.ndarray, "*batch N"]) -> Float64[np.ndarray, "*batch"]:
    """How far the function Σ aᵢfᵢ can be relied on: its mean square over that plus its error."""
    error = np.where(known.known, known.uncertainty(known.centred), 0.0)
    square = np.sum((a @ known.sources.mu @ known.centred.T) ** 2, -1)
    total = square + (a**2) @ error
    return np.where(total > 0, square / np.where(total > 0, total, 1.0), 0.0)


def log_bayes_factor(
    match: np.ndarray, trust: np.ndarray, n: int, members: np.ndarray | int
) -> np.ndarray:
    """log p(y | offset + b f, b > 0) − log p(y | offset), by a unit-information prior. [Eq. odds]

    With R² = match² · trust, m = 1 + (n − 1)/3 rows that count and g = n,

        ½ (m − 1 − k) log(1 + g) − ½ (m − 1) log(1 + g (1 − R²)) + log 2 P(b > 0 | y)

    >>> log_bayes_factor(np.array([0.9, 0.0, -0.9]), np.ones(3), 100, 1).round(1).tolist()
    [25.1, -2.3, -4.2]
    """
    m, g = 1 + _ROW_COUNTS * max(n - 1, 0), float(max(n, 1))
    R2 = np.minimum(match**2 * trust, 1 - 1e-12)
    gain = 0.5 * (m - 1 - members) * np.log1p(g) - 0.5 * (m - 1) * np.log1p(g * (1 - R2))
    shrunk = g / (1 + g)
    z = match * np.sqrt(trust * shrunk * (m - 1) / (1 - shrunk * R2))
    return gain + np.log(2) + student.logcdf(z, max(m - 1, 1e-3))
