"""Sources are judged by an encoder that has not seen the target; another one may learn from it."""

import jax
import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.trust.beliefs import beliefs
from bers.trust.rules import Past, rule_named, weigh
from bers.trust.trust import Trust

CONFIG = ModelConfig(hidden=(16,), latent_dim=6, batches=200, learning_rate=1e-2)


def _run(goal, name, n=200, seed=0):
    rng = np.random.default_rng([seed, goal])
    x = rng.uniform(-1, 1, (n, 3))
    return Demonstrations(x, np.sin(2 * x[:, goal]) + 0.1 * rng.standard_normal(n), name)


@pytest.fixture(scope="module")
def runs():
    return [_run(0, "a"), _run(1, "b"), _run(2, "c")]


@pytest.fixture(scope="module")
def model(runs):
    return fit(runs, config=CONFIG)


@pytest.fixture(scope="module")
def target():
    return _run(1, "new", n=40, seed=1)


@pytest.fixture(scope="module")
def apart(runs, model, target):
    """One model judges, another one goes on learning."""
    return Trust(runs, model=model, batches=5).observe(target.x, target.y)


def _arrays(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model.state.encoder)]


def _same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(_arrays(one), _arrays(other), strict=True))


def test_the_encoder_that_judges_stays_and_the_one_that_predicts_learns(apart, model, target):
    for trust in (apart, apart.observe(target.x + 0.1, target.y)):
        assert _same(trust._judge, model)
        assert not _same(trust.model, model)
        assert trust.ranking(draws=5).model is trust._judge
    assert apart.model.batches == model.batches + 5
    assert apart._judge.batches == model.batches


def test_weights_do_not_depend_on_what_the_other_one_learned(apart, runs, model, target):
    still = Trust(runs, model=model).observe(target.x, target.y)
    assert still.model is still._judge
    np.testing.assert_array_equal(apart.weights, still.weights)
    new = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    assert np.abs(apart.predict(new).mean - still.predict(new).mean).max() > 1e-6


def test_what_predicts_is_refined_on_sources_and_target(apart, runs, model, target):
    by_hand = refine(model, [*runs, target.renamed("target")], batches=5)
    assert _same(apart.model, by_hand)
    np.testing.assert_array_equal(apart.model.heads.mu, by_hand.heads.mu)


def test_what_predicts_goes_on_from_where_it_was(apart, runs, model, target):
    later = apart.observe(target.x + 0.1, target.y)
    more = Demonstrations(later.x, later.y, "target")
    by_hand = refine(apart.model, [*runs, more], batches=5)
    assert later.model.batches == model.batches + 10
    assert _same(later.model, by_hand)
    np.testing.assert_array_equal(later.model.heads.mu, by_hand.heads.mu)


def test_labels_of_the_target_do_not_move_what_it_is_judged_by(runs, model, target):
    noise = np.random.default_rng(0).standard_normal(40)
    one, two = (Trust(runs, model=model, batches=5).observe(target.x, y) for y in (target.y, noise))
    np.testing.assert_array_equal(one._judge.heads.mu[:3], two._judge.heads.mu[:3])
    assert np.abs(one.model.heads.mu[:3] - two.model.heads.mu[:3]).max() > 1e-6


def test_in_sample_is_refine_beliefs_and_weigh(runs, model, target):
    trust = Trust(runs, model=model, batches=5, frozen=False).observe(target.x, target.y)
    new = target.renamed("target")
    by_hand = refine(model, [*runs, new], batches=5)
    assert trust._judge is trust.model
    assert _same(trust.model, by_hand)
    a = weigh(beliefs(by_hand, new), rule_named("odds"), Past.none(3))
    np.testing.assert_array_equal(trust.weights, a)
    assert not _same(trust.model, model)


def test_in_sample_leaves_nothing_out(runs, model, target):
    y = target.y.copy()
    y[3] += 30
    trust = Trust(runs, model=model, frozen=False).observe(target.x, y)
    assert trust.outliers == ()
    assert trust.target.n == 40
    assert Trust(runs, model=model).observe(target.x, y).outliers == (3,)


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("odd", [False, True], ids=["as it is", "with a label far off"])
def test_saved_with_both_models_it_goes_on_with_the_same_bits(
    runs, model, target, tmp_path, frozen, odd
):
    y = target.y + 30.0 * odd * (np.arange(40) == 3)
    settings = {"model": model, "batches": 3, "frozen": frozen}
    trust = Trust(runs, **settings).observe(target.x[:30], y[:30])
    trust.save(tmp_path / "t.bers")
    back = Trust.load(tmp_path / "t.bers", runs)
    assert trust.outliers == back.outliers == ((3,) if odd and frozen else ())
    for one, two in ((trust, back), (t.observe(target.x[30:], y[30:]) for t in (trust, back))):
        assert _same(one.model, two.model)
        assert _same(one._judge, two._judge)
        assert _same(one.model, one._judge) is not frozen
        np.testing.assert_array_equal(one.weights, two.weights)
        np.testing.assert_array_equal(one.model.heads.mu, two.model.heads.mu)
        np.testing.assert_array_equal(one._judge.heads.mu, two._judge.heads.mu)
        assert one.ranking(draws=10).to_json() == two.ranking(draws=10).to_json()


def test_columns_that_only_the_target_could_have_taught_do_not_help(runs):
    """A network that learns the target's rows by heart would make any source look like it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 30))
    wide = [Demonstrations(x, np.sin(2 * x[:, i]), name) for i, name in enumerate("ab")]
    new, noise = rng.uniform(-1, 1, (40, 30)), rng.standard_normal(40)
    config = ModelConfig(hidden=(64,), latent_dim=20, batches=200, learning_rate=1e-2)
    judged = Trust(wide, model=config, batches=100).observe(new, noise)
    learned = judged.model.predict(-1, new).mean
    assert np.corrcoef(learned, noise)[0, 1] > 0.9
    assert judged.nobody > 0.8
    assert judged.ranking(draws=10).explained < 0.3
