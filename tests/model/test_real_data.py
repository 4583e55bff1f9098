"""Weak priors on well-known data sets against statsmodels and scikit-learn."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge

from bers.model import nig


def _weak(d, scale):
    tiny = 1e-12
    return nig.prior(d, weight_precision=tiny, bias_precision=tiny, alpha=1e-9, beta=1e-9 * scale)


def _against_least_squares(X, y, rtol):
    Phi = np.column_stack([X, np.ones(len(y))])
    post = nig.condition(_weak(Phi.shape[1], y.var()), nig.summarise(Phi, y))
    fit = sm.OLS(y, Phi).fit()
    np.testing.assert_allclose(post.mu, fit.params, rtol=rtol)
    # the posterior of σ² centres on RSS / (n − 2) in the mean, and 2β on the residual sum
    np.testing.assert_allclose(2 * post.beta, fit.ssr, rtol=rtol)
    dof = fit.df_resid / len(y)
    np.testing.assert_allclose(
        nig.marginals(post).scale, fit.bse * np.sqrt(dof), rtol=max(rtol, 1e-6)
    )


def test_longley_is_hard_and_right():
    data = sm.datasets.longley.load_pandas()
    X, y = data.exog.to_numpy(), data.endog.to_numpy()
    scale = X.std(axis=0)
    _against_least_squares((X - X.mean(axis=0)) / scale, y, rtol=1e-7)
    # certified values of the regression, per unit of the original columns
    Phi = np.column_stack([(X - X.mean(axis=0)) / scale, np.ones(len(y))])
    post = nig.condition(_weak(7, y.var()), nig.summarise(Phi, y))
    certified = [15.0618722713733, -0.358191792925910e-01, -2.02022980381683, -1.03322686717359,
                 -0.511041056535807e-01, 1829.15146461355]  # fmt: skip
    np.testing.assert_allclose(post.mu[:-1] / scale, certified, rtol=1e-7)


def test_diabetes_like_bayesian_ridge():
    X, y = load_diabetes(return_X_y=True)
    _against_least_squares(X, y, rtol=1e-7)
    ridge = BayesianRidge().fit(X, y)
    ratio = ridge.lambda_ / ridge.alpha_
    head = nig.prior(11, weight_precision=ratio, bias_precision=1e-12, alpha=1e-9, beta=1e-9)
    Phi = np.column_stack([X, np.ones(len(y))])
    post = nig.condition(head, nig.summarise(Phi, y))
    np.testing.assert_allclose(post.mu[:-1], ridge.coef_, rtol=1e-6)
    np.testing.assert_allclose(post.mu[-1], ridge.intercept_, rtol=1e-6)


def _grunfeld():
    table = sm.datasets.grunfeld.load_pandas().data
    for firm, rows in table.groupby("firm"):
        yield firm, rows[["value", "capital"]].to_numpy(), rows["invest"].to_numpy()


@pytest.mark.parametrize(("firm", "X", "y"), [pytest.param(*f, id=f[0]) for f in _grunfeld()])
def test_grunfeld_firm_by_firm(firm, X, y):
    _against_least_squares(X, y, rtol=1e-6)


def test_grunfeld_as_eleven_sources_at_once():
    firms = list(_grunfeld())
    assert len(firms) == 11
    parts = [nig.summarise(np.column_stack([X, np.ones(len(y))]), y) for _, X, y in firms]
    heads = nig.stack([_weak(3, y.var()) for _, _, y in firms])
    both = nig.Summary(np.stack([p.R for p in parts]), np.stack([p.n for p in parts]))
    post = nig.condition(heads, both)
    for i, (_, X, y) in enumerate(firms):
        Phi = np.column_stack([X, np.ones(len(y))])
        np.testing.assert_allclose(post.mu[i], np.linalg.lstsq(Phi, y)[0], rtol=1e-6)
