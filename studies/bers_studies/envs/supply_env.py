"""The supply chain as Gymnasium environments, one network at a time or many in one compiled call.

Enters: a scenario of the paper or any network. Leaves: environments for everything that speaks
Gymnasium, `gymnasium.make("bers/SupplyChain-v0")` after `import bers_studies.envs`. The periods
are those of `bers_studies.envs.supply_chain`; demand is drawn from Gymnasium's own generator, so
that a seed fixes a whole episode.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from jaxtyping import Bool, Float32, Float64, Int, Int32, UInt8
from numpy.typing import ArrayLike

from bers.errors import ConfigError
from bers_studies.envs.checks import (
    RENDERING,
    checked_action,
    checked_limit,
    checked_mask,
    checked_mode,
    checked_options,
    seeds_of,
)
from bers_studies.envs.supply_chain import Breakdown, Scenario, SupplyChain, Table, step_with
from bers_studies.envs.supply_inputs import one_hot

_AHEAD = 64  # periods of demand that the vector environment draws at once
_step = jax.jit(step_with, static_argnames="config")


class SupplyChainEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One supply chain.

    Observation: the stocks of the factory and of the K warehouses, whole numbers from 0 to
    `capacity`. They are float32, which networks and Gymnasium's wrappers take as it is.

    Action: 2 + K + K² numbers in [0, 1]: the share of `max_production` to produce; the shares of
    the factory's stock that stay and go to each warehouse; and for each warehouse the shares that
    go to each warehouse, its own included. Shares of a place that do not sum to one are divided by
    their sum; if all are 0, everything stays. What is below 0 or above 1 is clipped.

    Reward: revenue less production, storage and transport, which are in `info`, with units `sold`,
    `lost_sales`, `produced`, `overflow`, and `shipped` and `trucks` (from, to).

    `scenario` is 1, 2, 3, "target" or a table of truck costs. Further options are those of
    `SupplyChain`: demand, price, production_cost, storage_cost, capacity, max_production,
    truck_size. There is no terminal state. Episodes end by Gymnasium's time limit, after 200
    periods; `gymnasium.make(..., max_episode_steps=50)` sets another. A `SupplyChainEnv` made
    directly goes on for ever.

    >>> env = gymnasium.make("bers/SupplyChain-v0", scenario=1)
    >>> stock, info = env.reset(seed=0)
    >>> action = np.zeros(44, np.float32)
    >>> action[0] = 1.0
    >>> stock, reward, terminated, truncated, info = env.step(action)
    >>> stock.tolist(), round(reward, 2), info["produced"], info["lost_sales"].shape
    ([35.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], -3.5, 35, (6,))
    """

    metadata = RENDERING

    def __init__(
        self,
        scenario: Scenario | Table = "target",
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self.network = _network(scenario, options)
        self.render_mode = checked_mode(render_mode)
        self.observation_space, self.action_space = _spaces(self.network)
        self._stock = np.zeros(self.network.K + 1, np.int32)
        self._parts: dict[str, Any] | None = None
        self._period = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32[np.ndarray, " places"], dict[str, Any]]:
        """All places are empty."""
        super().reset(seed=seed)
        self._stock, self._parts, self._period = np.zeros_like(self._stock), None, 0
        return self._stock.astype(np.float32), {}

    def step(
        self, action: ArrayLike
    ) -> tuple[Float32[np.ndarray, " places"], float, bool, bool, dict[str, Any]]:
        """One period."""
        action = checked_action(action, (self.network.actions,))
        demand = self.np_random.poisson(self.network.demand).astype(np.int32)
        stock, reward, parts = _step(self._stock, action, demand, config=self.network)
        self._stock, self._period = np.array(stock), self._period + 1
        numbers = _numbers(parts)
        info = {name: x.item() if x.ndim == 0 else x for name, x in numbers.items()}
        self._parts = None if self.render_mode is None else _copy(info)
        return self._stock.astype(np.float32), float(reward), False, False, info

    def render(self) -> UInt8[np.ndarray, "height width 3"] | None:
        """The network, its stocks and the last period, as a picture."""
        if self.render_mode is None:
            return None
        return _picture(self._stock, self._parts, self._period, self.network)


class SupplyChainVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many copies of one supply chain, all stepped in one compiled call.

    The options are those of `SupplyChainEnv`, and `max_episode_steps`, 200; None is for ever. Copy
    i, seeded with seed + i, does what a `SupplyChainEnv` with that seed does, bit for bit. As in
    Gymnasium's own vector environments, the call after the end of an episode starts the next one:
    its action is not used and its reward is 0. Prefer it to `AsyncVectorEnv`, which forks: JAX may
    hang in forked processes.

    >>> envs = gymnasium.make_vec("bers/SupplyChain-v0", num_envs=3, scenario=2)
    >>> stocks, info = envs.reset(seed=0)
    >>> stocks, rewards, terminated, truncated, info = envs.step(np.ones((3, 44), np.float32))
    >>> stocks.shape, rewards.round(2).tolist(), info["shipped"].shape
    ((3, 7), [-3.5, -3.5, -3.5], (3, 7, 7))
    """

    metadata = RENDERING | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenario | Table = "target",
        *,
        max_episode_steps: int | None = 200,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise ConfigError(
                f"SupplyChainVectorEnv(num_envs=...) must be 1 or more; got {num_envs}."
            )
        self.num_envs = num_envs
        self.network = _network(scenario, options)
        self.render_mode = checked_mode(render_mode)
        self.single_observation_space, self.single_action_space = _spaces(self.network)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._limit = checked_limit(max_episode_steps)
        self._stock = np.zeros((num_envs, self.network.K + 1), np.int32)
        self._parts: dict[str, np.ndarray] | None = None
        self._period, self._over = np.zeros(num_envs, int), np.zeros(num_envs, bool)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]
        self._demand = np.zeros((num_envs, _AHEAD, self.network.K), np.int32)
        self._next = np.full(num_envs, _AHEAD)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Float32[np.ndarray, "n places"], dict[str, Any]]:
        """All places are empty. A seed is for the first copy, the next has one more; or a list.

        `options={"reset_mask": mask}` leaves the copies alone where the mask is False.
        """
        chosen = checked_mask((options or {}).get("reset_mask"), self.num_envs)
        for i, own in enumerate(seeds_of(seed, self.num_envs)):
            if own is not None and chosen[i]:
                self._generators[i], self._next[i] = seeding.np_random(own)[0], _AHEAD
        self._stock = np.where(chosen[:, None], np.int32(0), self._stock)
        self._period, self._over = np.where(chosen, 0, self._period), self._over & ~chosen
        self._parts = None
        return self._stock.astype(np.float32), {}

    def step(
        self, actions: ArrayLike
    ) -> tuple[
        Float32[np.ndarray, "n places"],
        Float64[np.ndarray, " n"],
        Bool[np.ndarray, " n"],
        Bool[np.ndarray, " n"],
        dict[str, Any],
    ]:
        """One period, or for a copy whose episode is over a new start."""
        actions = checked_action(actions, (self.num_envs, self.network.actions))
        goes = ~self._over
        stock, reward, parts = _steps(self._stock, actions, self._draw(goes), config=self.network)
        self._stock = np.where(goes[:, None], np.asarray(stock), np.int32(0))
        self._period = np.where(goes, self._period + 1, 0)
        self._over = self._period >= self._limit
        info: dict[str, Any] = {}
        for name, value in _numbers(parts).items():
            value[~goes] = 0
            info[name], info[f"_{name}"] = value, goes.copy()
        self._parts = None if self.render_mode is None else _copy(info)
        rewards = np.where(goes, np.asarray(reward, np.float64), 0.0)
        never = np.zeros(self.num_envs, bool)
        return self._stock.astype(np.float32), rewards, never, self._over.copy(), info

    def render(self) -> tuple[UInt8[np.ndarray, "height width 3"], ...] | None:
        """A picture of each copy."""
        if self.render_mode is None:
            return None
        moved: list[dict[str, Any] | None] = [None] * self.num_envs
        if self._parts is not None:
            for i in np.flatnonzero(self._period):
                moved[i] = {name: value[i] for name, value in self._parts.items()}
        shown = zip(self._stock, moved, self._period.tolist(), strict=True)
        return tuple(_picture(*one, self.network) for one in shown)

    def _draw(self, goes: Bool[np.ndarray, " n"]) -> Int32[np.ndarray, "n K"]:
        """The demand of the next period. A block of periods holds what one by one would."""
        for i in np.flatnonzero(goes & (self._next == _AHEAD)):
            block = self._generators[i].poisson(self.network.demand, self._demand.shape[1:])
            self._demand[i], self._next[i] = block, 0
        demand = self._demand[np.arange(self.num_envs), self._next % _AHEAD]
        self._next += goes
        return demand


class OneHotStocks(gymnasium.ObservationWrapper[np.ndarray, np.ndarray, np.ndarray]):
    """Stocks one-hot, as the paper's networks see them.

    >>> env = OneHotStocks(gymnasium.make("bers/SupplyChain-v0"))
    >>> env.reset(seed=0)[0].shape
    (357,)
    """

    def __init__(self, env: gymnasium.Env[np.ndarray, np.ndarray]) -> None:
        super().__init__(env)
        self.network: SupplyChain = env.unwrapped.network  # pyright: ignore
        width = (self.network.K + 1) * (self.network.capacity + 1)
        self.observation_space = spaces.Box(0.0, 1.0, (width,), np.float32)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """One row."""
        return one_hot(np.asarray(observation)[None], config=self.network)[0]


@partial(jax.jit, static_argnames="config")
def _steps(stock: Any, action: Any, demand: Any, *, config: SupplyChain) -> Any:
    return jax.vmap(partial(step_with, config=config))(stock, action, demand)


def _network(scenario: Scenario | Table, options: dict[str, Any]) -> SupplyChain:
    return SupplyChain(scenario, **checked_options(options, SupplyChain, own={"truck_cost"}))


def _spaces(network: SupplyChain) -> tuple[spaces.Box, spaces.Box]:
    return (
        spaces.Box(0, network.capacity, (network.K + 1,), np.float32),
        spaces.Box(0, 1, (network.actions,), np.float32),
    )


def _numbers(parts: Breakdown) -> dict[str, np.ndarray]:
    """The parts by name, as arrays that can be written to."""
    return {name: np.array(value) for name, value in vars(parts).items()}


def _copy(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(x) if isinstance(x, np.ndarray) else x for name, x in parts.items()}


def _picture(
    stock: Int[np.ndarray, " places"],
    parts: dict[str, Any] | None,
    period: int,
    network: SupplyChain,
) -> UInt8[np.ndarray, "height width 3"]:
    from bers_studies.envs.pictures import as_pixels
    from bers_studies.envs.supply_drawing import draw_network

    return as_pixels(draw_network(stock, parts, config=network, period=period))
