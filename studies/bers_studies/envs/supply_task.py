"""The supply chain as a task of control: what a policy sees, and what its outputs mean.

Stocks are shown one-hot. The outputs go through a sigmoid (production) and one softmax per place
(where its stock goes), so that shares sum to one. [Eq. supply_actor]
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float32, Int32, PRNGKeyArray

from bers_studies.envs import supply_chain
from bers_studies.envs.one_hot import Ones
from bers_studies.envs.supply_chain import SupplyChain


@dataclass(frozen=True)
class SupplyTask:
    """One network, to be controlled.

    >>> task = SupplyTask(SupplyChain(1))
    >>> task.observe(task.reset(jax.random.key(0))).width, task.outputs
    (357, 44)
    """

    network: SupplyChain

    @property
    def horizon(self) -> int:
        """Periods of an episode."""
        return self.network.horizon

    @property
    def outputs(self) -> int:
        """As many as an action has entries."""
        return self.network.actions

    def reset(self, key: PRNGKeyArray) -> Int32[Array, " places"]:
        """All places are empty."""
        return supply_chain.reset(config=self.network)

    def step(
        self, key: PRNGKeyArray, s_tm1: Int32[Array, " places"], a_tm1: Float32[Array, " A"]
    ) -> tuple[Int32[Array, " places"], Float32[Array, ""]]:
        """One period."""
        s_t, r_t, _ = supply_chain.step(key, s_tm1, a_tm1, config=self.network)
        return s_t, r_t

    def observe(self, s: Int32[Array, " places"]) -> Ones:
        """Every stock one-hot."""
        levels = self.network.capacity + 1
        return Ones(s + levels * jnp.arange(len(s)), levels * len(s))

    def action(self, outputs: Float32[Array, " A"]) -> Float32[Array, " A"]:
        """A sigmoid, and a softmax per place."""
        production, factory, rest = self._split(outputs)
        return jnp.concatenate(
            [
                jax.nn.sigmoid(production),
                jax.nn.softmax(factory),
                jax.nn.softmax(rest, axis=-1).ravel(),
            ]
        )

    def explore(
        self, key: PRNGKeyArray, action: Float32[Array, " A"], sigma: Float32[Array, ""] | float
    ) -> Float32[Array, " A"]:
        """Gaussian noise on every entry, then back to shares that sum to one."""
        moved = jnp.clip(action + sigma * jax.random.normal(key, action.shape), 0.0, 1.0)
        production, factory, rest = self._split(moved)
        factory, rest = (x / jnp.maximum(x.sum(-1, keepdims=True), 1e-6) for x in (factory, rest))
        return jnp.concatenate([production, factory, rest.ravel()])

    def surprise(
        self, outputs: Float32[Array, " A"], action: Float32[Array, " A"]
    ) -> Float32[Array, ""]:
        """Cross-entropy of the shares, summed over production and places."""
        log_on, log_off = jax.nn.log_sigmoid(outputs[0]), jax.nn.log_sigmoid(-outputs[0])
        production, factory, rest = self._split(action)
        _, out_factory, out_rest = self._split(outputs)
        return -(
            production[0] * log_on
            + (1 - production[0]) * log_off
            + jnp.sum(factory * jax.nn.log_softmax(out_factory))
            + jnp.sum(rest * jax.nn.log_softmax(out_rest, axis=-1))
        )

    def _split(self, entries: Float32[Array, " A"]) -> tuple[Array, Array, Array]:
        K = self.network.K
        return entries[:1], entries[1 : K + 2], entries[K + 2 :].reshape(K, K)
