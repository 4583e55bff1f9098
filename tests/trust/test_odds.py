"""The library's own rule: its Bayes factors by integration, and whom it trusts."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bers.trust import odds as module
from bers.trust.odds import drawn_odds, log_bayes_factor, odds

SEEDS = range(5)


def _weights(seed, N=3, d=6):
    return np.random.default_rng(100 + seed).standard_normal((N, d))


def _integrated(f, y):
    """log of ∫∫ p(y | b, σ) over a half-normal prior of b and 1/σ, less the same with b = 0.

    The offset is flat in both, so labels and function are centred and one row is lost.
    """
    f, y, n = f - f.mean(), y - y.mean(), len(y)
    log_sigma = np.linspace(-4, 4, 500)[:, None]
    b = np.linspace(0, 12, 2001)[None]
    sigma2 = np.exp(2 * log_sigma)
    square = y @ y - 2 * b * (f @ y) + b**2 * (f @ f)
    prior = (
        2 * np.sqrt(f @ f / (2 * np.pi * n * sigma2)) * np.exp(-(b**2) * (f @ f) / (2 * n * sigma2))
    )
    likely = -(n - 1) * log_sigma - square / (2 * sigma2)
    trapezium = np.where((np.arange(2001) % 2000) == 0, 0.5, 1.0) * b[0, 1]
    with np.errstate(divide="ignore"):
        one = logsumexp(likely + np.log(prior) + np.log(trapezium))
    none = logsumexp(-(n - 1) * log_sigma - y @ y / (2 * sigma2))
    return one - none


@pytest.mark.parametrize("slope", [-0.5, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [5, 20])
def test_the_bayes_factor_is_an_integral(monkeypatch, slope, n):
    monkeypatch.setattr(module, "_ROW_COUNTS", 1.0)
    rng = np.random.default_rng(n)
    f = rng.standard_normal(n)
    y = 3 + slope * f + 0.5 * rng.standard_normal(n)
    match = np.array(np.corrcoef(f, y)[0, 1])
    got = log_bayes_factor(match, np.array(1.0), n, 1)
    np.testing.assert_allclose(got, _integrated(f, y), rtol=0, atol=2e-3)


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
@pytest.mark.parametrize("trust", [0.1, 1.0])
def test_a_better_match_is_better_evidence(n, trust):
    match = np.linspace(0, 1, 101)
    found = log_bayes_factor(match, np.full(101, trust), n, 1)
    assert np.all(np.diff(found) > 0)
    against = log_bayes_factor(-match[1:], np.full(100, trust), n, 1)
    assert np.all(against < found[1:])


def test_more_trust_is_more_evidence_where_there_is_a_match():
    found = log_bayes_factor(np.full(11, 0.8), np.linspace(0, 1, 11), 200, 1)
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("n", [0, 1])
def test_without_two_rows_there_is_no_evidence(n):
    found = log_bayes_factor(np.array([-1.0, 0.0, 0.3, 1.0]), np.ones(4), n, 1)
    np.testing.assert_allclose(found, -0.5 * np.log(2), rtol=1e-12)


def test_two_rows_say_little():
    found = log_bayes_factor(np.array([-1.0, 0.0, 1.0]), np.ones(3), 2, 1)
    assert np.isfinite(found).all()
    assert np.ptp(found) < 2


def test_a_perfect_match_of_a_million_rows():
    found = log_bayes_factor(np.array([-1.0, 1.0]), np.ones(2), 10**6, 1)
    assert found[0] < -1e4  # or minus infinity: then it is no hypothesis any more
    assert 1e4 < found[1] < np.inf


# ---- whom it trusts ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_source(goals, seed):
    w = _weights(seed)
    assert odds(goals(w[1], w, seed=seed).known).a[1] > 0.999


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1, 1e3), (7, 3), (1e-6, 0), (1e9, -1e9)])
def test_the_right_source_in_other_units(goals, relabelled, seed, scale, offset):
    w = _weights(seed)
    case = relabelled(goals(w[1], w, seed=seed), "target", lambda y: scale * y + offset)
    assert odds(case.known).a[1] > 0.999


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1, 50), (7, 3)])
def test_a_true_mixture_of_two(goals, relabelled, seed, scale, offset):
    w = _weights(seed)
    case = relabelled(
        goals(0.5 * w[0] + 0.5 * w[2], w, seed=seed), "target", lambda y: scale * y + offset
    )
    np.testing.assert_allclose(odds(case.known).a, [0.5, 0.0, 0.5], rtol=0, atol=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_copy_with_the_sign_flipped_is_nobody(goals, seed):
    w = _weights(seed)[:1]
    assert odds(goals(w[0], -w, seed=seed).known).a.sum() < 0.1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_constant_sources_are_nobody(goals, made, seed, constant):
    w = _weights(seed)
    case = goals(w[0], w, seed=seed)
    sources = [(Phi, np.full(len(Phi), constant)) for Phi, _ in case.sources]
    assert odds(made(case.Phi, case.y, sources).known).a.sum() < 0.1


def test_noise_is_mostly_nobody(goals, made):
    """Not always: what a head makes of noise is a function too, and may match by chance."""
    nobody = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case = goals(rng.standard_normal(21), np.zeros((3, 21)), noise=1.0, seed=seed)
        nobody.append(1 - odds(case.known).a.sum())
    assert np.mean(nobody) >= 0.9
    assert np.mean(np.less(nobody, 0.9)) <= 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_one_right_among_two_hundred(goals, seed):
    w = _weights(seed, N=200, d=12)
    assert odds(goals(w[123], w, m=200, seed=seed).known).a[123] > 0.9


@pytest.mark.parametrize("n", [0, 1, 2, 5, 300])
def test_weights_are_shares(goals, n):
    w = _weights(0, N=5)
    for target in (w[0], -w[0], w.mean(0)):
        known = goals(target, w, n=n, m=[0, 1, 3, 50, 500]).known
        found = odds(known)
        assert np.all(found.a >= 0)
        assert found.a[0] == 0
        assert found.a.sum() <= 1 + 1e-12
        drawn = drawn_odds(np.random.default_rng(0), known, 50).a
        assert drawn.shape == (50, 5)
        assert np.all(drawn >= 0)
        assert np.all(drawn.sum(1) <= 1 + 1e-12)


@pytest.mark.parametrize("n", [3, 30, 300])
def test_equal_sources_share_equally(goals, made, n):
    w = _weights(3)
    case = goals(w[0] + 0.3 * w[1], w, n=n)
    twice = [case.sources[i] for i in (0, 1, 0, 2, 0)]
    a = odds(made(case.Phi, case.y, twice).known).a
    np.testing.assert_allclose(a[[2, 4]], a[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("which", ["target", 0, 1])
@pytest.mark.parametrize(
    ("scale", "offset"), [(1e-12, 0.0), (1e-3, 0.0), (1e3, 0.0), (1e12, 0.0), (1.0, 1e6)]
)
def test_units_do_not_change_who_is_trusted(goals, relabelled, which, scale, offset):
    """Nearly: the small chance of a mixture is shared out in the sources' units."""
    w = _weights(0)
    case = goals(w[1], w)
    other = relabelled(case, which, lambda y: scale * y + offset)
    np.testing.assert_allclose(odds(other.known).a, odds(case.known).a, rtol=0, atol=2e-3)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_all_in_other_units_changes_nothing(goals, made, scale):
    """Also where the data leave it open who is trusted."""
    w = _weights(1)
    case = goals(w[1] + 0.5 * w[0], w, n=12, noise=0.5)
    sources = [(Phi, scale * y) for Phi, y in case.sources]
    a = odds(case.known).a
    assert 0.05 < a.max() < 0.95
    other = odds(made(case.Phi, scale * case.y, sources).known).a
    np.testing.assert_allclose(other, a, rtol=0, atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_constant_labels_of_the_target_tell_nothing_apart(goals, relabelled, constant):
    known = relabelled(goals(np.ones(6), _weights(0)), "target", lambda y: 0 * y + constant).known
    a = odds(known).a
    assert np.isfinite(a).all()
    np.testing.assert_allclose(a, a[0], rtol=0, atol=0.05)
    assert a.sum() == pytest.approx(0.86)  # what it is before any rows
