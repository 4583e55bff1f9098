"""What learners of control share: an episode as one scan, and how it is told to Algorithm 1.

Enters: what a learner does at one step: act, and learn from what came of it. Leaves: a whole
episode in which every step acts, or follows another policy, stores what it saw, and learns from one
batch. A learner that is built on this is its plain self, bit for bit, where nothing is handed over.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from bers.data.transitions import Inputs
from bers.learners.base import Experience
from bers.reuse.transitions import BatchGuide
from bers_studies.rl.handed import Handed, handed_by, key_of, nothing_handed
from bers_studies.rl.networks import Net
from bers_studies.rl.policy_reuse import PolicyGuide
from bers_studies.rl.replay import Transitions
from bers_studies.rl.task import experience_of

State = TypeVar("State")


@dataclass(frozen=True)
class EpisodeLearner(ABC):
    """What stays the same over episodes; a learner adds `config`, `new` and `played`."""

    task: Any
    inputs: Inputs
    """What a model of the reward is shown of a transition (s, a, s')."""
    pool: Transitions | None = None
    """Transitions of all sources, one source behind the other."""
    config: Any = None

    @abstractmethod
    def new(self, key: PRNGKeyArray) -> Any:
        """A fresh state."""

    @abstractmethod
    def played(self, key: PRNGKeyArray, state: Any, handed: Handed) -> tuple[Any, Transitions]:
        """The state after one episode, and the episode."""

    def start(self, rng: np.random.Generator) -> Any:
        """Fresh networks, and an empty replay."""
        return self.new(key_of(rng))

    def iterate(
        self, rng: np.random.Generator, state: Any, guide: BatchGuide | PolicyGuide | None
    ) -> tuple[Any, Experience]:
        """One episode. The state that goes in is used up.

        The guide has a generator of its own, so with p_m = 0 the bits are those of the plain
        learner.
        """
        none = nothing_handed(self.task, self.config)
        handed = handed_by(guide, none, pool=self.pool is not None)
        state, rows = self.played(key_of(rng), state, handed)
        return state, experience_of(rows, self.inputs)


def scanned(
    key: PRNGKeyArray,
    state: State,
    handed: Handed,
    *,
    task: Any,
    act: Callable[[PRNGKeyArray, State, Any], Array],
    follow: Callable[[Net, Any], Array],
    learn: Callable[..., tuple[State, Any]],
) -> tuple[State, Any]:
    """One episode: at every step act, store, and learn from one batch.

    `act` sees an observation, and so does another policy where it is to `follow`; `learn` takes a
    key, the state, the new transition, and the rows of the pool with their rewards; it gives the
    next state, and what is to be kept of the step.
    """
    start_key, steps_key = jax.random.split(key)

    def one(carry: tuple[State, Any], inputs: tuple) -> tuple[tuple[State, Any], Any]:
        state, s_tm1 = carry
        key, rows, r_rows, followed = inputs
        act_key, step_key, batch_key = jax.random.split(key, 3)
        seen = task.observe(s_tm1)
        a_tm1 = act(act_key, state, seen)
        if handed.other is not None:
            a_tm1 = jnp.where(followed, follow(handed.other, seen), a_tm1)
        s_t, r_t = task.step(step_key, s_tm1, a_tm1)
        state, kept = learn(batch_key, state, Transitions(s_tm1, a_tm1, r_t, s_t), rows, r_rows)
        return (state, s_t), kept

    keys = jax.random.split(steps_key, task.horizon)
    inputs = (keys, handed.rows, handed.r_t, handed.follow)
    (state, _), kept = jax.lax.scan(one, (state, task.reset(start_key)), inputs)
    return state, kept
