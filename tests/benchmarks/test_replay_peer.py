import numpy as np
import pytest
import replay


@pytest.fixture
def tree():
    return replay.SumTree(np.array([1.0, 0.0, 2.0, 5.0, 0.5]))


def test_every_node_is_the_sum_of_its_children(tree):
    assert tree.total == 8.5
    for node in range(1, tree.leaves):
        assert tree.sums[node] == tree.sums[2 * node : 2 * node + 2].sum()


def test_peer_finds_rows_by_their_share(tree):
    found = [tree.find(mass) for mass in np.arange(17) / 2]
    assert found == [0] * 2 + [2] * 4 + [3] * 10 + [4]


def test_peer_sums_anew_above_a_new_leaf(tree):
    tree.set(1, 4.0)
    assert tree.total == 12.5
    assert tree.find(1.5) == 1
    assert tree.of(np.array([1, 3])).tolist() == [4.0, 5.0]


def small(make, monkeypatch):
    """Rows and weights of some batches."""
    monkeypatch.setattr(replay, "BATCHES", 20)
    run = make(capacity=50)
    rows, weights = zip(*(run() for _ in range(100)), strict=True)
    return np.concatenate(rows), np.concatenate(weights)


@pytest.mark.parametrize("make", [replay.ours, replay.peer])
def test_contenders_do_the_same_work(make, monkeypatch):
    rows, weights = small(make, monkeypatch)
    assert set(rows.tolist()) == set(range(50))
    assert weights.max() == 1
    assert weights.mean() == pytest.approx(0.54, abs=0.05)


def test_a_scan_and_calls_draw_the_same_rows(monkeypatch):
    for one, other in zip(
        *(small(make, monkeypatch) for make in (replay.ours, replay.ours_by_calls)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)
