"""What the heads of several sources have in common, as a prior of each of them and of a new one.

Enters: the rows of every source as summaries under one encoder, and the scales of their labels.
Leaves: for each head, its posteriors under a few priors, and how likely each is.

The heads are taken as draws from one population, wᵢ ~ N(m, σᵢ² C), whose mean, covariance and noise
are found from all of them (empirical Bayes). C is pulled towards τ times the identity, as if one
more source had said so. Populations of several τ, with labels in shared units and in each source's
own, stand beside priors that know nothing of the others, and the evidence of a head's rows decides
between them. What a source says is left out of its own prior.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import digamma, log_softmax, logsumexp, polygamma

from bers.errors import DataError
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.scaling import LabelScale

_TAUS = (1e-3, 1e-2, 1e-1, 1.0)
_PRECISIONS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)  # of the neutral priors, times that of the settings
_ROUNDS = 40  # of expectation and maximisation
_ENOUGH = 200  # heads tell what a population is; more of them only take longer
_SHAPES = (1.0, 20.0)  # between which the noise's α may lie
_LEAST_NOISE = 1e-8  # σ² in units of the labels' variance
_ENOUGH_ROWS = 8  # fewer labels say too little about their own spread
_NEAREST, _LEAST_LIKE = 3, 0.05  # sources that are priors of their own: how many, and from when
_APART = (1e-2, 1e-1, 1.0, 1e1)  # variance of a head around that of the one source it is like
_QUIET = (1e-4, 1e-2)  # of the labels' variance, as noise of a neutral prior
_NEAR_SHAPE = 2.0  # α of the noise there: as that of the source, as two rows would say
_SMALL = 1e-4  # a prior with a smaller share is left out
_LEAST_LEFT = 1e-6  # of a row's say in what is foretold of it, that others have


@dataclass(frozen=True)
class Averaged:
    """Posteriors under several priors, and the share of each. Made by `average`.

    Examples
    --------
    >>> two = nig.stack([nig.prior(1), nig.prior(1, bias_mean=10.0)])
    >>> found = average(two, nig.summarise(np.ones((9, 1)), np.full(9, 10.0)))
    >>> found.share.tolist(), found.which.tolist()
    ([1.0], [1])
    >>> mean, std = found.predict(np.ones((1, 1)))
    >>> float(mean[0].round(6))
    10.0
    """

    heads: nig.NIG
    """One for each prior whose share is not negligible."""
    share: Float64[np.ndarray, " K"]
    """How likely each of these priors is, given the rows; they add up to one."""
    which: np.ndarray
    """Their numbers among all priors."""
    log_evidence: float = 0.0
    """Of the rows, averaged over all priors."""

    def predict(
        self, Phi: Float[np.ndarray, "n d"]
    ) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
        """Mean and standard deviation of the labels at rows of features.

        Parameters
        ----------
        Phi
            Features, the bias last.

        Returns
        -------
        mean, std
            One entry for each row. The deviation is infinite while nothing is known of the noise.
        """
        ts = [nig.predict(self.heads[k], Phi) for k in range(len(self.share))]
        means = np.stack([t.mean for t in ts])
        mean = self.share @ means
        variance = self.share @ (np.stack([t.std for t in ts]) ** 2 + (means - mean) ** 2)
        return mean, np.sqrt(variance)

    def left_out(
        self, Phi: Float[np.ndarray, "n d"], y: Float64[np.ndarray, " n"]
    ) -> Float64[np.ndarray, " n"]:
        """What is foretold of each row that the heads have seen, by the others alone.

        Shares stay as they are. [Eq. left_out]

        Parameters
        ----------
        Phi, y
            Features and labels of the rows.

        Returns
        -------
        Array
            One label for each row.

        Examples
        --------
        >>> rows = nig.summarise(np.ones((3, 1)), np.array([0.0, 0.0, 9.0]))
        >>> found = average(nig.stack([nig.prior(1, bias_precision=1e-9)]), rows)
        >>> found.left_out(np.ones((3, 1)), np.array([0.0, 0.0, 9.0])).round(6).tolist()
        [4.5, 4.5, 0.0]
        """
        foretold = np.zeros(len(y))
        for share, mu, U in zip(self.share, self.heads.mu, self.heads.U, strict=True):
            pull = np.sum(np.linalg.solve(U.T, Phi.T) ** 2, axis=0)
            foretold += share * (y - (y - Phi @ mu) / np.maximum(1 - pull, _LEAST_LEFT))
        return foretold

    @property
    def head(self) -> nig.NIG:
        """One head with the mean and the covariance of the average.

        Examples
        --------
        >>> same = nig.stack([nig.prior(2), nig.prior(2)])
        >>> rows = nig.summarise(np.eye(2), np.ones(2))
        >>> found, one = average(same, rows).head, nig.condition(nig.prior(2), rows)
        >>> bool(np.allclose(found.mu, one.mu)), bool(np.allclose(found.Lam, one.Lam))
        (True, True)
        """
        heads, share = self.heads, self.share
        mu, alpha = share @ heads.mu, share @ heads.alpha
        noise = heads.beta / heads.alpha
        far = heads.mu - mu
        spread = np.einsum("k,kij->ij", share * noise, heads.Sigma)
        spread += np.einsum("k,ki,kj->ij", share, far, far)
        U = _root_of_precision(spread / (share @ noise))
        return nig.NIG(mu, U, np.array(alpha), np.array(alpha * (share @ noise)))


def average(
    priors: nig.NIG,
    rows: nig.Summary,
    log_odds: Float64[np.ndarray, " _"] | float = 0.0,
    cost: Float64[np.ndarray, " K"] | float = 0.0,
) -> Averaged:
    """Condition every prior on the rows, and weigh it by the evidence of the rows. [Eq. nig_ll]

    Parameters
    ----------
    priors
        K of them, stacked.
    rows
        Of one head.
    log_odds
        How likely each prior is before the rows are seen, as a logarithm up to a constant.
    cost
        What to take off the logarithm of the evidence of each.

    Returns
    -------
    Averaged
        Without the priors whose share is negligible.
    """
    posteriors = nig.condition(priors, rows)
    return _weighed(posteriors, nig.log_evidence(priors, posteriors) - cost, log_odds)


@dataclass(frozen=True)
class Population:
    """wᵢ ~ N(m, σᵢ² C) and σᵢ² ~ InvGamma(α, β), and what each known head says about m and C."""

    tau: float
    lam: float
    """Precision of m before any head is seen, in units of the noise."""
    C: Float64[np.ndarray, "d d"]
    alpha: float
    beta: float
    mu: Float64[np.ndarray, "heads d"]
    precision: Float64[np.ndarray, " heads"]
    """E[1/σᵢ²]"""
    Sigma: Float64[np.ndarray, "heads d d"]
    """Of the known heads, in units of the noise."""
    total: Float64[np.ndarray, "d d"]
    """Their sum."""

    def prior(self, without: int | None = None) -> nig.NIG:
        """The prior of a new head, or of a known one from all the others."""
        mu, r, total, C, lam = self.mu, self.precision, self.total, self.C, self.lam
        if without is not None:
            mu, r = (np.delete(part, without, axis=0) for part in (mu, r))
            total = total - self.Sigma[without]
            if len(mu):  # start afresh: what is left out has a say in C and λ
                C, lam = _spread_around(r @ mu / r.sum(), mu, r, total, self.tau), 0.0
        m, V, C, _ = _maximised(mu, r, total, C, lam, self.tau)
        return nig.NIG(m, _root_of_precision(C + V), np.array(self.alpha), np.array(self.beta))


def population(rows: nig.Summary, tau: float) -> Population:
    """Mean, covariance and noise of the population that heads come from, by their rows.

    Expectation and maximisation, with a Gaussian for m:

        rᵢ = E[1/σᵢ²] = αᵢ/βᵢ,   V = (λI + N C⁻¹)⁻¹,   m = V C⁻¹ Σᵢ rᵢμᵢ / r̄
        λ = d / (r̄mᵀm + tr V)
        C = (τI + Σᵢ Σᵢ + rᵢ(μᵢ − m)(μᵢ − m)ᵀ + V) / (1 + N)

    Parameters
    ----------
    rows
        Of all heads, stacked; labels centred and of order one.
    tau
        Variance of a head around m, in units of the noise, before any head is seen.

    Returns
    -------
    Population
        Its `prior` is that of a new head.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def line(w):
    ...     Phi = np.stack([rng.standard_normal(50), np.ones(50)], axis=1)
    ...     return nig.summarise(Phi, Phi @ w + 0.1 * rng.standard_normal(50))
    >>> lines = [line(np.array([2.0, bias])) for bias in (-1.0, 0.0, 1.0, 2.0)]
    >>> found = population(joined(lines), tau=1e-3).prior()
    >>> found.mu.round(1).tolist()
    [2.0, 0.5]
    >>> slope, bias = np.sqrt(np.diagonal(found.Sigma))
    >>> bool(bias > 10 * slope)
    True
    """
    Gram = np.swapaxes(rows.R, -1, -2) @ rows.R
    G, h, yy = Gram[:, :-1, :-1], Gram[:, :-1, -1], Gram[:, -1, -1]
    d, alpha, beta, lam = h.shape[-1], 1.0, 1.0, 1e-2
    C, m, mu, r, Sigma, total = np.eye(d), np.zeros(d), h, rows.n, G, G[0]
    for _ in range(_ROUNDS):
        P = np.linalg.inv(C)
        Sigma = np.linalg.inv(P + G)
        total = Sigma.sum(axis=0)
        mu = np.einsum("nij,nj->ni", Sigma, h + P @ m)
        far = mu - m
        misfit = yy - 2 * np.sum(mu * h, -1) + np.einsum("ni,nij,nj->n", mu, G, mu)
        shapes = alpha + 0.5 * rows.n
        scales = beta + 0.5 * np.maximum(misfit + np.einsum("ni,ij,nj->n", far, P, far), 0)
        scales = np.maximum(scales, shapes * _LEAST_NOISE)
        r = shapes / scales
        m, _, C, lam = _maximised(mu, r, total, C, lam, tau)
        alpha = _gamma_shape(float(np.log(r.mean()) - np.mean(digamma(shapes) - np.log(scales))))
        beta = alpha / float(r.mean())
    return Population(tau, lam, C, alpha, beta, mu, r, Sigma, total)


@dataclass(frozen=True)
class Pool:
    """What sources have in common, and the head of each with the help of the others."""

    config: ModelConfig
    common: LabelScale
    """Of all sources' labels together."""
    usual: LabelScale
    """Of one source's labels, in the middle of all."""
    shared: tuple[Population, ...]
    """Populations in units that all sources share."""
    own: tuple[Population, ...]
    """Populations in each source's own units."""
    speakers: tuple[int, ...]
    """The sources behind the populations: all, or some of very many."""
    scales: tuple[LabelScale, ...] = ()
    """Of each source's labels: its own units."""
    heads: tuple[Averaged, ...] = ()
    """Of the sources."""

    @property
    def informed(self) -> Bool[np.ndarray, " K"]:
        """Which of the priors know of the other sources."""
        return np.arange(2 * len(_TAUS) + len(_PRECISIONS)) < 2 * len(_TAUS)

    def label_scale(self, rows: nig.Summary) -> LabelScale:
        """Centre and spread of the labels behind a summary; the usual spread where rows are few.

        Parameters
        ----------
        rows
            Of one source.

        Returns
        -------
        LabelScale
            Its own units.
        """
        return _label_scale(rows, self.usual, self.config)

    def new(
        self,
        rows: nig.Summary | None = None,
        without: int | None = None,
        like: Float64[np.ndarray, " N"] | None = None,
    ) -> Averaged:
        """The head of a new source, or of a known one with other rows.

        Parameters
        ----------
        rows
            Its rows; None where there are none yet.
        without
            The number of the known source that the rows are of. It is left out of the prior.
        like
            How far it is believed to be like each of the sources; their sum is at most one. Those
            that it is most like are priors of their own, beside what all have in common.

        Returns
        -------
        Averaged
            Without rows, what the population says alone.
        """
        priors, log_odds, cost = self.priors(rows, without, like)
        if rows is None:
            return _weighed(priors, np.where(self.informed, 0.0, -np.inf), log_odds)
        return average(priors, rows, log_odds, cost)

    def priors(
        self,
        rows: nig.Summary | None = None,
        without: int | None = None,
        like: Float64[np.ndarray, " N"] | None = None,
    ) -> tuple[nig.NIG, Float64[np.ndarray, " K"], Float64[np.ndarray, " K"]]:
        """What `new` averages over: priors, the logarithms of their odds, and what each costs.

        Parameters
        ----------
        rows, without, like
            As in `new`.

        Returns
        -------
        tuple
            Priors, stacked; log odds; what to take off the log evidence of each.
        """
        shares = _shares(self.heads, len(self.informed))
        log_odds = np.log1p(np.delete(shares, [] if without is None else without, 0).sum(axis=0))
        scale = self.usual if rows is None else self.label_scale(rows)
        priors = list(_priors(self, scale, without))
        if rows is None:
            return nig.stack(priors), log_odds, np.zeros(len(priors))
        if len(self.heads) == 1 and without == 0:
            log_odds = np.where(self.informed, -np.inf, log_odds)
        cost = _cost_of_scales(rows)
        if like is not None:
            doubtful = list(_doubtful(self, scale, priors[-1]))
            near = list(_near(self, scale, like))
            priors = [*priors, *doubtful, *(prior for prior, _ in near)]
            log_odds = np.concatenate(
                [
                    log_odds - logsumexp(log_odds),
                    np.full(len(doubtful), -np.log(len(doubtful))),
                    np.log([share for _, share in near]),
                ]
            )
            own = cost[len(_TAUS)]
            costs = np.repeat([0.0, own, cost[-1], own], [2, 2, len(_QUIET), len(near)])
            cost = np.append(cost, costs)
        return nig.stack(priors), log_odds, cost


