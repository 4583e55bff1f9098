"""What a learner is handed: rewards as they are, or as the target's head expects them."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig
from bers.algorithm import Reuse, after
from bers.learners.base import Experience
from bers.model import nig
from bers.reuse.transitions import TransitionConfig, TransitionReuse
from bers.schedules import Power
from bers.trust.trust import Trust

SMALL = ModelConfig(hidden=(4,), latent_dim=2, skip=True, batches=50, learning_rate=1e-2)
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 2))


def one(x):
    return x[:, 0]


def other(x):
    return -3 * x[:, 1]


def started(config, rule="centred", target=other, keep=None):
    sources = [Demonstrations(X, f(X), f.__name__) for f in (one, other)]
    x = np.concatenate([X, X])
    y = np.concatenate([s.y for s in sources])
    offer = TransitionReuse(x, y, np.array([300, 300]), config)
    rng = np.random.default_rng(1)
    trust = Trust(
        sources, rule=rule, model=SMALL, batches=0, subset=None, keep=keep, rng=rng, progress=False
    )
    reuse = Reuse(trust, offer, Power(0.9), rng)
    seen = np.random.default_rng(2).uniform(-1, 1, (200, 2))
    return reuse, after(reuse, Experience(seen, target(seen))), x, y


def test_rewards_stay_as_they_are_in_the_papers_way():
    before, reuse, _, y = started(TransitionConfig.paper())
    guide = reuse.guide()
    np.testing.assert_array_equal(guide.rewards(np.array([3, 500])), y[[3, 500]])
    assert guide.p_m == pytest.approx(0.9**2)
    assert before.guide().p_m == pytest.approx(0.9)
    assert guide.mix == "batch"
    assert guide.clone == 0


def test_rewards_are_what_the_target_expects():
    before, reuse, x, y = started(TransitionConfig())
    rows = np.array([0, 0, 7, 599])
    np.testing.assert_allclose(reuse.guide().rewards(rows), other(x)[rows], atol=0.15)
    # before anything is known of the target, its head is not there
    np.testing.assert_array_equal(before.guide().rewards(rows), y[rows])
    assert reuse.guide().rewards(np.zeros(0, int)).shape == (0,)


def test_the_first_episode_may_be_the_learners_alone():
    before, reuse, _, _ = started(TransitionConfig(at_once=False, clone=0.5))
    first = before.guide()
    assert (first.p_m, first.clone) == (0.0, 0.0)
    assert (first.draw(50, 4) < 0).all()
    assert reuse.guide().p_m == pytest.approx(0.9**2)


def test_pessimism_takes_off_standard_deviations():
    _, plain, _, _ = started(TransitionConfig())
    _, wary, x, _ = started(TransitionConfig(pessimism=2.0))
    rows = np.arange(20)
    less = plain.guide().rewards(rows) - wary.guide().rewards(rows)
    head, model = plain.trust.head, plain.trust.model
    expected = nig.predict(head, model.features(x[rows])).scale  # nothing beside the head
    np.testing.assert_allclose(less, 2 * expected, rtol=1e-6)
    assert (less > 0).all()


def test_the_right_source_is_handed_over():
    _, reuse, _, _ = started(TransitionConfig())
    guide = reuse.guide()
    assert guide.a[1] > 0.95
    rows = guide.draw(200, 4)
    assert (rows[rows >= 0] >= 300).mean() > 0.9
    assert np.mean(rows >= 0) == pytest.approx(0.81, abs=0.08)


def test_cloning_fades_with_the_chance_and_with_nobody():
    _, reuse, _, _ = started(TransitionConfig(clone=0.5))
    assert reuse.guide().clone == pytest.approx(0.5 * 0.81 * reuse.trust.weights.sum())


def test_labels_out_of_range_are_not_shown_to_the_model():
    _, reuse, _, _ = started(TransitionConfig(), keep=(-1.0, 1.0))
    assert len(reuse.trust.y) == 200
    assert reuse.trust.target.n == np.sum(np.abs(reuse.trust.y) <= 1)
    assert np.abs(reuse.trust.target.y).max() <= 1


def test_nothing_is_used_up_and_episodes_say_nothing_of_whose_rows_helped():
    before, reuse, _, _ = started(TransitionConfig())
    assert reuse.offer is before.offer
    seen = Experience(X[:2], one(X[:2]))
    assert reuse.offer.gain(np.array([5.0]), seen) is None
    assert reuse.m == 1
