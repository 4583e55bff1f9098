"""The head against closed forms, against 50 digits, and against itself in pieces."""

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bers.errors import ConfigError, DataError, PrecisionWarning
from bers.model import nig


def _rows(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    Phi = np.column_stack([rng.standard_normal((n, d - 1)), np.ones(n)])
    return Phi, Phi @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n)


def _textbook(head, Phi, y):
    """[Eq. nig_update] word for word, with inverses."""
    Lam = head.Lam + Phi.T @ Phi
    mu = np.linalg.inv(Lam) @ (head.Lam @ head.mu + Phi.T @ y)
    alpha = head.alpha + len(y) / 2
    beta = head.beta + 0.5 * (y @ y + head.mu @ head.Lam @ head.mu - mu @ Lam @ mu)
    return mu, Lam, alpha, beta


def _exact(head, Phi, y, digits=50):
    """The same in `digits`-digit arithmetic, log evidence included."""
    with mpmath.workdps(digits):
        X, t = mpmath.matrix(Phi.tolist()), mpmath.matrix(y.tolist())
        U0, mu0 = mpmath.matrix(head.U.tolist()), mpmath.matrix(head.mu.tolist())
        a0, b0 = mpmath.mpf(float(head.alpha)), mpmath.mpf(float(head.beta))
        Lam0 = U0.T * U0
        Lam = Lam0 + X.T * X
        mu = mpmath.lu_solve(Lam, Lam0 * mu0 + X.T * t)
        residual, shift = t - X * mu, mu - mu0
        beta = b0 + ((residual.T * residual)[0] + (shift.T * Lam0 * shift)[0]) / 2
        n = len(y)
        alpha = a0 + mpmath.mpf(n) / 2
        evidence = (
            -mpmath.mpf(n) / 2 * mpmath.log(2 * mpmath.pi)
            + (mpmath.log(mpmath.det(Lam0)) - mpmath.log(mpmath.det(Lam))) / 2
            + a0 * mpmath.log(b0)
            - alpha * mpmath.log(beta)
            + mpmath.loggamma(alpha)
            - mpmath.loggamma(a0)
        )
        return np.array([float(v) for v in mu]), float(alpha), float(beta), float(evidence)


def _relative_errors(head, Phi, y):
    post = nig.condition(head, nig.summarise(Phi, y))
    mu, alpha, beta, evidence = _exact(head, Phi, y)
    return {
        "mu": np.linalg.norm(post.mu - mu) / np.linalg.norm(mu),
        "alpha": abs(float(post.alpha) - alpha) / alpha,
        "beta": abs(float(post.beta) - beta) / beta,
        "evidence": abs(float(nig.log_evidence(head, post)) - evidence) / abs(evidence),
    }


def _with_condition(seed, kappa, largest, n=30, d=6):
    """Rows whose features have singular values from `largest` down to largest / kappa."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, d)))[0]
    right = np.linalg.qr(rng.standard_normal((d, d)))[0]
    Phi = left * np.geomspace(largest, largest / kappa, d) @ right
    return Phi, Phi @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)


def test_update_is_the_equation():
    head = nig.prior(5, weight_precision=2.0, bias_precision=0.5, bias_mean=1.0, alpha=3, beta=2)
    Phi, y = _rows(0)
    post = nig.condition(head, nig.summarise(Phi, y))
    mu, Lam, alpha, beta = _textbook(head, Phi, y)
    np.testing.assert_allclose(post.mu, mu, rtol=1e-12)
    np.testing.assert_allclose(post.Lam, Lam, rtol=1e-12)
    np.testing.assert_allclose([post.alpha, post.beta], [alpha, beta], rtol=1e-12)
    np.testing.assert_allclose(post.noise, beta / (alpha - 1), rtol=1e-12)
    np.testing.assert_allclose(post.Sigma, np.linalg.inv(Lam), rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kappa", [1e0, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("largest", [1e-3, 1.0, 1e6, 1e12])
def test_fifty_digits_or_a_warning(seed, kappa, largest):
    Phi, y = _with_condition(seed, kappa, largest)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        errors = _relative_errors(nig.prior(6), Phi, y)
    warned = any(issubclass(w.category, PrecisionWarning) for w in caught)
    assert warned or max(errors.values()) <= 1e-8, errors
    if largest <= 1.0:
        # the unit prior bounds the condition number of the posterior: no excuse here
        assert not warned
        assert max(errors.values()) <= 1e-8, errors


def _wide(seed):
    """Columns scaled from 1e-8 to 1e8, labels that fit well, badly or not at all."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 6))
    Phi = rng.standard_normal((n, d)) * 10 ** rng.uniform(-8, 8, d)
    if rng.random() < 0.5:
        y = Phi @ (rng.standard_normal(d) * 10 ** rng.uniform(-8, 8, d))
    else:
        y = rng.standard_normal(n) * 10 ** rng.uniform(-3, 3)
    return Phi, y + rng.choice([0, 0.1, 1]) * rng.standard_normal(n)


