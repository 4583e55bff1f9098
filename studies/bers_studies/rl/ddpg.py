"""Deep Deterministic Policy Gradient, the base learner for control. [Algorithm ddpg]

Enters: a task, and what sources hand over: rows for the batches, policies to follow. Leaves:
networks that improve, and the transitions of each episode. A whole episode, one update per step, is
one compiled scan. Without sources, or with p_m = 0, it is plain DDPG, bit for bit.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int32, PRNGKeyArray

from bers.data.checks import whole
from bers.errors import ConfigError
from bers_studies.envs.one_hot import Ones
from bers_studies.rl import prioritised
from bers_studies.rl.adam import Moments, adam, no_moments
from bers_studies.rl.episodes import EpisodeLearner, scanned
from bers_studies.rl.handed import Handed, filled
from bers_studies.rl.networks import Net, new_net, towards, width
from bers_studies.rl.prioritised import Prioritised, draw, learned
from bers_studies.rl.replay import Ring, Transitions, add, fetch, new_ring, uniform
from bers_studies.rl.task import Task, totals

_NEVER_ZERO = 1e-3  # added to an error, so that every row can come up again


@dataclass(frozen=True)
class DDPGConfig:
    """The numbers of DDPG. Those that the paper does not print say how they were chosen."""

    hidden: tuple[int, ...] = (300, 300)
    """Units of each hidden layer, actor and critic (paper: 300 and 300)."""
    actor_rate: float = 1e-4
    """Adam's, for the actor (paper: 1e-4)."""
    critic_rate: float = 2e-4
    """Adam's, for the critic (paper: 2e-4)."""
    l2: float = 1e-4
    """Penalty on the weights of both (paper: 1e-4)."""
    gamma: float = 0.96
    """Discount (paper: 0.96)."""
    capacity: int = 10_000
    """Transitions in the replay (paper: 10,000)."""
    batch_size: int = 32
    """Rows of a batch (paper: 32)."""
    noise: float = 0.15
    """Standard deviation of the exploration noise at the start (paper: 0.15)."""
    noise_steps: int = 50_000
    """Steps until there is none (paper: 50,000)."""
    reward_scale: float = 0.1
    """Rewards times this are what the critic learns. Not in the paper; with 1, experience of
    sources slows learning down."""
    target_rate: float = 0.01
    """Share of the way that target networks move at each step. Not in the paper."""
    priority: float = 0.6
    """With a prioritised replay, the power of an error that is its priority (Schaul and others)."""
    correction: float = 0.4
    """Power of the weights that undo the preference; it rises to 1 while the noise fades."""

    def __post_init__(self) -> None:
        for name in ("capacity", "batch_size", "noise_steps"):
            whole(getattr(self, name), f"DDPGConfig({name}=...)")
        for name, low, high in (("gamma", 0.0, 1.0), ("target_rate", 0.0, 1.0)):
            if not low <= getattr(self, name) <= high:
                raise ConfigError(
                    f"DDPGConfig({name}=...) must be in [{low:g}, {high:g}]; "
                    f"got {getattr(self, name)}."
                )


class Networks(eqx.Module):
    """Actor, critic, the slow copies of both, and their optimisers."""

    actor: Net
    critic: Net
    slow_actor: Net
    slow_critic: Net
    actor_moments: Moments
    critic_moments: Moments


class DDPGState(eqx.Module):
    """All that an episode moves."""

    nets: Networks
    replay: Ring | Prioritised
    steps: Int32[Array, ""]


class Seen(eqx.Module):
    """What an episode saw, and what it learned from."""

    rows: Transitions
    origins: Int[np.ndarray | Array, "T b"]
    """Of the replay's rows in each batch: the number of the source they were preloaded from, or
    -1; see bers_studies.rl.prioritised."""


@dataclass(frozen=True)
class DDPG(EpisodeLearner):
    """The learner: what stays the same over episodes. [Algorithm ddpg]"""

    task: Task
    config: DDPGConfig = DDPGConfig()

    def new(self, key: PRNGKeyArray) -> DDPGState:
        """Fresh networks."""
        return new_state(key, task=self.task, config=self.config)

    def played(
        self, key: PRNGKeyArray, state: DDPGState, handed: Handed
    ) -> tuple[DDPGState, Transitions]:
        """One episode."""
        state, seen = episode(key, state, handed, self.pool, task=self.task, config=self.config)
        return state, seen.rows


def new_state(
    key: PRNGKeyArray, *, task: Task, config: DDPGConfig, replay: Prioritised | None = None
) -> DDPGState:
    """Fresh networks and an empty replay, or the one given."""
    actor_key, critic_key, state_key = jax.random.split(key, 3)
    s = task.reset(state_key)
    k, a = width(task.observe(s)), task.action(jnp.zeros(task.outputs))
    actor = new_net(actor_key, (k, *config.hidden, task.outputs))
    critic = new_net(critic_key, (k + len(a), *config.hidden, 1))
    nets = Networks(actor, critic, actor, critic, no_moments(actor), no_moments(critic))
    own = new_ring(Transitions(s, a, jnp.zeros(()), s), config.capacity)
    state = DDPGState(nets, own if replay is None else replay, jnp.zeros((), jnp.int32))
    return jax.tree.map(jnp.array, state)  # copies, so that all can be written in place


