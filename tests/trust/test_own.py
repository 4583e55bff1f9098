"""A model of the target alone: how much of it is taken, and what it saves where all mislead."""

from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, Trust
from bers.model.neural_linear import fit
from bers.model.nig import StudentT
from bers.trust.own import Own, _share, own

CONFIG = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-2, skip=True)
X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
ROWS = Demonstrations(X, 2 * X[:, 0] - 1, "new")


def test_it_gets_all_where_the_others_know_nothing():
    found = own(ROWS, lambda known, asked: np.zeros(len(asked)), CONFIG)
    assert found.share == pytest.approx(1.0, abs=0.1)
    said = found.beside(StudentT(np.zeros(3), np.ones(3), np.array(50.0)), X[:3])
    np.testing.assert_allclose(said.mean, ROWS.y[:3], atol=0.2)


def test_nothing_where_the_others_are_right():
    found = own(ROWS, lambda known, asked: 2 * asked[:, 0] - 1, CONFIG)
    assert found is None or found.share < 0.1


def test_others_see_no_row_that_they_are_asked_about():
    def others(known, asked):
        assert known.n + len(asked) == ROWS.n
        assert not {tuple(x) for x in known.x} & {tuple(x) for x in asked}
        return np.zeros(len(asked))

    assert own(ROWS, others, CONFIG) is not None


@pytest.mark.parametrize("y", [np.arange(15.0), np.ones(40)], ids=["few", "constant"])
def test_few_rows_and_constant_labels_train_nothing(y):
    rows = Demonstrations(X[: len(y)], y, "new")
    assert own(rows, lambda known, asked: np.zeros(len(asked)), CONFIG) is None


def test_mean_and_variance_are_those_of_a_mixture():
    found = own(ROWS, lambda known, asked: np.zeros(len(asked)), CONFIG)
    other = StudentT(np.array([5.0]), np.array([2.0]), np.array(8.0))
    mine = found.whole.predict(0, X[:1])
    said = Own(found.whole, (found.whole,), 0.25).beside(other, X[:1])
    mean = 0.75 * 5 + 0.25 * mine.mean[0]
    square = 0.75 * (4 * 8 / 6 + 25) + 0.25 * (mine.std[0] ** 2 + mine.mean[0] ** 2)
    assert said.mean[0] == pytest.approx(mean)
    assert said.std[0] ** 2 == pytest.approx(square - mean**2)


def test_half_is_said_by_models_that_have_not_seen_all_rows():
    found = own(ROWS, lambda known, asked: np.zeros(len(asked)), CONFIG)
    nothing = StudentT(np.zeros(5), np.ones(5), np.array(8.0))
    said = replace(found, share=1.0).beside(nothing, X[:5]).mean
    means = [model.predict(0, X[:5]).mean for model in found.parts]
    assert len(means) == 4
    whole = found.whole.predict(0, X[:5]).mean
    np.testing.assert_allclose(said, 0.5 * np.mean(means, axis=0) + 0.5 * whole, rtol=1e-9)
    assert not np.allclose(means[0], means[1])


def test_shares_are_those_of_a_normal_posterior():
    rng = np.random.default_rng(0)
    apart, noise = rng.normal(size=30), rng.normal(size=30)
    left = 0.3 * apart + 0.5 * noise
    best = apart @ left / (apart @ apart)
    variance = np.mean((left - best * apart) ** 2)
    known = apart @ apart / variance
    expected = (known * best + 0.5 / 0.15**2) / (known + 1 / 0.15**2)
    assert _share(apart, left) == pytest.approx(expected)
    assert _share(apart, -3 * apart) == 0.0
    assert _share(apart, apart) == 1.0
    assert _share(0 * apart, left) == 0.0


def test_where_sources_help_no_other_model_is_trained():
    run = Demonstrations(X, X[:, 0], "run")
    trust = Trust([run], model=CONFIG).observe(X[:40], 3 * X[:40, 0] + 1)
    assert trust.nobody < 0.5
    assert trust._beside.own is None


def test_where_all_mislead_the_target_is_foretold_as_by_a_model_of_its_rows_alone():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (700, 12))
    dice = Demonstrations(x, rng.normal(size=700), "dice")
    wish = np.abs(x @ rng.normal(size=12)) + x @ rng.normal(size=12)  # a ridge in many columns
    config = ModelConfig(hidden=(32,), latent_dim=8, batches=1500, learning_rate=1e-2)
    trust = Trust([dice], model=config).observe(x[:300], wish[:300])
    alone = fit([Demonstrations(x[:300], wish[:300], "new")], config=config, progress=False)
    error, least, head = (
        np.mean((y - wish[300:]) ** 2)
        for y in (
            trust.predict(x[300:]).mean,
            alone.predict(0, x[300:]).mean,
            trust.relabel(x[300:]),
        )
    )
    assert trust.nobody > 0.5
    assert error <= 1.1 * least
    assert error < 0.5 * head
