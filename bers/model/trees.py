"""Trees as an encoder: boosted trees whose splits all sources share, each with leaves of its own.

Enters: rows and labels of every source. Leaves: which columns matter, and an encoder whose features
are what the sources' own leaves add up to, in few directions. [Eq. trees]

A split is chosen by the squared error that it takes away from all sources together. So a column
that matters to anybody stands out, and one that matters to nobody does not: its gain is no larger
than that of a column whose rows were shuffled. Trees also see steps, which a network smooths over.
"""

from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int

_DEPTH, _BINS = 5, 64
_SCOUT_DEPTH, _SCOUT_BINS = 3, 32  # enough to see which columns matter
_RATE = 0.1  # share of what a leaf found that is added
_RIDGE = 1.0  # rows without anything to say that every leaf has
_TREES_COMPILED = 50  # empty ones fill up to a multiple of these: one program for many forests
_LEAST = 10  # rows of all sources on each side of a split
_SOURCES, _COLUMNS = 12, 256  # that one tree looks at, chosen at random if there are more
_HEARD, _SPREAD_ROWS = 64, 4_000  # sources and rows that features are put together from
_SCOUTS = 60  # trees that look for columns, real ones and shuffled ones side by side
_ABOVE = 1.5  # times the best shuffled column, from which a column counts


class Table(NamedTuple):
    """Rows of all sources, one below the other."""

    x: Float[np.ndarray, "n k"]
    y: Float[np.ndarray, " n"]
    """Standardised, source by source."""
    source: Int[np.ndarray, " n"]
    held: Bool[np.ndarray, " n"]
    """Rows that decide how many trees there are, and grow none."""

    @property
    def N(self) -> int:
        """Number of sources."""
        return int(self.source.max(initial=-1)) + 1


@dataclass(frozen=True)
class Tree:
    """One tree; node i of a level has the children 2i and 2i + 1 of the next."""

    column: Int[np.ndarray, " nodes"]
    """Of every split, level by level."""
    bin: Int[np.ndarray, " nodes"]
    """A row goes right if its bin is above this one."""
    leaf: Float[np.ndarray, "N leaves"]
    """What each source adds in each leaf."""


class Trees(eqx.Module):
    """The encoder: r directions of what the leaves say, then a constant. [Eq. trees]"""

    column: Int[Array, "trees nodes"]
    threshold: Float32[Array, "trees nodes"]
    value: Float32[Array, "trees leaves r"]
    inputs: int = eqx.field(static=True)

    def __call__(self, x: Float32[Array, "n k"]) -> Float32[Array, "n D"]:
        """Features of every row, the bias last."""

        def add(total: Array, tree: tuple[Array, Array, Array]) -> tuple[Array, None]:
            column, threshold, value = tree
            node = jnp.zeros(len(x), jnp.int32)
            for level in range(_depth(column)):
                here = node + (2**level - 1)
                seen = jnp.take_along_axis(x, column[here][:, None], axis=1)[:, 0]
                node = 2 * node + (seen > threshold[here])
            return total + value[node], None

        start = jnp.zeros((len(x), self.value.shape[-1]), jnp.float32)
        total, _ = jax.lax.scan(add, start, (self.column, self.threshold, self.value))
        return jnp.concatenate([total, jnp.ones_like(x[:, :1])], axis=1)

    @property
    def features(self) -> int:
        """Number of features that a head sees, the bias included."""
        return self.value.shape[-1] + 1

    @property
    def weights(self) -> tuple[Array, ...]:
        """That training would move: none."""
        return ()


def _depth(nodes: np.ndarray | Array) -> int:
    """Levels of a tree with so many splits."""
    return len(nodes).bit_length()


def blank_trees(trees: int, r: int, inputs: int) -> Trees:
    """An encoder of that size, to be filled from a file."""
    nodes = 2**_DEPTH - 1
    return Trees(
        column=jnp.zeros((trees, nodes), jnp.int32),
        threshold=jnp.zeros((trees, nodes), jnp.float32),
        value=jnp.zeros((trees, nodes + 1, r), jnp.float32),
        inputs=inputs,
    )


