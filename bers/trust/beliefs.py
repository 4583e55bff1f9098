"""What is known when weights are chosen: the posteriors, and a summary of the target's rows.

Enters: a fitted model whose last head is the target, and the target's rows. Leaves: `Beliefs`,
from which every rule makes weights. Functions are compared where the target lives: a head's
function over the target's rows is a vector of d numbers, since the rows' triangular factor turns
weights into values. [Eq. function_space]
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float64, Int

from bers.data.source import Source
from bers.errors import DataError
from bers.model import nig
from bers.model.neural_linear import Model
from bers.model.nig import Numbers
from bers.model.posteriors import summary_of
from bers.model.scaling import Memory
from bers.parallel import Map
from bers.trust.shape import shape_of

_FEW = 8
_SAMPLE = 512  # rows of the target that rules may look at one by one
_FORESEEN = 0.1  # of its held-out labels that a head explains: from there on it says something
_MANY = 100  # rows of a source; with fewer, a head that explains nothing has seen too little


@dataclass(frozen=True)
class Counts:
    """What a rule that looks at no posterior still has to know."""

    rows: Int[np.ndarray, " N"]
    """Of each source."""
    n: int
    """Rows of the target."""

    @property
    def N(self) -> int:
        """Number of sources."""
        return len(self.rows)

    @property
    def known(self) -> np.ndarray:
        """Which sources have any rows."""
        return self.rows > 0


@dataclass(frozen=True)
class Beliefs:
    """The posteriors of N sources and of the target, and the target's rows boiled down."""

    sources: nig.NIG
    """Stacked: arrays lead with N."""
    target: nig.NIG
    rows: Int[np.ndarray, " N"]
    """Rows behind each source."""
    summary: nig.Summary
    """Of the target's rows under the same encoder."""
    look: Callable[[], tuple[Float64[np.ndarray, "m d"], Float64[np.ndarray, " m"]]]
    """Features and labels of at most 512 of the target's rows, the same ones at every call."""
    prior: nig.NIG
    """Of the target's head, before its rows."""
    skill: Float64[np.ndarray, " N"]
    """Share of its own held-out labels that each head explains; not a number if not measured."""
    counts: Float64[np.ndarray, " m"] | None = None
    """How often each row of the sample counts, one on average; None: once."""
    theirs: Callable[[int], Float64[np.ndarray, " m"]] | None = None
    """At most 512 labels of a source, the same ones at every call; None: not to be had."""

    @property
    def N(self) -> int:
        """Number of sources."""
        return len(self.rows)

    @property
    def n(self) -> int:
        """Rows of the target."""
        return int(self.summary.n)

    @cached_property
    def known(self) -> np.ndarray:
        """Which sources have any rows; the others are undetermined and get no weight."""
        return (self.rows > 0) & np.isfinite(self.sources.noise)

    @cached_property
    def sample(self) -> tuple[Float64[np.ndarray, "m d"], Float64[np.ndarray, " m"]]:
        """What `look` finds, for rules that compare the target's rows one by one."""
        return self.look()

    @cached_property
    def shapes(self) -> list[Float64[np.ndarray, " q"] | None]:
        """How the labels of those sources are spread whose heads explain next to nothing."""
        asked = self.theirs
        if asked is None:
            return [None] * self.N
        return [shape_of(asked(i)) if self.unforeseen[i] > 0 else None for i in range(self.N)]

    @cached_property
    def unforeseen(self) -> Float64[np.ndarray, " N"]:
        """How far it is known that a source's labels cannot be foretold, from 0 to 1."""
        says = np.where(np.isnan(self.skill), 1.0, np.clip(self.skill / _FORESEEN, 0.0, 1.0))
        return np.where(self.known & (self.rows >= _MANY), 1 - says, 0.0)

    def resampled(self, rng: np.random.Generator) -> "Beliefs":
        """As if other rows of the target had been seen: rows count more or less, at random.

        The Bayesian bootstrap of Rubin (1981). Where there are more rows than the sample holds,
        each of them stands for several. [Eq. resampled]
        """
        Phi, y = self.sample
        few = self.n / (self.n + _FEW)  # a handful of rows does not show how rows differ
        counts = rng.gamma(few * max(self.n / len(y), 1.0), size=len(y))
        counts *= len(y) / counts.sum()
        rows = np.concatenate([Phi, y[:, None]], 1) * np.sqrt(counts * self.n / len(y))[:, None]
        padded = np.concatenate(
            [rows, np.zeros((max(rows.shape[1] - len(rows), 0), rows.shape[1]))]
        )
        summary = nig.Summary(np.asarray(np.linalg.qr(padded, mode="r")), self.summary.n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # digits were promised, or not, for the rows as seen
            target = nig.condition(self.prior, summary)
        other = replace(self, target=target, summary=summary, counts=counts)
        other.__dict__.update(sample=self.sample, shapes=self.shapes)
        return other

    @cached_property
    def raw(self) -> Float64[np.ndarray, "d d"]:
        """L with E[(φᵀw)²] = ‖Lw‖² over the target's rows."""
        return self.summary.R[:-1, :-1] / np.sqrt(max(self.n, 1))

    @cached_property
    def _centred(self) -> Float64[np.ndarray, "d d"]:
        """The factor of [Φ y] less their means: the bias moves to the front and is factored out."""
        d = self.sources.d
        order = [d - 1, *range(d - 1), d]
        R = np.asarray(np.linalg.qr(self.summary.R[:, order], mode="r"))
        return R[1:, 1:] / np.sqrt(max(self.n, 1))

    @cached_property
    def centred(self) -> Float64[np.ndarray, "k d"]:
        """L with Var[φᵀw] = ‖Lw‖² over the target's rows."""
        L = self._centred[:-1, :-1]
        return np.concatenate([L, np.zeros((len(L), 1))], axis=1)

    @cached_property
    def label(self) -> Float64[np.ndarray, " k"]:
        """The target's labels in the space of `centred`: Cov[φᵀw, y] = (Lw)ᵀ label."""
        return self._centred[:-1, -1]

    @cached_property
    def label_variance(self) -> float:
        """Of the target's labels; exactly 0 where it is nothing but rounding."""
        variance = float(np.sum(self._centred[:, -1] ** 2))
        square = float(np.sum(self.summary.R[:, -1] ** 2)) / max(self.n, 1)
        return variance if variance > 1e-24 * square else 0.0

    def squared_error(
        self, f: Float64[np.ndarray, "*batch k"], *, centred: bool = False
    ) -> Float64[Numbers, "*batch"]:
        """Mean square of y − f over the target's rows, f in the space of `raw` or `centred`."""
        R = self._centred if centred else self.summary.R / np.sqrt(max(self.n, 1))
        return np.sum((R[:-1, -1] - f) ** 2, -1) + R[-1, -1] ** 2

    def match(self, f: Float64[np.ndarray, "*batch k"]) -> Float64[Numbers, "*batch"]:
        """Correlation of functions, in the space of `centred`, with the target's labels."""
        size, own = np.linalg.norm(f, axis=-1), np.sqrt(self.label_variance)
        varies = (size > 1e-150) & (own > 0)  # no unit is too small; a constant is like nothing
        size = np.where(varies, size, 1.0)
        label = self.label / (own or 1.0)
        return np.where(varies, f / size[..., None] @ label, 0.0).clip(-1, 1)

    def uncertainty(self, L: Float64[np.ndarray, "k d"]) -> Float64[np.ndarray, " N"]:
        """E[σᵢ²] tr(LΣᵢLᵀ): expected squared error of each source's function. [Eq. qp]"""
        spread = np.linalg.solve(np.swapaxes(self.sources.U, -1, -2), L.T)
        with np.errstate(invalid="ignore"):
            s = self.sources.noise * np.sum(spread**2, axis=(-1, -2))
        return np.where(self.known, s, np.inf)

    def spread_along(self, basis: Float64[np.ndarray, "k m"]) -> Float64[np.ndarray, "N m"]:
        """Expected squared error of each source's function, along directions of `centred`."""
        U = np.swapaxes(self.sources.U, -1, -2)
        along = np.linalg.solve(U, self.centred.T @ basis)
        with np.errstate(invalid="ignore"):
            found = np.asarray(self.sources.noise)[:, None] * np.sum(along**2, axis=-2)
        return np.where(self.known[:, None], found, 0.0)

    def missed_on_average(self, w: Float64[np.ndarray, "*batch d"]) -> Float64[Numbers, "*batch"]:
        """Mean of the labels less the mean of functions φᵀw, over the target's rows."""
        bias, n = self.summary.R[:, -2], max(self.n, 1)
        return (bias @ self.summary.R[:, -1] - w @ (self.summary.R[:, :-1].T @ bias)) / n

    @cached_property
    def raw_uncertainty(self) -> Float64[np.ndarray, " N"]:
        """Of functions over the target's rows."""
        return self.uncertainty(self.raw)

    @cached_property
    def centred_uncertainty(self) -> Float64[np.ndarray, " N"]:
        """The same, offsets ignored."""
        return self.uncertainty(self.centred)

    @cached_property
    def explained(self) -> Float64[np.ndarray, " N"]:
        """Share of each source's own labels that its head explains, on rows it was fitted to."""
        U, mu = self.sources.U, self.sources.mu.copy()
        bias = U[..., -1]
        # less the mean, which may be a million times the rest
        mu[:, -1] -= np.einsum("ni,nij,nj->n", bias, U, mu) / np.sum(bias**2, -1)
        variance = np.sum(np.einsum("nij,nj->ni", U, mu) ** 2, -1) / np.maximum(self.rows, 1)
        noise = np.where(self.known, self.sources.noise, np.inf)
        return variance / (variance + noise)

    @cached_property
    def covariance_error(self) -> Float64[np.ndarray, " N"]:
        """Variance of Cov[fᵢ, y] under each source's posterior; 0 for those without rows."""
        along = (self.centred.T @ self.label)[:, None]
        spread = np.linalg.solve(np.swapaxes(self.sources.U, -1, -2), along)[..., 0]
        with np.errstate(invalid="ignore"):
            return np.where(self.known, self.sources.noise * np.sum(spread**2, -1), 0.0)


def beliefs(
    model: Model,
    target: Source,
    *,
    head: int = -1,
    subset: int | None = None,
    workers: Map | None = None,
    memory: Memory | None = None,
    sources: Sequence[Source] = (),
) -> Beliefs:
    """Of a model one of whose heads is that of `target`: the last, unless `head` says which.

    All other heads are sources. `subset` looks at that many of the target's rows, chosen at
    random, in place of all. `memory` is the one that the model was refined with, if any. With the
    `sources` themselves, labels that nothing foretells can be compared, too.

    >>> from bers import Demonstrations, ModelConfig, fit
    >>> x = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> runs = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, x[:, 1], "bob")]
    >>> target = Demonstrations(x[:50], x[:50, 1], "target")
    >>> config = ModelConfig(hidden=(8,), latent_dim=4, batches=100)
    >>> known = beliefs(fit([*runs, target], config=config), target)
    >>> known.N, known.n
    (2, 50)
    """
    own = model.index(head) if -len(model.names) <= head < len(model.names) else -1
    if len(model.names) < 2 or own < 0 or int(model.rows[own]) != target.n:
        raise DataError(
            "beliefs(model, target) needs a model whose last head is the target's, after at least "
            "one source. Fit or refine it with [*sources, target], or say which head= it is."
        )
    memory = Memory() if memory is None else memory
    summary = summary_of(
        model.state.encoder,
        target,
        inputs=model.inputs,
        memory=memory,
        subset=subset,
        workers=workers,
    )
    others = np.arange(len(model.names)) != own
    return Beliefs(
        sources=model.heads[others],
        target=model.heads[own],
        prior=model.priors[own],
        skill=model.skill.r2[others],
        rows=model.rows[others],
        summary=summary,
        look=partial(_some_rows, model, target),
        theirs=partial(_some_labels, sources) if sources else None,
    )


def _some_rows(model: Model, target: Source) -> tuple[np.ndarray, np.ndarray]:
    x, y = _drawn_from(target)
    return model.features(x), y


def _some_labels(sources: Sequence[Source], which: int) -> np.ndarray:
    return _drawn_from(sources[which])[1]


def _drawn_from(source: Source) -> tuple[np.ndarray, np.ndarray]:
    size = min(_SAMPLE, max(source.n, 1))
    x, y, used = source.draw(np.random.default_rng(source.n), 1, size)
    return x[used].astype(np.float64), y[used].astype(np.float64)
