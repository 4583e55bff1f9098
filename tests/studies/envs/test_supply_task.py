"""What a policy sees of the supply chain, what its outputs mean, and what a model is shown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.envs.supply_chain import SupplyChain, shares, shipments, step, trucks_for
from bers_studies.envs.supply_inputs import trucks_and_stocks
from bers_studies.envs.supply_task import SupplyTask

NETWORK = SupplyChain(2)
TASK = SupplyTask(NETWORK)


def blocks(action):
    """Production, and the shares of each place."""
    return action[:1], [action[1:8], *action[8:].reshape(6, 6)]


def test_stocks_are_shown_one_hot():
    stock = jnp.array([50, 0, 1, 2, 3, 4, 5])
    seen = np.asarray(TASK.observe(stock).dense).reshape(7, 51)
    np.testing.assert_array_equal(seen.sum(axis=1), 1)
    np.testing.assert_array_equal(seen.argmax(axis=1), stock)


def test_outputs_become_shares():
    outputs = jax.random.normal(jax.random.key(0), (44,))
    production, places = blocks(np.asarray(TASK.action(outputs)))
    assert production[0] == pytest.approx(1 / (1 + np.exp(-float(outputs[0]))), rel=1e-5)
    z = np.exp(np.asarray(outputs[1:8], np.float64))
    np.testing.assert_allclose(places[0], z / z.sum(), rtol=1e-5)
    for place in places:
        assert place.sum() == pytest.approx(1, abs=1e-5)


def test_noise_stays_within_shares_and_no_noise_changes_nothing():
    action = TASK.action(jax.random.normal(jax.random.key(0), (44,)))
    moved = np.asarray(TASK.explore(jax.random.key(1), action, 0.15))
    production, places = blocks(moved)
    assert 0 <= production[0] <= 1
    assert all(place.sum() == pytest.approx(1, abs=1e-5) and (place >= 0).all() for place in places)
    assert np.abs(moved - np.asarray(action)).max() > 0.05
    np.testing.assert_allclose(TASK.explore(jax.random.key(1), action, 0.0), action, atol=1e-6)


def test_surprise_is_least_where_the_policy_does_the_same():
    """Cross-entropy: its slope vanishes where the policy's shares are those shown."""
    outputs = jax.random.normal(jax.random.key(0), (44,))
    same = TASK.action(outputs)
    np.testing.assert_allclose(jax.grad(TASK.surprise)(outputs, same), 0, atol=1e-5)
    other = TASK.action(jax.random.normal(jax.random.key(1), (44,)))
    assert TASK.surprise(outputs, other) > TASK.surprise(outputs, same) - 1
    assert np.abs(jax.grad(TASK.surprise)(outputs, other)).max() > 0.01
    # by hand: all outputs 0 is a share of 1/2, of 1/7, of 1/6
    expected = np.log(2) + np.log(7) + 6 * np.log(6)
    assert float(TASK.surprise(jnp.zeros(44), other)) == pytest.approx(expected, rel=1e-5)


def test_a_step_is_that_of_the_network():
    key, stock = jax.random.key(3), jnp.array([40, 9, 9, 9, 9, 9, 9])
    action = TASK.action(jnp.zeros(44))
    ours, theirs = TASK.step(key, stock, action), step(key, stock, action, config=NETWORK)
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[1] == theirs[1]


def test_a_model_is_shown_every_truck():
    rng = np.random.default_rng(0)
    s, s_next = rng.integers(0, 51, (2, 20, 7)).astype(np.int32)
    a = rng.random((20, 44)).astype(np.float32)
    x = trucks_and_stocks(s, a, s_next, config=NETWORK)
    assert x.shape == (20, 94)
    np.testing.assert_array_equal(x[:, :7], s)
    np.testing.assert_array_equal(x[:, 7:14], s_next)
    np.testing.assert_array_equal(x[:, 14:58], a)
    for row in range(20):
        units = shipments(jnp.asarray(s[row]), jnp.asarray(a[row]), config=NETWORK)
        trucks = np.asarray(trucks_for(units, config=NETWORK))
        routes = [trucks[i, j] for i in range(7) for j in range(1, 7) if i != j]
        np.testing.assert_array_equal(x[row, 58:], routes)
    assert float(shares(jnp.asarray(a[0]), config=NETWORK)[0]) == pytest.approx(a[0, 0])


def test_rewards_are_linear_in_what_is_shown():
    """While nothing overflows: sales follow from the stocks, and trucks cost what they cost."""
    rng = np.random.default_rng(1)
    s = rng.integers(0, 15, (3000, 7)).astype(np.int32)
    a = np.asarray(jax.vmap(TASK.action)(jnp.asarray(2 * rng.standard_normal((3000, 44)))))
    keys = jax.random.split(jax.random.key(0), 3000)
    run = jax.jit(jax.vmap(lambda k, s, a: step(k, s, a, config=NETWORK)[:2]))
    s_next, r = run(keys, jnp.asarray(s), jnp.asarray(a))
    x = trucks_and_stocks(s, a, np.asarray(s_next), config=NETWORK).astype(np.float64)
    x = np.concatenate([x, np.ones((3000, 1))], axis=1)
    w = np.linalg.lstsq(x, np.asarray(r, np.float64), rcond=None)[0]
    left = np.asarray(r) - x @ w
    assert 1 - left.var() / np.var(np.asarray(r)) > 0.99
    cost = np.array(NETWORK.truck_cost)
    routes = [cost[i, j] for i in range(7) for j in range(1, 7) if i != j]
    np.testing.assert_allclose(-w[58:94], routes, atol=0.1)
