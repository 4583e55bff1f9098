"""Deep Q-learning, the base learner for tasks with choices. [Algorithm dqn]

Enters: a task with finitely many actions, and what sources hand over: rows for the batches,
policies to follow. Leaves: a value for every choice that improves, and the transitions of each
episode. A whole episode, one update per step, is one compiled scan. Without sources, or with
p_m = 0, it is plain DQN, bit for bit.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int32, PRNGKeyArray

from bers.data.checks import whole
from bers.errors import ConfigError
from bers_studies.rl.adam import Moments, adam, no_moments
from bers_studies.rl.episodes import EpisodeLearner, scanned
from bers_studies.rl.handed import Handed, filled
from bers_studies.rl.networks import Net, new_net, towards, width
from bers_studies.rl.replay import Ring, Transitions, add, fetch, new_ring, uniform
from bers_studies.rl.task import ChoiceTask, totals


@dataclass(frozen=True)
class DQNConfig:
    """The numbers of DQN; the defaults are those of the reacher's experiment."""

    hidden: tuple[int, ...] = (256, 256)
    """Units of each hidden layer (as published)."""
    activation: str = "tanh"
    """Between the layers (as published)."""
    rate: float = 1e-3
    """Adam's (as published)."""
    gamma: float = 0.9
    """Discount (as published)."""
    capacity: int = 30_000
    """Transitions in the replay; as many as the run has steps is no limit (as published)."""
    batch_size: int = 32
    """Rows of a batch (as published)."""
    epsilon: float = 0.1
    """Share of random actions in training (as published)."""
    target_rate: float = 0.01
    """Share of the way that the target network moves at each step. Not published."""
    double: bool = False
    """Let the network choose the action that its slow copy values (van Hasselt and others)."""
    n_steps: int = 1
    """Rewards that are summed before the value of a later state stands in; rows of sources, which
    need not follow one another, count as one step."""
    clone_margin: float = 0.3
    """By how much a source's action should be ahead where it is imitated (Hester and others)."""

    def __post_init__(self) -> None:
        for name in ("capacity", "batch_size", "n_steps"):
            whole(getattr(self, name), f"DQNConfig({name}=...)")
        for name in ("gamma", "target_rate", "epsilon"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(
                    f"DQNConfig({name}=...) must be in [0, 1]; got {getattr(self, name)}."
                )


class DQNState(eqx.Module):
    """All that an episode moves."""

    net: Net
    slow: Net
    moments: Moments
    replay: Ring


@dataclass(frozen=True)
class DQN(EpisodeLearner):
    """The learner: what stays the same over episodes. [Algorithm dqn]"""

    task: ChoiceTask
    config: DQNConfig = DQNConfig()

    def new(self, key: PRNGKeyArray) -> DQNState:
        """A fresh network."""
        return new_state(key, task=self.task, config=self.config)

    def played(
        self, key: PRNGKeyArray, state: DQNState, handed: Handed
    ) -> tuple[DQNState, Transitions]:
        """One episode."""
        return episode(key, state, handed, self.pool, task=self.task, config=self.config)


def new_state(key: PRNGKeyArray, *, task: ChoiceTask, config: DQNConfig) -> DQNState:
    """A fresh network and an empty replay."""
    net_key, state_key = jax.random.split(key)
    s = task.reset(state_key)
    sizes = (width(task.observe(s)), *config.hidden, task.actions)
    net = new_net(net_key, sizes, activation=config.activation)
    own = new_ring(Transitions(s, jnp.zeros((), jnp.int32), jnp.zeros(()), s), config.capacity)
    state = DQNState(net, net, no_moments(net), own)
    return jax.tree.map(jnp.array, state)  # copies, so that all can be written in place


@partial(jax.jit, static_argnames=("task", "config"), donate_argnames="state")
def episode(
    key: PRNGKeyArray,
    state: DQNState,
    handed: Handed,
    pool: Transitions | None,
    *,
    task: ChoiceTask,
    config: DQNConfig,
) -> tuple[DQNState, Transitions]:
    """One episode: at every step act, store, and learn from one batch. [Algorithm dqn]"""

    def act(key: PRNGKeyArray, state: DQNState, seen: Any) -> Int32[Array, ""]:
        return _greedy(key, state.net, seen, config.epsilon)

    def learn(
        key: PRNGKeyArray, state: DQNState, new: Transitions, rows: Array, r_rows: Array
    ) -> tuple[DQNState, Transitions]:
        replay = add(state.replay, new)
        batch, discount = _drawn(key, replay, task.horizon, config)
        if pool is not None:
            batch = filled(batch, pool, rows, r_rows)
            discount = jnp.where(rows >= 0, config.gamma, discount)
        state = replace(state, replay=replay)
        state = update(state, batch, discount, rows >= 0, handed.clone, task=task, config=config)
        return state, new

    def follow(other: Net, seen: Any) -> Int32[Array, ""]:
        return jnp.argmax(other(seen)).astype(jnp.int32)

    return scanned(key, state, handed, task=task, act=act, follow=follow, learn=learn)


def update(
    state: DQNState,
    batch: Transitions,
    discount: Float[Array, " b"],
    foreign: Bool[Array, " b"],
    clone: Float[Array | np.ndarray, ""],
    *,
    task: ChoiceTask,
    config: DQNConfig,
) -> DQNState:
    """One step of the network and of its slow copy on a batch. [Eq. dqn]

    Foreign rows are imitated, by `clone`: their action should be ahead of all others by a margin.
    """
    before, after = jax.vmap(task.observe)(batch.s_tm1), jax.vmap(task.observe)(batch.s_t)
    slow = state.slow(after)
    chosen = jnp.argmax(state.net(after) if config.double else slow, axis=1)
    goal = batch.r_t + discount * _at(slow, chosen)

    def loss(net: Net) -> Array:
        q = net(before)
        did = _at(q, batch.a_tm1)
        others = q + config.clone_margin * (jnp.arange(task.actions) != batch.a_tm1[:, None])
        behind = jnp.mean(foreign * (others.max(axis=1) - did))
        return 0.5 * jnp.mean((goal - did) ** 2) + clone * behind

    net, moments = adam(state.net, jax.grad(loss)(state.net), state.moments, config.rate)
    return DQNState(net, towards(state.slow, net, config.target_rate), moments, state.replay)


@partial(jax.jit, static_argnames=("task", "episodes"))
def returns_of(
    key: PRNGKeyArray, net: Net, *, task: ChoiceTask, episodes: int, epsilon: float = 0.03
) -> Float32[Array, " episodes"]:
    """Returns of the greedy policy with a few random actions (as published: 0.03)."""

    def step(s: Any, key: PRNGKeyArray) -> tuple[Any, Array]:
        act_key, step_key = jax.random.split(key)
        return task.step(step_key, s, _greedy(act_key, net, task.observe(s), epsilon))

    return totals(key, step, task=task, episodes=episodes)


def _greedy(key: PRNGKeyArray, net: Net, seen: Any, epsilon: float) -> Int32[Array, ""]:
    coin_key, random_key = jax.random.split(key)
    q = net(seen)
    any_one = jax.random.randint(random_key, (), 0, q.shape[-1], jnp.int32)
    return jnp.where(
        jax.random.uniform(coin_key) < epsilon, any_one, jnp.argmax(q).astype(jnp.int32)
    )


def _drawn(
    key: PRNGKeyArray, replay: Ring, horizon: int, config: DQNConfig
) -> tuple[Transitions, Float[Array, " b"]]:
    """A batch of own rows, and the discount of the value that follows each."""
    rows = uniform(key, replay, config.batch_size)
    if config.n_steps == 1:
        return fetch(replay, rows), jnp.full(config.batch_size, config.gamma)
    # rows follow one another in the ring; the last of an episode, or the newest, ends the sum
    newest = (replay.count - 1) % replay.capacity
    ahead = (newest - rows) % replay.capacity
    number = replay.count - 1 - ahead  # of all rows ever added
    left = jnp.minimum(ahead, horizon - 1 - number % horizon)
    steps = jnp.minimum(left, config.n_steps - 1)
    total = jnp.zeros(config.batch_size)
    for k in range(config.n_steps):
        later = fetch(replay, (rows + jnp.minimum(k, steps)) % replay.capacity)
        total = total + jnp.where(k <= steps, config.gamma**k * later.r_t, 0.0)
    last = fetch(replay, (rows + steps) % replay.capacity)
    batch = replace(fetch(replay, rows), r_t=total, s_t=last.s_t)
    return batch, config.gamma ** (steps + 1.0)


def _at(q: Float[Array, "b A"], actions: Int[Array, " b"]) -> Float[Array, " b"]:
    return jnp.take_along_axis(q, actions[:, None], axis=1)[:, 0]
