"""Prioritised replay: rows that surprised the critic are drawn more often. [Eq. prioritised]

Enters: transitions, one at a time or many, and the critic's errors on rows that were drawn. Leaves:
row numbers, and weights that undo the preference. Priorities are the leaves of a tree in which
every node is the sum of its children, so that a draw looks at a few nodes only, whatever the
capacity. When a leaf changes, the nodes above it are summed anew, so that nothing drifts. All is
written in place inside a compiled scan; the oldest row is overwritten first.
"""

import itertools
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int, Int16, Int32, PRNGKeyArray

from bers.data.checks import whole
from bers.errors import DataError
from bers_studies.rl.replay import Transitions

OWN = -1
"""The origin of a row that the learner saw itself."""

# not the library's sum tree: that one is NumPy's, and this one is written inside a compiled scan
_WIDTH = 32  # children of a node: a million leaves need four levels
_BELOW_ONE = 1 - 2.0**-23  # the greatest number that jax.random.uniform gives

Tree = Float32[Array, "nodes 32"]


class Prioritised(eqx.Module):
    """The latest transitions, and how much each is worth a look."""

    rows: Transitions
    origin: Int16[Array, " capacity"]
    """Number of the source that a row is from; -1: the learner's own."""
    tree: Tree
    """Level by level from the top, for each node its children. Those of the last level are the
    priorities, 0 for rows that are not in use."""
    greatest: Float32[Array, ""]
    """The greatest priority so far, 1 at first: what a new row gets."""
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

    @property
    def priorities(self) -> Float32[Array, " capacity"]:
        """Of all rows."""
        return self.tree[_starts(self.capacity)[-1] :].ravel()[: self.capacity]

    @property
    def total(self) -> Float32[Array, ""]:
        """Sum of the priorities."""
        return self.tree[0].sum()


def new_prioritised(like: Transitions, capacity: int) -> Prioritised:
    """An empty replay for transitions like one of these.

    >>> one = Transitions(np.zeros(3), np.zeros(2, np.float32), np.float32(0), np.zeros(3))
    >>> ring = new_prioritised(one, 100)
    >>> ring.capacity, int(ring.size), ring.tree.shape
    (100, 0, (5, 32))
    """
    whole(capacity, "new_prioritised(capacity=...)")
    rows = jax.tree.map(lambda x: jnp.zeros((capacity, *jnp.shape(x)), jnp.asarray(x).dtype), like)
    return Prioritised(
        rows=rows,
        origin=jnp.full(capacity, OWN, jnp.int16),
        tree=_summed(jnp.zeros(capacity, jnp.float32)),
        greatest=jnp.ones((), jnp.float32),
        count=jnp.zeros((), jnp.int32),
    )


def preload(
    ring: Prioritised,
    transitions: Transitions,
    origin: Int[np.ndarray | Array, "*n"] | int,
    priority: float = 1.0,
) -> Prioritised:
    """Many transitions at once, all with one priority; `origin` is one number or one per row.

    >>> rows = Transitions(np.zeros((3, 2)), np.zeros((3, 1)), np.zeros(3), np.zeros((3, 2)))
    >>> ring = preload(new_prioritised(rows[0], 4), rows, origin=np.array([0, 1, 1]))
    >>> ring.priorities.tolist(), ring.origin.tolist()
    ([1.0, 1.0, 1.0, 0.0], [0, 1, 1, -1])
    """
    n = len(transitions)
    if n > ring.capacity:
        raise DataError(
            f"preload(...) has room for {ring.capacity} rows; got {n}. Make the replay larger, or "
            "leave rows out."
        )
    at = (ring.count + jnp.arange(n)) % ring.capacity
    return Prioritised(
        rows=jax.tree.map(lambda column, new: column.at[at].set(new), ring.rows, transitions),
        origin=ring.origin.at[at].set(jnp.asarray(origin, jnp.int16)),
        tree=_summed(ring.priorities.at[at].set(priority)),
        greatest=jnp.maximum(ring.greatest, priority),
        count=ring.count + n,
    )


def add(ring: Prioritised, one: Transitions, origin: int = OWN) -> Prioritised:
    """One more transition, in place of the oldest if there is no room.

    Its priority is the greatest so far, so that it is drawn soon.

    >>> one = Transitions(np.zeros(3), np.zeros(2, np.float32), np.float32(0), np.zeros(3))
    >>> ring = new_prioritised(one, 2)
    >>> [int(ring.size) for ring in (ring, add(ring, one), add(add(ring, one), one))]
    [0, 1, 2]
    """
    at = ring.count % ring.capacity
    return Prioritised(
        rows=jax.tree.map(lambda column, new: column.at[at].set(new), ring.rows, one),
        origin=ring.origin.at[at].set(origin),
        tree=_changed(ring.tree, at[None], ring.greatest[None], capacity=ring.capacity),
        greatest=ring.greatest,
        count=ring.count + 1,
    )


