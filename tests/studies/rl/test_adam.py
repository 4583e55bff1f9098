"""Adam: the same steps as optax's."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from bers_studies.rl.adam import adam, no_moments


def test_two_hundred_steps_are_those_of_optax() -> None:
    rng = np.random.default_rng(0)
    ours = theirs = [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((4, 3), (3,))]
    peer, moments = optax.adam(0.01), no_moments(ours)
    state = peer.init(theirs)
    for _ in range(200):
        slopes = [jnp.asarray(rng.normal(0.3, 1.0, w.shape), jnp.float32) for w in ours]
        ours, moments = adam(ours, slopes, moments, 0.01)
        move, state = peer.update(slopes, state)
        theirs = optax.apply_updates(theirs, move)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert int(moments.steps) == 200


def test_a_slope_of_zero_moves_nothing() -> None:
    w, _ = adam(jnp.ones(3), jnp.zeros(3), no_moments(jnp.ones(3)), 0.1)
    assert w.tolist() == [1, 1, 1]
