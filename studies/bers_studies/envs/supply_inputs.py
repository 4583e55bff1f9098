"""What a model of the supply chain's reward is shown of a transition.

Enters: stocks before, actions, stocks after, as rows. Leaves: rows of numbers. The reward is close
to additive in the number of trucks per route, which the controller knows before it pays.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int

from bers_studies.envs.supply_chain import SupplyChain, shipments, trucks_for


def trucks_and_stocks(
    s_tm1: Int[np.ndarray, "n places"],
    a_tm1: Float32[np.ndarray, "n A"],
    s_t: Int[np.ndarray, "n places"],
    *,
    config: SupplyChain,
) -> Float32[np.ndarray, "n k"]:
    """Stocks before and after, the action, and the trucks on every route.

    >>> empty, act = np.zeros((2, 7), np.int32), np.ones((2, 44), np.float32)
    >>> trucks_and_stocks(empty, act, empty, config=SupplyChain()).shape
    (2, 94)
    """
    trucks = np.asarray(trucks_per_route(jnp.asarray(s_tm1), jnp.asarray(a_tm1), config=config))
    return np.concatenate(
        [s_tm1, s_t, a_tm1, trucks[:, _routes(config.K)]], axis=1, dtype=np.float32
    )


def one_hot_stocks(
    s_tm1: Int[np.ndarray, "n places"],
    a_tm1: Float32[np.ndarray, "n A"],
    s_t: Int[np.ndarray, "n places"],
    *,
    config: SupplyChain,
) -> Float32[np.ndarray, "n k"]:
    """Stocks before and after, each one-hot, and the action: what the paper's critic sees.

    >>> empty, act = np.zeros((2, 7), np.int32), np.ones((2, 44), np.float32)
    >>> one_hot_stocks(empty, act, empty, config=SupplyChain()).shape
    (2, 758)
    """
    return np.concatenate(
        [one_hot(s_tm1, config=config), one_hot(s_t, config=config), a_tm1], axis=1
    )


def one_hot(
    stocks: Int[np.ndarray, "n places"], *, config: SupplyChain
) -> Float32[np.ndarray, "n levels"]:
    """Rows of stocks, each a one among zeros.

    >>> one_hot(np.array([[0, 2]]), config=SupplyChain(capacity=2)).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0]]
    """
    levels = np.eye(config.capacity + 1, dtype=np.float32)
    return levels[np.asarray(stocks, np.int64)].reshape(len(stocks), -1)


@partial(jax.jit, static_argnames="config")
def trucks_per_route(
    stock: Int[Array, "n places"], action: Float32[Array, "n A"], *, config: SupplyChain
) -> Int[Array, "n pairs"]:
    """Trucks from every place to every other, row by row."""
    units = jax.vmap(partial(shipments, config=config))(stock, action)
    return trucks_for(units, config=config).reshape(len(stock), -1)


def _routes(K: int) -> Int[np.ndarray, " routes"]:
    """Numbers of the pairs (from, to) that are routes: to a warehouse, and not to itself."""
    possible = ~np.eye(K + 1, dtype=bool)
    possible[:, 0] = False
    return np.flatnonzero(possible)
