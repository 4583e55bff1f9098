"""Policies for the supply chain that need no learning, and what a policy earns.

Enters: a key and the stocks. Leaves: an action, as `supply_chain.step` takes it. `at_random` is
the lower yardstick, `order_up_to` the upper one: it is told the costs of the trucks and the demand,
which a learner has to find out. All is pure JAX, compiled and mapped like the network itself.
"""

from dataclasses import dataclass
from functools import cache, partial
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int32, PRNGKeyArray

from bers.errors import ConfigError
from bers_studies.envs.supply_chain import SupplyChain, reset, step


class Policy(Protocol):
    """A stock in, an action out; the key is for those that draw."""

    def __call__(
        self, key: PRNGKeyArray, stock: Int32[Array, " places"], *, config: SupplyChain
    ) -> Float32[Array, " actions"]:
        """The action."""
        ...


def at_random(
    key: PRNGKeyArray, stock: Int32[Array, " places"], *, config: SupplyChain
) -> Float32[Array, " actions"]:
    """Any production, any shares: uniform on [0, 1], and on the simplex for each place.

    >>> action = at_random(jax.random.key(0), jnp.zeros(7, jnp.int32), config=SupplyChain())
    >>> action.shape, round(float(action[1:8].sum()), 5), round(float(action[8:14].sum()), 5)
    ((44,), 1.0, 1.0)
    """
    production_key, factory_key, rest_key = jax.random.split(key, 3)
    K = config.K
    # exponential numbers over their sum are uniform on the simplex
    factory = jax.random.exponential(factory_key, (K + 1,))
    rest = jax.random.exponential(rest_key, (K, K))
    factory, rest = (x / x.sum(axis=-1, keepdims=True) for x in (factory, rest))
    return jnp.concatenate([jax.random.uniform(production_key, (1,)), factory, rest.ravel()])


def order_up_to(
    key: PRNGKeyArray, stock: Int32[Array, " places"], *, config: SupplyChain, safety: float = 2.0
) -> Float32[Array, " actions"]:
    """Goods take the cheapest path to each warehouse, and every place is filled up to a level.

    The level counts the stock of a place and of all places behind it. It covers their mean demand
    until the next order reaches them, and `safety` standard deviations more; for the factory it
    says what to produce. What is short is shared by need. A truck that is not full goes only if
    what is on it earns more than it costs. The key is not used.

    >>> stock = jnp.array([35, 0, 0, 0, 0, 0, 0], jnp.int32)
    >>> action = order_up_to(jax.random.key(0), stock, config=SupplyChain(1))
    >>> (35 * action[1:8]).round().astype(int).tolist()  # stays, to A, to B, ...
    [1, 17, 17, 0, 0, 0, 0]
    """
    plan = _plan(config, safety)
    want = jnp.maximum(plan.level - jnp.where(plan.behind, stock, 0).sum(axis=1), 0)
    sent = _sent(stock, want, plan, config=config)
    leaves = jnp.where(plan.next_to, sent, 0).sum(axis=1)
    fits = jnp.minimum(want, config.capacity - stock + leaves)
    sent = _sent(stock, fits, plan, config=config)

    routes = jnp.where(plan.next_to, sent, 0)
    stays = stock - routes.sum(axis=1)
    units = jnp.where(jnp.eye(config.K + 1, dtype=bool), stays[:, None], routes)
    share = (units / jnp.maximum(stock, 1)[:, None]).astype(jnp.float32)
    made = jnp.minimum(jnp.minimum(want[0], config.max_production), config.capacity - stays[0])
    production = (made / config.max_production).astype(jnp.float32)
    return jnp.concatenate([production[None], share[0], share[1:, 1:].ravel()])


def profits(
    key: PRNGKeyArray, policy: Policy, *, config: SupplyChain, episodes: int = 100
) -> Float32[Array, " episodes"]:
    """What a policy earns in each of some episodes: one compiled scan, mapped over the episodes.

    >>> short = SupplyChain(1, horizon=20)
    >>> earned = profits(jax.random.key(0), order_up_to, config=short, episodes=3)
    >>> earned.shape, bool((earned > 100).all())
    ((3,), True)
    """
    if episodes < 1:
        raise ConfigError(f"profits(episodes=...) must be 1 or more; got {episodes}.")
    return _profits(jax.random.split(key, episodes), policy, config)


