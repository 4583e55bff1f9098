from functools import partial

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.envs.supply_chain import (
    CHEAP,
    CHEAP_ROUTES,
    FAR,
    NEAR,
    SupplyChain,
    drawn_demand,
    reset,
    ring_costs,
    scenario_costs,
    shares,
    shipments,
    step,
    step_with,
    trucks_for,
)
from hypothesis import given, settings
from scipy.special import pdtr

from bers.errors import ConfigError

SMALL = SupplyChain(((0, 1, 2), (0, 0, 0.5), (0, 9, 0)), demand=(4, 4), max_production=10)
TIGHT = SupplyChain(
    ring_costs(3, [(0, 1)]), demand=(2, 0, 9), capacity=7, max_production=9, truck_size=3
)
NETWORKS = (SMALL, TIGHT, SupplyChain("target"))
run = jax.jit(step_with, static_argnames="config")


def period(config, stock, action, demand):
    """One period, all in NumPy."""
    args = (jnp.array(stock, jnp.int32), jnp.array(action, jnp.float32))
    found = run(*args, jnp.array(demand, jnp.int32), config=config)
    return jax.tree.map(np.asarray, found)


def any_period(config, rng):
    """A period from anywhere: full, empty and half-empty places, shares that need normalising."""
    stock = rng.integers(0, config.capacity + 1, config.K + 1) * (rng.random(config.K + 1) < 0.8)
    action = rng.exponential(size=config.actions) * (rng.random(config.actions) < rng.random())
    demand = rng.poisson(np.array(config.demand) * rng.choice([0, 1, 3]))
    return stock, action, demand, *period(config, stock, action, demand)


# a period by hand


def test_a_period_by_hand():
    factory, A, B = [0.2, 0.5, 0.3], [0.4, 0.6], [0.0, 0.0]  # B says nothing
    action = [0.5, *factory, *A, *B]
    after, reward, parts = period(SMALL, [10, 5, 0], action, [4, 9])
    assert parts.shipped.tolist() == [[0, 5, 3], [0, 0, 3], [0, 0, 0]]
    assert parts.trucks.tolist() == [[0, 2, 1], [0, 0, 1], [0, 0, 0]]
    # there are then 2, 7 and 6 units
    assert parts.sold.tolist() == [4, 6]
    assert parts.lost_sales.tolist() == [0, 3]
    assert after.tolist() == [2 + 5, 3, 0]
    assert parts.produced == 5
    assert parts.overflow.tolist() == [0, 0, 0]
    np.testing.assert_allclose(parts.revenue, 6.0)
    np.testing.assert_allclose(parts.production, 0.5)
    np.testing.assert_allclose(parts.storage, 0.03 * 5, rtol=1e-6)
    np.testing.assert_allclose(parts.transport, 2 * 1 + 1 * 2 + 1 * 0.5)
    np.testing.assert_allclose(reward, 6 - 0.5 - 0.15 - 4.5, rtol=1e-5)


def test_what_does_not_fit_is_thrown_away():
    # 7 to A, which keeps its own 5: there is room for 2 of them, before anything is sold
    action = [1.0, 0, 1, 0, 0, *[0] * 9]
    after, _, parts = period(TIGHT, [7, 5, 0, 0], action, [3, 1, 1])
    assert parts.overflow.tolist() == [2, 5, 0, 0]  # 9 are made, 7 fit
    assert after.tolist() == [7, 4, 0, 0]
    np.testing.assert_allclose(parts.production, 0.9)  # and all 9 are paid for
    np.testing.assert_allclose(parts.storage, 0.03 * 4, rtol=1e-6)  # before they are made