def pool(rows: Sequence[nig.Summary], *, config: ModelConfig) -> Pool:
    """Find what sources have in common, and the head of each with the help of the others.

    Parameters
    ----------
    rows
        A summary for each source, under one encoder, the bias last.
    config
        Its prior is the neutral one.

    Returns
    -------
    Pool
        With a head for each source; `new` makes more.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def line(n):
    ...     Phi = np.stack([rng.standard_normal(n), np.ones(n)], axis=1)
    ...     return nig.summarise(Phi, Phi @ [2.0, rng.normal()] + 0.1 * rng.standard_normal(n))
    >>> found = pool([line(50) for _ in range(8)], config=ModelConfig())
    >>> found.heads[0].head.mu.round(1)[0].item()
    2.0
    >>> found.new(line(1)).head.mu.round(1)[0].item()  # a slope from a single row
    2.0
    """
    if not rows:
        raise DataError("pool() needs the rows of at least one source; got none. Give a summary.")
    usual = _usual_scale(rows, config)
    scales = [_label_scale(part, usual, config) for part in rows]
    common = _common_scale(rows, scales, config)
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(_ENOUGH, len(rows))).astype(int))
    shared = joined([_in_units(rows[i], common) for i in chosen])
    own = joined([_in_units(rows[i], scales[i]) for i in chosen])
    found = Pool(
        config,
        common,
        usual,
        tuple(population(shared, tau) for tau in _TAUS),
        tuple(population(own, tau) for tau in _TAUS),
        tuple(chosen.tolist()),
        tuple(scales),
    )
    return replace(found, heads=tuple(_heads(found, rows, scales)))


