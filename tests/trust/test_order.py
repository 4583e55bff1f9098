"""The sources' mean by how they order rows: in closed form, and never much to lose."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, Trust
from bers.model.nig import StudentT
from bers.trust.order import Order, order
from bers.trust.target import beside

LINES = ModelConfig(hidden=(2,), latent_dim=1, batches=0, skip=True)
SLOPES = np.random.default_rng(1).standard_normal((6, 4))


def _trust(n=30, wish=0.5 * SLOPES[0] + 0.5 * SLOPES[1], noise=0.1):
    rng = np.random.default_rng(0)
    sources = []
    for i, w in enumerate(SLOPES):
        x = rng.standard_normal((100, 4))
        sources.append(Demonstrations(x, 5 * i + x @ w, f"run {i}"))
    x = rng.standard_normal((n, 4))
    trust = Trust(sources, model=LINES).observe(x, 3 + x @ wish + noise * rng.standard_normal(n))
    return trust, trust.model.features(x), np.asarray(trust.target.y)


def _order(left_out=None, nobody=0.0, n=30):
    trust, Phi, y = _trust(n)
    common = trust._settings.common.of(trust.model, trust._heard, trust._settings)
    left_out = np.full(n, y.mean()) if left_out is None else left_out(y)
    return order(trust._known, common.scales, nobody, Phi, y, left_out), Phi, y


def test_it_is_the_line_through_the_rows_along_the_mean_of_the_sources():
    found, Phi, y = _order()
    trust, _, _ = _trust()
    scales = [np.std(source.y) for source in trust._heard]
    f = Phi @ ((trust.weights_by("ranking") / scales) @ trust._known.sources.mu)
    slope = np.cov(f, y, bias=True)[0, 1] / np.var(f) * len(y) / (len(y) + 1)
    np.testing.assert_allclose(Phi @ found.w, y.mean() + slope * (f - f.mean()), atol=1e-6)
    assert np.corrcoef(Phi @ found.w, y)[0, 1] > 0.6


def test_rows_left_out_are_foretold_as_by_fitting_again():
    found, Phi, y = _order(n=12)
    f = Phi[:, :-1] @ found.w[:-1]
    far = f - f.mean()
    pull = np.mean(far**2)  # one row says: flat
    left = []
    for i in range(12):
        rest = np.arange(12) != i
        Z = np.c_[np.ones(11), far[rest]]
        w = np.linalg.solve(Z.T @ Z + np.diag([0, pull]), Z.T @ y[rest])
        left.append(y[i] - w @ [1, far[i]])
    assert found.std == pytest.approx(np.sqrt(np.mean(np.square(left))), rel=1e-6)


@pytest.mark.parametrize(("nobody", "share"), [(0.0, 1 / 3), (0.4, 0.2)])
def test_at_most_a_third_and_less_where_nobody_may_be_right(nobody, share):
    assert _order(nobody=nobody)[0].share == pytest.approx(share)


def test_next_to_nothing_beside_a_head_that_foretells_much_better():
    assert _order(left_out=lambda y: y + 0.01)[0].share < 0.001


def test_few_rows_and_flat_sources_say_nothing():
    assert _order(n=3)[0] is None
    trust, Phi, y = _trust()
    common = trust._settings.common.of(trust.model, trust._heard, trust._settings)
    flat = np.zeros_like(Phi)
    assert order(trust._known, common.scales, 0.0, flat, y, y) is None


def test_mean_and_variance_are_those_of_a_mixture():
    one = Order(np.array([2.0, 1.0]), std=3.0, dof=10.0, share=0.25)
    other = StudentT(np.array([5.0]), np.array([2.0]), np.array(10.0))
    said = one.beside(other, np.array([[1.0, 1.0]]))
    mean = 0.75 * 5 + 0.25 * 3
    square = 0.75 * (4 * 10 / 8 + 25) + 0.25 * (9 * 10 / 8 + 9)
    assert said.mean[0] == pytest.approx(mean)
    assert said.std[0] ** 2 == pytest.approx(square - mean**2)


def test_it_stands_beside_the_head_where_somebody_is_believed_only():
    trust, _, _ = _trust()
    common = trust._settings.common.of(trust.model, trust._heard, trust._settings)
    how = {"model": trust.model, "target": trust.target, "head": trust.head}
    assert beside(common, trust._known, np.full(6, 1 / 6), **how).order is not None
    assert beside(common, trust._known, np.full(6, 0.05), **how).order is None
