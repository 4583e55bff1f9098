"""The library's own rule: the odds that the target is like each source, like a mix, like nobody.

Enters: `Beliefs`. Leaves: weights whose sum is at most one; the rest is "nobody". [Eq. odds]

Each hypothesis says that the target's labels are one function plus noise: exactly, or up to an
offset, or up to an offset and a positive scale. The function is that of one source, or of the best
mixture of all (the quadratic program in the metric that fits), or a constant: nobody. Or each row
follows one of the sources, nobody knows which (rows.py). The weights are averages over the
hypotheses, by their Bayes factors. So labels in the
same units are used as such, and where units differ, offset and scale drop out by themselves.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.special import stdtr

from bers.model.nig import Numbers
from bers.trust.beliefs import Beliefs
from bers.trust.objective import Metric, Program, drawn_programs, drawn_weights, program, solved
from bers.trust.rows import rows_of_several

_ROW_COUNTS = 1 / 3  # rows of one run are alike and heads are not exact: three count as one
_MIXTURE_PRICE = 0.2  # a mixture must leave at most e⁻⁰·² of the squared error of one source
_NOBODY = 0.75  # chance, before any target data, that no source is like the target
_STANDARD_ERRORS = 3.0  # that a source's covariance with the labels must exceed to count
_CAPACITY = 500.0  # numbers that training fits to random labels; measured: up to 330
_SKILLED = 0.5  # of its own held-out labels that a head explains: from there it is fully heard
_MANY, _NOTHING = 1000, 0.05  # rows of a source, and a skill, by which its labels are noise
_ENOUGH_ROWS = 10  # of the target, before rows are shared out among sources
_KINDS: tuple[Metric, ...] = ("function", "centred", "affine")
"""Exactly; up to an offset; up to an offset and a scale."""


@dataclass(frozen=True)
class Odds:
    """Probabilities of the hypotheses; arrays may lead with a batch axis."""

    single: Float64[np.ndarray, "*batch N"]
    """That the target is like one source."""
    mixed: Float64[np.ndarray, "*batch kinds"]
    """That it is like a mixture, in each sense of alike."""
    mixture: Float64[np.ndarray, "*batch kinds N"]
    """The mixtures' weights."""
    apiece: Float64[Numbers, "*batch"]
    """That every row follows one source, not all the same."""
    shares: Float64[np.ndarray, "*batch N"]
    """Of the rows, that follow each source."""

    @property
    def a(self) -> Float64[np.ndarray, "*batch N"]:
        """The weights: averaged over the hypotheses."""
        mixed = np.einsum("...k,...kn->...n", self.mixed, self.mixture)
        return self.single + mixed + np.asarray(self.apiece)[..., None] * self.shares


def odds(known: Beliefs) -> Odds:
    """Of the posterior means."""
    return _odds(known, {kind: program(known, kind) for kind in _KINDS}, known.sources.mu)


def drawn_odds(rng: np.random.Generator, known: Beliefs, draws: int) -> Odds:
    """One for each draw of all w from their posteriors."""
    w = drawn_weights(rng, known, draws)
    return _odds(known, {kind: drawn_programs(known, kind, *w) for kind in _KINDS}, w[0])


def _odds(
    known: Beliefs, problems: dict[Metric, Program], w: Float64[np.ndarray, "*batch N d"]
) -> Odds:
    one, many, mixtures = [], [], []
    along, doubt = _covariances(known)
    price = 0.5 * _MIXTURE_PRICE * _ROW_COUNTS * max(known.n - 1, 0)
    surely = _trust(along, doubt)
    heard = _heard(known)
    for kind, problem in problems.items():
        mixture = solved(problem, kind)
        f = np.einsum("...n,...nk->...k", mixture, problem.M)
        members = np.sum(mixture > 1e-9, -1)
        trust = _trust(mixture @ along, _sum_of_squares(mixture, doubt))
        both = _log_bayes(known, kind, f, mixture, trust, members) - price
        single = _log_bayes(known, kind, problem.M, None, surely, np.array(1))
        one.append(np.where(known.known, np.where(single < 0, heard * single, single), -np.inf))
        many.append(np.where(members > 1, both, -np.inf))
        mixtures.append(mixture)
    share = np.log(1 - _NOBODY) - np.log(len(_KINDS) * max(int(np.sum(known.known)), 1))
    single = np.logaddexp.reduce(one, axis=0) + share
    mixed = np.stack(many, axis=-1) + share
    split, shares = _one_source_a_row(known, w, price)
    nobody = np.full((*mixed.shape[:-1], 1), np.log(_NOBODY))
    every = np.concatenate([single, mixed, split[..., None] + share, nobody], -1)
    total = np.logaddexp.reduce(every, axis=-1, keepdims=True)
    return Odds(
        np.exp(single - total),
        np.exp(mixed - total),
        np.stack(mixtures, axis=-2),
        np.exp(split + share - total[..., 0]),
        shares,
    )


