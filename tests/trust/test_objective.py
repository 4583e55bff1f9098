"""The quadratic program in each metric, against the rows themselves."""

import jaxtyping
import numpy as np
import pytest

from bers.errors import ConfigError
from bers.trust.objective import METRICS, drawn_programs, drawn_weights, program, solved


def _gram(case, metric):
    """C with ‖w‖² = wᵀCw, as the metric measures w."""
    Phi = case.Phi
    if metric == "weights":
        return np.eye(Phi.shape[1])
    Phi = Phi if metric == "function" else Phi - Phi.mean(0)
    return Phi.T @ Phi / len(Phi)


def _reference(case, metric, a):
    """½aᵀ(MᵀCM + S)a − μᵀCMa, in plain NumPy, with M and μ scaled first for `shape`."""
    C, known = _gram(case, metric), case.known
    M, mu, s = known.sources.mu, known.target.mu, known.sources.noise
    s = s * np.trace(C @ known.sources.Sigma, axis1=-2, axis2=-1)
    if metric == "shape":
        size = np.sqrt(np.einsum("nd,de,ne->n", M, C, M))
        M, s, mu = M / size[:, None], s / size**2, mu / np.sqrt(mu @ C @ mu)
    H = M @ C @ M.T + np.diag(s)
    return 0.5 * np.einsum("bn,nm,bm->b", a, H, a) - a @ (M @ C @ mu), 0.5 * mu @ C @ mu


def _value(problem, a):
    left = problem.t - a @ problem.M
    return 0.5 * np.sum(left**2, -1) + 0.5 * np.sum(problem.s * a**2, -1)


@pytest.mark.parametrize("metric", METRICS)
def test_the_objective_is_that_of_the_paper_in_the_metric(three, metric):
    a = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    a *= np.linspace(0, 2, 50)[:, None]  # not on the simplex only
    expected, constant = _reference(three, metric, a)
    got = _value(program(three.known, metric), a)
    np.testing.assert_allclose(got, expected + constant, rtol=1e-10, atol=1e-12)


def test_shape_has_functions_of_length_one(three):
    problem = program(three.known, "shape")
    np.testing.assert_allclose(np.linalg.norm(problem.M, axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(problem.t), 1, rtol=1e-14)


@pytest.mark.parametrize("which", ["target", 0, 1, 2])
@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_shape_ignores_offset_and_scale(three, relabelled, which, factor, offset):
    a = solved(program(three.known, "shape"), "shape")
    other = relabelled(three, which, lambda y: factor * (y + offset)).known
    again = solved(program(other, "shape"), "shape")
    np.testing.assert_allclose(again, a, rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["shape", "affine"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e12])
def test_drawn_programs_ignore_the_unit_of_a_source(three, relabelled, metric, which, factor):
    """The ridge must be in the source's own unit, or it decides in place of the data."""
    found = []
    for c in (1.0, factor):
        known = relabelled(three, which, lambda y, c=c: c * y).known
        w = drawn_weights(np.random.default_rng(0), known, 20)
        a = solved(drawn_programs(known, metric, *w), metric)
        if metric == "affine":  # one scale for all: weights are in the sources' units
            a[:, which] *= c
            a /= a.sum(1, keepdims=True)
        found.append(a)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("metric", ["centred", "affine"])
@pytest.mark.parametrize("which", ["target", 0, 2])
def test_centred_and_affine_ignore_offsets(three, relabelled, metric, which):
    a = solved(program(three.known, metric), metric)
    other = relabelled(three, which, lambda y: y + 1e6).known
    np.testing.assert_allclose(solved(program(other, metric), metric), a, rtol=0, atol=1e-6)


def test_function_and_weights_do_not_ignore_offsets(three, relabelled):
    for metric in ("function", "weights"):
        a = solved(program(three.known, metric), metric)
        other = relabelled(three, 1, lambda y: y + 100).known
        assert abs(solved(program(other, metric), metric) - a).max() > 0.1


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_affine_has_one_scale_for_all(three, relabelled, factor):
    a = solved(program(three.known, "affine"), "affine")
    other = relabelled(three, "target", lambda y: factor * y).known
    np.testing.assert_allclose(solved(program(other, "affine"), "affine"), a, rtol=0, atol=1e-6)


def test_affine_finds_a_mixture_in_other_units(goals):
    w = np.random.default_rng(0).standard_normal((3, 6))
    known = goals(40 * (0.3 * w[0] + 0.7 * w[2]), w, n=2000, m=5000).known
    a = solved(program(known, "affine"), "affine")
    np.testing.assert_allclose(a, [0.3, 0.0, 0.7], rtol=0, atol=0.02)


@pytest.mark.parametrize("metric", METRICS)
def test_draws_have_the_posteriors_mean_and_covariance(goals, metric):
    known = goals(np.ones(6), np.eye(6)[:2], n=30, m=[20, 40]).known
    w, w_target = drawn_weights(np.random.default_rng(0), known, 40_000)
    assert (w.shape, w_target.shape) == ((40_000, 2, 6), (40_000, 6))
    head = known.sources
    spread = np.sqrt(head.noise[:, None] * np.diagonal(head.Sigma, axis1=1, axis2=2))
    np.testing.assert_allclose((w.mean(0) - head.mu) / spread, 0, rtol=0, atol=0.03)
    np.testing.assert_allclose(w.std(0) / spread, 1, rtol=0.03)
    if metric == "shape":
        return  # lengths are divided out draw by draw
    problem, exact = drawn_programs(known, metric, w, w_target), program(known, metric)
    scale = np.sqrt(np.trace(np.cov(problem.t.T)))
    np.testing.assert_allclose(problem.t.mean(0), exact.t, rtol=0, atol=0.03 * scale)
    for i in range(2):
        rows = problem.M[:, i]
        assert np.linalg.norm(rows.mean(0) - exact.M[i]) < 0.03 * np.sqrt(exact.s[i])
        # the draws carry what s stands for
        np.testing.assert_allclose(np.trace(np.cov(rows.T)), exact.s[i], rtol=0.05)


@pytest.mark.parametrize("metric", METRICS)
def test_a_source_without_rows_gets_nothing(goals, metric):
    known = goals(np.ones(6), np.ones((3, 6)), m=[50, 0, 50]).known
    assert solved(program(known, metric), metric)[1] == 0
    w = drawn_weights(np.random.default_rng(0), known, 10)
    assert not solved(drawn_programs(known, metric, *w), metric)[:, 1].any()


@pytest.mark.parametrize("metric", METRICS)
def test_nothing_determined_is_no_weight(goals, metric):
    known = goals(np.ones(6), np.ones((3, 6)), m=0).known
    np.testing.assert_array_equal(solved(program(known, metric), metric), np.zeros(3))


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
@pytest.mark.parametrize("metric", METRICS)
def test_a_constant_source_has_no_shape(three, relabelled, constant, metric):
    known = relabelled(three, 0, lambda y: 0 * y + constant).known
    a = solved(program(known, metric), metric)
    assert np.isfinite(a).all()
    if metric in ("shape", "affine"):
        assert a[0] < 1e-6


def test_an_unknown_metric_is_refused(three, monkeypatch):
    # the shapes that tests execute would refuse the name before the library does
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ConfigError, match="there is no metric 'cosine'. Known: weights, function"):
        program(three.known, "cosine")
