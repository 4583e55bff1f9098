"""The training objective against the float64 heads, and its gradient against differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bers.model import nig
from bers.model.training import log_evidence


def _batch(seed, b=12, d=4):
    rng = np.random.default_rng(seed)
    Phi = np.column_stack([np.tanh(rng.standard_normal((b, d - 1))), np.ones(b)])
    return Phi, Phi @ rng.standard_normal(d) + 0.2 * rng.standard_normal(b)


def _ours(Phi, y, n=None, Lam0=(1.0, 1.0, 1.0, 0.01), alpha0=1.5, beta0=0.7):
    n = len(y) if n is None else n
    dtype = Phi.dtype
    return log_evidence(
        jnp.asarray(Phi), jnp.asarray(y), jnp.asarray(n, dtype), jnp.asarray(Lam0, dtype),
        alpha0, beta0,
    )  # fmt: skip


def test_value_is_the_heads_log_evidence():
    Phi, y = _batch(0)
    head = nig.prior(4, bias_precision=0.01, alpha=1.5, beta=0.7)
    exact = nig.log_evidence(head, nig.condition(head, nig.summarise(Phi, y)))
    np.testing.assert_allclose(_ours(Phi.astype("f4"), y.astype("f4")), exact, rtol=2e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(_ours(Phi, y), exact, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_the_slope(seed):
    Phi, y = _batch(seed)
    with jax.enable_x64(True):
        slope = np.asarray(jax.grad(_ours)(Phi, y))
        rng = np.random.default_rng(seed)
        for _ in range(5):
            direction = rng.standard_normal(Phi.shape)
            h = 1e-6
            rise = (_ours(Phi + h * direction, y) - _ours(Phi - h * direction, y)) / (2 * h)
            np.testing.assert_allclose(np.sum(slope * direction), rise, rtol=1e-6)


def test_padding_says_nothing():
    Phi, y = _batch(1)
    padded = np.vstack([Phi, np.zeros((5, 4))]).astype("f4"), np.append(y, np.zeros(5)).astype("f4")
    plain = Phi.astype("f4"), y.astype("f4")
    np.testing.assert_allclose(_ours(*padded, n=12), _ours(*plain), rtol=1e-6)
    slope = jax.grad(_ours)(*padded, 12)
    np.testing.assert_allclose(slope[:12], jax.grad(_ours)(*plain), rtol=1e-4, atol=1e-5)
    assert np.all(np.asarray(slope[12:]) == 0)