def joined(rows: Sequence[nig.Summary]) -> nig.Summary:
    """Summaries of several heads as one whose arrays lead with their number."""
    return nig.Summary(np.stack([part.R for part in rows]), np.stack([part.n for part in rows]))


def _heads(
    pool: Pool, rows: Sequence[nig.Summary], scales: Sequence[LabelScale]
) -> Iterator[Averaged]:
    """The head of every source, first by its evidence alone, then by what the others prefer."""
    alone = np.where(pool.informed, -np.inf, 0.0) if len(rows) == 1 else np.zeros(1)
    first = []
    for i, (part, scale) in enumerate(zip(rows, scales, strict=True)):
        priors = nig.stack(list(_priors(pool, scale, i)))
        first.append(average(priors, part, alone, _cost_of_scales(part)))
    seen = _shares(first, len(pool.informed))
    shares, odds = seen, np.ones(len(pool.informed))
    for _ in range(_ROUNDS):  # how often each prior is the right one, by all heads, and once more
        shares = seen * odds / (seen @ odds)[:, None]
        odds = 1 + shares.sum(axis=0)
    for found, share in zip(first, shares, strict=True):
        log_odds = np.log(odds - share) + alone
        before = alone + np.zeros_like(log_odds)
        evidence = np.log(found.share) - before[found.which]
        again = _weighed(found.heads, evidence, log_odds[found.which])
        total = logsumexp(evidence + log_odds[found.which]) - logsumexp(log_odds)
        total += found.log_evidence + logsumexp(before)
        yield Averaged(again.heads, again.share, found.which[again.which], float(total))


