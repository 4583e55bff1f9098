"""Training the shared encoder on the heads' marginal likelihoods.

Enters: an encoder, an optimiser state, sources. Leaves: both, moved by gradient ascent on

    J(θ) = Σᵢ log p(yᵢ | Φᵢ(θ)) / Σᵢ nᵢ − λ Σ ‖W‖²    [Eq. training]

over mini-batches of every head. Batches are drawn on the host, because rows may live on disk; a
stretch of them is then one compiled scan, during which the host draws the next.
"""

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
from bers.model.config import ModelConfig
from bers.model.encoder import Encoder
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
    return TrainState(
        encoder, optax.adam(config.learning_rate).init(eqx.filter(encoder, eqx.is_array))
    )


def draw_batches(
    rng: np.random.Generator,
    sources: Sequence[Source],
    count: int,
    *,
    inputs: InputScale,
    labels: Sequence[LabelScale],
    config: ModelConfig,
) -> Batches:
    """`count` mini-batches of every head, or of a random choice of heads if there are many."""
    heads = range(len(sources))
    if len(sources) > config.heads_per_batch:
        heads = rng.choice(len(sources), config.heads_per_batch, replace=False)
    x, y, used = [], [], []
    for i in heads:
        rows, values, mask = sources[i].draw(rng, count, config.batch_size)
        x.append(np.where(mask[..., None], inputs.standardise(rows), 0))
        y.append(np.where(mask, (values - labels[i].loc) / labels[i].scale, 0))
        used.append(mask)
    return Batches(
        x=np.stack(x, axis=1).astype(np.float32, copy=False),
        y=np.stack(y, axis=1).astype(np.float32, copy=False),
        used=np.stack(used, axis=1),
    )


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
    adam = optax.adam(config.learning_rate)

    def step(state: TrainState, batch: Batches) -> tuple[TrainState, Float[Array, ""]]:
        value, slope = jax.value_and_grad(partial(objective, config=config))(state.encoder, batch)
        downhill = jax.tree.map(jnp.negative, slope)
        move, moments = adam.update(downhill, state.moments)
        return TrainState(eqx.apply_updates(state.encoder, move), moments), value

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
    """How many batches to draw at once: many, because disks like that, but not too large.

    A choice of heads holds for one draw, so with many heads a draw must not last long.
    """
    if len(sources) > config.heads_per_batch:
        return _STRETCH
    numbers = len(sources) * config.batch_size * (sources[0].dim + 1)
    fitting = _DRAWN_BYTES // (8 * numbers) // _STRETCH * _STRETCH
    return min(max(fitting, _STRETCH), _DRAWN)


def _stretches(draw: Callable[[int], Batches], batches: int, per_draw: int) -> Iterator[Batches]:
    """`batches` mini-batches in stretches, drawn `per_draw` at a time."""
    for start in range(0, batches, per_draw):
        drawn = draw(min(per_draw, batches - start))
        for first in range(0, len(drawn.y), _STRETCH):
            yield Batches(*(a[first : first + _STRETCH] for a in (drawn.x, drawn.y, drawn.used)))


_SEEN, _HELD = 512, 256  # rows per head behind one score


class EarlyStopping:
    """Watches the held-out score; `check` says when to stop, `best` is what to keep.

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
        draw = partial(draw_batches, rng, count=1, inputs=inputs, labels=labels)
        self._seen = draw(sources=kept, config=_sized(config, _SEEN))
        self._held = draw(sources=held, config=_sized(config, _HELD))
        self._config = _sized(config, config.batch_size)
        self._patience = config.patience or np.inf
        self._best_score, self._best_at = -np.inf, 0
        self.best: Encoder | None = None
        self.scores: list[tuple[int, float]] = []

    def check(self, encoder: Encoder, done: int) -> bool:
        """Score the encoder after `done` batches; True when patience has run out."""
        score = float(_score(encoder, self._seen, self._held, config=self._config))
        self.scores.append((done, score))
        if score > self._best_score:
            self._best_score, self._best_at, self.best = score, done, encoder
        return done - self._best_at >= self._patience


def _sized(config: ModelConfig, rows: int) -> ModelConfig:
    """The same prior, batches of another size, every head, no penalty."""
    return ModelConfig(
        **{**config.to_dict(), "batch_size": rows, "heads_per_batch": 2**31, "l2": 0.0}
    )


@partial(jax.jit, static_argnames="config")
def _score(encoder: Encoder, seen: Batches, held: Batches, *, config: ModelConfig) -> jax.Array:
    """[Eq. held_out], over all heads."""
    first = jax.tree.map(lambda a: a[0], seen)
    both = jax.tree.map(lambda a, b: jax.numpy.concatenate([a[0], b[0]], axis=1), seen, held)
    total = objective(encoder, both, config=config) * both.used.sum()
    return (total - objective(encoder, first, config=config) * first.used.sum()) / held.used.sum()
