"""What no source knows: a smooth function of the inputs beside a head.

Enters: priors of a head, and rows of the target. Leaves: a `Residual`: how likely there is such a
function, and what head and function foretell together.

A head can only say what the sources' features can say. Where all sources mislead, or are noise,
these are the wrong features, and no weights of them help. So beside "the head alone" stands "the
head and a Matérn process on the inputs", in several lengths and sizes, and the evidence of the rows
decides. Functions that are smoother than that, or a line with a bend, have a kernel of their own.
[Eq. residual]
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln, logsumexp

from bers.model.nig import NIG, StudentT
from bers.model.process import FirstGuess, correlation, most_likely

ROWS = 300
"""Of the target, that a residual is found by; its cost grows with their cube."""
_FEWEST = 8  # rows
_LENGTHS = (0.4, 0.9, 2.0)  # times √D, for columns of spread 1
_SIZES = (3.0, 30.0, 300.0)  # variances, in units of the noise
_OWN_LENGTHS_UP_TO = 32  # columns; more have one length for all
_FOR_LENGTHS = 120  # rows by which these are found
_KEPT, _MOST = 0.97, 8  # share of the hypotheses that foretell, and their number, at most
_NEGLIGIBLE = 1e-3  # share of all of them, below which the head is left alone
_BLOCK = 4096  # rows that are asked about at once


@dataclass(frozen=True)
class Kernel:
    """Of a process: Matérn or smoother, with or without a line in the inputs.

    >>> x = np.array([[0.0], [2.0]])
    >>> Kernel(line=True)(x, x, np.ones(1)).round(2).tolist()
    [[1.0, 0.14], [0.14, 5.0]]
    >>> Kernel(line=True).diagonal(x, np.ones(1)).tolist()
    [1.0, 5.0]
    """

    smooth: bool = False
    """Squared exponential, not Matérn."""
    line: bool = False

    def __call__(
        self,
        a: Float64[np.ndarray, "n D"],
        b: Float64[np.ndarray, "m D"],
        lengths: Float64[np.ndarray, " D"],
    ) -> Float64[np.ndarray, "n m"]:
        """Covariance of what it is at the rows a and b."""
        found = _smooth(a, b, lengths) if self.smooth else correlation(a, b, lengths)
        return found + (a / lengths) @ (b / lengths).T if self.line else found

    def diagonal(
        self, a: Float64[np.ndarray, "n D"], lengths: Float64[np.ndarray, " D"]
    ) -> Float64[np.ndarray, " n"]:
        """Variance at the rows."""
        return np.ones(len(a)) + (np.sum((a / lengths) ** 2, axis=1) if self.line else 0.0)


_MATERN = Kernel()
_KERNELS = tuple(Kernel(smooth, line) for smooth in (False, True) for line in (False, True))


@dataclass(frozen=True)
class _Part:
    """One hypothesis: a prior of the head, and a process."""

    share: float
    prior: NIG
    lengths: Float64[np.ndarray, " D"]
    size: float
    kernel: Kernel
    L: Float64[np.ndarray, "n n"]
    """Factor of the rows' covariance, in units of the noise."""
    solved: Float64[np.ndarray, " n"]
    """Of the labels less the prior's mean."""

    @property
    def shape(self) -> float:
        """α of the noise, given the rows."""
        return float(self.prior.alpha) + 0.5 * len(self.solved)

    @property
    def noise(self) -> float:
        """β/α, given the rows."""
        return (float(self.prior.beta) + 0.5 * float(self.solved @ self.solved)) / self.shape