def _shares(heads: Sequence[Averaged], priors: int) -> Float64[np.ndarray, "heads K"]:
    shares = np.zeros((len(heads), priors))
    for share, head in zip(shares, heads, strict=True):
        share[head.which] = head.share
    return shares


def _priors(pool: Pool, scale: LabelScale, without: int | None) -> Iterator[nig.NIG]:
    """All priors of one head: in shared units, in its own, neutral."""
    if without is not None:
        without = pool.speakers.index(without) if without in pool.speakers else None
    for each in pool.shared:
        yield _from_units(each.prior(without), pool.common)
    for each in pool.own:
        yield _from_units(each.prior(without), scale)
    neutral = scale.prior(pool.shared[0].C.shape[-1], config=pool.config)
    for times in _PRECISIONS:
        U = neutral.U * np.sqrt(times)
        U[-1, -1] = neutral.U[-1, -1]
        yield nig.NIG(neutral.mu, U, neutral.alpha, neutral.beta)


def _doubtful(pool: Pool, scale: LabelScale, neutral: nig.NIG) -> Iterator[nig.NIG]:
    """Priors that allow for more: few sources hardly tell a covariance, nor another one's noise.

    C is pulled towards as much of the identity as there are features, against the sources.
    """
    for each, units in ((pool.shared, pool.common), (pool.own, scale)):
        for population in (each[0], each[-1]):
            prior = population.prior()
            N, d, C = len(population.mu), prior.d, prior.Sigma
            C = (N * C + d * np.trace(C) / d * np.eye(d)) / (N + d) * (N + d + 1) / (N + 1)
            noise = prior.beta / prior.alpha
            loose = nig.NIG(prior.mu, _root_of_precision(C), np.array(1.0), noise)
            yield _from_units(loose, units)
    for share in _QUIET:
        yield nig.NIG(neutral.mu, neutral.U, neutral.alpha, neutral.beta * share)


