"""What is boiled down about the target, against the rows themselves."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.errors import DataError
from bers.model import nig
from bers.trust.beliefs import Counts, beliefs
from bers.trust.rules import weigh


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
    Phi, y = known.sample
    assert (known.N, known.n, Phi.shape, y.shape) == (2, 300, (300, 7), (300,))
    assert known.rows.tolist() == [400, 400]
    np.testing.assert_array_equal(known.target.mu, model.heads.mu[2])
    np.testing.assert_array_equal(y, beliefs(model, target).sample[1])  # the same rows every time
    assert set(y) <= set(target.y)
    at = [int(np.flatnonzero(target.y == value)[0]) for value in y]
    np.testing.assert_allclose(Phi, model.features(target.x[at]), rtol=0, atol=1e-6)
    Phi = model.features(target.x)
    np.testing.assert_allclose(known.raw.T @ known.raw, Phi.T @ Phi / 300, rtol=0, atol=1e-6)
    for wrong in (fit(runs, config=small), fit([target], config=small)):
        with pytest.raises(DataError, match="needs a model whose last head is the target's"):
            beliefs(wrong, target)


@pytest.fixture(scope="module")
def four():
    """Four runs of different lengths, and a model with a head for each."""
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    labels = (x[:, 0], x[:, 1], x[:, 1] + 2, -x[:, 0])
    counts = (400, 350, 300, 250)
    runs = [
        Demonstrations(x[:n], y[:n], name)
        for n, y, name in zip(counts, labels, "abcd", strict=True)
    ]
    config = ModelConfig(hidden=(16,), latent_dim=4, batches=200, learning_rate=1e-2)
    return fit(runs, config=config), runs


@pytest.mark.parametrize("head", range(4))
def test_any_head_can_be_the_target_and_all_others_are_sources(four, head):
    model, runs = four
    known = beliefs(model, runs[head], head=head)
    others = [i for i in range(4) if i != head]
    assert (known.N, known.n) == (3, runs[head].n)
    assert known.rows.tolist() == [runs[i].n for i in others]
    np.testing.assert_array_equal(known.target.mu, model.heads.mu[head])
    np.testing.assert_array_equal(known.sources.mu, model.heads.mu[others])
    np.testing.assert_array_equal(known.sources.beta, model.heads.beta[others])
    same = beliefs(model, runs[head], head=head - 4)  # counted from the end
    np.testing.assert_array_equal(same.sources.U, known.sources.U)
    # as if the target had come last in the first place
    moved = refine(model, [*(runs[i] for i in others), runs[head]], batches=0)
    np.testing.assert_allclose(
        weigh(known, "odds"), weigh(beliefs(moved, runs[head]), "odds"), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("head", [0, 1, -1, 4, -5])
def test_a_head_that_is_not_the_targets_is_refused(four, head):
    model, runs = four
    with pytest.raises(DataError, match="or say which head= it is"):
        beliefs(model, runs[2], head=head)


def test_a_subset_of_the_targets_rows_comes_close(four):
    model, runs = four
    whole, part = beliefs(model, runs[2], head=2), beliefs(model, runs[2], head=2, subset=150)
    assert part.n == whole.n == 300  # rows it stands for
    np.testing.assert_allclose(part.label_variance, whole.label_variance, rtol=0.2)
    np.testing.assert_allclose(part.raw.T @ part.raw, whole.raw.T @ whole.raw, rtol=0, atol=0.1)
    assert np.abs(part.raw.T @ part.raw - whole.raw.T @ whole.raw).max() > 1e-6  # yet not the same
    np.testing.assert_allclose(weigh(part, "odds"), weigh(whole, "odds"), rtol=0, atol=0.05)
    np.testing.assert_array_equal(part.sample[1], whole.sample[1])


def test_a_subset_of_all_rows_is_all_rows(four):
    model, runs = four
    whole, all_of_it = beliefs(model, runs[3]), beliefs(model, runs[3], subset=250)
    gram = [known.summary.R.T @ known.summary.R for known in (whole, all_of_it)]
    np.testing.assert_allclose(gram[1], gram[0], rtol=1e-9, atol=1e-9)


def test_a_subset_is_summarised_anew_for_another_encoder(four):
    """The last summary is remembered, and must not be mistaken for that of another model."""
    model, runs = four
    other = refine(model, runs, batches=20, rng=3)
    first = beliefs(model, runs[3], subset=100).summary
    between = beliefs(other, runs[3], subset=100).summary
    again = beliefs(model, runs[3], subset=100).summary
    np.testing.assert_array_equal(first.R, again.R)
    assert np.abs(between.R - first.R).max() > 1e-6
    fewer = beliefs(model, runs[3], subset=50).summary
    assert np.abs(abs(fewer.R) - abs(first.R)).max() > 1e-6
    np.testing.assert_array_equal(beliefs(model, runs[3], subset=100).summary.R, first.R)


def test_counts_know_who_has_rows():
    counts = Counts(np.array([5, 0, 7]), 3)
    assert (counts.N, counts.n) == (3, 3)
    assert counts.known.tolist() == [True, False, True]


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
