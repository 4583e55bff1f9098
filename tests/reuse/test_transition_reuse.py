"""What a learner is handed: rewards as they are, or as the target's head expects them."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig
from bers.algorithm import ReuseConfig, after, new_reuse
from bers.learners.base import Experience
from bers.reuse.transitions import Hand, HandConfig
from bers.schedules import Power

SMALL = ModelConfig(hidden=(4,), latent_dim=2, skip=True, batches=50, learning_rate=1e-2)
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (300, 2))


def one(x):
    return x[:, 0]


def other(x):
    return -3 * x[:, 1]


def started(hand_config, rule="centred", target=other, keep=None):
    sources = [Demonstrations(X, f(X), f.__name__) for f in (one, other)]
    x = np.concatenate([X, X])
    y = np.concatenate([s.y for s in sources])
    hand = Hand(x, y, np.array([300, 300]), hand_config)
    config = ReuseConfig(rule=rule, schedule=Power(0.9), batches=0, subset=None, model=SMALL)
    reuse = new_reuse(
        np.random.default_rng(1), sources, config=config, hand=hand, keep=keep, progress=False
    )
    seen = np.random.default_rng(2).uniform(-1, 1, (200, 2))
    return reuse, after(reuse, Experience(seen, target(seen))), x, y


def test_rewards_stay_as_they_are_in_the_papers_way():
    before, reuse, _, y = started(HandConfig.paper())
    guide = reuse.guide()
    np.testing.assert_array_equal(guide.rewards(np.array([3, 500])), y[[3, 500]])
    assert guide.p_m == pytest.approx(0.9**2)
    assert before.guide().p_m == pytest.approx(0.9)
    assert guide.mix == "batch"
    assert guide.clone == 0


def test_rewards_are_what_the_target_expects():
    before, reuse, x, y = started(HandConfig())
    rows = np.array([0, 0, 7, 599])
    np.testing.assert_allclose(reuse.guide().rewards(rows), other(x)[rows], atol=0.15)
    # before anything is known of the target, its head is not there
    np.testing.assert_array_equal(before.guide().rewards(rows), y[rows])
    assert reuse.guide().rewards(np.zeros(0, int)).shape == (0,)


def test_the_first_episode_may_be_the_learners_alone():
    before, reuse, _, _ = started(HandConfig(at_once=False, clone=0.5))
    first = before.guide()
    assert (first.p_m, first.clone) == (0.0, 0.0)
    assert (first.draw(50, 4) < 0).all()
    assert reuse.guide().p_m == pytest.approx(0.9**2)


def test_pessimism_takes_off_standard_deviations():
    _, plain, _, _ = started(HandConfig())
    _, wary, x, _ = started(HandConfig(pessimism=2.0))
    rows = np.arange(20)
    less = plain.guide().rewards(rows) - wary.guide().rewards(rows)
    expected = plain.model.predict(-1, x[rows]).scale
    np.testing.assert_allclose(less, 2 * expected, rtol=1e-6)
    assert (less > 0).all()


def test_the_right_source_is_handed_over():
    _, reuse, _, _ = started(HandConfig())
    guide = reuse.guide()
    assert guide.a[1] > 0.95
    rows = guide.draw(200, 4)
    assert (rows[rows >= 0] >= 300).mean() > 0.9
    assert np.mean(rows >= 0) == pytest.approx(0.81, abs=0.08)


def test_cloning_fades_with_the_chance_and_with_nobody():
    _, reuse, _, _ = started(HandConfig(clone=0.5))
    assert reuse.guide().clone == pytest.approx(0.5 * 0.81 * reuse.a.sum())


def test_labels_out_of_range_are_not_shown_to_the_model():
    _, reuse, _, _ = started(HandConfig(), keep=(-1.0, 1.0))
    assert len(reuse.y) == 200
    assert reuse.target.n == np.sum(np.abs(reuse.y) <= 1)
    assert np.abs(reuse.target.y).max() <= 1
