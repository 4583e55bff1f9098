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
from bers.data.transitions import Inputs
from bers.errors import ConfigError
from bers.learners.base import Experience
from bers.reuse.transitions import BatchGuide
from bers_studies.rl.adam import Moments, adam, no_moments
from bers_studies.rl.handed import Handed, filled, handed_by, key_of, nothing_handed
from bers_studies.rl.networks import Net, new_net, towards, width
from bers_studies.rl.policy_reuse import PolicyGuide
from bers_studies.rl.replay import Ring, Transitions, add, fetch, new_ring, uniform
from bers_studies.rl.task import ChoiceTask, experience_of, totals


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
class DQN:
    """The learner: what stays the same over episodes. [Algorithm dqn]"""

    task: ChoiceTask
    inputs: Inputs
    """What a model of the reward is shown of a transition (s, a, s')."""
    pool: Transitions | None = None
    """Transitions of all sources, one source behind the other."""
    config: DQNConfig = DQNConfig()

    def start(self, rng: np.random.Generator) -> DQNState:
        """A fresh network."""
        return new_state(key_of(rng), task=self.task, config=self.config)

    def iterate(
        self, rng: np.random.Generator, state: DQNState, guide: BatchGuide | PolicyGuide | None
    ) -> tuple[DQNState, Experience]:
        """One episode. The state that goes in is used up.

        The guide has a generator of its own, so with p_m = 0 the bits are those of plain DQN.
        """
        none = nothing_handed(self.task, self.config)
        handed = handed_by(guide, none, pool=self.pool is not None)
        state, rows = episode(
            key_of(rng), state, handed, self.pool, task=self.task, config=self.config
        )
        return state, experience_of(rows, self.inputs)


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
    start_key, steps_key = jax.random.split(key)

    def one(carry: tuple[DQNState, Any], inputs: tuple) -> tuple[tuple[DQNState, Any], Any]:
        state, s_tm1 = carry
        key, rows, r_rows, follow = inputs
        act_key, step_key, batch_key = jax.random.split(key, 3)
        a_tm1 = _act(act_key, state.net, s_tm1, follow, handed.other, task, config)
        s_t, r_t = task.step(step_key, s_tm1, a_tm1)
        new = Transitions(s_tm1, a_tm1, r_t, s_t)
        replay = add(state.replay, new)
        batch, discount = _drawn(batch_key, replay, task.horizon, config)
        if pool is not None:
            batch = filled(batch, pool, rows, r_rows)
            discount = jnp.where(rows >= 0, config.gamma, discount)
        state = DQNState(state.net, state.slow, state.moments, replay)
        state = update(state, batch, discount, rows >= 0, handed.clone, task=task, config=config)
        return (state, s_t), new

    keys = jax.random.split(steps_key, task.horizon)
    inputs = (keys, handed.rows, handed.r_t, handed.follow)
    (state, _), seen = jax.lax.scan(one, (state, task.reset(start_key)), inputs)
    return state, seen


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


def _act(
    key: PRNGKeyArray,
    net: Net,
    s: Any,
    follow: Bool[Array, ""],
    other: Net | None,
    task: ChoiceTask,
    config: DQNConfig,
) -> Int32[Array, ""]:
    seen = task.observe(s)
    own = _greedy(key, net, seen, config.epsilon)
    if other is None:
        return own
    return jnp.where(follow, jnp.argmax(other(seen)).astype(jnp.int32), own)


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
