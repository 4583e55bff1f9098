"""One Normal-Inverse-Gamma head: what a demonstrator wanted, and how sure that is.

Enters: features Φ (n rows, d columns, the last one the constant bias) and labels y. Leaves: the
posterior of (w, σ²), in float64. Implements [Eq. nig], [Eq. nig_update], [Eq. nig_ll].

Rows are first boiled down to a `Summary`, the triangular factor of [Φ y]. Summaries of shards
merge by stacking and factoring again, so a batch, a stream and a cluster give one posterior.
Every array may have leading axes: N heads are one NIG whose arrays lead with N.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Float64, Int
from scipy import stats
from scipy.linalg import lapack, solve_triangular
from scipy.special import gammaln

from bers.errors import ConfigError, DataError, PrecisionWarning

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


_CHUNK = 16384  # rows between two merges into the running factor
_FOLD = 400  # so few rows stay in cache, and OpenBLAS stays in one thread
_AT_ONCE = 256  # heads whose rows stay in cache; more at once cost three times as much each
_SAFE_CONDITION = 300.0  # up to which a Gram matrix loses less than 1e-10
_EPS = float(np.finfo(np.float64).eps)
_CORNER = 4.0  # rounding of the corner of QR, in units of ε, up to _AVERAGED rows; 3.5 was seen
_AVERAGED = 20  # beyond, the errors of single rows partly cancel


@dataclass(frozen=True)
class NIG:
    """w | σ² ~ N(mu, σ² (UᵀU)⁻¹), σ² ~ InvGamma(alpha, beta). [Eq. nig]

    U is upper triangular with a positive diagonal. A prior and a posterior are the same kind of
    thing: yesterday's posterior is today's prior.
    """

    mu: Float64[np.ndarray, "*heads d"]
    U: Float64[np.ndarray, "*heads d d"]
    alpha: Float64[Numbers, "*heads"]
    beta: Float64[Numbers, "*heads"]

    @property
    def d(self) -> int:
        """Number of features, the bias included."""
        return self.mu.shape[-1]

    @property
    def Lam(self) -> Float64[np.ndarray, "*heads d d"]:
        """Precision of w in units of the noise: Λ = UᵀU."""
        return np.swapaxes(self.U, -1, -2) @ self.U

    @property
    def Sigma(self) -> Float64[np.ndarray, "*heads d d"]:
        """Covariance of w in units of the noise: Σ = Λ⁻¹."""
        inverse = np.linalg.inv(self.U)
        return inverse @ np.swapaxes(inverse, -1, -2)

    @cached_property
    def noise(self) -> Float64[Numbers, "*heads"]:
        """E[σ²] = β / (α − 1); infinite while α ≤ 1, that is, for a head without data."""
        known = self.alpha > 1
        return np.where(known, self.beta / np.where(known, self.alpha - 1, 1.0), np.inf)

    def __getitem__(self, index: int | slice | np.ndarray) -> "NIG":
        """One head of a stack, or some of them."""
        return NIG(self.mu[index], self.U[index], self.alpha[index], self.beta[index])


@dataclass(frozen=True)
class Summary:
    """All that n rows say about any head: RᵀR = [Φ y]ᵀ[Φ y], R upper triangular."""

    R: Float64[np.ndarray, "*heads D D"]
    n: Int[Numbers, "*heads"]


def prior(
    d: int,
    *,
    weight_precision: float = 1.0,
    bias_precision: float = 1.0,
    bias_mean: float = 0.0,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> NIG:
    """The prior of a head with d features, of which the last is the bias.

    The defaults are the paper's: w ~ N(0, σ² I), σ² ~ InvGamma(1, 1). The bias has a mean and a
    precision of its own, so that an offset common to all labels costs nothing.

    >>> prior(3, bias_mean=5.0).mu.tolist()
    [0.0, 0.0, 5.0]
    """
    positive = {
        "weight_precision": weight_precision,
        "bias_precision": bias_precision,
        "alpha": alpha,
        "beta": beta,
    }
    for name, value in positive.items():
        if not (np.isfinite(value) and value > 0):
            raise ConfigError(f"prior({name}=...) must be finite and above 0; got {value}.")
    if not np.isfinite(bias_mean):
        raise ConfigError(f"prior(bias_mean=...) must be finite; got {bias_mean}.")
    precision = np.full(d, float(weight_precision))
    precision[-1] = bias_precision
    mean = np.zeros(d)
    mean[-1] = bias_mean
    return NIG(mean, np.diag(np.sqrt(precision)), np.array(float(alpha)), np.array(float(beta)))


def empty(d: int) -> Summary:
    """The summary of no rows: the neutral element of `merge`."""
    return Summary(np.zeros((d + 1, d + 1)), np.array(0))


def summarise(Phi: Float[np.ndarray, "n d"], y: Float[np.ndarray, "_"]) -> Summary:
    """Boil rows down to their triangular factor, a cache-sized block at a time.

    >>> summarise(np.ones((3, 1)), np.arange(3.0)).R.round(3).tolist()
    [[1.732, 1.732], [0.0, 1.414]]
    """
    return extend(empty(Phi.shape[-1]), Phi, y)


def extend(summary: Summary, Phi: Float[np.ndarray, "n d"], y: Float[np.ndarray, "_"]) -> Summary:
    """Add rows to a summary: one step of a stream."""
    if len(Phi) != len(y):
        raise DataError(f"features have {len(Phi)} rows but labels have {len(y)}; give one each.")
    R = summary.R
    for start in range(0, len(y), _CHUNK):
        some = slice(start, start + _CHUNK)
        rows = np.empty((len(y[some]), R.shape[1]), order="F")
        rows[:, :-1], rows[:, -1] = Phi[some], y[some]
        R = _absorb(R, rows)
    return Summary(R, summary.n + len(y))


def merge(*summaries: Summary) -> Summary:
    """Join the summaries of shards of one source, in any order and grouping.

    >>> whole = summarise(np.eye(2), np.ones(2))
    >>> parts = merge(summarise(np.eye(2)[:1], np.ones(1)), summarise(np.eye(2)[1:], np.ones(1)))
    >>> bool(np.allclose(whole.R, parts.R)), int(parts.n)
    (True, 2)
    """
    R = summaries[0].R
    for other in summaries[1:]:
        R = _absorb(R, other.R)
    return Summary(R, np.sum([s.n for s in summaries], axis=0))


def scaled(summary: Summary, n: int) -> Summary:
    """Let the rows of a random subset speak for all n rows: each counts n / m times."""
    m = int(summary.n)
    return summary if m in (0, n) else Summary(summary.R * np.sqrt(n / m), np.array(n))


def condition(head: NIG, summary: Summary) -> NIG:
    """The posterior of a head after seeing rows. [Eq. nig_update]

        Λ = Λ⁰ + ΦᵀΦ          μ = Λ⁻¹ (Λ⁰ μ⁰ + Φᵀ y)
        α = α⁰ + n/2           β = β⁰ + ½ (‖y − Φμ‖² + (μ − μ⁰)ᵀ Λ⁰ (μ − μ⁰))

    All four come from one factorisation, QR of [U⁰, U⁰μ⁰; Φ, y]: its corner is the root of the
    bracket in β.

    # Paper: β is printed as yᵀy + μ⁰ᵀΛ⁰μ⁰ − μᵀΛμ, which cancels and can turn negative.
    """
    d = head.d
    if summary.R.shape[-1] != d + 1:
        raise DataError(
            f"the head has {d} features, the rows have {summary.R.shape[-1] - 1}; "
            "both must come from one encoder."
        )
    many = head.U.ndim == 3 and len(head.U) > _AT_ONCE
    posterior, worst = (_by_blocks if many else _conditioned)(head, summary)
    if not worst <= 1e-8:
        _warn_of_imprecision(posterior, worst)
    return posterior


def _conditioned(head: NIG, summary: Summary) -> tuple[NIG, float]:
    """The posterior, and the largest relative error that rounding may have made in it."""
    d = head.d
    own = np.concatenate([head.U, head.U @ head.mu[..., None]], axis=-1)
    rows = np.concatenate([own, np.broadcast_to(summary.R, (*own.shape[:-2], d + 1, d + 1))], -2)
    R = _positive_diagonal(np.asarray(np.linalg.qr(rows, mode="r")))
    U, z, rho = R[..., :d, :d], R[..., :d, d], R[..., d, d]
    posterior = NIG(
        mu=np.linalg.solve(U, z[..., None])[..., 0],
        U=U,
        alpha=head.alpha + 0.5 * summary.n,
        beta=head.beta + 0.5 * rho**2,
    )
    return posterior, _imprecision(posterior, z, rho, summary.n)


def _by_blocks(head: NIG, summary: Summary) -> tuple[NIG, float]:
    """The same for very many heads, some at a time: what is needed on the way stays in cache."""
    heads = len(head.U)
    R = np.broadcast_to(summary.R, (heads, *summary.R.shape[-2:]))
    n = np.broadcast_to(summary.n, heads)
    starts = range(0, heads, _AT_ONCE)
    blocks = [slice(start, start + _AT_ONCE) for start in starts]
    found = [_conditioned(head[some], Summary(R[some], n[some])) for some in blocks]
    parts = [part for part, _ in found]
    names = ("mu", "U", "alpha", "beta")
    whole = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return NIG(**whole), float(np.max([worst for _, worst in found]))


def log_evidence(prior: NIG, posterior: NIG) -> Float64[Numbers, "*heads"]:
    """How well the prior foresaw the labels that led to the posterior. [Eq. nig_ll]

        log p(y | X) = −(n/2) log 2π + ½ log|Λ⁰| − ½ log|Λ|
                       + α⁰ log β⁰ − α log β + log Γ(α) − log Γ(α⁰)

    # Paper: printed with mixed signs and |D|π in place of (n/2) log 2π.
    """
    n = 2 * (posterior.alpha - prior.alpha)
    return (
        -0.5 * n * np.log(2 * np.pi)
        + _half_log_det(prior)
        - _half_log_det(posterior)
        + prior.alpha * np.log(prior.beta)
        - posterior.alpha * np.log(posterior.beta)
        + gammaln(posterior.alpha)
        - gammaln(prior.alpha)
    )


def predict(head: NIG, Phi: Float[np.ndarray, "*rows d"]) -> StudentT:
    """The posterior predictive of labels at rows of features. [Eq. nig_predictive]

        y ~ t(2α) with centre φᵀμ and squared scale (β/α) (1 + φᵀΣφ)

    >>> float(predict(prior(1), np.ones((1, 1))).scale[0].round(3))
    1.414
    """
    Phi = Phi.astype(np.float64, copy=False)
    spread = np.linalg.solve(np.swapaxes(head.U, -1, -2), Phi.T)
    scale = np.sqrt(head.beta / head.alpha * (1 + np.sum(spread**2, axis=0)))
    return StudentT(Phi @ head.mu, scale, 2 * head.alpha)


def marginals(head: NIG) -> StudentT:
    """Each entry of w on its own, σ² integrated out. [Eq. nig_marginal]

    wⱼ ~ t(2α) with centre μⱼ and squared scale (β/α) Σⱼⱼ
    """
    variance = np.diagonal(head.Sigma, axis1=-2, axis2=-1)
    scale = np.sqrt((head.beta / head.alpha)[..., None] * variance)
    return StudentT(head.mu, scale, (2 * head.alpha)[..., None])


def draw(
    rng: np.random.Generator, head: NIG, size: int
) -> tuple[Float64[np.ndarray, "size *heads d"], Float64[np.ndarray, "size *heads"]]:
    """Draw (w, σ²) from a head, or from every head of a stack, `size` times.

    >>> w, sigma2 = draw(np.random.default_rng(0), prior(2), size=5)
    >>> w.shape, bool((sigma2 > 0).all())
    ((5, 2), True)
    """
    sigma2 = head.beta / rng.gamma(head.alpha, size=(size, *head.alpha.shape))
    z = rng.standard_normal((size, *head.mu.shape))
    if head.U.ndim == 2:  # one factor for all draws
        step = solve_triangular(head.U, z.T).T
    else:
        step = np.linalg.solve(head.U, z[..., None])[..., 0]
    return head.mu + np.sqrt(sigma2)[..., None] * step, sigma2


def stack_summaries(parts: Sequence[Summary]) -> Summary:
    """N summaries as one whose arrays lead with N."""
    return Summary(np.stack([part.R for part in parts]), np.stack([part.n for part in parts]))


def stack(heads: Sequence[NIG]) -> NIG:
    """N heads as one NIG whose arrays lead with N."""
    if not heads:
        raise DataError("stack() needs at least one head; got none.")
    return NIG(
        np.stack([head.mu for head in heads]),
        np.stack([head.U for head in heads]),
        np.stack([head.alpha for head in heads]),
        np.stack([head.beta for head in heads]),
    )


def _absorb(
    R: Float64[np.ndarray, "D D"], rows: Float64[np.ndarray, "n D"]
) -> Float64[np.ndarray, "D D"]:
    """The triangular factor of [R; rows], by Householder reflections that skip R's zeros."""
    if len(rows) > _FOLD:
        rows = _compressed(rows)
    fold = lapack.dtpqrt  # pyright: ignore[reportAttributeAccessIssue]
    for start in range(0, len(rows), _FOLD):
        R, *_, info = fold(0, min(8, R.shape[0]), R, rows[start : start + _FOLD])
        if info != 0:
            raise DataError(f"LAPACK refused the rows (argument {-info}); are they finite?")
    return _positive_diagonal(np.triu(R))