@partial(jax.jit, static_argnums=(1, 2))
def _profits(
    keys: PRNGKeyArray, policy: Policy, config: SupplyChain
) -> Float32[Array, " episodes"]:
    def period(stock: Array, period_key: PRNGKeyArray) -> tuple[Array, Array]:
        policy_key, step_key = jax.random.split(period_key)
        action = policy(policy_key, stock, config=config)
        after, reward, _ = step(step_key, stock, action, config=config)
        return after, reward

    def episode(episode_key: PRNGKeyArray) -> Array:
        periods = jax.random.split(episode_key, config.horizon)
        return jax.lax.scan(period, reset(config=config), periods)[1].sum()

    return jax.vmap(episode)(keys)


@dataclass(frozen=True)
class _Plan:
    """What `order_up_to` knows of a network before it sees a stock; arrays over places."""

    next_to: Bool[np.ndarray, "places places"]
    """Whether goods go from one place to another."""
    behind: Bool[np.ndarray, "places places"]
    """Whether a place gets its goods through another one, or is that place."""
    level: Int[np.ndarray, " places"]
    """Units that a place and those behind it should have, before demand."""
    worth: Float[np.ndarray, " places"]
    """What a unit earns once it is at a place."""
    truck: Float[np.ndarray, " places"]
    """What the truck to a place costs."""


def _sent(
    stock: Int32[Array, " places"],
    want: Int32[Array, " places"],
    plan: _Plan,
    *,
    config: SupplyChain,
) -> Int32[Array, " places"]:
    """Units that go to each place from the one before it, shared by need."""
    asked = jnp.where(plan.next_to, want, 0).sum(axis=1)
    given = jnp.minimum(1.0, stock / jnp.maximum(asked, 1))
    rate = jnp.where(plan.next_to, given[:, None], 0.0).sum(axis=0)
    units = jnp.floor(want * rate + 1e-4).astype(jnp.int32)
    loose = units % config.truck_size
    return jnp.where(loose * plan.worth > plan.truck, units, units - loose)


@cache
def _plan(config: SupplyChain, safety: float) -> _Plan:
    before, spent = _cheapest_paths(config)
    places = config.K + 1
    behind, depth = np.eye(places, dtype=bool), np.zeros(places, int)
    for place in range(1, places):
        above = place
        while above != 0:
            above = before[above]
            behind[above, place] = True
            depth[place] += 1
    worth = config.price - config.production_cost - spent
    demand = np.where(worth > 0, [0.0, *config.demand], 0.0)  # where it does not pay, none
    periods = np.where(behind, 1 + depth[None, :] - depth[:, None], 0)
    mean = periods @ demand
    next_to = np.zeros((places, places), bool)
    next_to[before[1:], np.arange(1, places)] = True
    return _Plan(
        next_to=next_to,
        behind=behind,
        level=np.ceil(mean + safety * np.sqrt(mean)).astype(np.int32),
        worth=worth,
        truck=np.where(next_to, np.array(config.truck_cost), 0.0).sum(axis=0),
    )


def _cheapest_paths(
    config: SupplyChain,
) -> tuple[Int[np.ndarray, " places"], Float[np.ndarray, " places"]]:
    """For each place the one before it on the cheapest path, and what a unit spends on the way.

    A unit pays its part of full trucks, and storage wherever it waits for the next one. Dijkstra.
    """
    hop = np.maximum(np.array(config.truck_cost) / config.truck_size + config.storage_cost, 0.0)
    places = config.K + 1
    before, spent = np.zeros(places, int), np.full(places, np.inf)
    spent[0], done = 0.0, np.zeros(places, bool)
    for _ in range(places):
        here = int(np.argmin(np.where(done, np.inf, spent)))
        done[here] = True
        through = spent[here] + hop[here]
        better = ~done & (through < spent)
        before[better], spent[better] = here, through[better]
    return before, spent