def _near(
    pool: Pool, scale: LabelScale, like: Float64[np.ndarray, " N"]
) -> Iterator[tuple[nig.NIG, float]]:
    """Priors around single sources, each in the new head's own units, and their shares."""
    total = float(like.sum())
    if total > _LEAST_LIKE and np.count_nonzero(like > 1e-3) > 1:
        yield from _near_all(pool, scale, like / total, total)
    for i in np.argsort(-like, kind="stable")[:_NEAREST]:
        if like[i] < _LEAST_LIKE:
            return
        head = _to_units(pool.heads[i].head, pool.scales[i])
        for tau in _APART:
            U = _root_of_precision(head.Sigma + tau * np.eye(head.d))
            beta = _NEAR_SHAPE * head.beta / head.alpha
            near = nig.NIG(head.mu, U, np.array(_NEAR_SHAPE), beta)
            yield _from_units(near, scale), float(like[i]) / len(_APART)


def _near_all(
    pool: Pool, scale: LabelScale, a: Float64[np.ndarray, " N"], total: float
) -> Iterator[tuple[nig.NIG, float]]:
    """Priors around the mean of the sources, weighted by how far the new one is like each."""
    some = np.flatnonzero(a > 1e-3)
    heads = [_to_units(pool.heads[i].head, pool.scales[i]) for i in some]
    share = a[some] / a[some].sum()
    mu = share @ np.stack([head.mu for head in heads])
    Sigma = np.einsum("k,kij->ij", share**2, np.stack([head.Sigma for head in heads]))
    noise = float(share @ np.array([head.beta / head.alpha for head in heads]))
    for tau in _APART:
        U = _root_of_precision(Sigma + tau * np.eye(len(mu)))
        near = nig.NIG(mu, U, np.array(_NEAR_SHAPE), np.array(_NEAR_SHAPE * noise))
        yield _from_units(near, scale), total / len(_APART)


