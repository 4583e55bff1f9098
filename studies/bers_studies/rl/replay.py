"""Transitions, and a ring of the latest ones.

Enters: transitions, one at a time or many. Leaves: batches of rows by number. A ring is a record of
arrays that is written in place inside a compiled scan; the oldest row is overwritten first.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, PRNGKeyArray


class Transitions(eqx.Module):
    """Rows of (s, a, r, s'), on the host or on the device; a single row has no leading axis."""

    s_tm1: Any
    a_tm1: Any
    r_t: Any
    s_t: Any

    def __len__(self) -> int:
        return len(self.r_t)

    def __getitem__(self, rows: Any) -> "Transitions":
        """Some rows."""
        return jax.tree.map(lambda column: column[rows], self)


class Ring(eqx.Module):
    """The latest transitions."""

    rows: Transitions
    count: Int32[Array, ""]
    """Transitions ever added."""

    @property
    def capacity(self) -> int:
        """Rows that fit."""
        return len(self.rows)

    @property
    def size(self) -> Int32[Array, ""]:
        """Rows in use."""
        return jnp.minimum(self.count, self.capacity)


def new_ring(like: Transitions, capacity: int) -> Ring:
    """An empty ring for transitions like one of these.

    >>> one = Transitions(jnp.zeros(3), jnp.zeros(2), jnp.zeros(()), jnp.zeros(3))
    >>> ring = add(new_ring(one, 4), one)
    >>> ring.capacity, int(ring.size)
    (4, 1)
    """
    rows = jax.tree.map(lambda x: jnp.zeros((capacity, *jnp.shape(x)), jnp.asarray(x).dtype), like)
    return Ring(rows, jnp.zeros((), jnp.int32))


def add(ring: Ring, one: Transitions) -> Ring:
    """One more transition, in place of the oldest if the ring is full."""
    at = ring.count % ring.capacity
    rows = jax.tree.map(lambda column, new: column.at[at].set(new), ring.rows, one)
    return Ring(rows, ring.count + 1)


def fetch(ring: Any, rows: Int32[Array, " b"]) -> Transitions:
    """Those rows of a ring that was written to just before.

    The condition always holds. It keeps the compiler from merging write and read, for which it
    would copy the whole ring at every step.
    """
    none = jax.tree.map(lambda x: jnp.zeros((len(rows), *x.shape[1:]), x.dtype), ring.rows)
    return jax.lax.cond(ring.count > 0, lambda: ring.rows[rows], lambda: none)


def uniform(key: PRNGKeyArray, ring: Ring, count: int) -> Int32[Array, " count"]:
    """Row numbers, each equally likely, with replacement."""
    return jax.random.randint(key, (count,), 0, jnp.maximum(ring.size, 1))