@partial(jax.jit, static_argnames=("task", "config"), donate_argnames="state")
def episode(
    key: PRNGKeyArray,
    state: DDPGState,
    handed: Handed,
    pool: Transitions | None,
    *,
    task: Task,
    config: DDPGConfig,
) -> tuple[DDPGState, Seen]:
    """One episode: at every step act, store, and learn from one batch. [Algorithm ddpg]"""

    def act(key: PRNGKeyArray, state: DDPGState, seen: Any) -> Float32[Array, " A"]:
        sigma = config.noise * jnp.clip(1 - state.steps / config.noise_steps, 0.0)
        return task.explore(key, task.action(state.nets.actor(seen)), sigma)

    def learn(
        key: PRNGKeyArray, state: DDPGState, new: Transitions, rows: Array, r_rows: Array
    ) -> tuple[DDPGState, Seen]:
        replay, own, matter, origin = _stored(key, state, new, config)
        batch = fetch(replay, own)
        if pool is not None:
            batch = filled(batch, pool, rows, r_rows)
        nets, td = update(
            state.nets, batch, matter, rows >= 0, handed.clone, task=task, config=config
        )
        if isinstance(replay, Prioritised):
            replay = learned(replay, own, td, alpha=config.priority, epsilon=_NEVER_ZERO)
        return DDPGState(nets, replay, state.steps + 1), Seen(new, origin)

    def follow(other: Net, seen: Any) -> Float32[Array, " A"]:
        return task.action(other(seen))

    return scanned(key, state, handed, task=task, act=act, follow=follow, learn=learn)


def update(
    nets: Networks,
    batch: Transitions,
    matter: Float32[Array, " b"],
    foreign: Bool[Array, " b"],
    clone: Float[Array | np.ndarray, ""],
    *,
    task: Task,
    config: DDPGConfig,
) -> tuple[Networks, Float32[Array, " b"]]:
    """One step of critic, actor and their slow copies on a batch; the critic's errors. [Eq. ddpg]

    Rows count in the critic's error as they `matter`; foreign ones are imitated, by `clone`.
    """
    before, after = jax.vmap(task.observe)(batch.s_tm1), jax.vmap(task.observe)(batch.s_t)
    acts = jax.vmap(task.action)
    value_after = _value(nets.slow_critic, after, acts(nets.slow_actor(after)))
    goal = config.reward_scale * batch.r_t + config.gamma * value_after

    def critic_loss(critic: Net) -> tuple[Array, Array]:
        td = goal - _value(critic, before, batch.a_tm1)
        return jnp.mean(matter * td**2) + config.l2 * critic.penalty, td

    def actor_loss(actor: Net) -> Array:
        outputs = actor(before)
        worth = _value(critic, before, acts(outputs))
        surprise = jnp.mean(foreign * jax.vmap(task.surprise)(outputs, batch.a_tm1))
        return -worth.mean() + config.l2 * actor.penalty + clone * surprise

    slope, td = jax.grad(critic_loss, has_aux=True)(nets.critic)
    critic, critic_moments = adam(nets.critic, slope, nets.critic_moments, config.critic_rate)
    slope = jax.grad(actor_loss)(nets.actor)
    actor, actor_moments = adam(nets.actor, slope, nets.actor_moments, config.actor_rate)
    rate = config.target_rate
    slow = towards(nets.slow_actor, actor, rate), towards(nets.slow_critic, critic, rate)
    return Networks(actor, critic, *slow, actor_moments, critic_moments), td


@partial(jax.jit, static_argnames=("task", "episodes"))
def returns_of(
    key: PRNGKeyArray, actor: Net, *, task: Task, episodes: int
) -> Float32[Array, " episodes"]:
    """Returns of a policy without noise, on `episodes` episodes side by side."""

    def step(s: Any, key: PRNGKeyArray) -> tuple[Any, Array]:
        return task.step(key, s, task.action(actor(task.observe(s))))

    return totals(key, step, task=task, episodes=episodes)


def _stored(
    key: PRNGKeyArray, state: DDPGState, new: Transitions, config: DDPGConfig
) -> tuple[Ring | Prioritised, Int32[Array, " b"], Float32[Array, " b"], Int[Array, " b"]]:
    """The replay with one more row, and a batch of it: rows, how they matter, their origins."""
    b = config.batch_size
    if isinstance(state.replay, Prioritised):
        replay = prioritised.add(state.replay, new)
        done = jnp.clip(state.steps / config.noise_steps, 0.0, 1.0)
        beta = config.correction + (1 - config.correction) * done
        rows, matter = draw(key, replay, b, beta=beta)
        return replay, rows, matter, replay.origin[rows]
    replay = add(state.replay, new)
    return replay, uniform(key, replay, b), jnp.ones(b), jnp.full(b, prioritised.OWN, jnp.int16)


def _value(critic: Net, seen: Array | Ones, action: Float32[Array, "b A"]) -> Array:
    return critic(seen, action)[:, 0]