def test_the_first_period_of_an_episode_sells_nothing():
    config = SupplyChain(1)
    action = jnp.zeros(44).at[0].set(1.0)
    after, reward, parts = step(jax.random.key(3), reset(config=config), action, config=config)
    assert after.tolist() == [35, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(reward, -3.5)
    assert parts.sold.sum() == 0
    assert parts.lost_sales.sum() > 10


# laws that hold in every period


@pytest.mark.parametrize("config", NETWORKS, ids=["small", "tight", "target"])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_units_and_money_add_up(config, seed):
    stock, action, demand, after, reward, parts = any_period(config, np.random.default_rng(seed))
    assert after.min() >= 0
    assert after.max() <= config.capacity
    # units: of the network, and of each place
    assert stock.sum() + parts.produced == after.sum() + parts.sold.sum() + parts.overflow.sum()
    moved = parts.shipped.sum(axis=0) - parts.shipped.sum(axis=1)
    sold, made = np.append(0, parts.sold), np.append(parts.produced, np.zeros(config.K, int))
    np.testing.assert_array_equal(after, stock + moved - sold + made - parts.overflow)
    np.testing.assert_array_equal(parts.sold + parts.lost_sales, demand)
    assert parts.produced == np.floor(min(action[0], 1) * config.max_production + 1e-4)
    assert parts.shipped.min() >= 0
    assert (parts.shipped.sum(axis=1) <= stock).all()
    assert (parts.shipped[:, 0] == 0).all()  # nothing goes back
    assert (np.diag(parts.shipped) == 0).all()
    # money
    trucks = np.ceil(parts.shipped / config.truck_size)
    np.testing.assert_array_equal(parts.trucks, trucks)
    there = np.minimum(stock + moved, config.capacity)
    left = there.sum() - parts.sold.sum()
    transport = np.sum(trucks * np.array(config.truck_cost))
    np.testing.assert_allclose(parts.production, config.production_cost * parts.produced, rtol=1e-6)
    np.testing.assert_allclose(parts.storage, config.storage_cost * left, rtol=1e-5)
    np.testing.assert_allclose(parts.transport, transport, rtol=1e-5)
    np.testing.assert_allclose(parts.revenue, config.price * parts.sold.sum(), rtol=1e-5)
    total = parts.revenue - parts.production - parts.storage - parts.transport
    np.testing.assert_allclose(reward, total, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("config", NETWORKS, ids=["small", "tight", "target"])
def test_shipments_are_whole_parts_of_the_stock(config):
    rng = np.random.default_rng(0)
    for _ in range(20):
        stock, action, *_, parts = any_period(config, rng)
        K = config.K
        clipped = np.clip(action.astype(np.float32), 0, 1).astype(np.float64)
        factory, rest = clipped[1 : K + 2], clipped[K + 2 :].reshape(K, K)
        for place, row in enumerate([factory, *rest]):
            row = row / row.sum() if row.sum() else row
            units = np.floor(stock[place] * row + 1e-4)
            ways = np.arange(K + 1) if place == 0 else np.arange(1, K + 1)
            goes = ways != place
            np.testing.assert_array_equal(parts.shipped[place, ways[goes]], units[goes])


def test_trucks_are_whole():
    units = jnp.arange(13)
    np.testing.assert_array_equal(
        trucks_for(units, config=SupplyChain()), np.ceil(np.arange(13) / 4)
    )
    np.testing.assert_array_equal(trucks_for(units, config=TIGHT), np.ceil(np.arange(13) / 3))


def test_a_whole_number_of_units_can_always_be_asked_for():
    """Shares are floats, and no unit is lost to them: m of n units are m, for every m and n."""
    stock, units = np.array([(n, m) for n in range(1, 51) for m in range(n + 1)]).T
    action = np.zeros((len(stock), SMALL.actions), np.float32)
    action[:, 1], action[:, 2] = (stock - units) / stock, units / stock
    stocks = jnp.zeros((len(stock), 3), jnp.int32).at[:, 0].set(stock)
    sent = jax.vmap(partial(shipments, config=SMALL))(stocks, jnp.array(action))
    np.testing.assert_array_equal(sent[:, 0, 1], units)


# actions


def test_shares_are_divided_by_their_sum():
    action = jnp.array([0.3, 0.2, 0.2, 0.4, 0.1, 0.3, 0.6, 0.6])
    production, routes = shares(action, config=SMALL)
    np.testing.assert_allclose(production, 0.3)
    expected = [[0.25, 0.25, 0.5], [0, 0.25, 0.75], [0, 0.5, 0.5]]
    np.testing.assert_allclose(routes, expected, rtol=1e-6)
    halved, same = shares(action.at[1:].mul(0.5), config=SMALL)
    np.testing.assert_allclose(same, routes, rtol=1e-6)
    np.testing.assert_allclose(halved, production)


def test_what_is_out_of_range_is_clipped():
    wild = jnp.array([7.0, -3.0, 1.0, 5.0, 0.5, -0.1, 1.0, 1.0])
    tame = jnp.array([1.0, 0.0, 1.0, 1.0, 0.5, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(shares(wild, config=SMALL)[1], shares(tame, config=SMALL)[1])
    for one, two in zip(
        jax.tree.leaves(period(SMALL, [9, 9, 9], wild, [1, 1])),
        jax.tree.leaves(period(SMALL, [9, 9, 9], tame, [1, 1])),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)


def test_with_shares_of_zero_everything_stays():
    after, reward, parts = period(SMALL, [10, 5, 3], np.zeros(8), [0, 0])
    assert after.tolist() == [10, 5, 3]
    assert parts.shipped.sum() == 0
    np.testing.assert_allclose(reward, -0.03 * 18, rtol=1e-6)


# compiled, mapped, drawn


def test_compiled_and_mapped_it_is_the_same():
    config = SupplyChain(2)
    rng = np.random.default_rng(1)
    keys = jax.random.split(jax.random.key(0), 20)
    stock = jnp.array(rng.integers(0, 51, (20, 7)), jnp.int32)
    action = jnp.array(rng.random((20, 44)), jnp.float32)
    one = partial(step, config=config)
    many = jax.jit(jax.vmap(one))(keys, stock, action)
    for i in (0, 7, 19):
        alone = one(keys[i], stock[i], action[i])
        for a, b in zip(jax.tree.leaves(many), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-6)


def test_demand_is_poisson_and_differs_from_key_to_key():
    config = SupplyChain(1)
    empty, wait = reset(config=config), jnp.zeros(44)
    keys = jax.random.split(jax.random.key(5), 4000)
    *_, parts = jax.jit(jax.vmap(lambda key: step(key, empty, wait, config=config)))(keys)
    asked = np.asarray(parts.lost_sales)
    np.testing.assert_allclose(asked.mean(axis=0), config.demand, rtol=0.03)
    np.testing.assert_allclose(asked.var(axis=0), config.demand, rtol=0.12)
    assert len(np.unique(asked, axis=0)) > 3900


# networks


def test_the_scenarios_fit_the_text_of_the_paper():
    cheap = {}
    for which in CHEAP_ROUTES:
        cost = np.array(scenario_costs(which))
        assert cost.shape == (7, 7)
        cheap[which] = {tuple(route) for route in np.argwhere(cost == CHEAP)}
        assert len(cheap[which]) == 6
        assert all(end != 0 for _, end in cheap[which])
        reached = {0}
        for _ in range(6):
            reached |= {end for start, end in cheap[which] if start in reached}
        assert reached == set(range(7))  # every warehouse can be reached cheaply
        dear = cost[0, 1:][cost[0, 1:] != CHEAP]
        assert (dear == NEAR).all()
        assert set(np.unique(cost)) == {0.0, CHEAP, NEAR, FAR}
    assert not cheap[1] & cheap[2]
    assert not cheap[1] & cheap[3]
    assert not cheap[2] & cheap[3]
    assert len(cheap["target"] & cheap[1]) == len(cheap["target"] & cheap[2]) == 3
    assert not cheap["target"] & cheap[3]


def test_neighbours_on_the_ring_are_near():
    cost = np.array(ring_costs(5, [(2, 4)]))
    near = {tuple(route) for route in np.argwhere(cost[1:, 1:] == NEAR) + 1}
    around = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]
    assert near == {*around, *((b, a) for a, b in around)}
    assert cost[2, 4] == CHEAP
    assert cost[4, 2] == FAR


def test_what_a_network_is_made_of():
    config = SupplyChain([[0, 1, 1], [0, 0, 1], [0, 1, 0]], demand=[1, 2])
    assert (config.K, config.actions, config.places) == (2, 8, ("factory", "A", "B"))
    assert config == SupplyChain(((0, 1, 1), (0, 0, 1), (0, 1, 0)), demand=(1, 2))
    assert len({config, SMALL}) == 2  # it can be a constant of a compiled function
    assert SupplyChain(ring_costs(30, []), demand=(1,) * 30).places[27] == "W27"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truck_cost": 4}, "there is no scenario 4"),
        ({"truck_cost": "goal"}, "there is no scenario 'goal'"),
        ({"truck_cost": 1, "demand": (1, 1)}, "scenarios have 6 warehouses; this network has 2"),
        ({"truck_cost": np.zeros((3, 3))}, r"shape \(7, 7\); got shape \(3, 3\)"),
        ({"truck_cost": np.full((7, 7), np.nan)}, "must be a scenario or finite numbers"),
        ({"truck_cost": [[0, 1], [0]]}, "must be a scenario or finite numbers"),
        ({"demand": (1,)}, "at least two means"),
        ({"demand": (1, -1)}, "means of 0 or more"),
        ({"demand": (1, np.inf)}, "means of 0 or more"),
        ({"capacity": 0}, r"SupplyChain\(capacity=...\) must be 1 or more; got 0"),
        ({"max_production": 2.5}, r"max_production=...\) must be 1 or more; got 2.5"),
        ({"truck_size": True}, r"truck_size=...\) must be 1 or more; got True"),
        ({"horizon": -1}, r"horizon=...\) must be 1 or more; got -1"),
        ({"price": np.nan}, r"price=...\) must be finite"),
        ({"storage_cost": np.inf}, r"storage_cost=...\) must be finite"),
    ],
)
def test_impossible_networks(options, message):
    with pytest.raises(ConfigError, match=message):
        SupplyChain(**options)


@pytest.mark.parametrize("mean", [0.0, 0.5, 7.0, 60.0])
def test_demand_is_poisson(mean):
    config = SupplyChain(np.zeros((3, 3)).tolist(), demand=(mean, 5.0))
    keys = jax.random.split(jax.random.key(2), 20_000)
    demand = np.asarray(jax.vmap(lambda key: drawn_demand(key, config=config))(keys))[:, 0]
    n = np.arange(200)
    expected = np.diff(pdtr(n, mean), prepend=0.0)
    found = np.bincount(demand, minlength=200) / len(demand)
    error = np.sqrt(expected * (1 - expected) / len(demand))
    assert (np.abs(found - expected) <= 5 * error + 1e-4).all()
