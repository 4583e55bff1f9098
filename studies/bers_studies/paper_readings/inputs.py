"""What the encoder may be shown of the supply chain's (s, a, s'), which the paper does not say.

Enters: stocks before, actions, stocks after, as rows. Leaves: rows of numbers.
"""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float32, Int

from bers.data.transitions import Inputs
from bers_studies.envs.supply_chain import SupplyChain, shipments
from bers_studies.envs.supply_inputs import one_hot_stocks
from bers_studies.supply.demonstrations import with_trucks

Shows = Literal["trucks", "units", "stocks", "one-hot"]


def inputs_named(name: Shows) -> Inputs:
    """What rows are made of.

    >>> empty, act = np.zeros((2, 7), np.int32), np.ones((2, 44), np.float32)
    >>> [inputs_named(name)(empty, act, empty).shape[1] for name in ("stocks", "units", "trucks")]
    [58, 94, 94]
    """
    network = SupplyChain(1)
    made: dict[Shows, Inputs] = {
        "trucks": with_trucks(),
        "units": partial(units_and_stocks, config=network),
        "stocks": stocks_and_action,
        "one-hot": partial(one_hot_stocks, config=network),
    }
    return made[name]


def stocks_and_action(
    s_tm1: Int[np.ndarray, "n places"],
    a_tm1: Float32[np.ndarray, "n A"],
    s_t: Int[np.ndarray, "n places"],
) -> Float32[np.ndarray, "n k"]:
    """Stocks before and after, in units, and the action."""
    return np.concatenate([s_tm1, s_t, a_tm1], axis=1, dtype=np.float32)


def units_and_stocks(
    s_tm1: Int[np.ndarray, "n places"],
    a_tm1: Float32[np.ndarray, "n A"],
    s_t: Int[np.ndarray, "n places"],
    *,
    config: SupplyChain,
) -> Float32[np.ndarray, "n k"]:
    """The same, and the units on every route."""
    ship = jax.jit(jax.vmap(partial(shipments, config=config)))
    units = np.asarray(ship(jnp.asarray(s_tm1), jnp.asarray(a_tm1)))
    routes = ~np.eye(units.shape[1], dtype=bool)
    routes[:, 0] = False  # nothing goes back to the factory
    return np.concatenate([s_tm1, s_t, a_tm1, units[:, routes]], axis=1, dtype=np.float32)