def columns_that_matter(rng: np.random.Generator, table: Table) -> Int[np.ndarray, " kept"]:
    """Columns whose splits gain more than those of any column with its rows shuffled.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (300, 6))
    >>> y = np.sin(3 * x[:, 1]) + x[:, 4]
    >>> table = Table(x, y / y.std(), np.zeros(300, int), np.zeros(300, bool))
    >>> columns_that_matter(rng, table).tolist()
    [1, 4]
    """
    k = table.x.shape[1]
    shuffled = table.x.copy()
    for i in range(table.N):
        own = np.flatnonzero(table.source == i)
        shuffled[own] = table.x[rng.permutation(own)]
    both = table._replace(x=np.concatenate([table.x, shuffled], axis=1))
    edges = _edges(both.x, _SCOUT_BINS)
    _, gain = _boost(rng, both, edges, _SCOUTS, np.inf, depth=_SCOUT_DEPTH)
    return np.flatnonzero(gain[:k] > _ABOVE * gain[k:].max(initial=0.0))


def grow(
    rng: np.random.Generator,
    table: Table,
    columns: Int[np.ndarray, " kept"],
    *,
    trees: int,
    patience: float,
    most: int,
) -> Trees | None:
    """Trees on some columns, as many as held-out rows ask for; None if they ask for none.

    `most` bounds the number of features.
    """
    x = table.x[:, columns]
    edges = _edges(x)
    found, _ = _boost(rng, table._replace(x=x), edges, trees, patience)
    if not found:
        return None
    heard = np.arange(table.N)
    if table.N > _HEARD:
        heard = np.sort(rng.choice(table.N, _HEARD, replace=False))
    leaves = np.stack([tree.leaf[heard] for tree in found])  # trees, sources, leaves
    some = np.arange(len(x))
    if len(x) > _SPREAD_ROWS:
        some = np.sort(rng.choice(len(x), _SPREAD_ROWS, replace=False))
    bins = _binned(x[some], edges)
    said = [own.T[_leaf_of(tree, bins)] for tree, own in zip(found, leaves, strict=True)]
    directions = _directions(np.sum(said, axis=0), most)
    if not directions.shape[1]:
        return None
    limits = [np.append(e, np.inf) for e in edges]
    threshold = [
        [limits[c][min(b, len(limits[c]) - 1)] for c, b in zip(t.column, t.bin, strict=True)]
        for t in found
    ]
    empty = -len(found) % _TREES_COMPILED
    column, threshold, value = (
        np.concatenate([part, np.zeros((empty, *part.shape[1:]))])
        for part in (
            np.stack([columns[t.column] for t in found]),
            np.array(threshold),
            np.einsum("tnl,nr->tlr", leaves, directions),
        )
    )
    return Trees(
        column=jnp.asarray(column.astype(np.int32)),
        threshold=jnp.asarray(threshold.astype(np.float32)),
        value=jnp.asarray(value.astype(np.float32)),
        inputs=table.x.shape[1],
    )


def _directions(fitted: Float[np.ndarray, "n N"], most: int) -> Float[np.ndarray, "N r"]:
    """From what every source's leaves say to features of mean square one, the largest first."""
    centred = fitted - fitted.mean(0)
    _, size, V = np.linalg.svd(centred, full_matrices=False)
    r = min(int(np.sum(size > 0.02 * size.max(initial=0.0))), most) if size.max(initial=0) else 0
    return V[:r].T / (size[:r] / np.sqrt(len(fitted)))


def _edges(x: Float[np.ndarray, "n k"], bins: int = _BINS) -> list[np.ndarray]:
    """Between the bins of each column: values that rows have, so that no bin is empty."""
    steps = np.linspace(0, 1, bins + 1)[1:-1]
    quantiles = (
        np.quantile(x, steps, axis=0, method="lower") if len(x) else np.zeros((0, x.shape[1]))
    )
    return [np.unique(column) for column in quantiles.T]


def _binned(x: Float[np.ndarray, "n k"], edges: list[np.ndarray]) -> Int[np.ndarray, "n k"]:
    bins = [np.searchsorted(e, column) for e, column in zip(edges, x.T, strict=True)]
    return np.stack(bins, axis=1) if bins else np.zeros((len(x), 0), int)


