"""The library's own rule: the odds that the target is like each source, like a mix, like nobody.

Enters: `Beliefs`. Leaves: weights whose sum is at most one; the rest is "nobody". [Eq. odds]

Each hypothesis says that the target's labels are one function plus noise: exactly, or up to an
offset, or up to an offset and a positive scale. The function is that of one source, or of the best
mixture of all (the quadratic program in the metric that fits), or a constant: nobody. Or each row
follows one of the sources, nobody knows which (rows.py). Or neither the target's labels can be
foretold nor those of a source, and both are spread alike (shape.py). The weights are averages over
the hypotheses, by their Bayes factors. So labels in the same units are used as such, and where
units differ, offset and scale drop out by themselves.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.special import stdtr

from bers.model.nig import Numbers
from bers.trust.beliefs import Beliefs
from bers.trust.objective import Metric, Program, drawn_programs, drawn_weights, program, solved
from bers.trust.rows import rows_of_several
from bers.trust.shape import alike_in_shape

_SIZES = (0.0, 0.3, 3.0, 30.0, 300.0)  # variances of the misfit, in units of the noise
_INDEPENDENT = 0.04  # of the evidence that rows would have if they were independent
_ALONG = 0.3  # variance that a function explains, over the rest, from which it surely goes along
_ROW_COUNTS = 1 / 3  # rows count as a third where several sources share them
_MIXTURE_PRICE = 0.08  # a mixture must leave at most e⁻⁰·⁰⁸ of the squared error of one source
_NOBODY = 0.14  # chance, before any target data, that no source is like the target
_STANDARD_ERRORS = 1.0  # that a source's covariance with the labels must exceed to count
_CAPACITY = 500.0  # numbers that training fits to random labels; measured: up to 330
_SKILLED = 0.5  # of its own held-out labels that a head explains: from there it is fully heard
_UNHEARD = -3.3  # logarithm of the Bayes factor of a source whose head says nothing, at least
_SAYS = 0.03  # of its own held-out labels that a head explains: below, it goes along by chance
_LEAST = 0.1  # of its chance that is left, before any target data, to a source that says nothing
_MANY, _NOTHING = 1000, 0.05  # rows of a source, and a skill, by which its labels are noise
_ENOUGH_ROWS = 10  # of the target, before rows are shared out among sources, or shapes compared
_SILENCE = -1.0  # logarithm of the Bayes factor of labels that cannot be foretold either
_FORETOLD = 30.0  # gain of a misfit with which the target's labels can surely be foretold
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
    misfit = Misfit.of(known)
    every = misfit.functions(known, w)
    for kind, problem in problems.items():
        mixture = solved(problem, kind)
        members = np.sum(mixture > 1e-9, -1)
        trust = _trust(mixture @ along, _sum_of_squares(mixture, doubt))
        both = _log_bayes(known, misfit, kind, every.mixed(mixture), trust, members) - price
        single = _log_bayes(known, misfit, kind, every, surely, np.array(1))
        against = np.maximum(single, heard * single + (1 - heard) * _UNHEARD)
        one.append(np.where(known.known, np.where(single < 0, against, single), -np.inf))
        many.append(np.where(members > 1, both, -np.inf))
        mixtures.append(mixture)
    share = np.log(1 - _NOBODY) - np.log(len(_KINDS) * max(int(np.sum(known.known)), 1))
    single = np.logaddexp.reduce(one, axis=0) + share + np.log(_speaks(known))
    single = np.logaddexp(single, np.log(_NOBODY) + _unforeseen(known, misfit))
    mixed = np.stack(many, axis=-1) + share
    split, shares = _one_source_a_row(known, w, price)
    split = split - _ROW_COUNTS * misfit.gain
    nobody = np.full((*mixed.shape[:-1], 1), np.log(_NOBODY))
    all_of_them = np.concatenate([single, mixed, split[..., None] + share, nobody], -1)
    total = np.logaddexp.reduce(all_of_them, axis=-1, keepdims=True)
    return Odds(
        np.exp(single - total),
        np.exp(mixed - total),
        np.stack(mixtures, axis=-2),
        np.exp(split + share - total[..., 0]),
        shares,
    )


@dataclass(frozen=True)
class Functions:
    """Of sources, or of mixtures of them, over the target's rows."""

    g: Float64[np.ndarray, "... k"]
    """Around their means, in the basis of the misfit."""
    error: Float64[np.ndarray, "... k"]
    """Expected square of what is not known of it."""
    missed: Float64[Numbers, "..."]
    """Mean of the labels less their mean."""
    missed_error: Float64[Numbers, "..."]

    def mixed(self, a: Float64[np.ndarray, "*batch N"]) -> "Functions":
        """Σ aᵢ fᵢ; what is not known of them is independent."""
        return Functions(
            np.einsum("...n,...nk->...k", a, self.g),
            a**2 @ self.error,
            np.sum(a * self.missed, -1),
            a**2 @ self.missed_error,
        )


