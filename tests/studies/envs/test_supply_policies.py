import itertools
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bers_studies.envs.supply_chain import (
    CHEAP_ROUTES,
    SupplyChain,
    reset,
    ring_costs,
    shipments,
    step,
    step_with,
)
from bers_studies.envs.supply_policies import _cheapest_paths, at_random, order_up_to, profits

from bers.errors import ConfigError

KEY = jax.random.key(0)


def network(K, cost, **options):
    """K warehouses, all of whose trucks cost the same."""
    return SupplyChain(np.full((K + 1, K + 1), cost), demand=(4,) * K, **options)


@cache
def episodes(config, copies=4, known=None):
    """Stocks, actions, rewards and parts under `order_up_to`, which may know another network."""
    rng = np.random.default_rng(2)
    asked = rng.poisson(config.demand, (copies, config.horizon, config.K))

    def move(stock, demand):
        action = order_up_to(KEY, stock, config=known or config)
        after, reward, parts = step_with(stock, action, demand, config=config)
        return after, (stock, action, reward, parts)

    run = jax.jit(jax.vmap(lambda demand: jax.lax.scan(move, reset(config=config), demand)[1]))
    return jax.tree.map(np.asarray, run(jnp.array(asked, jnp.int32)))


# what they earn


@pytest.mark.parametrize(
    ("which", "least"), [(1, 2870), (2, 2840), (3, 2830), ("target", 2930)], ids=str
)
def test_who_knows_the_costs_earns_a_lot(which, least):
    """A learner of 30,000 steps earns 2,000 to 2,400."""
    *_, rewards, _ = episodes(SupplyChain(which), copies=32)
    earned = rewards.sum(axis=1)
    assert least < earned.mean() < least + 60
    assert earned.min() > 2700


def test_the_goals_conflict():
    """Who ships as is best in scenario 1 loses in scenario 2."""
    *_, rewards, _ = episodes(SupplyChain(2), known=SupplyChain(1))
    assert rewards.sum(axis=1).max() < -1000


def test_profits_tell_the_yardsticks_apart():
    config = SupplyChain(1)
    best = profits(jax.random.key(1), order_up_to, config=config, episodes=32)
    chance = profits(jax.random.key(1), at_random, config=config, episodes=32)
    assert 2870 < float(best.mean()) < 2930
    assert -500 < float(chance.mean()) < -400
    assert float(chance.max()) < 0


def test_profits_are_the_rewards_of_episodes():
    config = SupplyChain(3, horizon=4)
    found = profits(KEY, at_random, config=config, episodes=3)
    move = jax.jit(partial(step, config=config))
    for key, earned in zip(jax.random.split(KEY, 3), found, strict=True):
        stock, total = reset(config=config), 0.0
        for now in jax.random.split(key, 4):
            policy_key, step_key = jax.random.split(now)
            action = at_random(policy_key, stock, config=config)
            stock, reward, _ = move(step_key, stock, action)
            total += float(reward)
        np.testing.assert_allclose(earned, total, rtol=1e-5)
    np.testing.assert_array_equal(found, profits(KEY, at_random, config=config, episodes=3))
    assert len(np.unique(found)) == 3
    other = profits(jax.random.key(1), at_random, config=config, episodes=3)
    assert not np.isin(other, found).any()


def test_no_episodes():
    with pytest.raises(ConfigError, match=r"profits\(episodes=...\) must be 1 or more; got 0"):
        profits(KEY, at_random, config=SupplyChain(), episodes=0)


# at random


