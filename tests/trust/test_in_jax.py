"""The weights inside compiled programs are the weights outside of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bers.errors import ConfigError, DataError
from bers.trust.qp.in_jax import weights_in_jax
from bers.trust.qp.simplex import FEASIBLE, solve


def _problem(seed, *batch, N=6, d=3):
    rng = np.random.default_rng(seed)
    M, t = rng.standard_normal((*batch, N, d)), 2 * rng.standard_normal((*batch, d))
    s = 10 ** rng.uniform(-2, 1, (*batch, N))
    # what single precision makes of them is the problem that both are asked
    return tuple(np.float64(np.float32(x)) for x in (M, t, s))


def _same(ours, exact):
    """To one unit in the last place: no digits are lost to single precision on the way."""
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, exact, rtol=1.2e-7, atol=1e-12)


@pytest.mark.parametrize("feasible", FEASIBLE)
@pytest.mark.parametrize("N", [1, 6, 20_000])
def test_compiled_or_not(N, feasible):
    M, t, s = _problem(0, N=N)
    exact = solve(M, t, s, feasible=feasible).a
    _same(weights_in_jax(M, t, s, feasible), exact)
    _same(jax.jit(weights_in_jax, static_argnums=3)(M, t, s, feasible), exact)


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, 0), (0, None, 0), (None, 0, None)])
@pytest.mark.parametrize("B", [1, 5, 300])
def test_vmap_is_a_loop(B, axes):
    M, t, s = _problem(1, B)
    parts = [x if axis == 0 else x[0] for x, axis in zip((M, t, s), axes, strict=True)]
    ours = jax.jit(jax.vmap(weights_in_jax, axes))(*parts)
    one = [x if axis == 0 else [x[0]] * B for x, axis in zip((M, t, s), axes, strict=True)]
    _same(ours, np.stack([solve(*problem).a for problem in zip(*one, strict=True)]))


def test_vmap_over_other_axes():
    M, t, s = _problem(2, 4)
    ours = jax.vmap(weights_in_jax, (2, 1, 0), 1)(np.moveaxis(M, 0, 2), t.T, s)
    _same(ours, solve(M, t, s).a.T)


def test_vmap_within_vmap():
    M, _, s = _problem(3, 4)
    _, targets, _ = _problem(4, 5)
    each = jax.vmap(jax.vmap(weights_in_jax, (None, 0, None)), (0, None, 0))
    exact = np.stack([solve(M[i], targets, s[i]).a for i in range(4)])
    assert exact.shape == (4, 5, 6)
    _same(each(M, targets, s), exact)
    _same(jax.jit(each)(M, targets, s), exact)
    # rows by the outer, targets by the middle, penalties by the inner axis
    whole = jax.vmap(
        jax.vmap(jax.vmap(weights_in_jax, (None, None, 0)), (None, 0, None)), (0, None, None)
    )(M[:2], targets[:3], s)
    for i, j, k in np.ndindex(2, 3, 4):
        _same(whole[i, j, k], solve(M[i], targets[j], s[k]).a)


def test_the_host_is_called_once_for_all(monkeypatch):
    calls = []

    def counted(M, t, s, **options):
        calls.append((M.shape, t.shape, s.shape))
        return solve(M, t, s, **options)

    monkeypatch.setattr("bers.trust.qp.in_jax.solve", counted)
    M, t, s = _problem(5, 7)
    jax.vmap(jax.vmap(weights_in_jax, (None, 0, None)), (None, 0, None))(
        M[0], np.stack([t] * 2), s[0]
    ).block_until_ready()
    assert calls == [((6, 3), (14, 3), (6,))]


def test_inside_a_scan():
    M, t, s = (jnp.float32(x) for x in _problem(6))

    def step(target, _):
        a = weights_in_jax(M, target, s)
        return target + 0.1 * (a @ M - target), (target, a)

    _, (targets, ours) = jax.jit(lambda t: jax.lax.scan(step, t, None, length=20))(t)
    _same(ours, solve(M, targets, s).a)


def test_under_a_condition():
    M, t, s = _problem(7)

    @jax.jit
    def choose(wanted):
        return jax.lax.cond(
            wanted, lambda: weights_in_jax(M, t, s), lambda: jnp.zeros(6, jnp.float32)
        )

    _same(choose(True), solve(M, t, s).a)
    assert not np.any(choose(False))


def test_a_host_with_64_bits_keeps_them():
    M, t, s = _problem(8)
    with jax.enable_x64(True):
        ours = jax.jit(weights_in_jax)(M, t, s)
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, solve(M, t, s).a, rtol=1e-12)
    assert not jax.config.jax_enable_x64


def test_sources_without_data_and_whole_numbers():
    a = weights_in_jax([[1, 0], [0, 1], [1, 1]], [1, 0], [1.0, 1.0, np.inf])
    assert a.dtype == np.float32
    np.testing.assert_allclose(a, [0.75, 0.25, 0.0], rtol=1e-6)


def test_what_does_not_fit_is_refused_before_it_is_compiled():
    M, t, s = _problem(9)
    with pytest.raises(DataError, match=r"vmap for more than one.*got \(6, 3\), \(2,\) and \(6,\)"):
        jax.jit(weights_in_jax)(M, t[:2], s)
    with pytest.raises(DataError, match=r"got \(1, 6, 3\)"):
        weights_in_jax(M[None], t, s)
    with pytest.raises(ConfigError, match="free; got 'ball'"):
        weights_in_jax(M, t, s, "ball")


def test_numbers_that_are_none_stop_the_program():
    M, t, s = _problem(10)
    with pytest.raises(jax.errors.JaxRuntimeError, match="DataError: means and target"):
        jax.jit(weights_in_jax)(M * np.nan, t, s).block_until_ready()