def draw(
    key: PRNGKeyArray, ring: Prioritised, count: int, *, beta: Float[Array, ""] | float
) -> tuple[Int32[Array, " count"], Float32[Array, " count"]]:
    """Row numbers in proportion to priorities, with replacement, and importance weights.

    P(i) = pᵢ / Σ p, and the weight is (n P(i))^-β over its greatest value in the batch, in which n
    and Σ p cancel. The draws share the tree's first level evenly between them. [Eq. prioritised]

    >>> one = Transitions(np.zeros(3), np.zeros(2, np.float32), np.float32(0), np.zeros(3))
    >>> ring = add(add(new_prioritised(one, 8), one), one)
    >>> ring = learned(ring, jnp.arange(2), jnp.array([1.0, 0.0]), alpha=1.0, epsilon=0.0)
    >>> rows, weights = draw(jax.random.key(0), ring, 4, beta=0.5)
    >>> rows.tolist(), weights.tolist()
    ([0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0])
    """
    u = jax.random.uniform(key, (len(_starts(ring.capacity)), count))
    even = jnp.minimum((u[0] + jnp.arange(count)) / count, _BELOW_ONE)
    rows, priorities = _found(ring.tree, u.at[0].set(even), capacity=ring.capacity)
    return rows, (priorities.min() / priorities) ** beta


def learned(
    ring: Prioritised,
    rows: Int32[Array, " b"],
    td_errors: Float32[Array, " b"],
    *,
    alpha: Float[Array, ""] | float,
    epsilon: Float[Array, ""] | float,
) -> Prioritised:
    """New priorities of rows that were learned from, (|δ| + ε)^α. [Eq. prioritised]

    >>> one = Transitions(np.zeros(3), np.zeros(2, np.float32), np.float32(0), np.zeros(3))
    >>> ring = add(new_prioritised(one, 4), one)
    >>> ring = learned(ring, jnp.array([0]), jnp.array([-3.0]), alpha=0.5, epsilon=1.0)
    >>> ring.priorities.tolist(), float(ring.greatest)
    ([2.0, 0.0, 0.0, 0.0], 2.0)
    """
    priorities = (jnp.abs(td_errors) + epsilon) ** alpha
    return Prioritised(
        rows=ring.rows,
        origin=ring.origin,
        tree=_changed(ring.tree, rows, priorities, capacity=ring.capacity),
        greatest=jnp.maximum(ring.greatest, priorities.max()),
        count=ring.count,
    )


@partial(jax.jit, static_argnames="capacity")
def _found(
    tree: Tree, u: Float32[Array, "levels count"], *, capacity: int
) -> tuple[Int32[Array, " count"], Float32[Array, " count"]]:
    """Leaves and their priorities, by one number in [0, 1) for each level and draw.

    There are fresh numbers for each level, because one has too few digits for a million leaves.
    """

    # a scan, so that the compiler does not work out a choice again wherever it is used
    def down(carry: tuple[Array, Array], level: tuple[Array, Array]) -> tuple[Any, None]:
        node, _ = carry
        start, u_level = level
        children = tree[start + node]
        upto = list(itertools.accumulate(children[:, j] for j in range(_WIDTH)))
        mass = u_level * upto[-1]
        # The first child up to which there is more than the mass. It is not empty, because the sums
        # go from left to right and the last of them is more than the mass.
        child = sum((some <= mass).astype(jnp.int32) for some in upto) % _WIDTH
        return (node * _WIDTH + child, children), None

    count = u.shape[1]
    carry = jnp.zeros(count, jnp.int32), jnp.zeros((count, _WIDTH), jnp.float32)
    (leaf, leaves), _ = jax.lax.scan(down, carry, (jnp.array(_starts(capacity)), u))
    # not from the tree again: it would have to be copied before it is written in place
    return leaf, jnp.take_along_axis(leaves, leaf[:, None] % _WIDTH, axis=1)[:, 0]


@partial(jax.jit, static_argnames="capacity")
def _changed(
    tree: Tree, rows: Int32[Array, " b"], priorities: Float32[Array, " b"], *, capacity: int
) -> Tree:
    """The tree with new leaves, and the nodes above them summed anew; rows may repeat."""
    starts = jnp.array(_starts(capacity))

    def up(carry: tuple[Array, Array], level: tuple[Array, Array]) -> tuple[Any, None]:
        flat, row = carry
        start, above = level
        node = row // _WIDTH
        sums = flat.reshape(-1, _WIDTH)[start + node].sum(axis=1)
        return (flat.at[above * _WIDTH + node].set(sums), node), None

    leaves = tree.ravel().at[starts[-1] * _WIDTH + rows].set(priorities)
    (flat, _), _ = jax.lax.scan(up, (leaves, rows), (starts[1:], starts[:-1]), reverse=True)
    return flat.reshape(-1, _WIDTH)


def _summed(leaves: Float32[Array, " capacity"]) -> Tree:
    """The whole tree for some leaves."""
    levels: list[Array] = []
    while not levels or len(levels[0]) > 1:
        levels.insert(0, jnp.pad(leaves, (0, -len(leaves) % _WIDTH)).reshape(-1, _WIDTH))
        leaves = levels[0].sum(axis=1)
    return jnp.concatenate(levels)


def _starts(capacity: int) -> list[int]:
    """The first row of each level of the tree, from the top.

    >>> _starts(32), _starts(33), _starts(1_000_000)
    ([0], [0, 1], [0, 1, 32, 1009])
    """
    nodes = [-(-capacity // _WIDTH)]
    while nodes[0] > 1:
        nodes.insert(0, -(-nodes[0] // _WIDTH))
    return [0, *itertools.accumulate(nodes[:-1])]