@dataclass(frozen=True)
class Misfit:
    """What no source says, and what is not noise: linear in the features, of several sizes.

    Rows of one run are alike, and a source is never exactly right: what separates it from the
    target is smooth, and so is a target that is like nobody. With a variance s times that of the
    noise, the labels' covariance is σ² (I + s Z Zᵀ), Z being the features over the target's rows,
    centred and scaled. In the basis of Z it is a diagonal. [Eq. misfit]
    """

    basis: Float64[np.ndarray, "k k"]
    """Of the space of `Beliefs.centred`, in columns."""
    inflated: Float64[np.ndarray, "sizes k"]
    """1 + s λ: variances along the basis, in units of the noise."""
    log_evidence: Float64[np.ndarray, " sizes"]
    """Of the labels, with nobody but the misfit, for each size; a share for each of them."""
    label: Float64[np.ndarray, " k"]
    """The labels in the basis."""
    rest: float
    """Mean square of the labels that no feature explains."""

    @classmethod
    def of(cls, known: Beliefs) -> "Misfit":
        """Of the target's rows."""
        L = known.centred[:, :-1]
        size = np.linalg.norm(L, axis=0)
        some = size > 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
        Z = L[:, some] / size[some]
        values, basis = np.linalg.eigh(Z @ Z.T / max(int(some.sum()), 1))
        spread = known.n * np.maximum(values, 0.0)
        inflated = 1 + np.array(_SIZES)[:, None] * spread
        label = basis.T @ known.label
        rest = max(known.label_variance - float(label @ label), 0.0)
        yy = np.maximum(np.sum(label**2 / inflated, -1) + rest, 1e-300)
        fit = -0.5 * np.sum(np.log(inflated), -1) - 0.5 * max(known.n - 1, 0) * np.log(yy)
        return cls(basis, inflated, fit - np.log(len(_SIZES)), label, rest)

    def functions(self, known: Beliefs, w: Float64[np.ndarray, "*batch N d"]) -> Functions:
        """φᵀw of every source."""
        s = np.where(known.known, [known.raw_uncertainty, known.centred_uncertainty], 0.0)
        return Functions(
            w @ (known.centred.T @ self.basis),
            known.spread_along(self.basis),
            known.missed_on_average(w),
            np.maximum(s[0] - s[1], 0.0),
        )

    @property
    def gain(self) -> float:
        """Logarithm of the evidence of nobody's labels, beyond that of noise alone."""
        alone = float(self.log_evidence[0]) + np.log(len(_SIZES))
        return float(np.logaddexp.reduce(self.log_evidence)) - alone

    def match(self, g: Float64[np.ndarray, "*batch k"], size: int) -> Float64[Numbers, "*batch"]:
        """Correlation of functions with the labels, both freed of what a misfit explains."""
        g = g / np.sqrt(self.inflated[size])
        norm, own = np.linalg.norm(g, axis=-1), np.sqrt(self.variance[size])
        varies = (norm > 1e-150) & (own > 0)  # no unit is too small; a constant is like nothing
        label = self.label / np.sqrt(self.inflated[size]) / (own or 1.0)
        found = (g / np.where(varies, norm, 1.0)[..., None]) @ label
        return np.where(varies, found, 0.0).clip(-1, 1)

    @property
    def variance(self) -> Float64[np.ndarray, " sizes"]:
        """Of the labels, in units in which the misfit is noise."""
        return np.sum(self.label**2 / self.inflated, -1) + self.rest

    def pooled(self, log_bayes: Float64[np.ndarray, "sizes *batch"]) -> Numbers:
        """Of Bayes factors against nobody, size by size: of all sizes, and a little of the first.

        The first size is 0. There rows are independent, which is too good to be true, and hardly
        counts; but it knows the wide sweep of a function, which a misfit explains away.
        """
        first = log_bayes[0]
        weighed = log_bayes + self.log_evidence.reshape(-1, *[1] * first.ndim)
        total = np.logaddexp.reduce(weighed, axis=0) - np.logaddexp.reduce(self.log_evidence)
        return total + _INDEPENDENT * first