def test_random_actions_are_uniform_on_their_simplices():
    config = SupplyChain(1)
    stock = jnp.zeros(7, jnp.int32)
    draw = jax.jit(jax.vmap(partial(at_random, stock=stock, config=config)))
    actions = np.asarray(draw(jax.random.split(KEY, 4000)))
    factory, rest = actions[:, 1:8], actions[:, 8:].reshape(-1, 6, 6)
    assert actions.min() >= 0
    np.testing.assert_allclose(factory.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(rest.sum(axis=2), 1, rtol=1e-5)
    np.testing.assert_allclose(actions[:, 0].mean(), 0.5, atol=0.02)
    np.testing.assert_allclose(actions[:, 0].var(), 1 / 12, rtol=0.05)
    # a Dirichlet of n ones has means 1/n and variances (n - 1) / (n² (n + 1))
    np.testing.assert_allclose(factory.mean(axis=0), 1 / 7, rtol=0.05)
    np.testing.assert_allclose(factory.var(axis=0), 6 / (49 * 8), rtol=0.12)
    np.testing.assert_allclose(rest.var(axis=0), 5 / (36 * 7), rtol=0.12)
    alone = at_random(jax.random.split(KEY, 4000)[5], stock, config=config)
    np.testing.assert_allclose(actions[5], alone, rtol=1e-6)
    assert len(np.unique(actions[:, 0])) > 3990


# up to a level


@pytest.mark.parametrize("which", CHEAP_ROUTES, ids=str)
def test_goods_take_the_cheap_routes_only(which):
    config = SupplyChain(which)
    *_, parts = episodes(config, copies=32)
    used = parts.shipped.sum(axis=(0, 1)) > 0
    np.testing.assert_array_equal(used, np.array(config.truck_cost) == 0.03)
    assert parts.overflow.sum() == 0
    assert parts.lost_sales[:, 10:].mean() < 0.05 * np.mean(config.demand)


def test_stocks_are_filled_up_to_their_levels():
    """Scenario 1 has two lines, A F E and B C D; levels by hand, with no safety."""
    config = SupplyChain(1)
    plan = partial(order_up_to, KEY, config=config, safety=0.0)
    # A, F and E: 7 + 2·5 + 3·5 = 32; B, C and D: 6 + 2·6 + 3·5 = 33; F and E: 15; E: 5
    stock = jnp.array([50, 25, 20, 15, 0, 2, 0], jnp.int32)
    units = np.asarray(shipments(stock, plan(stock), config=config))
    expected = np.zeros((7, 7), int)
    expected[0, 1] = 32 - (25 + 0 + 2)
    expected[1, 6] = 15 - (0 + 2)
    expected[3, 4] = 5
    # B, C and D have 35 for 33; C and D have 15 for 6 + 2·5
    expected[2, 3] = 16 - 15
    np.testing.assert_array_equal(units, expected)
    # all: 2·13 + 3·11 + 4·10 = 99, of which 112 are there; with less the rest is made
    assert float(plan(stock)[0]) == 0.0
    np.testing.assert_allclose(plan(stock.at[2].set(0))[0] * 35, 99 - 92, rtol=1e-6)
    np.testing.assert_allclose(plan(reset(config=config))[0], 1.0)


def test_what_is_short_is_shared_by_need():
    config = SupplyChain(1)
    stock = jnp.array([13, 10, 20, 0, 0, 0, 0], jnp.int32)
    # A's line wants 22 of the 32, B's 13 of the 33
    units = shipments(stock, order_up_to(KEY, stock, config=config, safety=0.0), config=config)
    assert units[0].tolist() == [0, 13 * 22 // 35, 13 * 13 // 35, 0, 0, 0, 0]


def test_dear_trucks_go_full_and_trucks_that_lose_money_not_at_all():
    *_, rewards, parts = episodes(network(3, 1.5))
    assert parts.trucks.sum() > 1000
    np.testing.assert_array_equal(parts.shipped, 4 * parts.trucks)
    assert rewards[:, 10:].mean() > 0
    *_, rewards, parts = episodes(network(3, 3.0))
    assert parts.produced.sum() == 0
    np.testing.assert_array_equal(rewards, 0)


@pytest.mark.parametrize(
    "config",
    [
        network(2, 0.03),
        SupplyChain(ring_costs(9, [(0, 1), *((i, i + 1) for i in range(1, 9))]), demand=(1,) * 9),
        SupplyChain("target", capacity=20),
        SupplyChain(2, max_production=10, truck_size=1),
        SupplyChain(1, demand=(0,) * 6),
    ],
    ids=["two", "a line of nine", "little room", "little production", "no demand"],
)
def test_actions_are_valid_in_any_network(config):
    stocks, actions, _, parts = episodes(config)
    assert actions.shape == (4, 200, config.actions)
    assert np.isfinite(actions).all()
    assert actions.min() >= 0
    assert actions.max() <= 1
    K = config.K
    warehouses = actions[..., K + 2 :].reshape(4, 200, K, K).sum(axis=-1)
    totals = np.concatenate([actions[..., 1 : K + 2].sum(axis=-1, keepdims=True), warehouses], -1)
    np.testing.assert_allclose(totals, stocks > 0, atol=1e-6)
    assert parts.overflow.sum() == 0
    if sum(config.demand):
        assert parts.sold.sum() > 0
    else:
        assert parts.produced.sum() == 0


def test_compiled_and_mapped_it_is_the_same():
    config = SupplyChain("target")
    stocks = jnp.array(np.random.default_rng(0).integers(0, 51, (50, 7)), jnp.int32)
    many = jax.jit(jax.vmap(lambda stock: order_up_to(KEY, stock, config=config)))(stocks)
    for stock, action in zip(stocks[:5], many[:5], strict=True):
        np.testing.assert_allclose(order_up_to(KEY, stock, config=config), action, rtol=1e-6)
    assert many.dtype == jnp.float32


def test_the_cheapest_path_is_the_cheapest_of_all():
    rng = np.random.default_rng(4)
    for _ in range(20):
        config = SupplyChain(rng.exponential(size=(5, 5)), demand=(1,) * 4)
        hop = np.array(config.truck_cost) / 4 + config.storage_cost
        before, spent = _cheapest_paths(config)
        for place in range(1, 5):
            others = [other for other in range(1, 5) if other != place]
            paths = [
                (0, *middle, place)
                for n in range(4)
                for middle in itertools.permutations(others, n)
            ]
            prices = [sum(hop[a, b] for a, b in itertools.pairwise(path)) for path in paths]
            np.testing.assert_allclose(spent[place], min(prices))
            assert before[place] == paths[int(np.argmin(prices))][-2]
