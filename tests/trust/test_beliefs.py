"""What is boiled down about the target, against the rows themselves."""

import numpy as np
import pytest

from bers import Demonstrations, fit
from bers.errors import DataError
from bers.model import nig
from bers.trust.beliefs import beliefs


def _covariance(Phi, other=None):
    other = Phi if other is None else other
    return (Phi - Phi.mean(0)).T @ (other - other.mean(0)) / len(Phi)


def test_raw_is_the_root_of_the_mean_square(three):
    L = three.known.raw
    np.testing.assert_allclose(L.T @ L, three.Phi.T @ three.Phi / 300, rtol=0, atol=1e-13)


def test_centred_is_the_root_of_the_covariance(three):
    L = three.known.centred
    np.testing.assert_allclose(L.T @ L, _covariance(three.Phi), rtol=0, atol=1e-13)
    assert L.shape == (5, 6)


def test_labels_in_the_same_space(three):
    known, y = three.known, three.y
    expected = _covariance(three.Phi, y[:, None])[:, 0]
    np.testing.assert_allclose(known.centred.T @ known.label, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(known.label_variance, y.var(), rtol=1e-13)


def test_errors_and_correlations_of_functions(three):
    known, rng = three.known, np.random.default_rng(1)
    w = rng.standard_normal((2, 4, 6))
    f = w @ three.Phi.T
    error = np.mean((three.y - f) ** 2, -1)
    np.testing.assert_allclose(known.squared_error(w @ known.raw.T), error, rtol=1e-12)
    left = known.squared_error(w @ known.centred.T, centred=True)
    np.testing.assert_allclose(left, np.var(three.y - f, axis=-1), rtol=1e-12)
    match = [[np.corrcoef(three.y, one)[0, 1] for one in two] for two in f]
    np.testing.assert_allclose(known.match(w @ known.centred.T), match, rtol=1e-12)
    assert known.match(np.zeros(5)) == 0  # a constant is like nothing


@pytest.mark.parametrize("root", ["raw", "centred"])
def test_uncertainty_is_the_expected_error_of_a_function(three, root):
    known = three.known
    C = three.Phi.T @ three.Phi / 300 if root == "raw" else _covariance(three.Phi)
    for i, s in enumerate(known.uncertainty(getattr(known, root))):
        head = known.sources[i]
        expected = np.trace(C @ np.linalg.inv(head.Lam)) * head.beta / (head.alpha - 1)
        np.testing.assert_allclose(s, expected, rtol=1e-10)


def test_uncertainty_of_the_weights_is_a_trace(three):
    head = three.known.sources
    expected = np.trace(head.Sigma, axis1=-2, axis2=-1) * head.noise
    np.testing.assert_allclose(three.known.uncertainty(np.eye(6)), expected, rtol=1e-12)


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_a_large_offset_of_the_labels_spoils_nothing(three, relabelled, offset):
    far = relabelled(three, "target", lambda y: y + offset).known
    np.testing.assert_array_equal(abs(far.centred), abs(three.known.centred))
    np.testing.assert_allclose(far.label_variance, three.known.label_variance, rtol=1e-8)
    left = far.centred.T @ far.label - three.known.centred.T @ three.known.label
    np.testing.assert_allclose(left, 0, rtol=0, atol=1e-8)


def test_a_source_without_rows_is_not_known(goals):
    known = goals(np.ones(6), np.eye(6)[:3], m=[50, 0, 1]).known
    assert known.known.tolist() == [True, False, True]
    s = known.uncertainty(known.raw)
    assert np.isfinite(s).tolist() == [True, False, True]


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_few_rows_of_the_target_are_finite(goals, n):
    known = goals(np.ones(6), np.eye(6)[:3], n=n).known
    assert known.n == n
    for value in (known.raw, known.centred, known.label, known.label_variance):
        assert np.isfinite(value).all()
    if n < 2:
        assert known.label_variance < 1e-25


def test_from_a_model_and_its_target(small):
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    runs = [Demonstrations(x, x[:, 0], "alice"), Demonstrations(x, x[:, 1], "bob")]
    target = Demonstrations(x[:300], x[:300, 1] + 2, "target")
    model = fit([*runs, target], config=small)
    known = beliefs(model, target)
    assert (known.N, known.n, known.Phi.shape, known.y.shape) == (2, 300, (256, 7), (256,))
    assert known.rows.tolist() == [400, 400]
    np.testing.assert_array_equal(known.target.mu, model.heads.mu[2])
    Phi = model.features(target.x)
    np.testing.assert_allclose(known.raw.T @ known.raw, Phi.T @ Phi / 300, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(known.y, beliefs(model, target).y)  # the same rows every time
    assert set(known.y) <= set(target.y)
    for wrong in (fit(runs, config=small), fit([target], config=small)):
        with pytest.raises(DataError, match="needs a model whose last head is the target's"):
            beliefs(wrong, target)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_explained_is_the_share_of_the_labels_variance(made, offset):
    rng = np.random.default_rng(0)
    Phi = np.column_stack([rng.standard_normal((400, 3)), np.ones(400)])
    y = Phi[:, 0] + rng.standard_normal(400) + offset
    known = made(Phi, y, [(Phi, y), (Phi, 0 * y + 5)]).known
    np.testing.assert_allclose(known.explained[0], 0.5, atol=0.07)
    assert known.explained[1] < 1e-6


def test_the_error_of_a_covariance_is_its_spread_over_draws(made):
    rng = np.random.default_rng(0)
    Phi = np.column_stack([rng.standard_normal((60, 3)), np.ones(60)])
    known = made(Phi, Phi[:, 1] + 1.0, [(Phi, rng.standard_normal(60))]).known
    w, _ = nig.draw(rng, known.sources, 20000)
    drawn = (w @ known.centred.T @ known.label)[:, 0]
    np.testing.assert_allclose(np.var(drawn), known.covariance_error[0], rtol=0.1)