def _cost_of_scales(rows: nig.Summary) -> Float64[np.ndarray, " K"]:
    """Half the logarithm of the rows for each number that was fitted to the labels beforehand.

    Own units are a centre and a spread. A neutral prior has a wide bias, which pays for the centre.
    """
    fitted = np.repeat([0.0, 2.0, 1.0], [len(_TAUS), len(_TAUS), len(_PRECISIONS)])
    return 0.5 * fitted * np.log1p(float(rows.n))


def _weighed(heads: nig.NIG, evidence: np.ndarray, log_odds: np.ndarray | float = 0.0) -> Averaged:
    """The heads by their shares; those that count for nothing are left out."""
    before = log_odds + np.zeros(len(heads.mu))
    joint = evidence + before
    share = np.exp(log_softmax(joint))
    kept = np.flatnonzero(share >= _SMALL)
    total = float(logsumexp(joint) - logsumexp(before))
    return Averaged(heads[kept], share[kept] / share[kept].sum(), kept, total)


def _maximised(
    mu: Float64[np.ndarray, "heads d"],
    r: Float64[np.ndarray, " heads"],
    total: Float64[np.ndarray, "d d"],
    C: Float64[np.ndarray, "d d"],
    lam: float,
    tau: float,
) -> tuple[
    Float64[np.ndarray, " d"], Float64[np.ndarray, "d d"], Float64[np.ndarray, "d d"], float
]:
    """m, its covariance V in units of the noise, C and λ, from what is known of the heads."""
    N, d = mu.shape
    P = np.linalg.inv(C)
    V = np.linalg.inv(lam * np.eye(d) + N * P)
    mean = float(r.mean()) if N else 1.0
    m = V @ P @ (r @ mu) / mean
    C = _spread_around(m, mu, r, total, tau) + N / (1 + N) * V
    return m, V, C, d / (mean * float(m @ m) + float(np.trace(V)))


def _spread_around(
    m: Float64[np.ndarray, " d"],
    mu: Float64[np.ndarray, "heads d"],
    r: Float64[np.ndarray, " heads"],
    total: Float64[np.ndarray, "d d"],
    tau: float,
) -> Float64[np.ndarray, "d d"]:
    """C, if m were known."""
    far = np.sqrt(r)[:, None] * (mu - m)
    return (tau * np.eye(len(m)) + total + far.T @ far) / (1 + len(mu))


