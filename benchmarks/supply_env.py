"""The supply chain: steps per second of many copies at once, against one Gymnasium environment.

Ours are 1024 networks in one compiled scan; the peer is the same network behind Gymnasium's
interface, stepped from Python. Actions are random. Ours draws them as it goes; the peer finds its
own ready.
"""

from collections.abc import Callable
from functools import partial
from itertools import cycle

import jax
import jax.numpy as jnp
import numpy as np
from apart import apart
from bers_studies.envs import supply_chain
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_env import SupplyChainEnv
from row import Row, faster
from timing import take_turns

COPIES, STEPS = 1024, 200
ROUNDS, CALLS = 10, 2
_CONFIG = SupplyChain()


def rows() -> list[Row]:
    """One race."""
    with apart("supply_env", {"ours": ours, "gymnasium": peer}) as turns:
        seconds = take_turns("supply_env", turns, rounds=ROUNDS, calls=CALLS)
    return [
        faster(
            "supply_env",
            COPIES * STEPS / seconds["ours"],
            STEPS / seconds["gymnasium"],
            peer_name="one Gymnasium environment from Python",
            goal=100,
            unit="environment steps per second",
            note=f"{COPIES} copies at once, {STEPS} steps each; random actions.",
        )
    ]


def ours(copies: int = COPIES) -> Callable[[], float]:
    """An episode of all copies; leaves the mean reward of a step."""
    calls = 0

    def run() -> float:
        nonlocal calls
        calls += 1
        return float(episodes(jax.random.key(calls), copies=copies))

    return run


@partial(jax.jit, static_argnames="copies")
def episodes(key: jax.Array, *, copies: int) -> jax.Array:
    """The mean reward over all steps and copies."""
    step = jax.vmap(partial(supply_chain.step, config=_CONFIG))

    def one(stocks: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        act_key, step_key = jax.random.split(key)
        actions = jax.random.uniform(act_key, (copies, _CONFIG.actions))
        stocks, rewards, _ = step(jax.random.split(step_key, copies), stocks, actions)
        return stocks, rewards.mean()

    empty = jnp.stack([supply_chain.reset(config=_CONFIG)] * copies)
    return jax.lax.scan(one, empty, jax.random.split(key, STEPS))[1].mean()


def peer() -> Callable[[], float]:
    """An episode, step by step; leaves the mean reward of a step."""
    env = SupplyChainEnv()
    shape = (50, STEPS, *env.action_space.shape)
    actions = cycle(np.random.default_rng(0).random(shape, np.float32))
    env.reset(seed=0)

    def run() -> float:
        env.reset()
        return sum(float(env.step(action)[1]) for action in next(actions)) / STEPS

    return run