@dataclass(frozen=True)
class Residual:
    """A head with a smooth function beside it. Made by `residual`."""

    parts: tuple[_Part, ...]
    Phi: Float64[np.ndarray, "n d"]
    x: Float64[np.ndarray, "n D"]
    """The rows."""

    @property
    def share(self) -> float:
        """How likely there is such a function at all; the rest is the head alone."""
        return float(sum(part.share for part in self.parts))

    def beside(
        self, head: StudentT, Phi: Float64[np.ndarray, "m d"], x: Float64[np.ndarray, "m D"]
    ) -> StudentT:
        """What is foretold of labels, given what the head alone foretells.

        Parameters
        ----------
        head
            What the head alone foretells.
        Phi, x
            Features, and inputs, of the same rows.

        Returns
        -------
        StudentT
            With mean and variance of the average over all hypotheses.
        """
        if not self.parts:
            return head
        alone = 1 - self.share
        mean, square = alone * head.mean, alone * (head.std**2 + head.mean**2)
        dof = alone * float(np.mean(head.dof))
        for part in self.parts:
            m, variance = self._foretold(part, Phi, x)
            mean = mean + part.share * m
            square = square + part.share * (variance + m**2)
            dof += part.share * 2 * part.shape
        variance = np.maximum(square - mean**2, 0.0)
        return StudentT(mean, np.sqrt(variance * (dof - 2) / dof), np.array(dof))

    def left_out(self, alone: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
        """What is foretold of each of its rows by the others; shares stay. [Eq. left_out]

        Parameters
        ----------
        alone
            The same of the head alone.

        Returns
        -------
        Array
            One label for each row.
        """
        found = (1 - self.share) * alone
        for part in self.parts:
            inverse = solve_triangular(part.L, np.eye(len(part.L)), lower=True, check_finite=False)
            left = (part.solved @ inverse) / np.sum(inverse**2, axis=0)
            y = self.Phi @ part.prior.mu + part.L @ part.solved
            found = found + part.share * (y - left)
        return found

    def _foretold(self, part: _Part, Phi: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
        means, variances = [], []
        root = _root(part.prior, self.Phi)
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            own = _root(part.prior, Phi[block])
            cross = root @ own.T + part.size * part.kernel(self.x, x[block], part.lengths)
            V = solve_triangular(part.L, cross, lower=True, check_finite=False)
            means.append(Phi[block] @ part.prior.mu + part.solved @ V)
            itself = part.size * part.kernel.diagonal(x[block], part.lengths)
            spread = 1 + itself + np.sum(own**2, axis=1) - np.sum(V**2, axis=0)
            variances.append(part.noise * part.shape / (part.shape - 1) * np.maximum(spread, 1.0))
        return np.concatenate(means), np.concatenate(variances)


def residual(
    priors: NIG,
    log_odds: Float64[np.ndarray, " K"],
    log_alone: float,
    Phi: Float64[np.ndarray, "n d"],
    x: Float64[np.ndarray, "n D"],
    y: Float64[np.ndarray, " n"],
) -> Residual:
    """Find how likely a smooth function stands beside the head, and which.

    Parameters
    ----------
    priors
        Of the head, stacked, with labels in their own units.
    log_odds
        How likely each is beforehand, as a logarithm; their sum is at most one.
    log_alone
        Logarithm of the evidence of the rows without a residual. That, and these priors alone,
        are together as likely beforehand as a residual.
    Phi, x, y
        Features, inputs (columns of spread 1 or so) and labels of the rows.

    Returns
    -------
    Residual
        With a share of 0 where the rows are fewer than eight, or all alike.

    Examples
    --------
    >>> from bers.model import nig
    >>> x = np.linspace(-1.5, 1.5, 30)[:, None]
    >>> Phi, y, flat = np.ones((30, 1)), 1 + np.sin(3 * x[:, 0]), nig.prior(1)
    >>> alone = nig.condition(flat, nig.summarise(Phi, y))
    >>> evidence = float(nig.log_evidence(flat, alone))
    >>> found = residual(nig.stack([flat]), np.zeros(1), evidence, Phi, x, y)
    >>> said = found.beside(nig.predict(alone, Phi[:1]), Phi[:1], np.array([[0.5]]))
    >>> bool(found.share > 0.99), bool(abs(said.mean[0] - 1 - np.sin(1.5)) < 0.1)
    (True, True)
    """
    nothing = Residual((), Phi, x)
    spread = float(np.std(y))
    if len(y) < _FEWEST or not spread > 1e-12 * max(1.0, float(np.abs(y).max())):
        return nothing
    processes = list(_processes(x, (y - y.mean()) / spread))
    found, without = [], [log_alone]
    for k, odds in enumerate(log_odds):
        prior = priors[k]
        root, left = _root(prior, Phi), y - Phi @ prior.mu
        K = root @ root.T
        K[np.diag_indices(len(y))] += 1.0
        without.append(_log_evidence(_part(prior, K, left)) + odds)
        for lengths, kernel, M, size, cost in processes:
            part = _part(prior, K + size * M, left, lengths, size, kernel)
            found.append((_log_evidence(part) + odds - np.log(len(processes)) - cost, part))
    logs = np.array([log for log, _ in found])
    share = np.exp(logs - logsumexp([logsumexp(without) - np.log(2), *logs]))
    total = float(share.sum())
    if total < _NEGLIGIBLE:
        return nothing
    order = np.argsort(-share, kind="stable")
    count = int(np.searchsorted(np.cumsum(share[order]), _KEPT * total)) + 1
    some = order[: min(count, _MOST)]
    kept = total * share / share[some].sum()
    return Residual(tuple(replace(found[i][1], share=float(kept[i])) for i in some), Phi, x)


def _part(
    prior: NIG,
    K: np.ndarray,
    left: np.ndarray,
    lengths: np.ndarray | tuple[()] = (),
    size: float = 0.0,
    kernel: Kernel = _MATERN,
) -> _Part:
    """Of rows with this covariance, in units of the noise; `left` are labels less their mean."""
    L = cholesky(K, lower=True, check_finite=False)
    solved = solve_triangular(L, left, lower=True, check_finite=False)
    return _Part(0.0, prior, np.asarray(lengths, float), size, kernel, L, solved)


class _Process(NamedTuple):
    """One that may stand beside a head."""

    lengths: np.ndarray
    kernel: Kernel
    covariance: np.ndarray
    """Of the rows."""
    size: float
    cost: float
    """What to take off the evidence."""


def _processes(x: np.ndarray, z: np.ndarray) -> Iterator[_Process]:
    D = x.shape[1]
    for times in _LENGTHS:
        lengths = np.full(D, times * np.sqrt(D))
        M = _MATERN(x, x, lengths)
        for size in _SIZES:
            yield _Process(lengths, _MATERN, M, size, 0.0)
    if D > _OWN_LENGTHS_UP_TO:
        return
    first = FirstGuess.of(D, np.full(D, _LENGTHS[1] * np.sqrt(D)))
    some = np.unique(np.linspace(0, len(z) - 1, min(_FOR_LENGTHS, len(z))).astype(int))
    t = most_likely(x[some][None], z[some][None], first, profile=True)
    off = (t - first.middle)[:D] / first.width[:D]
    lengths, size = np.exp(t[:D]), float(np.exp(-t[D + 1]))
    for kernel in _KERNELS:
        cost = 0.5 * float(off @ off)
        yield _Process(lengths, kernel, kernel(x, x, lengths), size, cost)


def _smooth(a: np.ndarray, b: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Squared-exponential correlations between rows."""
    a, b = a / lengths, b / lengths
    squares = np.sum(a * a, 1)[:, None] + np.sum(b * b, 1) - 2 * (a @ b.T)
    return np.exp(-0.5 * np.maximum(squares, 0.0))


def _root(prior: NIG, Phi: np.ndarray) -> Float64[np.ndarray, "n d"]:
    """A with AAᵀ the covariance of φᵀw, in units of the noise."""
    return np.linalg.solve(np.swapaxes(prior.U, -1, -2), Phi.T).T


def _log_evidence(part: _Part) -> float:
    """Of the rows: a t distribution with 2α degrees of freedom."""
    n, alpha, beta = len(part.solved), float(part.prior.alpha), float(part.prior.beta)
    log_det = float(np.sum(np.log(np.diagonal(part.L))))
    square = float(part.solved @ part.solved)
    return float(
        gammaln(alpha + 0.5 * n)
        - gammaln(alpha)
        - 0.5 * n * np.log(2 * np.pi * beta)
        - log_det
        - (alpha + 0.5 * n) * np.log1p(0.5 * square / beta)
    )
