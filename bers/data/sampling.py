"""Random batches of rows, without replacement inside a batch.

Enter: a generator, the number of rows, and the number and size of the batches. Leave: row
numbers of shape (batches, size) and which slots are in use. A source with fewer rows than a
batch gives each row once and leaves the other slots unused.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bers.data.checks import generator, whole
from bers.errors import ConfigError, DataError

_MOST_DRAWN = 2**40  # rows of a call; nobody has memory for more


def draw_rows(
    rng: np.random.Generator, n: int, batches: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw `batches` batches of `size` different rows out of `n`, each set equally likely.

    >>> rows, used = draw_rows(np.random.default_rng(0), 2, 3, 4)
    >>> used[0]
    array([ True,  True, False, False])
    """
    generator(rng)
    batches, size = whole(batches, "batches", 0), whole(size, "size")
    if batches * size > _MOST_DRAWN:
        raise ConfigError(
            f"{batches:,} batches of {size:,} rows are more than {_MOST_DRAWN:,}. Draw fewer at a "
            "time."
        )
    rows = np.zeros((batches, size), dtype=np.int64)
    used = np.zeros((batches, size), dtype=bool)
    used[:, :n] = True
    if n < 4 * size:
        # Shuffling everything costs at most four times the result here.
        order = rng.permuted(np.tile(np.arange(n), (batches, 1)), axis=1)
        rows[:, :n] = order[:, :size]
        return rows, used
    if batches == 1:
        rows[0] = rng.choice(n, size, replace=False, shuffle=False)  # the same, with less ado
        return rows, used
    return _without_repeats(lambda count: rng.integers(n, size=count), batches, size), used


def draw_parts(
    rng: np.random.Generator, lengths: np.ndarray, shares: np.ndarray, batches: int, size: int
) -> np.ndarray:
    """Draw batches from parts that lie one behind the other: a part by its share, then a row.

    All rows together must be more than `size`, or this would never end.

    >>> draw_parts(np.random.default_rng(0), np.array([5, 50]), np.array([1, 1]), 2, 3).shape
    (2, 3)
    """
    starts, likely = np.cumsum(lengths) - lengths, shares / shares.sum()

    def some(count: int) -> np.ndarray:
        part = rng.choice(len(lengths), count, p=likely)
        return starts[part] + rng.integers(lengths[part])

    return _without_repeats(some, batches, size)


def draw_batches(
    rng: np.random.Generator, x: np.ndarray, y: np.ndarray, batches: int, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw batches of `x` and `y`; unused slots are zero.

    >>> x, y, used = draw_batches(np.random.default_rng(0), np.ones((9, 2)), np.ones(9), 3, 4)
    >>> x.shape, y.shape, used.all()
    ((3, 4, 2), (3, 4), np.True_)
    """
    n = len(y)
    rows, used = draw_rows(rng, n, batches, size)
    if n >= size:
        return x.take(rows, axis=0), y.take(rows), used
    batch_x = np.zeros((*rows.shape, x.shape[1]), x.dtype)
    batch_y = np.zeros(rows.shape, y.dtype)
    batch_x[:, :n], batch_y[:, :n] = x[rows[:, :n]], y[rows[:, :n]]
    return batch_x, batch_y, used


def gathered(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]], rows: np.ndarray, dim: int, dtype: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of these numbers out of a stream, of which no more than a block is kept.

    >>> stream = [(np.ones((2, 1)), np.array([0.0, 1.0])), (np.ones((1, 1)), np.array([2.0]))]
    >>> gathered(stream, np.array([2, 0, 2]), 1, np.float64)[1]
    array([2., 0., 2.])
    """
    order = np.argsort(rows, kind="stable")
    wanted, start = rows[order], 0
    x, y = np.empty((len(rows), dim), dtype), np.empty(len(rows))
    for block_x, block_y in blocks:
        first, last = np.searchsorted(wanted, [start, start + len(block_y)])
        here, places = wanted[first:last] - start, order[first:last]
        x[places], y[places] = block_x[here], block_y[here]
        start += len(block_y)
    return x, y


def held_out(rng: np.random.Generator, n: int, fraction: float) -> np.ndarray:
    """Mark about `fraction` of `n` rows; of two rows or more, both parts get one.

    >>> int(held_out(np.random.default_rng(0), 10, 0.3).sum())
    3
    """
    generator(rng)
    if not isinstance(fraction, (int, float, np.floating)) or not 0 <= fraction <= 1:
        raise ConfigError(f"fraction must lie between 0 and 1; got {fraction!r}.")
    count = round(n * float(fraction))
    if 0 < fraction < 1:
        count = min(max(count, 1), n - 1) if n >= 2 else 0
    mask = np.zeros(n, dtype=bool)
    mask[rng.permutation(n)[:count]] = True
    return mask


def row_numbers(rows: Any, n: int) -> np.ndarray:
    """Rows given by number, or by a mask of all `n` rows, as an index.

    >>> row_numbers([True, False], 2), row_numbers([1], 2)
    (array([0]), array([1]))
    """
    try:
        rows = np.asarray(rows)
    except ValueError as error:
        raise DataError(
            f"rows must be row numbers, or a mask of shape ({n},). Give one number a row."
        ) from error
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise DataError(
            f"rows must be row numbers of shape (rows,), or a mask of shape ({n},); got shape "
            f"{rows.shape} and type {rows.dtype}."
        )
    wrong = (rows >= n) | (rows < -n)
    if wrong.any():
        raise DataError(f"row {rows[wrong.argmax()]} is out of range; there are {n}.")
    return rows


def _without_repeats(some: Callable[[int], np.ndarray], batches: int, size: int) -> np.ndarray:
    """Batches of what `some(count)` draws; an entry that its batch has already is drawn again."""
    rows = some(batches * size).reshape(batches, size)
    repeated = _repeats(rows)
    while repeated.any():
        rows[repeated] = some(int(repeated.sum()))
        repeated = _repeats(rows)
    return rows


def _repeats(rows: np.ndarray) -> np.ndarray:
    """Mark every entry that an earlier entry of its batch equals."""
    repeated = np.zeros(rows.shape, dtype=bool)
    ordered = np.sort(rows, axis=1)
    # Few batches have a repeat: only those need the slower sort that remembers places.
    suspects = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(suspects):
        places = np.argsort(rows[suspects], axis=1, kind="stable")
        again = np.diff(np.take_along_axis(rows[suspects], places, axis=1), axis=1) == 0
        batch, slot = np.nonzero(again)
        repeated[suspects[batch], places[batch, slot + 1]] = True
    return repeated
