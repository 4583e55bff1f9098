"""Trees whose splits all sources share: compiled they say the same, and columns stand out."""

import jax.numpy as jnp
import numpy as np
import pytest

from bers.model import trees as module
from bers.model.trees import Table, Trees, columns_that_matter, grow


def _table(N=3, k=6, n=200, seed=0, noise=0.1):
    """Sources that look at the first columns, one each; the last two columns are 0 or 1, and 0."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n * N, k)).astype(np.float32)
    x[:, -2], x[:, -1] = x[:, -2] > 0.6, 0.0
    source = np.repeat(np.arange(N), n)
    y = np.sin(3 * x[np.arange(n * N), source % 3]) + noise * rng.standard_normal(n * N)
    return Table(x, y / y.std(), source, rng.random(n * N) < 0.25)


def _grown(table, columns, *, most=20, seed=1, patience=10):
    """The compiled trees, and the grown ones that they were made of."""
    encoder = grow(
        np.random.default_rng(seed), table, columns, trees=40, patience=patience, most=most
    )
    x = table.x[:, columns]
    edges = module._edges(x)
    found, _ = module._boost(np.random.default_rng(seed), table._replace(x=x), edges, 40, patience)
    bins = module._binned(x, edges)
    fitted = sum(tree.leaf.T[module._leaf_of(tree, bins)] for tree in found)
    return encoder, found, edges, module._directions(fitted, most)


def _routed(found, edges, directions, x):
    """What the leaves say where rows are sent by their bins, in NumPy."""
    bins = module._binned(x, edges)
    return sum(tree.leaf.T[module._leaf_of(tree, bins)] for tree in found) @ directions


@pytest.mark.parametrize(
    ("N", "k"), [(1, 4), (3, 6), (20, 6), (2, 300)], ids=["one", "three", "many", "wide"]
)
def test_compiled_trees_say_what_the_grown_ones_say(N, k):
    table = _table(N, k, n=200 if N < 10 else 40)
    columns = np.arange(k) if k != 6 else np.array([0, 1, 2, 4, 5])
    encoder, found, edges, directions = _grown(table, columns)
    assert len(found) > 3
    far = np.random.default_rng(2).uniform(-3, 3, (100, k)).astype(np.float32)
    for x in (table.x, far):
        got = np.asarray(encoder(jnp.asarray(x)))
        assert got.shape == (len(x), encoder.features)
        np.testing.assert_allclose(
            got[:, :-1], _routed(found, edges, directions, x[:, columns]), rtol=0, atol=2e-5
        )
        np.testing.assert_array_equal(got[:, -1], 1.0)
    assert encoder.inputs == k


def test_a_row_on_the_edge_of_a_split_goes_left_in_both():
    table = _table()
    encoder, found, edges, directions = _grown(table, np.arange(6))
    x = np.zeros((sum(map(len, edges)), 6), np.float32)
    x[np.arange(len(x)), np.repeat(np.arange(6), [len(e) for e in edges])] = np.concatenate(edges)
    np.testing.assert_allclose(
        np.asarray(encoder(jnp.asarray(x)))[:, :-1],
        _routed(found, edges, directions, x),
        rtol=0,
        atol=2e-5,
    )


def test_features_are_uncorrelated_and_of_mean_square_one():
    table = _table(N=5)
    encoder, *_ = _grown(table, np.arange(6))
    Phi = np.asarray(encoder(jnp.asarray(table.x)), float)[:, :-1]
    assert Phi.shape[1] >= 3
    np.testing.assert_allclose(np.cov(Phi.T, bias=True), np.eye(Phi.shape[1]), atol=1e-3)


def test_no_more_features_than_are_asked_for():
    wide, *_ = _grown(_table(N=5), np.arange(6), most=20)
    narrow, *_ = _grown(_table(N=5), np.arange(6), most=2)
    assert wide.features > narrow.features == 3
    np.testing.assert_array_equal(wide.value[..., :2], narrow.value)


def test_trees_explain_what_the_sources_share():
    table, fresh = _table(), _table(seed=5)
    encoder, *_ = _grown(table, np.arange(6))
    Phi, new = (np.asarray(encoder(jnp.asarray(t.x)), float) for t in (table, fresh))
    for i in range(3):
        own = table.source == i
        w = np.linalg.lstsq(Phi[own], table.y[own], rcond=None)[0]
        left = fresh.y - new @ w
        assert np.var(left[fresh.source == i]) < 0.15 * np.var(fresh.y[fresh.source == i])


def test_held_out_rows_grow_nothing():
    table = _table()
    other = table._replace(y=np.where(table.held, 100.0, table.y))
    edges = module._edges(table.x)
    one, two = (
        module._boost(np.random.default_rng(0), t, edges, 5, np.inf) for t in (table, other)
    )
    for a, b in zip(one[0], two[0], strict=True):
        np.testing.assert_array_equal(a.leaf, b.leaf)
        np.testing.assert_array_equal(a.column, b.column)
    np.testing.assert_array_equal(one[1], two[1])


def test_held_out_rows_say_how_many_trees_there_are():
    table = _table()
    free, _ = module._boost(np.random.default_rng(0), table, module._edges(table.x), 300, np.inf)
    kept, _ = module._boost(np.random.default_rng(0), table, module._edges(table.x), 300, 10)
    assert len(free) == 300
    assert 3 < len(kept) < 300
    bins, at = module._binned(table.x, module._edges(table.x)), np.arange(len(table.y))
    total, errors = np.zeros(len(table.y)), []
    for tree in free[: len(kept) + 10]:
        errors.append(np.mean((table.y - total)[table.held] ** 2))
        total = total + tree.leaf.T[module._leaf_of(tree, bins)][at, table.source]
    assert np.argmin(errors) == len(kept)


@pytest.mark.parametrize("labels", ["none", "noise that held-out rows contradict"])
def test_nothing_to_learn_grows_no_trees(labels):
    table = _table()
    y = np.zeros(len(table.y)) if labels == "none" else np.where(table.held, -1.0, 1.0) * table.y
    how = {"trees": 40, "patience": 10, "most": 20}
    rng = np.random.default_rng(1)
    assert grow(rng, table._replace(y=y), np.arange(6), **how) is None


def test_trees_have_nothing_that_training_could_move():
    encoder, *_ = _grown(_table(), np.arange(6))
    assert isinstance(encoder, Trees)
    assert encoder.weights == ()


# ---- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_four_columns_of_thirty_stand_out(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (750, 30))
    source = np.repeat(np.arange(3), 250)
    goals = (np.sin(3 * x[:, 0]) + x[:, 1], 2 * x[:, 2] - x[:, 0], np.cos(3 * x[:, 3]) + x[:, 1])
    y = np.choose(source, goals) + 0.1 * rng.standard_normal(750)
    table = Table(x, y / y.std(), source, np.zeros(750, bool))
    found = columns_that_matter(rng, table).tolist()
    assert found[:4] == [0, 1, 2, 3]
    assert len(found) <= 6


def test_a_column_that_matters_to_one_of_twenty_stands_out():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (2000, 10))
    source = np.repeat(np.arange(20), 100)
    y = np.where(source == 7, 2 * x[:, 9], 2 * x[:, 0]) + 0.1 * rng.standard_normal(2000)
    table = Table(x, y, source, np.zeros(2000, bool))
    assert columns_that_matter(rng, table).tolist() == [0, 9]


def test_of_noise_hardly_any_column_stands_out():
    kept = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, y = rng.uniform(-1, 1, (150, 20)), rng.standard_normal(150)
        table = Table(x, y, np.repeat([0, 1, 2], 50), np.zeros(150, bool))
        kept += len(columns_that_matter(rng, table))
    assert kept <= 10  # of 200


def test_a_column_that_differs_only_between_sources_does_not_stand_out():
    rng = np.random.default_rng(3)
    source = np.repeat(np.arange(3), 200)
    x = np.column_stack([rng.uniform(-1, 1, 600), source])
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(600)
    table = Table(x, y, source, np.zeros(600, bool))
    assert columns_that_matter(rng, table).tolist() == [0]
