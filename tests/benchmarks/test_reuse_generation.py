import os

import numpy as np
import pytest
from one_thread import one_thread
from reuse_data import TRANSFORM, past_runs, recorded

from bers import Demonstrations, refine
from bers.algorithm import after
from bers.trust.beliefs import beliefs
from bers.trust.rules import weigh


@pytest.fixture(scope="module")
def run():
    return recorded(generations=4, batches=20, subset=None, rule="weights")


def labelled(run, seen):
    return Demonstrations(seen.x, seen.y, "target").transformed(TRANSFORM)


def joined(run):
    x, y = (np.concatenate([getattr(seen, name) for seen in run.seen]) for name in "xy")
    return Demonstrations(x, y, "target").transformed(TRANSFORM)


def test_sources_are_as_large_as_the_papers():
    counts = [source.n for source in past_runs()]
    np.testing.assert_allclose(counts, [2700, 2200, 1800], rtol=0.1)


def test_a_recorded_run_can_be_played_back(run):
    assert [len(seen.y) for seen in run.seen] == [32] * 5
    reuse = run.start
    for seen in run.seen:
        reuse = after(reuse, seen, start=not len(reuse.trust.y))
    assert len(reuse.trust.y) == 160
    assert reuse.m == 4
    assert reuse.trust.weights.sum() == pytest.approx(1)


def test_one_thread_holds_inside_the_block_only(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("NPROC", raising=False)
    with one_thread():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["NPROC"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "NPROC" not in os.environ


def test_peer_has_the_papers_weights(run):
    pytest.importorskip("torch", reason="the peer needs PyTorch, which `make bench` installs")
    from torch_reuse import TorchReuse

    start, first = run.start.trust, labelled(run, run.seen[0])
    peer = TorchReuse(start.model, start.sources, first)
    for seen in run.seen[1:]:
        more = labelled(run, seen)
        peer.add(more.x, more.y)
    target = joined(run)
    model = refine(start.model, [*start.sources, target], batches=0)
    ours = weigh(beliefs(model, target), "weights")
    np.testing.assert_allclose(peer.weights(peer.twin.posteriors()), ours, atol=1e-3)


def test_peer_learns_over_generations(run):
    torch = pytest.importorskip("torch", reason="the peer needs PyTorch")
    from torch_reuse import TorchReuse

    torch.manual_seed(0)
    first = labelled(run, run.seen[0])
    peer = TorchReuse(run.start.trust.model, run.start.trust.sources, first, subset=64)
    before = peer.twin.layers[0].weight.detach().clone()
    news = labelled(run, run.seen[1])
    a = peer.after(news.x, news.y)
    assert a.sum() == pytest.approx(1)
    assert len(peer.twin.heads[-1].y) == 64
    assert not torch.equal(before, peer.twin.layers[0].weight)
    peer.restart(first)
    assert len(peer.twin.heads[-1].y) == 32