def _gamma_shape(gap: float) -> float:
    """α of a gamma distribution, from log E[x] − E[log x], by Newton's method."""
    alpha = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(5):
        step = (np.log(alpha) - digamma(alpha) - gap) / (1 / alpha - polygamma(1, alpha))
        alpha = np.clip(alpha - step, *_SHAPES)
    return float(alpha)


def _root_of_precision(covariance: Float64[np.ndarray, "d d"]) -> Float64[np.ndarray, "d d"]:
    """Upper triangular U with UᵀU = covariance⁻¹."""
    C = np.linalg.cholesky(covariance)
    U = np.asarray(np.linalg.qr(np.linalg.inv(C), mode="r"))
    return U * np.sign(np.diagonal(U))[:, None]


def _label_scale(
    rows: nig.Summary, usual: LabelScale, config: ModelConfig, least: int = _ENOUGH_ROWS
) -> LabelScale:
    """Centre and spread of the labels behind a summary; the usual spread where rows are few."""
    if config.labels == "raw" or not rows.n:
        return usual
    n, bias, y = float(rows.n), rows.R[:, -2], rows.R[:, -1]
    loc = float(bias @ y) / n
    spread = float(np.linalg.norm(y - loc * bias) / np.sqrt(n))
    varies = spread > 1e-12 * abs(loc)
    return LabelScale(loc, spread if varies and n >= least else usual.scale)


def _usual_scale(rows: Sequence[nig.Summary], config: ModelConfig) -> LabelScale:
    """Of a source in the middle; by sources of few rows only where there are no others."""
    if config.labels == "raw":
        return LabelScale()
    for least in (_ENOUGH_ROWS, 2):
        found = [_label_scale(part, LabelScale(0, np.nan), config, least) for part in rows]
        known = [scale.scale for scale in found if np.isfinite(scale.scale)]
        if known:
            break
    centres = [scale.loc for scale, part in zip(found, rows, strict=True) if part.n]
    middle = float(np.median(centres)) if centres else 0.0
    return LabelScale(middle, float(np.median(known)) if known else 1.0)


def _common_scale(
    rows: Sequence[nig.Summary], scales: Sequence[LabelScale], config: ModelConfig
) -> LabelScale:
    """Of the labels of all sources together."""
    if config.labels == "raw":
        return LabelScale()
    n = np.array([float(part.n) for part in rows])
    loc, scale = (np.array([getattr(s, name) for s in scales]) for name in ("loc", "scale"))
    middle = float(n @ loc / max(n.sum(), 1))
    return LabelScale(
        middle, float(np.sqrt(n @ (scale**2 + (loc - middle) ** 2) / max(n.sum(), 1))) or 1.0
    )


def _in_units(rows: nig.Summary, scale: LabelScale) -> nig.Summary:
    """The summary of labels (y − loc) / scale; the bias is the last feature."""
    R = rows.R.copy()
    R[..., -1] = (R[..., -1] - scale.loc * R[..., -2]) / scale.scale
    return nig.Summary(R, rows.n)


def _to_units(head: nig.NIG, scale: LabelScale) -> nig.NIG:
    """A head of labels y as one of (y − loc) / scale."""
    mu = head.mu.copy()
    mu[-1] -= scale.loc
    return nig.NIG(mu / scale.scale, head.U, head.alpha, head.beta / scale.scale**2)


def _from_units(head: nig.NIG, scale: LabelScale) -> nig.NIG:
    """A head of labels ỹ as one of y = loc + scale · ỹ. [Eq. label_prior]"""
    mu = head.mu * scale.scale
    mu[-1] += scale.loc
    return nig.NIG(mu, head.U, head.alpha, head.beta * scale.scale**2)
