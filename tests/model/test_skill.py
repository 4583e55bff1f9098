"""How well heads do on rows that neither they nor the encoder have seen."""

from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.model import nig
from bers.model.encoder import new_encoder
from bers.model.posteriors import features
from bers.model.scaling import InputScale, LabelScale
from bers.model.skill import Skill, measured_skill

CONFIG = ModelConfig(
    hidden=(16,), latent_dim=6, batches=300, learning_rate=1e-2, patience=200, held_out=0.25
)


def _source(seed, n, name, noise=0.1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return Demonstrations(x, 5 + np.sin(2 * x[:, 0]) + noise * rng.standard_normal(n), name)


def _noise(seed, n, name="noise"):
    rng = np.random.default_rng(seed)
    return Demonstrations(rng.uniform(-1, 1, (n, 3)), rng.standard_normal(n), name)


@pytest.fixture(scope="module")
def model():
    sources = [_source(0, 240, "good"), _noise(1, 240), _source(2, 32, "few", noise=0.5)]
    return fit(sources, config=CONFIG), sources


def test_skill_is_that_of_heads_fitted_to_the_other_rows():
    encoder = new_encoder(np.random.default_rng(0), 3, config=CONFIG)
    kept, held = [_source(0, 80, "a"), _noise(1, 50)], [_source(2, 40, "a"), _noise(3, 30)]
    scale, labels = InputScale(np.zeros(3), np.ones(3)), [LabelScale(5.0, 1.0), LabelScale()]
    skill = measured_skill(encoder, kept, held, inputs=scale, labels=labels, config=CONFIG)
    for i in range(2):
        Phi, new = (features(encoder, scale.standardise(s[i].x)) for s in (kept, held))
        prior = labels[i].prior(Phi.shape[1], config=CONFIG)
        head = nig.condition(prior, nig.summarise(Phi, kept[i].y))
        expected, y = nig.predict(head, new), held[i].y
        share = np.mean((y - expected.mean) ** 2) / np.var(y)
        assert skill.r2[i] == pytest.approx(1 - share, abs=1e-9)
        low, high = expected.interval(0.9)
        assert skill.coverage[i] == np.mean((low <= y) & (y <= high))
    assert skill.rows.tolist() == [40, 30]


def test_a_good_head_has_skill_and_one_of_noise_has_none(model):
    skill = model[0].skill
    assert skill.rows.tolist() == [60, 60, 8]
    assert skill.r2[0] > 0.9
    assert abs(skill.r2[1]) < 0.15
    assert np.all(skill.coverage[:2] > 0.8)


def test_what_a_head_explains_of_its_own_rows_is_not_its_skill():
    rng = np.random.default_rng(0)
    wide = Demonstrations(rng.uniform(-1, 1, (90, 40)), rng.standard_normal(90), "noise")
    config = replace(CONFIG, skip=True, batches=0)
    found = fit([wide], config=config)
    own = 1 - np.mean((wide.y - found.predict(0, wide.x).mean) ** 2) / np.var(wide.y)
    assert own > 0.4
    assert found.skill.r2[0] < 0.1


def test_sources_that_cannot_be_measured_have_no_skill():
    x = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    constant = Demonstrations(x, np.full(40, 2.0), "constant")
    one, none = (Demonstrations(x[:n], x[:n, 0], f"{n}") for n in (1, 0))
    skill = fit(
        [constant, one, none, _source(0, 100, "good")], config=replace(CONFIG, batches=0)
    ).skill
    assert np.isnan(skill.r2).tolist() == [True, True, True, False]
    assert np.isnan(skill.coverage).tolist() == [False, True, True, False]
    assert skill.rows.tolist() == [10, 0, 0, 25]


def test_without_held_out_rows_nothing_is_known():
    found = fit([_source(0, 50, "a")], config=replace(CONFIG, patience=None, batches=0))
    assert np.isnan(found.skill.r2).all()
    assert found.skill.rows.tolist() == [0]


def test_a_head_keeps_its_skill_and_a_new_one_has_none(model):
    found, sources = model
    later = refine(found, [*sources, _source(9, 20, "target")], batches=0)
    np.testing.assert_array_equal(later.skill.r2[:3], found.skill.r2)
    np.testing.assert_array_equal(later.skill.rows, [60, 60, 8, 0])
    assert np.isnan(later.skill.r2[3])
    assert np.isnan(later.skill.coverage[3])


def test_skill_stays_with_the_name_at_its_place():
    a, b, c = (_source(i, 10, name) for i, name in enumerate("abc"))
    before = Skill(np.array([0.1, 0.2, 0.3]), np.array([0.7, 0.8, 0.9]), np.array([4, 5, 6]))
    after = before.carried(["a", "b", "c"], [a, c])
    assert after.r2[0] == 0.1
    assert np.isnan(after.r2[1])
    assert after.rows.tolist() == [4, 0]
    assert before.carried(["a", "b", "c"], [a, b, c]).coverage.tolist() == [0.7, 0.8, 0.9]
    assert before.r2.tolist() == [0.1, 0.2, 0.3]
