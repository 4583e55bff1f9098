"""The paper's supply chain: one factory, K warehouses, trucks whose price depends on the route.

Enters: stocks, an action of 2 + K + K² proportions, a key. Leaves: new stocks, the reward and where
it came from. All is pure JAX, so a whole episode is one compiled scan and a thousand networks are
one `vmap`. Place 0 is the factory, places 1 to K are the warehouses A, B, ... [Eq. supply_chain]

Within a period: goods are shipped and arrive; demand is met or lost; storage is paid on what is
left; production arrives at the factory. What does not fit is thrown away.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Float64, Int32, PRNGKeyArray
from scipy.special import pdtr

from bers.errors import ConfigError

Scenario = Literal[1, 2, 3, "target"]
CHEAP, NEAR, FAR = 0.03, 1.50, 3.00
"""Price of a truck: on the best routes, from the factory or to a neighbour, and elsewhere."""

# Paper: the drawing of the scenarios is not in the text. These fit all it says of them: three that
# conflict, and a target that shares as much with 1 as with 2, and nothing with 3.
CHEAP_ROUTES: Mapping[Scenario, str] = {
    1: "0A 0B AF FE BC CD",
    2: "0C 0D CB BA DE EF",
    3: "0E 0F ED DC FA AB",
    "target": "0A 0C 0D AF FE CB",
}
"""Per scenario the routes where a truck is cheap; 0 is the factory."""

_ROUNDING = 1e-4  # a share of exactly 3 units may come out as 2.9999998

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class SupplyChain:
    """A network: who wants how much, and what everything costs. Defaults are the paper's."""

    truck_cost: Table | Scenario = "target"
    """(K + 1, K + 1), from and to, place 0 the factory; or a scenario. Entries on the diagonal and
    towards the factory are not used."""
    demand: tuple[float, ...] = (7.0, 6.0, 6.0, 5.0, 5.0, 5.0)
    """Mean units per period that each warehouse is asked for, Poisson."""
    price: float = 0.6
    """What a unit sells for."""
    production_cost: float = 0.1
    """Per unit."""
    storage_cost: float = 0.03
    """Per unit and period."""
    capacity: int = 50
    """Units that each place can hold."""
    max_production: int = 35
    """Units per period."""
    truck_size: int = 4
    """Units on a truck."""
    horizon: int = 200
    """Periods of an episode."""

    def __post_init__(self) -> None:
        demand = tuple(float(mean) for mean in self.demand)
        if len(demand) < 2 or not all(np.isfinite(mean) and mean >= 0 for mean in demand):
            raise ConfigError(
                "SupplyChain(demand=...) must be at least two means of 0 or more, one for each "
                f"warehouse; got {self.demand}."
            )
        object.__setattr__(self, "demand", demand)
        object.__setattr__(self, "truck_cost", _table(self.truck_cost, len(demand)))
        for name in ("capacity", "max_production", "truck_size", "horizon"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ConfigError(f"SupplyChain({name}=...) must be 1 or more; got {value!r}.")
        for name in ("price", "production_cost", "storage_cost"):
            if not np.isfinite(getattr(self, name)):
                raise ConfigError(
                    f"SupplyChain({name}=...) must be finite; got {getattr(self, name)!r}."
                )

    @property
    def K(self) -> int:
        """Number of warehouses."""
        return len(self.demand)

    @property
    def actions(self) -> int:
        """Entries of an action: production, shares of the factory, shares of each warehouse."""
        return 2 + self.K + self.K**2

    @property
    def places(self) -> tuple[str, ...]:
        """Names of the factory and the warehouses."""
        letters = string.ascii_uppercase
        return ("factory", *(letters[i] if i < 26 else f"W{i + 1}" for i in range(self.K)))


def ring_costs(K: int, cheap: Sequence[tuple[int, int]]) -> Table:
    """Warehouses on a ring around the factory; trucks are cheap on the routes (from, to) given.

    >>> ring_costs(4, [(0, 1), (1, 2)])[0]
    (0.0, 0.03, 1.5, 1.5, 1.5)
    >>> ring_costs(4, [(0, 1), (1, 2)])[1]
    (0.0, 0.0, 0.03, 3.0, 1.5)
    """
    cost = np.zeros((K + 1, K + 1))
    cost[0, 1:] = NEAR
    apart = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    cost[1:, 1:] = np.where(np.minimum(apart, K - apart) == 1, NEAR, FAR)
    np.fill_diagonal(cost, 0.0)
    for start, end in cheap:
        cost[start, end] = CHEAP
    return _frozen(cost)


def scenario_costs(which: Scenario) -> Table:
    """The truck costs of one of the paper's scenarios.

    >>> scenario_costs(1)[0][:3], scenario_costs(3)[1][2]
    ((0.0, 0.03, 0.03), 0.03)
    """
    if which not in CHEAP_ROUTES:
        raise ConfigError(f'there is no scenario {which!r}. Give 1, 2, 3, "target" or a table.')
    place = {"0": 0} | {letter: i + 1 for i, letter in enumerate("ABCDEF")}
    return ring_costs(6, [(place[a], place[b]) for a, b in CHEAP_ROUTES[which].split()])


class Breakdown(eqx.Module):
    """Where a period's reward came from, in money, and what moved, in units."""

    revenue: Float32[Array, "*batch"]
    production: Float32[Array, "*batch"]
    storage: Float32[Array, "*batch"]
    transport: Float32[Array, "*batch"]
    sold: Int32[Array, "*batch K"]
    lost_sales: Int32[Array, "*batch K"]
    """Demand that was not met."""
    produced: Int32[Array, "*batch"]
    shipped: Int32[Array, "*batch places places"]
    """Units from and to."""
    trucks: Int32[Array, "*batch places places"]
    overflow: Int32[Array, "*batch places"]
    """Units that did not fit and were thrown away."""


def reset(*, config: SupplyChain) -> Int32[Array, " places"]:
    """All places are empty.

    >>> reset(config=SupplyChain()).tolist()
    [0, 0, 0, 0, 0, 0, 0]
    """
    return jnp.zeros(config.K + 1, jnp.int32)


def shares(
    action: Float32[Array, " actions"], *, config: SupplyChain
) -> tuple[Float32[Array, ""], Float32[Array, "places places"]]:
    """An action as a share of production, and for each place the shares of its stock per route.

    Negative entries count as 0. Shares that do not sum to one are divided by their sum; if all are
    0, everything stays where it is.

    >>> share, routes = shares(jnp.ones(44), config=SupplyChain())
    >>> float(share), np.round(1 / routes[0, :2]).tolist(), np.round(1 / routes[1, 1:3]).tolist()
    (1.0, [7.0, 7.0], [6.0, 6.0])
    """
    K = config.K
    action = jnp.clip(action, 0.0, 1.0)
    own = jnp.zeros((K, 1), action.dtype)  # nothing goes back to the factory
    rest = jnp.concatenate([own, action[K + 2 :].reshape(K, K)], axis=1)
    raw = jnp.concatenate([action[None, 1 : K + 2], rest])
    total = raw.sum(axis=1, keepdims=True)
    stay = jnp.eye(K + 1, dtype=action.dtype)
    return action[0], jnp.where(total > 0, raw / jnp.where(total > 0, total, 1.0), stay)


def shipments(
    stock: Int32[Array, " places"], action: Float32[Array, " actions"], *, config: SupplyChain
) -> Int32[Array, "places places"]:
    """Whole units that leave each place for each other; the rest stays."""
    _, routes = shares(action, config=config)
    units = jnp.floor(stock[:, None] * routes + _ROUNDING).astype(jnp.int32)
    return units * (1 - jnp.eye(config.K + 1, dtype=jnp.int32))


def trucks_for(units: Int32[Array, "*shape"], *, config: SupplyChain) -> Int32[Array, "*shape"]:
    """Trucks that so many units need.

    >>> trucks_for(jnp.array([0, 1, 4, 5]), config=SupplyChain()).tolist()
    [0, 1, 1, 2]
    """
    return -(-units // config.truck_size)


def step(
    key: PRNGKeyArray,
    stock: Int32[Array, " places"],
    action: Float32[Array, " actions"],
    *,
    config: SupplyChain,
) -> tuple[Int32[Array, " places"], Float32[Array, ""], Breakdown]:
    """One period. [Eq. supply_chain]

    >>> config = SupplyChain(1)
    >>> produce = jnp.zeros(44).at[0].set(1.0)
    >>> stock, reward, parts = step(jax.random.key(0), reset(config=config), produce, config=config)
    >>> stock.tolist(), round(float(reward), 2)
    ([35, 0, 0, 0, 0, 0, 0], -3.5)
    """
    return step_with(stock, action, drawn_demand(key, config=config), config=config)


def drawn_demand(key: PRNGKeyArray, *, config: SupplyChain) -> Int32[Array, " K"]:
    """Poisson numbers, looked up in tables, which JAX compiles and runs sooner than its own.

    >>> keys = jax.random.split(jax.random.key(0), 2000)
    >>> demand = jax.vmap(lambda key: drawn_demand(key, config=SupplyChain()))(keys)
    >>> np.round(demand.mean(axis=0)).tolist()
    [7.0, 6.0, 6.0, 5.0, 5.0, 5.0]
    """
    u = jax.random.uniform(key, (config.K,))
    return jnp.sum(u[:, None] >= _tails(config.demand), axis=1, dtype=jnp.int32)


def _tails(demand: tuple[float, ...]) -> Float32[np.ndarray, "K most"]:
    """P(demand ≤ n) for n = 0, 1, ..., until a float32 below 1 can no longer exceed it."""
    n = np.arange(int(max(demand) + 12 * np.sqrt(max(demand)) + 12))
    return pdtr(n, np.array(demand)[:, None]).astype(np.float32)


def step_with(
    stock: Int32[Array, " places"],
    action: Float32[Array, " actions"],
    demand: Int32[Array, " K"],
    *,
    config: SupplyChain,
) -> tuple[Int32[Array, " places"], Float32[Array, ""], Breakdown]:
    """One period in which the demand is known."""
    units = shipments(stock, action, config=config)
    trucks = trucks_for(units, config=config)
    there = stock - units.sum(axis=1) + units.sum(axis=0)
    kept = jnp.minimum(there, config.capacity)

    sold = jnp.minimum(kept[1:], demand)
    left = kept.at[1:].add(-sold)

    share = jnp.clip(action[0], 0.0, 1.0)
    produced = jnp.floor(share * config.max_production + _ROUNDING).astype(jnp.int32)
    full = left.at[0].add(produced)
    after = jnp.minimum(full, config.capacity)

    parts = Breakdown(
        revenue=config.price * sold.sum().astype(jnp.float32),
        production=config.production_cost * produced.astype(jnp.float32),
        storage=config.storage_cost * left.sum().astype(jnp.float32),
        transport=jnp.sum(trucks * jnp.array(config.truck_cost, jnp.float32)),
        sold=sold,
        lost_sales=demand - sold,
        produced=produced,
        shipped=units,
        trucks=trucks,
        overflow=(there - kept) + (full - after),
    )
    reward = parts.revenue - parts.production - parts.storage - parts.transport
    return after, reward, parts


def _table(cost: object, K: int) -> Table:
    """A checked table of truck costs, from a table or the name of a scenario."""
    if isinstance(cost, int | str):
        if K != 6:
            raise ConfigError(
                f"the paper's scenarios have 6 warehouses; this network has {K}. Give a table, "
                "for example ring_costs(K, cheap)."
            )
        return scenario_costs(cost)  # pyright: ignore[reportArgumentType]
    try:
        table = np.asarray(cost, np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.shape != (K + 1, K + 1) or not np.isfinite(table).all():
        raise ConfigError(
            f"SupplyChain(truck_cost=...) must be a scenario or finite numbers of shape "
            f"({K + 1}, {K + 1}); got shape {table.shape}."
        )
    return _frozen(table)


def _frozen(table: Float64[np.ndarray, "places places"]) -> Table:
    return tuple(tuple(map(float, row)) for row in table)