def _heard(known: Beliefs) -> Float64[np.ndarray, " N"]:
    """How much it says against a source that its head does not fit the target, from 0 to 1.

    A head that fails on held-out rows of its own source would not fit a target that is the same
    either; one whose skill was not measured is taken at its word. With very many rows and no skill
    at all there is nothing to be like: such a source is noise.
    """
    able = np.where(np.isnan(known.skill), 1.0, np.clip(known.skill / _SKILLED, 0.0, 1.0))
    return np.where((known.rows >= _MANY) & (known.skill < _NOTHING), 1.0, able)


def _speaks(known: Beliefs) -> Float64[np.ndarray, " N"]:
    """How much of its chance, before any target data, each source has; 1 for all that say anything.

    A head that explains nothing of held-out rows of its own source, or less than their mean does,
    is a draw of noise. Where it goes along with the target, that is chance.
    """
    says = np.clip(known.skill / _SAYS, _LEAST, 1.0)
    return np.where(np.isnan(known.skill), 1.0, says)


def _unforeseen(known: Beliefs, misfit: Misfit) -> Float64[np.ndarray, " N"]:
    """Log Bayes factors of the hypothesis that labels of source and target cannot be foretold.

    All sources together have a factor of one at most: labels that are spread alike are no proof.
    [Eq. shape]
    """
    nothing = np.full(known.N, -np.inf)
    if not known.label_variance > 0 or known.n < _ENOUGH_ROWS or misfit.gain > _FORETOLD:
        return nothing
    some = np.array([shape is not None for shape in known.shapes])
    if not some.any():
        return nothing
    y = known.sample[1]
    counts = np.ones(len(y)) if known.counts is None else known.counts
    alike = [0.0 if one is None else alike_in_shape(one, y, counts) for one in known.shapes]
    with np.errstate(divide="ignore"):
        log = np.log(np.where(some, known.unforeseen, 0.0))
    log = log + _ROW_COUNTS * known.n * np.array(alike)
    total = np.logaddexp.reduce(log)
    factor = _SILENCE + total - np.log(max(float(known.unforeseen[some].sum()), 1.0))
    return log - total + min(factor, 0.0) - max(misfit.gain, 0.0)


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
    misfit: Misfit,
    kind: Metric,
    f: Functions,
    trust: Numbers,
    members: Numbers,
) -> Numbers:
    """Of functions, against nobody. [Eq. odds]"""
    if not known.label_variance > 0:
        return np.zeros(f.g.shape[:-1])  # constant labels are like anything, and like nothing
    found = []
    for k, inflated in enumerate(misfit.inflated):
        if kind == "affine":
            match = misfit.match(f.g, k)
            found.append(log_bayes_factor(match, trust, known.n, members))
            continue
        left = np.sum(((misfit.label - f.g) ** 2 + f.error) / inflated, -1) + misfit.rest
        if kind == "function":
            left = left + f.missed**2 + f.missed_error
        gain = -0.5 * max(known.n - 1, 0) * np.log(left / misfit.variance[k])
        found.append(np.minimum(gain, trust * gain) - 0.5 * members * np.log1p(known.n))
    R2 = np.minimum(np.maximum(misfit.match(f.g, 0), 0.0) ** 2 * trust, 1 - 1e-12)
    return misfit.pooled(np.stack(found)) + _alike(R2, known.n)


def _alike(R2: Numbers, n: int) -> Numbers:
    """To be like a source is to go with it: functions that do not are no explanation. [Eq. odds]

    The slope's prior times its square (a moment prior): what is near 0 loses a factor of n.
    """
    return np.minimum(np.log1p(n * R2 / (1 - R2)) - np.log1p(_ALONG * n), 0.0)


def _sum_of_squares(a: np.ndarray, error: Float64[np.ndarray, " N"]) -> Numbers:
    """Σ aᵢ² errorᵢ"""
    return (a**2) @ error


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

    With R² = match² · trust and g = n,

        ½ (n − 1 − k) log(1 + g) − ½ (n − 1) log(1 + g (1 − R²)) + log 2 P(b > 0 | y)

    >>> log_bayes_factor(np.array([0.9, 0.0, -0.9]), np.ones(3), 100, 1).round(1).tolist()
    [78.5, -2.3, -4.7]
    """
    m, g = float(max(n, 1)), float(max(n, 1))
    R2 = np.minimum(match**2 * trust, 1 - 1e-12)
    gain = 0.5 * (m - 1 - members) * np.log1p(g) - 0.5 * (m - 1) * np.log1p(g * (1 - R2))
    shrunk = g / (1 + g)
    z = match * np.sqrt(trust * shrunk * (m - 1) / (1 - shrunk * R2))
    with np.errstate(divide="ignore"):  # a chance too small for a float is none
        return gain + np.log(2) + np.log(stdtr(max(m - 1, 1e-3), z))
