"""A task of control that is solved in a second: hit a number."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Hit:
    """The state is a random number in [0, 1]; the reward is -(a - goal(s))²."""

    slope: float = 0.5
    horizon: int = 20
    outputs: int = 1

    def goal(self, s):
        return 0.2 + self.slope * s[0]

    def reset(self, key):
        return jax.random.uniform(key, (1,))

    def step(self, key, s_tm1, a_tm1):
        return jax.random.uniform(key, (1,)), -((a_tm1[0] - self.goal(s_tm1)) ** 2)

    def observe(self, s):
        return s

    def action(self, outputs):
        return jax.nn.sigmoid(outputs)

    def explore(self, key, action, sigma):
        return jnp.clip(action + sigma * jax.random.normal(key, action.shape), 0.0, 1.0)

    def surprise(self, outputs, action):
        on, off = jax.nn.log_sigmoid(outputs), jax.nn.log_sigmoid(-outputs)
        return -jnp.sum(action * on + (1 - action) * off)
