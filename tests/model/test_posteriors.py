import numpy as np
import pytest

from bers import Demonstrations, fit, refine
from bers.errors import DataWarning
from bers.model import nig
from bers.model.neural_linear import subset_error
from bers.model.posteriors import posteriors
from bers.model.scaling import LabelScale, Memory


@pytest.fixture
def model(sources, small):
    return fit(sources, config=small)


def test_heads_are_the_posterior_of_their_features(model, sources):
    for i, source in enumerate(sources):
        prior = nig.prior(
            7, bias_precision=0.01, bias_mean=source.y.mean(), beta=source.y.var()
        )  # fmt: skip
        wanted = nig.condition(prior, nig.summarise(model.features(source.x), source.y))
        np.testing.assert_allclose(model.heads[i].mu, wanted.mu, rtol=1e-10)
        np.testing.assert_allclose(model.heads[i].beta, wanted.beta, rtol=1e-10)
        np.testing.assert_allclose(
            model.log_evidence[i], nig.log_evidence(prior, wanted), rtol=1e-10
        )


def test_many_blocks_and_any_order_give_one_posterior(model):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (9001, 3))
    y = np.sin(x[:, 0])
    order = rng.permutation(9001)
    plain = refine(model, [Demonstrations(x, y, "a")], batches=0)
    shuffled = refine(model, [Demonstrations(x[order], y[order], "a")], batches=0)
    np.testing.assert_allclose(plain.heads.mu, shuffled.heads.mu, rtol=1e-9)
    np.testing.assert_allclose(plain.heads.beta, shuffled.heads.beta, rtol=1e-9)


def test_a_subset_comes_close_and_says_how_close(model, sources):
    full = refine(model, sources, batches=0)
    part = refine(model, sources, batches=0, subset=200)
    errors = subset_error(model, sources, 200)
    for i, source in enumerate(sources):
        means = [m.predict(i, source.x).mean for m in (full, part)]
        measured = np.sqrt(np.mean((means[0] - means[1]) ** 2)) / np.std(means[0])
        np.testing.assert_allclose(errors[i], measured, rtol=1e-6)
        assert errors[i] < 0.1
    assert errors[2] < 1e-6  # 40 rows: the subset is all of them
    np.testing.assert_array_equal(full.heads.alpha, part.heads.alpha)
    np.testing.assert_array_equal(
        part.heads.mu, refine(model, sources, batches=0, subset=200).heads.mu
    )


def test_a_subset_of_a_source_without_rows(model, sources):
    none = Demonstrations(np.zeros((0, 3)), [], "none")
    part = refine(model, [*sources, none], batches=0, subset=50)
    assert part.head("none").noise == np.inf
    assert part.rows.tolist() == [800, 300, 40, 0]
    assert subset_error(model, [sources[0], none], 50)[1] == 0


def test_a_saturated_encoder_warns_and_returns_the_prior(model, sources):
    encoder = model.state.encoder
    stuck = type(encoder)(
        tuple(W * 0 for W in encoder.weights),
        tuple(b * 0 + 30 for b in encoder.biases),
        encoder.activation,
        encoder.skip,
    )
    with pytest.warns(DataWarning, match="6 of 6 features are the same on every row"):
        after = posteriors(
            stuck,
            sources,
            inputs=model.inputs,
            labels=[LabelScale()] * 3,
            config=model.config,
            memory=Memory(),
        )
    # saturated features equal the bias, so the seven of them share the mean label
    total = after.heads.mu.sum(axis=1)
    np.testing.assert_allclose(total, [s.y.mean() for s in sources], rtol=0.2)
    assert np.isfinite(after.heads.noise).all()
