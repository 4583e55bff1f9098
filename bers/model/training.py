"""Training the shared encoder on the heads' marginal likelihoods.

Enters: an encoder, an optimiser state, sources. Leaves: both, moved by gradient ascent on

    J(θ) = Σᵢ log p(yᵢ | Φᵢ(θ)) / Σᵢ nᵢ − λ Σ ‖W‖²    [Eq. training]

over mini-batches of every head. Batches are drawn on the host, because rows may live on disk; a
stretch of them is then one compiled scan, during which the host draws the next.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.linalg import cho_solve
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Float32

from bers.data.source import Source
from bers.model import nig
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder, Network, network_of, with_network
from bers.model.posteriors import features
from bers.model.scaling import InputScale, LabelScale
from bers.progress import progress_bar

Rows = Float[Array, "b D"]
Labels = Float[Array, " b"]
Scalar = float | Float[Array, ""]


@jax.custom_vjp
def log_evidence(
    Phi: Rows, y: Labels, n: Scalar, Lam0: Float[Array, " D"], alpha0: Scalar, beta0: Scalar
) -> Scalar:
    """log p(y | Φ) of n rows under a zero-mean prior with diagonal precision Λ⁰. [Eq. nig_ll]

    Rows of zeros with a zero label say nothing: pad with them, and count the others in n. The
    gradient in the features needs no derivative of a Cholesky factor: [Eq. nig_ll_gradient]

        ∂ log p / ∂Φ = (α/β) (y − Φμ) μᵀ − Φ Λ⁻¹

    The first term follows because μ minimises β, so moving μ changes nothing to first order.
    """
    return _forward(Phi, y, n, Lam0, alpha0, beta0)[0]


def _forward(Phi, y, n, Lam0, alpha0, beta0):
    C = jnp.linalg.cholesky(jnp.diag(Lam0) + Phi.T @ Phi)
    Sigma = cho_solve((C, True), jnp.eye(len(Lam0), dtype=Phi.dtype))
    mu = Sigma @ (Phi.T @ y)
    residual = y - Phi @ mu
    alpha = alpha0 + 0.5 * n
    beta = beta0 + 0.5 * (residual @ residual + mu @ (Lam0 * mu))
    value = (
        -0.5 * n * jnp.log(2 * jnp.pi)
        + 0.5 * jnp.log(Lam0).sum()
        - jnp.log(jnp.diagonal(C)).sum()
        + alpha0 * jnp.log(beta0)
        - alpha * jnp.log(beta)
        + gammaln(alpha)
        - gammaln(alpha0)
    )
    return value, (Phi, Sigma, mu, residual, alpha / beta)


def _backward(saved, g):
    Phi, Sigma, mu, residual, precision = saved
    return (
        g * (precision * jnp.outer(residual, mu) - Phi @ Sigma),
        None,
        None,
        None,
        None,
        None,
    )


log_evidence.defvjp(_forward, _backward)


_STRETCH = 100  # batches per compiled call
_DRAWN = 1000  # batches per visit to the sources, at most
_DRAWN_BYTES = 1 << 26  # of them in memory


class Batches(eqx.Module):
    """Mini-batches of every head, standardised; unused slots are zero."""

    x: Float32[np.ndarray | Array, "*steps heads b k"]
    y: Float32[np.ndarray | Array, "*steps heads b"]
    used: Bool[np.ndarray | Array, "*steps heads b"]


class TrainState(eqx.Module):
    """What a gradient step moves."""

    encoder: Encoder
    moments: optax.OptState


def new_state(encoder: Encoder, *, config: ModelConfig) -> TrainState:
    """An encoder with a fresh optimiser."""
    network = eqx.filter(network_of(encoder), eqx.is_array)
    return TrainState(encoder, optax.adam(config.rate).init(network))


def draw_batches(
    rng: np.random.Generator,
    sources: Sequence[Source],
    count: int,
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
) -> Batches:
    """`count` mini-batches of every head, or of some of them in turn if there are many."""
    heads = min(len(sources), config.heads_per_batch)
    shape = (count, heads, config.batch_size)
    x = np.zeros((*shape, sources[0].dim), np.float32)
    y, used = np.zeros(shape, np.float32), np.zeros(shape, bool)
    for i, (batch, slot) in enumerate(_turns(rng, len(sources), count, heads)):
        if len(batch):
            rows, values, mask = sources[i].draw(rng, len(batch), config.batch_size)
            x[batch, slot] = np.where(mask[..., None], inputs.standardise(rows), 0)
            y[batch, slot] = np.where(mask, labels[i].standardise(values), 0)
            used[batch, slot] = mask
    return Batches(x, y, used)


def _turns(
    rng: np.random.Generator, sources: int, count: int, heads: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """In which batches each source takes part, and where: all take part equally often."""
    if sources == heads:
        for i in range(sources):
            yield np.arange(count), np.full(count, i)
        return
    rounds = -(-count * heads // sources)
    order = np.concatenate([rng.permutation(sources) for _ in range(rounds)])[: count * heads]
    for i in range(sources):
        yield np.divmod(np.flatnonzero(order == i), heads)


def objective(encoder: Encoder, batch: Batches, *, config: ModelConfig) -> Float[Array, ""]:
    """Log evidence per row, less the penalty. [Eq. training]"""
    heads, b, k = batch.x.shape
    x = jnp.asarray(batch.x).reshape(heads * b, k)
    Phi = encoder(x).reshape(heads, b, -1) * batch.used[..., None]
    Lam0 = jnp.full(Phi.shape[-1], config.weight_precision).at[-1].set(config.bias_precision)
    n = batch.used.sum(axis=1).astype(Phi.dtype)
    evidence = jax.vmap(log_evidence, in_axes=(0, 0, 0, None, None, None))(
        Phi, batch.y, n, Lam0, config.alpha, config.beta
    )
    penalty = sum(jnp.sum(W**2) for W in encoder.weights)
    return evidence.sum() / jnp.maximum(n.sum(), 1) - config.l2 * penalty


@partial(jax.jit, static_argnames="config")
def climb(
    state: TrainState, batches: Batches, *, config: ModelConfig
) -> tuple[TrainState, Float[Array, " steps"]]:
    """One Adam step per mini-batch, all in one scan; the objective before each step."""
    adam = optax.adam(config.rate)

    def step(state: TrainState, batch: Batches) -> tuple[TrainState, Float[Array, ""]]:
        def of_network(network: Network) -> Float[Array, ""]:
            return objective(with_network(state.encoder, network), batch, config=config)

        network = network_of(state.encoder)
        value, slope = jax.value_and_grad(of_network)(network)
        downhill = jax.tree.map(jnp.negative, slope)
        move, moments = adam.update(downhill, state.moments)
        moved = with_network(state.encoder, eqx.apply_updates(network, move))
        return TrainState(moved, moments), value

    return jax.lax.scan(step, state, batches)


def train(
    rng: np.random.Generator,
    state: TrainState,
    sources: Sequence[Source],
    *,
    batches: int,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
    check: Callable[[Encoder, int], bool] | None = None,
    show: bool | None = None,
) -> tuple[TrainState, Float[np.ndarray, " batches"]]:
    """Train for `batches` mini-batches, or until `check(encoder, batches_done)` says stop."""
    if network_of(state.encoder) is None:
        return state, np.zeros(0, np.float32)  # trees are grown once
    draw = partial(draw_batches, rng, sources, inputs=inputs, labels=labels, config=config)
    stretches = _stretches(draw, batches, _per_draw(sources, config))
    values: list[np.ndarray] = []
    done = 0
    with progress_bar("training the encoder", batches, show=show) as advance:
        upcoming = next(stretches, None)
        while upcoming is not None:
            state, value = climb(state, upcoming, config=config)
            upcoming = next(stretches, None)  # while the scan runs
            values.append(np.asarray(value))
            done += len(values[-1])
            advance(len(values[-1]), evidence=float(values[-1].mean()))
            if check is not None and check(state.encoder, done):
                break
    return state, np.concatenate(values) if values else np.zeros(0, np.float32)


def _per_draw(sources: Sequence[Source], config: ModelConfig) -> int:
    """How many batches to draw at once: many, because disks like that, but not too large."""
    heads = min(len(sources), config.heads_per_batch)
    numbers = heads * config.batch_size * (sources[0].dim + 1)
    fitting = _DRAWN_BYTES // (8 * numbers) // _STRETCH * _STRETCH
    return min(max(fitting, _STRETCH), _DRAWN)


def _stretches(draw: Callable[[int], Batches], batches: int, per_draw: int) -> Iterator[Batches]:
    """`batches` mini-batches in stretches, drawn `per_draw` at a time."""
    for start in range(0, batches, per_draw):
        drawn = draw(min(per_draw, batches - start))
        for first in range(0, len(drawn.y), _STRETCH):
            yield Batches(*(a[first : first + _STRETCH] for a in (drawn.x, drawn.y, drawn.used)))


_SEEN, _HELD = 512, 256  # rows per head behind one score
_SCORED = 16  # heads behind it, at most


class HeldOut:
    """Rows of some sources, and held-out ones of the same: how well an encoder does on those.

    The score is the log predictive density per held-out row, given other rows of the same source:

        (log p(y_seen, y_held) − log p(y_seen)) / n_held    [Eq. held_out]
    """

    def __init__(
        self,
        rng: np.random.Generator,
        kept: Sequence[Source],
        held: Sequence[Source],
        *,
        inputs: InputScale,
        labels: Sequence[LabelScale],
        config: ModelConfig,
    ) -> None:
        some = range(len(kept))
        if len(kept) > _SCORED:
            some = rng.choice(len(kept), _SCORED, replace=False)
        draw = partial(draw_batches, rng, count=1, inputs=inputs, labels=[labels[i] for i in some])
        self._seen = draw(sources=[kept[i] for i in some], config=_sized(config, _SEEN))
        self._held = draw(sources=[held[i] for i in some], config=_sized(config, _HELD))
        self._config = config
        self.rows = int(self._held.used.sum())
        """That are held out and scored."""

    def __call__(self, encoder: Encoder) -> float:
        """[Eq. held_out], over all heads."""
        prior = LabelScale().prior(encoder.features, config=self._config)
        parts = [self._summaries(encoder, batch) for batch in (self._seen, self._held)]
        seen = nig.stack_summaries(parts[0])
        both = nig.stack_summaries([nig.merge(*pair) for pair in zip(*parts, strict=True)])
        priors = nig.stack([prior] * len(seen.n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a comparison, of which no head is kept
            values = [nig.log_evidence(priors, nig.condition(priors, s)) for s in (both, seen)]
        return float(np.sum(values[0] - values[1]) / self.rows) if self.rows else float("nan")

    def explained(self, encoder: Encoder) -> float:
        """Share of the held-out labels that heads foresee, given the others, mean over the heads.

        An encoder that has learned its rows by heart is too sure of itself. That can be mended
        afterwards, a poor fit cannot: so encoders of different kinds are compared by this.
        """
        prior = LabelScale().prior(encoder.features, config=self._config)
        seen, held = (self._rows(encoder, batch) for batch in (self._seen, self._held))
        shares = []
        for (Phi, y), (Phi_held, y_held) in zip(seen, held, strict=True):
            variance = np.var(y_held) if len(y_held) > 1 else 0.0
            if variance > 0:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    head = nig.condition(prior, nig.summarise(Phi, y))
                shares.append(1 - np.mean((y_held - Phi_held @ head.mu) ** 2) / variance)
        return float(np.mean(np.maximum(shares, -1.0))) if shares else -np.inf

    def _summaries(self, encoder: Encoder, batch: Batches) -> list[nig.Summary]:
        """Of the rows of each head."""
        return [nig.summarise(*pair) for pair in self._rows(encoder, batch)]

    def _rows(self, encoder: Encoder, batch: Batches) -> list[tuple[np.ndarray, np.ndarray]]:
        """Features and labels of each head."""
        x, y, used = batch.x[0], batch.y[0], batch.used[0]
        Phi = features(encoder, np.asarray(x)[used])
        ends = np.cumsum(used.sum(axis=1))[:-1]
        labels = np.asarray(y)[used].astype(np.float64)
        return list(zip(np.split(Phi, ends), np.split(labels, ends), strict=True))


class EarlyStopping:
    """Watches the held-out score; `check` says when to stop, `best` is what to keep."""

    def __init__(self, score: HeldOut, patience: int | None) -> None:
        self._score = score
        self._patience = patience or np.inf
        self._best_at = 0
        self.best_score = -np.inf
        self.best: Encoder | None = None
        self.scores: list[tuple[int, float]] = []

    def check(self, encoder: Encoder, done: int) -> bool:
        """Score the encoder after `done` batches; True when patience has run out."""
        score = self._score(encoder)
        self.scores.append((done, score))
        if score > self.best_score:
            self.best_score, self._best_at, self.best = score, done, encoder
        return done - self._best_at >= self._patience


def _sized(config: ModelConfig, rows: int) -> ModelConfig:
    """The same prior, batches of another size, every head, no penalty."""
    return ModelConfig(
        **{**config.to_dict(), "batch_size": rows, "heads_per_batch": 2**31, "l2": 0.0}
    )