def _boost(
    rng: np.random.Generator,
    table: Table,
    edges: list[np.ndarray],
    trees: int,
    patience: float,
    *,
    depth: int = _DEPTH,
) -> tuple[list[Tree], Float[np.ndarray, " k"]]:
    """Trees one after the other on what is left, and gains by column.

    Every other tree is split for one source alone, mostly one with much left to explain: where
    functions have little in common, splits that please all of them please none.
    """
    bins, source, held = _binned(table.x, edges), table.source, table.held
    left = table.y.astype(np.float64)
    seen = np.flatnonzero(~held)
    found: list[Tree] = []
    gain, best, best_at = np.zeros(bins.shape[1]), np.inf, 0
    for _ in range(trees):
        error = np.mean(left[held] ** 2) if held.any() else 0.0
        if error < best:
            best, best_at = error, len(found)
        elif held.any() and len(found) - best_at >= patience:
            break
        alone = None
        if len(found) % 2 and table.N > 1:
            weight = np.bincount(source[seen], left[seen] ** 2, minlength=table.N)
            alone = int(rng.choice(table.N, p=weight / weight.sum())) if weight.any() else None
        tree, gained = _grow(
            rng, bins[seen], source[seen], left[seen], table.N, depth=depth, alone=alone
        )
        left -= tree.leaf[source, _leaf_of(tree, bins)]
        gain += gained
        found.append(tree)
    if held.any() and np.isfinite(patience):
        found = found[:best_at]
    return found, gain


def _grow(
    rng: np.random.Generator,
    bins: np.ndarray,
    source: np.ndarray,
    left: np.ndarray,
    N: int,
    *,
    depth: int = _DEPTH,
    alone: int | None = None,
) -> tuple[Tree, Float[np.ndarray, " k"]]:
    """One tree, level by level, every node split where all sources together gain most.

    `alone`: where that source gains most.
    """
    k = bins.shape[1]
    columns = np.arange(k) if k <= _COLUMNS else np.sort(rng.choice(k, _COLUMNS, replace=False))
    some = np.arange(N) if alone is None else np.array([alone])
    if len(some) > _SOURCES:
        some = rng.choice(N, _SOURCES, replace=False)
    place = np.full(N, -1)
    place[some] = np.arange(len(some))
    rows = np.flatnonzero(place[source] >= 0)
    place = place[source[rows]]
    size = int(bins.max(initial=0)) + 2
    looked = bins[rows][:, columns] + np.arange(len(columns)) * size
    node, gain, split_columns, split_bins = np.zeros(len(bins), int), np.zeros(k), [], []
    for level in range(depth):
        nodes = 2**level
        column, bin_, gained = _splits(
            looked, place * nodes + node[rows], left[rows], (len(some), nodes, len(columns), size)
        )
        column = columns[column]
        np.add.at(gain, column, gained)
        split_columns.append(column)
        split_bins.append(bin_)
        node = 2 * node + (bins[np.arange(len(bins)), column[node]] > bin_[node])
    leaves = 2**depth
    where = source * leaves + node
    total = np.bincount(where, left, minlength=N * leaves)
    count = np.bincount(where, minlength=N * leaves)
    leaf = (_RATE * total / (count + _RIDGE)).reshape(N, leaves)
    return Tree(np.concatenate(split_columns), np.concatenate(split_bins), leaf), gain


def _splits(
    looked: np.ndarray, group: np.ndarray, left: np.ndarray, shape: tuple[int, int, int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each node the column and bin of the largest gain, and that gain; none: no split."""
    sources, nodes, k, bins = shape
    where = (group[:, None] * (k * bins) + looked).ravel()
    every = sources * nodes * k * bins
    total = np.bincount(where, np.repeat(left, k), minlength=every).reshape(shape)
    count = np.bincount(where, minlength=every).reshape(shape)
    below, few = np.cumsum(total, -1)[..., :-1], np.cumsum(count, -1)[..., :-1]
    whole, many = total.sum(-1, keepdims=True), count.sum(-1, keepdims=True)
    gain = below**2 / (few + _RIDGE) + (whole - below) ** 2 / (many - few + _RIDGE)
    gain = (gain - whole**2 / (many + _RIDGE)).sum(0)
    low, all_ = few.sum(0), many.sum(0)
    gain = np.where((low >= _LEAST) & (all_ - low >= _LEAST), gain, 0.0).reshape(nodes, -1)
    at = gain.argmax(1)
    gained = gain[np.arange(nodes), at]
    bin_ = np.where(gained > 0, at % (bins - 1), bins)
    return at // (bins - 1), bin_, np.maximum(gained, 0.0)


def _leaf_of(tree: Tree, bins: np.ndarray) -> np.ndarray:
    rows, node = np.arange(len(bins)), np.zeros(len(bins), int)
    for level in range(_depth(tree.column)):
        here = node + (2**level - 1)
        node = 2 * node + (bins[rows, tree.column[here]] > tree.bin[here])
    return node
