"""Prioritised replay: draws and updates per second at a million rows, against a binary tree.

The peer is the textbook's: sums of priorities in a NumPy array, a parent at half its children's
number, walked in Python, one row at a time. Both draw a batch with its importance weights, fetch
its rows, and give it new priorities. Ours does so in a compiled scan, as a learner has it; what it
takes as one call from Python for each batch is in the note.
"""

from collections.abc import Callable
from functools import partial
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
from apart import apart
from bers_studies.rl.prioritised import Prioritised, draw, learned, new_prioritised, preload
from bers_studies.rl.replay import Transitions
from one_thread import one_thread
from row import Row, faster
from timing import take_turns

CAPACITY, BATCH = 1_000_000, 32
ALPHA, BETA, EPSILON = 0.6, 0.4, 0.01
ROUNDS, CALLS, BATCHES = 15, 3, 100
Batch = tuple[np.ndarray, np.ndarray]
"""Rewards and importance weights of a batch."""


def rows() -> list[Row]:
    """One race, one thread each."""
    makers = {"ours": ours, "ours, call by call": ours_by_calls, "peer": peer}
    with one_thread(), apart("replay", makers) as turns:
        seconds = take_turns("replay", turns, rounds=ROUNDS, calls=CALLS)
    rates = {name: BATCHES / value for name, value in seconds.items()}
    calls = rates["ours, call by call"]
    return [
        faster(
            "replay",
            rates["ours"],
            rates["peer"],
            peer_name="a binary sum tree in NumPy",
            goal=10,
            unit="batches drawn and updated per second",
            note=f"{CAPACITY:,} rows in the replay, batches of {BATCH}, in a compiled scan of "
            f"{BATCHES}, one thread. With a call from Python for each batch ours makes "
            f"{calls:,.0f}, ratio {calls / rates['peer']:.1f}.",
        )
    ]


def ours(capacity: int = CAPACITY) -> Callable[[], Batch]:
    """`draw` and `learned` in a scan, the replay written in place."""
    ring, seeds, given = full_ring(capacity), count(), new_errors()

    def run() -> Batch:
        nonlocal ring
        ring, batches, weights = many_batches(next(seeds), ring, given)
        return np.asarray(batches.r_t)[-1], np.asarray(weights)[-1]

    return run


def ours_by_calls(capacity: int = CAPACITY) -> Callable[[], Batch]:
    """The same, a call for each batch."""
    ring, seeds, given = full_ring(capacity), count(), new_errors()
    one_call = jax.jit(one_batch, donate_argnames="ring")

    def run() -> Batch:
        nonlocal ring
        for td_errors in given:
            ring, batch, weights = one_call(next(seeds), ring, td_errors)
            made = np.asarray(batch.r_t), np.asarray(weights)
        return made

    return run


@partial(jax.jit, donate_argnames="ring")
def many_batches(
    seed: int, ring: Prioritised, td_errors: np.ndarray
) -> tuple[Prioritised, Transitions, jax.Array]:
    """One after the other."""

    def one(ring: Prioritised, given: tuple) -> tuple[Prioritised, tuple]:
        ring, *made = one_batch(given[0], ring, given[1])
        return ring, tuple(made)

    seeds = BATCHES * seed + jnp.arange(BATCHES)
    ring, (batches, weights) = jax.lax.scan(one, ring, (seeds, td_errors))
    return ring, batches, weights


def one_batch(
    seed: int, ring: Prioritised, td_errors: np.ndarray
) -> tuple[Prioritised, Transitions, jax.Array]:
    """Draw, fetch, update."""
    # a key made outside would take the slow way into a compiled call
    chosen, weights = draw(jax.random.key(seed), ring, BATCH, beta=BETA)
    batch = ring.rows[chosen]
    return learned(ring, chosen, td_errors, alpha=ALPHA, epsilon=EPSILON), batch, weights


def full_ring(capacity: int) -> Prioritised:
    """No row is unused."""
    first = transitions(capacity)
    ring = preload(new_prioritised(first[0], capacity), first, origin=0)
    return learned(ring, jnp.arange(capacity), errors(capacity), alpha=ALPHA, epsilon=EPSILON)


def peer(capacity: int = CAPACITY) -> Callable[[], Batch]:
    """The same by hand."""
    first = jax.tree.map(np.asarray, transitions(capacity))
    columns = first.s_tm1, first.a_tm1, first.r_t, first.s_t
    tree = SumTree((errors(capacity) + EPSILON) ** ALPHA)
    rng, given = np.random.default_rng(0), new_errors()

    def run() -> Batch:
        for td_errors in given:
            u = (np.arange(BATCH) + rng.random(BATCH)) / BATCH
            chosen = np.array([tree.find(mass) for mass in u * tree.total])
            weights = (capacity * tree.of(chosen) / tree.total) ** -BETA
            weights /= weights.max()
            batch = [column[chosen] for column in columns]
            for row, priority in zip(chosen, (td_errors + EPSILON) ** ALPHA, strict=True):
                tree.set(row, priority)
        return batch[2], weights

    return run


class SumTree:
    """Node i has the children 2i and 2i + 1; the root is 1; the leaves come last."""

    def __init__(self, priorities: np.ndarray) -> None:
        self.leaves = 1 << (len(priorities) - 1).bit_length()
        self.sums = np.zeros(2 * self.leaves)
        self.sums[self.leaves : self.leaves + len(priorities)] = priorities
        for start in (1 << level for level in reversed(range(self.leaves.bit_length() - 1))):
            self.sums[start : 2 * start] = self.sums[2 * start : 4 * start].reshape(-1, 2).sum(1)

    @property
    def total(self) -> float:
        return self.sums[1]

    def of(self, chosen: np.ndarray) -> np.ndarray:
        return self.sums[self.leaves + chosen]

    def find(self, mass: float) -> int:
        """The first leaf up to which there is more than this mass."""
        node = 1
        while node < self.leaves:
            node *= 2
            left = self.sums[node]
            if mass >= left:
                mass -= left
                node += 1
        return node - self.leaves

    def set(self, row: int, priority: float) -> None:
        """A new leaf, and the sums above it."""
        node = self.leaves + int(row)
        self.sums[node] = priority
        while node > 1:
            node //= 2
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1]


def transitions(n: int) -> Transitions:
    """Small ones: four numbers of state, two of action."""
    column = jnp.arange(n, dtype=jnp.float32)
    s, a = (jnp.broadcast_to(column[:, None], (n, k)) for k in (4, 2))
    return Transitions(s, a, column, s)


def new_errors() -> np.ndarray:
    """Of all batches of a call."""
    return errors(BATCHES * BATCH).reshape(BATCHES, BATCH)


def errors(n: int) -> np.ndarray:
    """The same for both."""
    return np.random.default_rng(1).gamma(1.0, size=n).astype(np.float32)
