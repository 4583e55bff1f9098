"""What no source knows: evidence and predictions against dense algebra, and when it stays away."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bers import Demonstrations, ModelConfig
from bers.model import nig
from bers.model.residual import Kernel, Residual, _log_evidence, _Part, _root, residual
from bers.trust.trust import Trust

MATERN = Kernel()
CONFIG = ModelConfig(hidden=(16,), latent_dim=4, batches=150, learning_rate=1e-2)


def _rows(n=25, D=2, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D))
    Phi = np.c_[rng.normal(size=(n, d - 1)), np.ones(n)]
    return Phi, x, rng.normal(size=n) + 2


def _prior(d=3):
    U = np.triu(np.random.default_rng(5).normal(size=(d, d))) + 2 * np.eye(d)
    return nig.NIG(np.arange(d) / d, U, np.array(2.5), np.array(1.7))


def _part(prior, Phi, x, y, lengths, size, kernel=MATERN):
    root = _root(prior, Phi)
    K = np.eye(len(y)) + root @ root.T + size * kernel(x, x, lengths)
    L = np.linalg.cholesky(K)
    return _Part(1.0, prior, lengths, size, kernel, L, np.linalg.solve(L, y - Phi @ prior.mu)), K


def test_without_a_process_the_evidence_is_that_of_the_head():
    Phi, x, y = _rows()
    prior = _prior()
    part, _ = _part(prior, Phi, x, y, np.ones(2), 0.0)
    head = nig.condition(prior, nig.summarise(Phi, y))
    assert _log_evidence(part) == pytest.approx(float(nig.log_evidence(prior, head)), abs=1e-8)
    new, at, _ = _rows(seed=1)
    mean, variance = Residual((part,), Phi, x)._foretold(part, new, at)
    np.testing.assert_allclose(mean, nig.predict(head, new).mean, atol=1e-9)
    np.testing.assert_allclose(variance, nig.predict(head, new).std ** 2, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Kernel(), Kernel(smooth=True), Kernel(line=True)])
def test_evidence_and_prediction_are_those_of_a_multivariate_t(kernel):
    Phi, x, y = _rows()
    new, at, _ = _rows(n=4, seed=1)
    prior, lengths, size = _prior(), np.array([0.7, 1.9]), 5.0
    part, K = _part(prior, Phi, x, y, lengths, size, kernel)
    alpha, beta = float(prior.alpha), float(prior.beta)
    dense = stats.multivariate_t(Phi @ prior.mu, beta / alpha * K, df=2 * alpha)
    assert _log_evidence(part) == pytest.approx(dense.logpdf(y), abs=1e-8)
    cross = _root(prior, new) @ _root(prior, Phi).T + size * kernel(at, x, lengths)
    own = _root(prior, new) @ _root(prior, new).T + size * kernel(at, at, lengths)
    left = np.linalg.solve(K, y - Phi @ prior.mu)
    mean, variance = Residual((part,), Phi, x)._foretold(part, new, at)
    np.testing.assert_allclose(mean, new @ prior.mu + cross @ left, atol=1e-9)
    spread = 1 + np.diagonal(own - cross @ np.linalg.solve(K, cross.T))
    noise = (beta + 0.5 * (y - Phi @ prior.mu) @ left) / (alpha + 0.5 * len(y) - 1)
    np.testing.assert_allclose(variance, noise * spread, rtol=1e-8)


def test_labels_that_the_features_explain_leave_the_head_alone():
    Phi, x, _ = _rows(n=60)
    rng = np.random.default_rng(3)
    y = Phi @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60)
    prior = nig.prior(3)
    head = nig.condition(prior, nig.summarise(Phi, y))
    one = nig.stack([prior])
    found = residual(one, np.zeros(1), float(nig.log_evidence(prior, head)), Phi, x, y)
    assert found.share < 0.2
    said = found.beside(nig.predict(head, Phi), Phi, x)
    np.testing.assert_allclose(said.mean, nig.predict(head, Phi).mean, atol=0.1)


@pytest.mark.parametrize("y", [np.ones(30), np.arange(7.0)], ids=["constant", "seven rows"])
def test_nothing_can_be_said_of_labels_without_spread_or_of_few_rows(y):
    Phi, x, _ = _rows(n=len(y))
    found = residual(nig.stack([nig.prior(3)]), np.zeros(1), 0.0, Phi, x, y)
    head = nig.predict(nig.prior(3), Phi)
    assert found.share == 0
    assert found.beside(head, Phi, x) is head


def _wish(x):
    return np.sin(2 * x[:, 0]) + x[:, 1] ** 2


def _noise(n=150):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.5, 1.5, (n, 2))
    return [Demonstrations(x, rng.normal(size=n), name) for name in ("dice", "cards")]


def _target(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (n, 2))
    return x, _wish(x) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("n", [60, 400])
def test_where_sources_are_noise_the_target_is_foretold_all_the_same(n):
    start = Trust(_noise(), model=CONFIG)
    trust = start.observe(*_target(n))
    x, y = _target(500, seed=2)
    error = np.sqrt(np.mean((trust.predict(x).mean - y) ** 2))
    head = np.sqrt(np.mean((trust.relabel(x) - y) ** 2))
    assert error < 0.2
    assert error < 0.5 * head
    low, high = trust.predict(x).interval(0.9)
    assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.99


def test_it_has_the_unit_and_the_zero_of_the_labels():
    start = Trust(_noise(), model=CONFIG)
    x, y = _target(60)
    asked = _target(50, seed=2)[0]
    plain = start.observe(x, y).predict(asked)
    other = start.observe(x, 1e6 + 1e3 * y).predict(asked)
    np.testing.assert_allclose((other.mean - 1e6) / 1e3, plain.mean, atol=5e-3)
    np.testing.assert_allclose(other.scale / 1e3, plain.scale, rtol=2e-2)


def test_a_neutral_head_has_nothing_beside_it():
    x, y = _target(60)
    trust = Trust(_noise(), model=CONFIG, prior="neutral").observe(x, y)
    np.testing.assert_array_equal(trust.predict(x).mean, trust.relabel(x))


def test_of_many_rows_those_that_it_has_not_seen_decide():
    runs = [Demonstrations(x := _target(400)[0], _wish(x), "right"), _noise()[0]]
    trust = Trust(runs, model=ModelConfig(hidden=(32,), latent_dim=8, batches=1500))
    x, y = _target(900)
    seen = trust.observe(x, y)
    fresh, truth = _target(400, seed=3)
    error, head = (
        float(np.mean((said - truth) ** 2))
        for said in (seen.predict(fresh).mean, seen.relabel(fresh))
    )
    assert error <= 1.05 * head


def test_rows_left_out_are_foretold_by_the_others():
    Phi, x, y = _rows(n=9)
    prior, lengths = _prior(), np.array([0.7, 1.9])
    part, _ = _part(prior, Phi, x, y, lengths, 5.0)
    expected = []
    for i in range(9):
        rest = np.arange(9) != i
        other, _ = _part(prior, Phi[rest], x[rest], y[rest], lengths, 5.0)
        seen = Residual((other,), Phi[rest], x[rest])
        expected.append(seen._foretold(other, Phi[i : i + 1], x[i : i + 1])[0][0])
    half = Residual((replace(part, share=0.5),), Phi, x)
    np.testing.assert_allclose(half.left_out(np.zeros(9)), 0.5 * np.array(expected), atol=1e-9)
