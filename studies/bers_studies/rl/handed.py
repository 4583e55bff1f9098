"""What an episode gets from sources, drawn before it starts.

Enters: a guide. Leaves: for every step the rows of the sources' pool in its batch, their rewards,
and whether another policy acts. It is the same for every learner whose episode is one compiled
scan.
"""

from dataclasses import replace
from typing import Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from bers.reuse.transitions import BatchGuide
from bers_studies.rl.networks import Net
from bers_studies.rl.policy_reuse import PolicyGuide
from bers_studies.rl.replay import Transitions


class Handed(eqx.Module):
    """What an episode gets from sources."""

    rows: Int[np.ndarray | Array, "T b"]
    """Rows of the pool for each batch; -1: the learner's own."""
    r_t: Float[np.ndarray | Array, "T b"]
    """The rewards that go with them."""
    clone: Float[np.ndarray | Array, ""]
    """Weight of imitating the actions in these rows."""
    follow: Bool[np.ndarray | Array, " T"]
    """Steps at which another policy acts."""
    other: Net | None
    """That policy."""


class _Lasts(Protocol):
    @property
    def horizon(self) -> int: ...


class _Learns(Protocol):
    @property
    def batch_size(self) -> int: ...


def nothing_handed(task: _Lasts, config: _Learns) -> Handed:
    """No sources at all."""
    shape = (task.horizon, config.batch_size)
    return Handed(
        rows=np.full(shape, -1, np.int32),
        r_t=np.zeros(shape, np.float32),
        clone=np.zeros((), np.float32),
        follow=np.zeros(task.horizon, bool),
        other=None,
    )


def handed_by(guide: BatchGuide | PolicyGuide | None, none: Handed, *, pool: bool) -> Handed:
    """A guide's choices for one episode; `pool` says whether there are rows to hand over."""
    horizon, batch_size = none.rows.shape
    if isinstance(guide, PolicyGuide):
        return replace(none, follow=guide.draw(horizon), other=guide.net)
    if guide is None or not pool:
        return none
    rows = guide.draw(horizon, batch_size)
    r_t = np.zeros(rows.shape, np.float32)
    r_t[rows >= 0] = guide.rewards(rows[rows >= 0])
    clone = np.asarray(guide.clone, np.float32)
    return replace(none, rows=rows.astype(np.int32), r_t=r_t, clone=clone)


def filled(
    batch: Transitions, pool: Transitions, rows: Int[Array, " b"], r_t: Float[Array, " b"]
) -> Transitions:
    """The batch with rows of the pool in place of the learner's own, where there are any."""
    theirs = replace(pool[jnp.maximum(rows, 0)], r_t=r_t)
    use = rows >= 0

    def either(own: Array, their: Array) -> Array:
        return jnp.where(use.reshape(-1, *[1] * (own.ndim - 1)), their, own)

    return jax.tree.map(either, batch, theirs)


def key_of(rng: np.random.Generator) -> PRNGKeyArray:
    """A key of JAX's from a stream of NumPy's."""
    return jax.random.key(int(rng.integers(2**63)))
