import numpy as np
import pytest

from bers.data.sampling import draw_batches, draw_rows
from bers.errors import ConfigError


@pytest.mark.parametrize(("n", "size"), [(5, 5), (6, 5), (19, 5), (20, 5), (40, 5), (1000, 64)])
def test_no_row_twice_in_a_batch(n, size):
    rows, used = draw_rows(np.random.default_rng(0), n, 300, size)
    assert used.all()
    assert rows.min() >= 0
    assert rows.max() < n
    assert all(len(set(batch)) == size for batch in rows.tolist())


@pytest.mark.parametrize("n", [6, 16, 30])
def test_every_row_and_every_pair_is_equally_likely(n):
    size, batches = 4, 60_000
    rows, _ = draw_rows(np.random.default_rng(3), n, batches, size)
    single = np.bincount(rows.ravel(), minlength=n) / batches
    expected = size / n
    assert np.abs(single - expected).max() < 5 * np.sqrt(expected / batches)
    pairs = np.zeros((n, n))
    np.add.at(pairs, (rows[:, 0], rows[:, 1]), 1)
    off = pairs[~np.eye(n, dtype=bool)] / batches
    expected = 1 / (n * (n - 1))
    assert np.trace(pairs) == 0
    assert np.abs(off - expected).max() < 5 * np.sqrt(expected / batches)


def test_few_rows_come_once_each_and_the_rest_is_unused():
    x, y = np.arange(3.0)[:, None] + 1, np.arange(3.0) + 1
    bx, by, used = draw_batches(np.random.default_rng(0), x, y, 50, 5)
    assert used.sum(axis=1).tolist() == [3] * 50
    assert used[:, :3].all()
    assert (np.sort(by[:, :3], axis=1) == [1, 2, 3]).all()
    assert not by[:, 3:].any()
    assert np.array_equal(bx[..., 0], by)
    assert len({tuple(batch) for batch in by[:, :3]}) == 6


def test_rows_and_labels_stay_together_and_types_stay():
    x = np.arange(1000, dtype=np.float32)[:, None]
    bx, by, used = draw_batches(np.random.default_rng(0), x, x[:, 0].astype(float), 7, 13)
    assert bx.dtype == np.float32
    assert by.dtype == np.float64
    assert np.array_equal(bx[..., 0], by)
    assert used.all()


def test_same_seed_same_batches_other_seed_other_batches():
    draw = [draw_rows(np.random.default_rng(seed), 100, 3, 8)[0].tolist() for seed in (1, 1, 2)]
    assert draw[0] == draw[1]
    assert draw[0] != draw[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 1, 1), "rng must be a NumPy Generator; got int"),
        ((np.random.default_rng(0), 5, 1, 0), "size must be a whole number of at least 1; got 0"),
        ((np.random.default_rng(0), 5, -1, 1), "batches must be a whole number of at least 0"),
        ((np.random.default_rng(0), 5, 1, 2.0), "size must be a whole number"),
    ],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ConfigError, match=message):
        draw_rows(*arguments)