@pytest.mark.parametrize("seeds", [(1131, 1621), range(120), range(120, 240)])
def test_fewer_than_eight_digits_always_warn(seeds):
    for seed in seeds:
        Phi, y = _wide(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            errors = _relative_errors(nig.prior(Phi.shape[1]), Phi, y)
        warned = any(issubclass(w.category, PrecisionWarning) for w in caught)
        assert warned or max(errors["mu"], errors["beta"]) <= 1e-8, (seed, errors)


def test_ordinary_rows_do_not_warn():
    """Also with an offset of a million, and with columns in units of their own."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Phi, y = _rows(seed, n=int(rng.integers(1, 400)), d=int(rng.integers(2, 20)))
        Phi[:, :-1] *= 10 ** rng.uniform(-3, 3, Phi.shape[1] - 1)
        for head, labels in ((nig.prior(Phi.shape[1]), y), (nig.prior(Phi.shape[1]), 1e3 + y)):
            nig.condition(head, nig.summarise(Phi, labels))
        near = nig.prior(Phi.shape[1], bias_mean=1e6, bias_precision=1e-2)
        nig.condition(near, nig.summarise(Phi, y + 1e6))


def test_columns_of_very_different_scale_need_no_warning():
    rng = np.random.default_rng(1)
    Phi = rng.standard_normal((50, 5)) * np.array([1e-8, 1e-4, 1.0, 1e4, 1e8])
    y = Phi @ (rng.standard_normal(5) / [1e-8, 1e-4, 1.0, 1e4, 1e8]) + rng.standard_normal(50)
    assert max(_relative_errors(nig.prior(5), Phi, y).values()) <= 1e-8


def test_a_perfect_fit_keeps_beta_positive():
    rng = np.random.default_rng(2)
    Phi = rng.standard_normal((200, 8))
    y = 1e8 * Phi @ rng.standard_normal(8)
    head = nig.prior(8, weight_precision=1e-12, bias_precision=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        post = nig.condition(head, nig.summarise(Phi, y))
    assert post.beta >= 1.0
    _, _, _, printed = _textbook(head, Phi, y)
    exact = _exact(head, Phi, y)[2]
    assert abs(post.beta - exact) < abs(printed - exact)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 60), cuts=st.lists(st.integers(0, 60)))
def test_batch_sequential_shuffled_and_merged_agree(seed, n, cuts):
    rng = np.random.default_rng(seed)
    Phi, y = _rows(seed, n=60)
    Phi, y = Phi[:n], y[:n]
    head = nig.prior(5, beta=0.5)
    batch = nig.condition(head, nig.summarise(Phi, y))
    pieces = np.split(np.arange(n), sorted(c for c in cuts if c <= n))
    sequential = head
    evidence = 0.0
    for piece in pieces:
        before = sequential
        sequential = nig.condition(before, nig.summarise(Phi[piece], y[piece]))
        evidence += nig.log_evidence(before, sequential)
    order = rng.permutation(n)
    shuffled = nig.condition(head, nig.summarise(Phi[order], y[order]))
    parts = [nig.summarise(Phi[piece], y[piece]) for piece in pieces]
    merged = nig.condition(head, nig.merge(*(parts[i] for i in rng.permutation(len(parts)))))
    streamed = nig.empty(5)
    for piece in pieces:
        streamed = nig.extend(streamed, Phi[piece], y[piece])
    for other in (sequential, shuffled, merged, nig.condition(head, streamed)):
        for field in ("mu", "Lam", "alpha", "beta"):
            np.testing.assert_allclose(
                getattr(other, field), getattr(batch, field), rtol=1e-10, atol=1e-10
            )
    np.testing.assert_allclose(evidence, nig.log_evidence(head, batch), rtol=1e-10, atol=1e-10)


def test_more_rows_than_one_block():
    Phi, y = _rows(3, n=10_001)
    post = nig.condition(nig.prior(5), nig.summarise(Phi, y))
    mu, Lam, _, beta = _textbook(nig.prior(5), Phi, y)
    np.testing.assert_allclose(post.mu, mu, rtol=1e-10)
    np.testing.assert_allclose(post.Lam, Lam, rtol=1e-10)
    np.testing.assert_allclose(post.beta, beta, rtol=1e-10)


@pytest.mark.parametrize("size", [1e-140, 1e-60, 1e140])
def test_many_rows_of_any_size(size):
    """Squares of such labels under- or overflow; the factor does not."""
    Phi, y = _rows(3, n=1000)
    plain, sized = nig.summarise(Phi, y), nig.summarise(Phi * size, y * size)
    np.testing.assert_allclose(sized.R / size, plain.R, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kappa", [1e1, 1e3, 1e6, 1e9])
def test_many_rows_lose_no_more_than_reflections_do(kappa):
    """The quick way through the Gram matrix is not taken where it would cost digits."""
    Phi, y = _with_condition(0, kappa, 1e3, n=2000)
    rows = np.column_stack([Phi, y])
    exact = np.linalg.qr(rows, mode="r")
    exact *= np.sign(np.diagonal(exact))[:, None]
    ours = nig.summarise(Phi, y).R
    lengths = np.linalg.norm(rows, axis=0)
    np.testing.assert_allclose(ours / lengths, exact / lengths, rtol=0, atol=1e-11)
    smallest = np.abs(np.diagonal(ours) - np.diagonal(exact)) / np.diagonal(exact)
    assert smallest.max() < 1e-14 * max(kappa, 1e4)


def test_evidence_is_the_sum_of_one_step_ahead_densities():
    Phi, y = _rows(4, n=25)
    head = nig.prior(5)
    ahead, total = head, 0.0
    for row, label in zip(Phi, y, strict=True):
        total += nig.predict(ahead, row[None]).log_density(np.array([label]))[0]
        ahead = nig.condition(ahead, nig.summarise(row[None], np.array([label])))
    post = nig.condition(head, nig.summarise(Phi, y))
    np.testing.assert_allclose(total, nig.log_evidence(head, post), rtol=1e-10)


def test_evidence_is_a_multivariate_t_density():
    Phi, y = _rows(5, n=7)
    head = nig.prior(5, alpha=2.5, beta=1.5, bias_mean=0.7)
    post = nig.condition(head, nig.summarise(Phi, y))
    shape = head.beta / head.alpha * (np.eye(7) + Phi @ head.Sigma @ Phi.T)
    density = stats.multivariate_t(Phi @ head.mu, shape, df=2 * float(head.alpha))
    np.testing.assert_allclose(nig.log_evidence(head, post), density.logpdf(y), rtol=1e-10)


def test_draws_have_the_moments_of_the_posterior():
    Phi, y = _rows(6)
    post = nig.condition(nig.prior(5), nig.summarise(Phi, y))
    w, sigma2 = nig.draw(np.random.default_rng(0), post, 40_000)
    spread = np.sqrt(np.diag(post.noise * post.Sigma))
    np.testing.assert_allclose((w.mean(0) - post.mu) / spread, 0, atol=0.02)
    np.testing.assert_allclose(np.cov(w.T), post.noise * post.Sigma, atol=0.05 * spread.max() ** 2)
    np.testing.assert_allclose(sigma2.mean(), post.noise, rtol=0.02)
    low, high = nig.marginals(post).interval(0.9)
    np.testing.assert_allclose(((w > low) & (w < high)).mean(0), 0.9, atol=0.01)


@pytest.mark.parametrize("shared", [False, True])
def test_very_many_heads_are_the_same_heads(shared):
    rng = np.random.default_rng(0)
    count, d = nig._AT_ONCE * 2 + 3, 4
    one = [nig.summarise(*_rows(seed, d=d)) for seed in range(5)]
    which = rng.integers(0, 1 if shared else 5, count)
    summary = one[0] if shared else nig.stack_summaries([one[i] for i in which])
    prior = nig.stack([nig.prior(d)] * count)
    many = nig.condition(prior, summary)
    for i in (0, 1, nig._AT_ONCE - 1, nig._AT_ONCE, count - 1):
        alone = nig.condition(nig.prior(d), one[which[i]])
        for name in ("mu", "U", "alpha", "beta"):
            there = getattr(many, name)
            there = np.broadcast_to(there, (count, *np.shape(getattr(alone, name))))
            np.testing.assert_allclose(there[i], getattr(alone, name), rtol=1e-12, atol=1e-14)


def test_a_stack_of_heads_is_each_head():
    heads, posts, parts = [], [], []
    for seed in range(4):
        Phi, y = _rows(seed, n=10 + seed)
        heads.append(nig.prior(5, beta=1.0 + seed))
        parts.append(nig.summarise(Phi, y))
        posts.append(nig.condition(heads[-1], parts[-1]))
    both = nig.Summary(np.stack([p.R for p in parts]), np.stack([p.n for p in parts]))
    stacked = nig.condition(nig.stack(heads), both)
    for i, post in enumerate(posts):
        np.testing.assert_allclose(stacked[i].mu, post.mu, rtol=1e-12)
        np.testing.assert_allclose(stacked[i].beta, post.beta, rtol=1e-12)
    np.testing.assert_allclose(
        nig.log_evidence(nig.stack(heads), stacked),
        [nig.log_evidence(h, p) for h, p in zip(heads, posts, strict=True)],
        rtol=1e-12,
    )
    w, sigma2 = nig.draw(np.random.default_rng(0), stacked, 3)
    assert w.shape == (3, 4, 5)
    assert sigma2.shape == (3, 4)
    assert nig.marginals(stacked).scale.shape == (4, 5)


def test_an_offset_in_the_labels_does_not_inflate_the_noise():
    Phi, y = _rows(7)
    plain = nig.condition(nig.prior(5, bias_precision=1e-2), nig.summarise(Phi, y))
    head = nig.prior(5, bias_precision=1e-2, bias_mean=1e6)
    moved = nig.condition(head, nig.summarise(Phi, y + 1e6))
    np.testing.assert_allclose(moved.noise, plain.noise, rtol=1e-6)
    np.testing.assert_allclose(moved.mu - plain.mu, [0, 0, 0, 0, 1e6], atol=1e-6)


def test_fewer_rows_than_features_and_no_rows_at_all():
    Phi, y = _rows(8, n=2)
    post = nig.condition(nig.prior(5), nig.summarise(Phi, y))
    np.testing.assert_allclose(post.mu, _textbook(nig.prior(5), Phi, y)[0], rtol=1e-12)
    nothing = nig.condition(nig.prior(5), nig.empty(5))
    np.testing.assert_allclose(nothing.mu, np.zeros(5), atol=0)
    assert nothing.noise == np.inf
    assert nig.log_evidence(nig.prior(5), nothing) == 0


def test_a_dead_feature_keeps_its_prior():
    Phi, y = _rows(9)
    Phi[:, 1] = 0.0
    post = nig.condition(nig.prior(5), nig.summarise(Phi, y))
    assert post.mu[1] == 0
    np.testing.assert_allclose(post.Sigma[1, 1], 1.0, rtol=1e-12)


def test_a_duplicated_feature_shares_its_weight():
    Phi, y = _rows(10)
    Phi[:, 1] = Phi[:, 0]
    post = nig.condition(nig.prior(5), nig.summarise(Phi, y))
    np.testing.assert_allclose(post.mu[0], post.mu[1], rtol=1e-9)


def test_a_scaled_subset_speaks_for_all_rows():
    Phi, y = _rows(11, n=6000)
    whole = nig.summarise(Phi, y)
    sample = np.random.default_rng(0).choice(6000, 2000, replace=False)
    part = nig.scaled(nig.summarise(Phi[sample], y[sample]), 6000)
    full, guess = (nig.condition(nig.prior(5), s) for s in (whole, part))
    assert guess.alpha == full.alpha
    np.testing.assert_allclose(guess.noise, full.noise, rtol=0.1)
    np.testing.assert_allclose(np.diag(guess.Sigma), np.diag(full.Sigma), rtol=0.1)


@pytest.mark.parametrize("name", ["weight_precision", "bias_precision", "alpha", "beta"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_prior_out_of_range_names_the_parameter(name, value):
    with pytest.raises(ConfigError, match=rf"{name}=.*got {value}"):
        nig.prior(3, **{name: value})


def test_rows_of_another_encoder_are_refused():
    Phi, y = _rows(0)
    with pytest.raises(DataError, match="the head has 4 features, the rows have 5"):
        nig.condition(nig.prior(4), nig.summarise(Phi, y))
    with pytest.raises(DataError, match="40 rows but labels have 39"):
        nig.summarise(Phi, y[:-1])
