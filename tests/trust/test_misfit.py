"""The smooth misfit: its evidence is an integral, and it tempers what many alike rows say."""

import numpy as np
import pytest

from bers.trust.odds import _SIZES, Misfit, odds


def _weights(seed, N=3, d=6):
    return np.random.default_rng(100 + seed).standard_normal((N, d))


def test_the_evidence_of_nobody_is_that_of_a_gaussian(goals):
    """By the covariance of all rows: σ² and the offset integrated out, up to one constant."""
    w = _weights(0)
    case = goals(w[0], w, n=40, noise=0.3)
    known, (Phi, y) = case.known, case.known.sample
    Z = Phi[:, :-1] - Phi[:, :-1].mean(0)
    Z = Z / np.sqrt(np.mean(Z**2, axis=0)) / np.sqrt(Z.shape[1])
    n, found = len(y), []
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    for s in _SIZES:
        C = basis.T @ (np.eye(n) + s * Z @ Z.T) @ basis  # rows less their mean
        r = basis.T @ y
        found.append(
            -0.5 * np.linalg.slogdet(C)[1] - 0.5 * (n - 1) * np.log(r @ np.linalg.solve(C, r))
        )
    ours = Misfit.of(known).log_evidence
    np.testing.assert_allclose(np.diff(ours), np.diff(found), rtol=1e-6, atol=1e-6)


def test_without_misfit_rows_match_as_they_are(goals):
    w = _weights(1)
    known = goals(w[1], w, n=60, noise=0.5).known
    misfit = Misfit.of(known)
    f = misfit.functions(known, known.sources.mu)
    plain = known.match(known.sources.mu @ known.centred.T)
    np.testing.assert_allclose(misfit.match(f.g, 0), plain, rtol=1e-9)
    assert misfit.gain > 0  # labels are linear in the features


@pytest.mark.parametrize("n", [100, 400, 1600])
def test_a_source_that_leaves_a_smooth_rest_is_not_surely_like_it(goals, n):
    """Its function explains most of the labels, the rest is smooth, however many rows there are."""
    w = _weights(2, N=1)
    rest = np.random.default_rng(0).standard_normal(6)
    near = goals(w[0] + 0.05 * rest, w, n=n, noise=0.05).known
    far = goals(rest, w, n=n, noise=0.05).known
    assert odds(near).a[0] > 0.9
    assert odds(far).a[0] < 0.6


def test_a_source_that_says_nothing_is_charged_by_the_row(goals, made):
    nobody = []
    for n in (20, 60, 200):
        case = goals(_weights(0)[0], _weights(0), n=n)
        sources = [(Phi, np.full(len(Phi), 3.0)) for Phi, _ in case.sources]
        nobody.append(1 - odds(made(case.Phi, case.y, sources).known).a.sum())
    assert nobody[0] > 0.8
    assert np.all(np.diff(nobody) > 0)
    assert nobody[-1] > 0.98
