"""The paper's base learner, read in other ways: DDPG with more than one batch a step.

Enters: what sources hand over. Leaves: what `bers_studies.rl.ddpg` leaves. The paper does not say
how many batches a step trains on, nor whether a source's batch takes the place of an own one or
comes on top of it. With one batch that takes its place, this is the plain learner, bit for bit.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, PRNGKeyArray

from bers.learners.base import Experience
from bers.reuse.transitions import BatchGuide
from bers_studies.rl import prioritised
from bers_studies.rl.ddpg import DDPG, DDPGConfig, DDPGState, Networks, Seen, episode, update
from bers_studies.rl.episodes import scanned
from bers_studies.rl.handed import Handed, filled, handed_by, key_of, nothing_handed
from bers_studies.rl.networks import Net
from bers_studies.rl.policy_reuse import PolicyGuide
from bers_studies.rl.prioritised import Prioritised, draw, learned
from bers_studies.rl.replay import Transitions, add, fetch, uniform
from bers_studies.rl.task import Task, experience_of

_NEVER_ZERO = 1e-3  # as in bers_studies.rl.ddpg


@dataclass(frozen=True)
class ReadDDPG(DDPG):
    """The learner under a reading of the paper. [Algorithm ddpg]"""

    updates: int = 1
    """Batches that a step trains on; for each it is decided whether it is a source's."""
    beside: bool = False
    """Whether a source's batch comes on top of an own one, and not in its place."""

    def iterate(
        self, rng: np.random.Generator, state: DDPGState, guide: BatchGuide | PolicyGuide | None
    ) -> tuple[DDPGState, Experience]:
        """One episode. The state that goes in is used up."""
        handed = handed_by(guide, self.none, pool=self.pool is not None)
        handed = replace(handed, follow=handed.follow[: self.task.horizon])
        state, rows = self.played(key_of(rng), state, handed)
        return state, experience_of(rows, self.inputs)

    @property
    def none(self) -> Handed:
        """Nothing handed over: a row of -1 for every batch of an episode."""
        one = nothing_handed(self.task, self.config)
        rows, r_t = (np.repeat(x, self.updates, axis=0) for x in (one.rows, one.r_t))
        return replace(one, rows=rows, r_t=r_t)

    def played(
        self, key: PRNGKeyArray, state: DDPGState, handed: Handed
    ) -> tuple[DDPGState, Transitions]:
        """One episode."""
        state, seen = self.seen(key, state, handed)
        return state, seen.rows

    def seen(self, key: PRNGKeyArray, state: DDPGState, handed: Handed) -> tuple[DDPGState, Seen]:
        """One episode, with the origins of its batches."""
        how = {"task": self.task, "config": self.config}
        if self.updates == 1 and not self.beside:
            return episode(key, state, handed, self.pool, **how)
        return episode_of_many(key, state, handed, self.pool, **how, beside=self.beside)


@partial(jax.jit, static_argnames=("task", "config", "beside"), donate_argnames="state")
def episode_of_many(
    key: PRNGKeyArray,
    state: DDPGState,
    handed: Handed,
    pool: Transitions | None,
    *,
    task: Task,
    config: DDPGConfig,
    beside: bool,
) -> tuple[DDPGState, Seen]:
    """One episode whose steps learn from as many batches as `handed` has for each of them."""

    def act(key: PRNGKeyArray, state: DDPGState, seen: Any) -> Float32[Array, " A"]:
        sigma = config.noise * jnp.clip(1 - state.steps / config.noise_steps, 0.0)
        return task.explore(key, task.action(state.nets.actor(seen)), sigma)

    def learn(
        key: PRNGKeyArray, state: DDPGState, new: Transitions, rows: Array, r_rows: Array
    ) -> tuple[DDPGState, Seen]:
        nets, replay, origins = state.nets, _with(state.replay, new), []
        for j in range(len(rows)):
            own_key, their_key = jax.random.split(jax.random.fold_in(key, j))
            own = partial(_trained, pool=pool, steps=state.steps, task=task, config=config)
            if not beside:
                nets, replay, origin = own(own_key, nets, replay, rows[j], r_rows[j])
            else:
                none = jnp.full_like(rows[j], -1)
                nets, replay, origin = own(own_key, nets, replay, none, r_rows[j])
                theirs = partial(_more, their_key, replay, rows[j], r_rows[j], own)
                nets = jax.lax.cond((rows[j] >= 0).any(), theirs, lambda nets: nets, nets)
            origins.append(origin)
        return DDPGState(nets, replay, state.steps + 1), Seen(new, jnp.concatenate(origins))

    def follow(other: Net, seen: Any) -> Float32[Array, " A"]:
        return task.action(other(seen))

    each = (task.horizon, -1, handed.rows.shape[-1])
    handed = replace(handed, rows=handed.rows.reshape(each), r_t=handed.r_t.reshape(each))
    return scanned(key, state, handed, task=task, act=act, follow=follow, learn=learn)


def _more(
    key: PRNGKeyArray, replay: Any, rows: Array, r_rows: Array, train: Any, nets: Networks
) -> Networks:
    """The networks after a batch of a source; what it says of the replay is not kept."""
    return train(key, nets, replay, rows, r_rows)[0]


def _with(replay: Any, new: Transitions) -> Any:
    """The replay with one more row."""
    return (prioritised.add if isinstance(replay, Prioritised) else add)(replay, new)  # pyright: ignore[reportArgumentType]


def _trained(
    key: PRNGKeyArray,
    nets: Networks,
    replay: Any,
    rows: Array,
    r_rows: Array,
    *,
    pool: Transitions | None,
    steps: Array,
    task: Task,
    config: DDPGConfig,
) -> tuple[Networks, Any, Array]:
    """Networks and replay after one batch, and where its rows came from."""
    b = config.batch_size
    if isinstance(replay, Prioritised):
        done = jnp.clip(steps / config.noise_steps, 0.0, 1.0)
        beta = config.correction + (1 - config.correction) * done
        own, matter = draw(key, replay, b, beta=beta)
        origin = replay.origin[own]
    else:
        own, matter = uniform(key, replay, b), jnp.ones(b)
        origin = jnp.full(b, prioritised.OWN, jnp.int16)
    batch = fetch(replay, own)
    if pool is not None:
        batch = filled(batch, pool, rows, r_rows)
    # the paper imitates no actions, so nothing is cloned
    nets, td = update(nets, batch, matter, rows >= 0, jnp.zeros(()), task=task, config=config)
    if isinstance(replay, Prioritised):
        replay = learned(replay, own, td, alpha=config.priority, epsilon=_NEVER_ZERO)
    return nets, replay, origin
