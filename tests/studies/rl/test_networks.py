"""Nets: an input given by the places of its ones is the same input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.envs.one_hot import Ones
from bers_studies.rl.networks import new_net

KEY = jax.random.key(0)


def hot(seed: int, rows: int = 5) -> Ones:
    places = np.random.default_rng(seed).integers(0, 4, (rows, 3)) + 4 * np.arange(3)
    return Ones(jnp.asarray(places, jnp.int32), 12)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_ones_and_their_dense_form_give_the_same_outputs_and_slopes(activation: str) -> None:
    net = new_net(KEY, (12 + 2, 8, 8, 1), activation=activation)
    ones, more = hot(1), jax.random.normal(KEY, (5, 2))

    def loss(net, *inputs):
        return jnp.sum(net(*inputs) ** 2) * 1e4

    np.testing.assert_allclose(net(ones, more), net(ones.dense, more), rtol=1e-5, atol=1e-8)
    by_places, by_entries = (jax.grad(loss)(net, x, more) for x in (ones, ones.dense))
    for one, other in zip(jax.tree.leaves(by_places), jax.tree.leaves(by_entries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-7)


def test_inputs_stand_one_behind_the_other() -> None:
    net = new_net(KEY, (5, 8, 2))
    x = jax.random.normal(KEY, (4, 5))
    np.testing.assert_allclose(net(x[:, :3], x[:, 3:]), net(x), rtol=1e-5, atol=1e-8)


def test_a_place_that_is_named_twice_counts_twice() -> None:
    net = new_net(KEY, (3, 4, 2))
    twice = Ones(jnp.array([1, 1]), 3)
    assert twice.dense.tolist() == [0, 2, 0]
    np.testing.assert_allclose(net(twice), net(twice.dense), rtol=1e-5, atol=1e-8)
