"""Which rows of the sources' pool an episode's batches hold."""

import numpy as np
import pytest

from bers.reuse.transitions import BatchGuide

COUNTS = np.array([100, 0, 50])
EDGES = np.array([0, 100, 100, 150])


def guide(a, p_m, **more):
    rng = np.random.default_rng(0)
    return BatchGuide(rng, np.array(a), p_m, COUNTS, rewards=np.zeros(150).take, **more)


def sources_of(rows):
    return np.where(rows >= 0, np.searchsorted(EDGES, rows, side="right") - 1, -1)


def test_a_batch_is_of_one_source_or_the_learners_own():
    rows = guide([0.75, 0.0, 0.25], 0.5).draw(4000, 8)
    found = sources_of(rows)
    assert (found == found[:, :1]).all()
    shares = [np.mean(found[:, 0] == i) for i in (-1, 0, 2)]
    np.testing.assert_allclose(shares, [0.5, 0.375, 0.125], atol=0.03)


def test_rows_are_uniform_within_a_source():
    rows = guide([0.0, 0.0, 1.0], 1.0).draw(2000, 10).ravel()
    counts = np.bincount(rows, minlength=150)
    assert counts[:100].sum() == 0
    assert counts[100:].min() > 0.75 * 400
    assert counts[100:].max() < 1.25 * 400


def test_what_the_weights_are_short_of_one_is_the_learners_own():
    g = guide([0.2, 0.0, 0.1], 1.0)
    assert g.share == pytest.approx(0.3)
    assert np.mean(g.draw(4000, 2) >= 0) == pytest.approx(0.3, abs=0.03)


def test_rows_can_be_mixed_within_a_batch():
    found = sources_of(guide([0.5, 0.0, 0.5], 0.5, mix="row").draw(500, 32))
    np.testing.assert_allclose(np.mean(found >= 0), 0.5, atol=0.02)
    kinds = [len(np.unique(batch)) for batch in found]
    assert min(kinds) >= 2
    assert np.mean(kinds) > 2.9


def test_half_of_every_batch():
    rows = guide([0.5, 0.0, 0.5], 0.0, mix="half").draw(50, 8)
    assert (rows[:, :4] >= 0).all()
    assert (rows[:, 4:] == -1).all()


def test_sources_without_rows_are_never_drawn():
    assert (guide([0.0, 1.0, 0.0], 1.0).draw(50, 8) == -1).all()


def test_no_chance_no_rows():
    assert (guide([1.0, 0.0, 0.0], 0.0).draw(50, 8) == -1).all()