def _heard(known: Beliefs) -> Float64[np.ndarray, " N"]:
    """How much it says against a source that its head does not fit the target, from 0 to 1.

    A head that fails on held-out rows of its own source would not fit a target that is the same
    either; one whose skill was not measured is taken at its word. With very many rows and no skill
    at all there is nothing to be like: such a source is noise.
    """
    able = np.where(np.isnan(known.skill), 1.0, np.clip(known.skill / _SKILLED, 0.0, 1.0))
    return np.where((known.rows >= _MANY) & (known.skill < _NOTHING), 1.0, able)


def _one_source_a_row(
    known: Beliefs, w: Float64[np.ndarray, "*batch N d"], price: float
) -> tuple[Numbers, Float64[np.ndarray, "*batch N"]]:
    """Log Bayes factor and shares of the hypothesis that each row follows one source. [Eq. rows]"""
    batch = w.shape[:-2]
    if not known.label_variance > 0 or np.sum(known.known) < 2 or known.n < _ENOUGH_ROWS:
        return np.full(batch, -np.inf), np.zeros((*batch, known.N))
    Phi, y = known.sample
    counts = np.ones(len(y)) if known.counts is None else known.counts
    each = w.reshape(-1, *w.shape[-2:])
    found = [rows_of_several(y, Phi @ one.T, counts, known.known) for one in each]
    gain = np.array([one.gain for one in found]) * known.n * _ROW_COUNTS
    members = np.array([one.members for one in found])
    log_bayes = gain - 0.5 * (2 * members - 1) * np.log1p(known.n) - price
    log_bayes = np.where(members > 1, log_bayes, -np.inf)
    shares = np.array([one.shares for one in found])
    return log_bayes.reshape(batch), shares.reshape(*batch, known.N)


def _log_bayes(
    known: Beliefs,
    kind: Metric,
    f: np.ndarray,
    a: np.ndarray | None,
    trust: Numbers,
    members: Numbers,
) -> Numbers:
    """Of functions f = Σ aᵢfᵢ, or of each fᵢ if a is None, against a constant. [Eq. odds]"""
    if not known.label_variance > 0:
        return np.zeros(f.shape[:-1])  # constant labels are like anything, and like nothing
    if kind == "affine":
        return log_bayes_factor(known.match(f), trust, known.n, members)
    s = known.raw_uncertainty if kind == "function" else known.centred_uncertainty
    error = _sum_of_squares(a, np.where(known.known, s, 0.0))
    left = known.squared_error(f, centred=kind == "centred") + error
    gain = -0.5 * _ROW_COUNTS * max(known.n - 1, 0) * np.log(left / known.label_variance)
    return np.minimum(gain, trust * gain) - 0.5 * members * np.log1p(known.n)


def _sum_of_squares(a: np.ndarray | None, error: Float64[np.ndarray, " N"]) -> Numbers:
    """Σ aᵢ² errorᵢ, or each error if a is None."""
    return error if a is None else (a**2) @ error


def _covariances(known: Beliefs) -> tuple[np.ndarray, np.ndarray]:
    """Of each source's function with the target's labels, and what may be chance of its square.

    What a head makes of noise goes with them by chance, but never by more than a few of its own
    standard errors. These are too small, since the encoder was fitted to the same rows: by as
    much as the error on held-out rows exceeds that on its own. Where that was not measured, a head
    that explains R² of n labels may have fitted nR² numbers, not d.
    """
    mean = known.sources.mu @ (known.centred.T @ known.label)
    fitted = np.minimum(known.rows * known.explained, _CAPACITY)
    worse = np.maximum(fitted / known.sources.d, 1.0)
    measured = np.maximum((1 - known.skill) / (1 - np.minimum(known.explained, 1 - 1e-6)), 1.0)
    error = known.covariance_error * np.where(np.isnan(known.skill), worse, measured)
    return mean, _STANDARD_ERRORS**2 * error


def _trust(covariance: Numbers, doubt: Numbers) -> Numbers:
    """How far it is known that functions go with the target's labels at all, from 0 to 1."""
    square = covariance**2
    return np.where(square > doubt, 1 - doubt / np.where(square > 0, square, 1.0), 0.0)


def log_bayes_factor(match: Numbers, trust: Numbers, n: int, members: Numbers | int) -> Numbers:
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
    with np.errstate(divide="ignore"):  # a chance too small for a float is none
        return gain + np.log(2) + np.log(stdtr(max(m - 1, 1e-3), z))
