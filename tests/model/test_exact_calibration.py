"""With a fixed encoder the posterior is exact, so its probability transforms are uniform.

1000 data sets are simulated from the prior. The place of the truth in its own posterior must be
uniform by a Kolmogorov-Smirnov test; the same test must notice a wrong update.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bers.model import nig

SETS, ROWS, D = 1000, 15, 4
PRIOR = nig.prior(D, alpha=3.0, beta=2.0, bias_precision=0.5, bias_mean=3.0)


def uniformity(places):
    """p-value of a Kolmogorov-Smirnov test."""
    return stats.kstest(places, "uniform").pvalue


def _no_half_in_alpha(prior, post, Phi, y):
    return replace(post, alpha=prior.alpha + len(y))


def _beta_without_the_prior_term(prior, post, Phi, y):
    residual = y - Phi @ post.mu
    return replace(post, beta=prior.beta + 0.5 * residual @ residual)


def _rows_counted_twice(prior, post, Phi, y):
    return replace(nig.condition(post, nig.summarise(Phi, y)), alpha=post.alpha, beta=post.beta)


def _bias_prior_mean_forgotten(prior, post, Phi, y):
    return nig.condition(replace(prior, mu=np.zeros(D)), nig.summarise(Phi, y))


MUTANTS = [
    _no_half_in_alpha,
    _beta_without_the_prior_term,
    _rows_counted_twice,
    _bias_prior_mean_forgotten,
]


@pytest.fixture(scope="module")
def simulated():
    """Every data set: what is true there, its rows, one more row, and the posterior."""
    rng, sets = np.random.default_rng(20), []
    for _ in range(SETS):
        w, sigma2 = (value[0] for value in nig.draw(rng, PRIOR, 1))
        Phi = np.column_stack([rng.standard_normal((ROWS + 1, D - 1)), np.ones(ROWS + 1)])
        y = Phi @ w + np.sqrt(sigma2) * rng.standard_normal(ROWS + 1)
        sets.append((w, sigma2, Phi, y, nig.condition(PRIOR, nig.summarise(Phi[:-1], y[:-1]))))
    return sets


def _transforms(simulated, update):
    """Where w, σ² and a new label fall in their own posteriors, for every simulated data set."""
    posts = [update(PRIOR, post, Phi[:-1], y[:-1]) for _, _, Phi, y, post in simulated]
    marginals = [nig.marginals(post) for post in posts]
    labels = [nig.predict(post, one[2][-1:]) for post, one in zip(posts, simulated, strict=True)]
    alpha, beta = (np.array([getattr(post, name) for post in posts]) for name in ("alpha", "beta"))
    return {
        "w": _together(marginals).cdf(np.array([one[0] for one in simulated])),
        "sigma2": stats.invgamma.cdf([one[1] for one in simulated], alpha, scale=beta),
        "y": _together(labels).cdf(np.array([one[3][-1:] for one in simulated]))[:, 0],
    }


def _together(many):
    """One t distribution for all: scipy takes as long for one number as for a thousand."""
    parts = ([np.broadcast_to(getattr(t, name), t.loc.shape) for t in many]
             for name in ("loc", "scale", "dof"))  # fmt: skip
    return nig.StudentT(*map(np.array, parts))


def _smallest_p(places):
    per_weight = [uniformity(column) for column in places["w"].T]
    return min(*per_weight, uniformity(places["sigma2"]), uniformity(places["y"]))


def test_the_posterior_is_calibrated(simulated):
    # six tests at once: Bonferroni
    assert _smallest_p(_transforms(simulated, lambda prior, post, Phi, y: post)) > 0.05 / 6


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_update_is_noticed(simulated, mutant):
    assert _smallest_p(_transforms(simulated, mutant)) < 1e-4