def _compressed(rows: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, "m D"]:
    """The triangular factor of rows from their Gram matrix, or the rows if that is not safe.

    Three times as fast as reflections, but it squares the condition number, so only columns
    that are far from collinear go this way.
    """
    blocks = (rows[start : start + _FOLD] for start in range(0, len(rows), _FOLD))
    with np.errstate(over="ignore", invalid="ignore"):
        gram = sum(block.T @ block for block in blocks)
    lengths = np.sqrt(np.diagonal(gram))
    if not np.all((lengths > 1e-100) & (lengths < 1e100)):
        return rows  # squares that underflow or overflow say nothing
    try:
        C = np.linalg.cholesky(gram / np.outer(lengths, lengths)).T
    except np.linalg.LinAlgError:
        return rows
    return C * lengths if _condition(C) < _SAFE_CONDITION else rows


def _condition(U: Float64[np.ndarray, "*heads D D"]) -> Float64[Numbers, "*heads"]:
    inverse = np.linalg.inv(U)
    return np.linalg.norm(U, 1, axis=(-2, -1)) * np.linalg.norm(inverse, 1, axis=(-2, -1))


def _positive_diagonal(R: Float64[np.ndarray, "*heads D D"]) -> Float64[np.ndarray, "*heads D D"]:
    sign = np.where(np.diagonal(R, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return R * sign[..., None] + 0.0  # no negative zeros


def _half_log_det(head: NIG) -> Float64[Numbers, "*heads"]:
    return np.log(np.diagonal(head.U, axis1=-2, axis2=-1)).sum(-1)


def _imprecision(
    head: NIG,
    z: Float64[np.ndarray, "*heads d"],
    rho: Float64[Numbers, "*heads"],
    n: Int[Numbers, "..."],
) -> float:
    """A bound on the rounding error of μ and β, relative, of the worst head.

    Householder QR errs in each column by a share of its length, and not in the others, so U has
    columns of length one here, and V is its inverse. Entry by entry, μ loses ‖Vⱼ‖ ε(‖z‖ + Σ|μ|)
    to the fit and (|V||Vᵀ|1)ⱼ ερ to the residual. Then each entry goes back to its own unit, where
    the largest may be one that is hardly determined. β loses ρ times the rounding of the corner.
    """
    lengths = np.linalg.norm(head.U, axis=-2)
    V = np.abs(np.linalg.inv(head.U / lengths[..., None, :]))
    fitted, size = np.linalg.norm(z, axis=-1), np.linalg.norm(head.mu, axis=-1)
    fit = np.linalg.norm(V, axis=-1) * (fitted + np.sum(lengths * np.abs(head.mu), -1))[..., None]
    residual = np.sum(V * np.sum(V, axis=-2)[..., None, :], axis=-1) * rho[..., None]
    lost = _EPS * np.linalg.norm((fit + residual) / lengths, axis=-1)
    error_mu = np.where(size > 0, lost / np.where(size > 0, size, 1.0), 0.0)
    corner = _CORNER * (_AVERAGED / np.maximum(n, _AVERAGED)) ** 0.25
    error_beta = corner * _EPS * np.hypot(fitted, rho) * rho / head.beta
    return float(np.max(np.maximum(error_mu, error_beta), initial=0.0))


def _warn_of_imprecision(head: NIG, worst: float) -> None:
    """Say that eight digits cannot be promised."""
    lengths = np.linalg.norm(head.U, axis=-2)
    kappa = np.max(_condition(head.U / lengths[..., None, :]))
    warnings.warn(
        f"features are nearly collinear (condition number {kappa:.1e}), of very different "
        "scale, or fit almost perfectly: relative rounding error of the posterior is up to "
        f"{worst:.0e}. Drop duplicated features, scale them, or raise weight_precision.",
        PrecisionWarning,
        stacklevel=3,
    )
