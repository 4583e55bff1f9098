"""A surrogate that begins with earlier functions."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bers.errors import ConfigError, DataError
from bers.model import process
from bers.model.process import Warp, _head, correlation, family, with_guesses


def parabola(at, scale=1.0):
    return lambda x: scale * ((x - at) ** 2).sum(axis=1)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    sources = []
    for at in ([0.3, 0.4], [0.5, 0.3], [0.4, 0.6], [0.6, 0.5], [0.45, 0.45]):
        x = rng.random((25, 2))
        sources.append((x, parabola(np.array(at), rng.uniform(1, 100))(x)))
    return family(sources)


AT = np.array([[0.1, 0.2], [0.8, 0.7], [0.5, 0.5], [0.2, 0.9]])


def test_correlations_are_those_of_the_formula():
    r = np.sqrt(5 * (0.3**2 / 4 + 0.1**2))
    a, b = np.array([[0.0, 0.0]]), np.array([[0.3, 0.1]])
    expected = (1 + r + r**2 / 3) * np.exp(-r)
    assert correlation(a, b, np.array([2.0, 1.0]))[0, 0] == pytest.approx(expected, rel=1e-12)


def test_shares_are_evidence_times_prior(found):
    y = parabola(np.array([0.5, 0.4]))(AT)
    belief = found.observe(AT, y, odds=3.0)
    logs = []
    for one, L in zip(belief.processes, belief.factors, strict=True):
        K = one.common * belief.at.common @ belief.at.common.T
        K += one.residual * correlation(AT, AT, one.lengths) + one.noise * np.eye(4) + 9.0
        np.testing.assert_allclose(L @ L.T, K, rtol=1e-10)
        for s in process._SCALES:
            for j in range(one.mean.shape[1]):
                density = multivariate_normal(s * one.mean[:, j], s**2 * K).logpdf(belief.z)
                logs.append((one.log_prior + density, one.kind))
    total = np.logaddexp.reduce([log for log, _ in logs])
    informed = sum(np.exp(log - total) for log, kind in logs if kind != "neutral")
    assert belief.informed == pytest.approx(informed, rel=1e-6)
    assert belief.weights.sum() == pytest.approx(informed, rel=1e-6)
    assert sum(np.exp(one.log_prior) for one in belief.processes if one.kind != "near") + sum(
        np.exp(one.log_prior) * found.N for one in belief.processes if one.kind == "near"
    ) == pytest.approx(1)


def test_predictions_are_those_of_the_processes(found, monkeypatch):
    monkeypatch.setattr(process, "_KEPT", 1.0)
    monkeypatch.setattr(process, "_MOST", 99)
    monkeypatch.setattr(process, "_FEW", 99)
    monkeypatch.setattr(process, "_LEAST", 0.0)
    y = parabola(np.array([0.5, 0.4]))(AT)
    belief, new = found.observe(AT, y), np.array([[0.4, 0.4]])
    place = found.places(new)
    mean = variance = 0.0
    for one, L, share in zip(belief.processes, belief.factors, belief.shares, strict=True):
        cross = one.residual * correlation(AT, new, one.lengths)[:, 0] + 9.0
        cross = cross + one.common * belief.at.common @ place.common[0]
        solved = np.linalg.solve(L @ L.T, cross)
        left = one.residual + 9.0 + one.common * place.common[0] @ place.common[0] - cross @ solved
        prior = {"neutral": [0.0], "informed": place.mean}.get(one.kind, found.values(place)[0])
        for s, scale in enumerate(process._SCALES):
            for j in range(share.shape[1]):
                m = scale * prior[j] + solved @ (belief.z - scale * one.mean[:, j])
                mean += share[s, j] * m
                variance += share[s, j] * (scale**2 * left + m**2)
    middle = belief.warp.back(np.array([mean * belief.unit + belief.loc]))[0]
    assert belief.predict(new)[0][0] == pytest.approx(middle, rel=1e-6)
    std = np.sqrt(variance - mean**2)
    ends = [belief.warp.back(np.array([(mean + k * std) * belief.unit + belief.loc]))[0]
            for k in (-1, 1)]  # fmt: skip
    assert belief.predict(new)[1][0] == pytest.approx((ends[1] - ends[0]) / 2, rel=1e-5)


def test_offset_and_scale_of_values_do_not_matter(found):
    y = parabola(np.array([0.5, 0.4]))(AT)
    one, other = found.observe(AT, y), found.observe(AT, 1e4 * y - 77)
    new = np.random.default_rng(1).random((30, 2))
    np.testing.assert_allclose(other.improvement(new), one.improvement(new), rtol=1e-6)
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-6)
    np.testing.assert_allclose(other.predict(new)[0], 1e4 * one.predict(new)[0] - 77, rtol=1e-6)


def test_like_functions_are_informed_and_turned_ones_are_not(found):
    x = np.random.default_rng(2).random((8, 2))
    new = np.random.default_rng(3).random((200, 2))
    true = parabola(np.array([0.5, 0.45]))
    like = found.observe(x, true(x))
    assert like.informed > 0.7
    assert np.corrcoef(like.predict(new)[0], true(new))[0, 1] > 0.95
    turned = found.observe(x, -true(x))
    assert turned.informed < 0.1
    assert np.corrcoef(turned.predict(new)[0], -true(new))[0, 1] > 0.7


def test_improvement_is_zero_where_nothing_can_be_gained(found):
    y = parabola(np.array([0.5, 0.4]))(AT)
    belief = found.observe(AT, y)
    assert belief.improvement(AT).max() < 0.5 * belief.improvement(np.array([[0.5, 0.42]]))[0]
    assert (belief.improvement(AT, best=1e3) > belief.improvement(AT)).all()
    guessed = with_guesses(belief, np.array([[0.5, 0.42]]))
    assert len(guessed.z) == 5
    assert with_guesses(belief, np.zeros((0, 2))) is belief


def test_odds_are_the_prior(found):
    y = parabola(np.array([0.5, 0.4]))(AT)
    one, three = (found.observe(AT, y, odds=odds).informed for odds in (1.0, 3.0))
    assert three / (1 - three) == pytest.approx(3 * one / (1 - one), rel=1e-6)


def test_a_column_in_which_the_tasks_do_not_differ_says_nothing():
    rng = np.random.default_rng(0)
    sources = []
    for at in (0.3, 0.4, 0.5):
        x = np.column_stack([rng.random(20), np.full(20, 0.5)])
        sources.append((x, (x[:, 0] - at) ** 2))
    found = family(sources)
    grid = np.column_stack([np.full(5, 0.2), np.linspace(0, 1, 5)])
    values = found.values(grid)
    np.testing.assert_allclose(values, np.broadcast_to(values[0], values.shape), atol=1e-6)


def test_warping_draws_only_bad_values_together():
    y = np.array([1.0, 2.0, 3.0, 4.0, 1e6])
    warp = Warp.of(y)
    z = warp.to(y)
    assert (np.diff(z) > 0).all()
    assert z[2] - z[1] == pytest.approx(z[1] - z[0])
    assert z[4] < 20
    np.testing.assert_allclose(warp.back(z), y, rtol=1e-9)
    assert np.isfinite(Warp.of(np.full(4, 3.0)).to(np.array([3.0, 5.0]))).all()


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0], [1e9, 1e9 + 1e-3, 1e9]])
def test_few_and_equal_values(found, y):
    belief = found.observe(AT[: len(y)], np.array(y))
    assert np.isfinite(belief.improvement(AT)).all()
    assert np.isfinite(belief.predict(AT)[0]).all()
    assert 0 <= belief.informed <= 1


def test_tiny_sources_and_many_rows():
    one = family([(np.array([[0.5]]), np.array([1.0]))])
    assert np.isfinite(one.observe(np.array([[0.1]]), np.array([2.0])).improvement(AT[:, :1])).all()
    x = np.random.default_rng(0).random((700, 1))
    many = family([(x, x[:, 0])])
    belief = many.observe(x, np.sin(3 * x[:, 0]))
    assert len(belief.z) == 200
    assert np.sin(3 * belief.at.x).min() == np.sin(3 * x).min()


def test_errors_say_what_to_do(found):
    with pytest.raises(DataError, match="needs the rows of at least one earlier task"):
        family([])
    with pytest.raises(ConfigError, match="odds must be above 0; got 0. Give 1"):
        found.observe(AT, np.zeros(4), odds=0)
    with pytest.raises(DataError, match="a value each; got 4 rows, 3 values"):
        found.observe(AT, np.zeros(3))


def test_a_level_of_its_rows_leaves_an_earlier_head_as_it_is():
    rng = np.random.default_rng(0)
    Phi, w = rng.standard_normal((30, 3)), np.array([1.0, -2.0, 0.5])
    found = [_head(Phi, Phi @ w + level, np.zeros(3), np.eye(3), 0.01)[0] for level in (0, 5)]
    np.testing.assert_allclose(found[0], w, atol=0.02)
    np.testing.assert_allclose(found[1], w, atol=0.05)


@pytest.mark.parametrize("value", [0.0, 7.5, -1e9])
def test_values_that_are_all_the_same_say_nothing_and_nothing_breaks(found, value):
    x = np.random.default_rng(1).random((12, 2))
    belief = found.observe(x, np.full(12, value))  # a warning of NumPy is an error here
    middle, spread = belief.predict(AT)
    assert middle == pytest.approx(np.full(4, value), abs=1)
    assert np.isfinite(spread).all()
    assert np.isfinite(belief.improvement(AT)).all()
    assert belief.weights.sum() == pytest.approx(belief.informed)
