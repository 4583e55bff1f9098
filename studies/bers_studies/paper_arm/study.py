"""What is left unsaid about the arm that reaches for a new goal.

Enters: settings and a number, which stands for a trial and one of two new goals. Leaves: of the
first trial the paper's recipe in all readings, by which one is chosen; of the others the reading
that was chosen, and its rivals. These have no batches of sources, so readings do not change them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, PRNGKeyArray

from bers_studies.reacher.study import (
    GOALS,
    PARTS,
    SOURCES,
    WEIGHTED,
    ReacherBench,
    ReacherConfig,
    shown,
)
from bers_studies.reacher.study import QUICK as SHORT
from bers_studies.rl.adam import Moments
from bers_studies.rl.dqn import DQN, DQNConfig, DQNState, update
from bers_studies.rl.episodes import scanned
from bers_studies.rl.handed import Handed, filled
from bers_studies.rl.methods import Method
from bers_studies.rl.networks import Net
from bers_studies.rl.replay import Transitions, add, fetch, uniform
from bers_studies.rl.task import ChoiceTask

OURS = "BERS, paper's recipe"
RIVALS = ("PPR", "None")


@dataclass(frozen=True)
class Reading:
    """One way to read the recipe; what is not named is as the study `reacher` has it."""

    name: str
    says: str
    """In a sentence."""
    skip: bool = False
    """Whether the heads see the inputs beside the learned features."""
    beside: bool = False
    """Whether a source's batch comes on top of an own one, and not in its place."""

    @property
    def method(self) -> Method:
        """The paper's recipe."""
        printed = WEIGHTED[OURS]
        return replace(printed, model=replace(printed.model, skip=self.skip))


READINGS: dict[str, Reading] = {
    one.name: one
    for one in (
        Reading("as printed", "heads see learned features, source batches take the place of own"),
        Reading("skip", "the heads see the inputs beside the learned features", skip=True),
        Reading("beside", "a source's batch comes on top of an own one", beside=True),
        Reading("skip, beside", "both of these", skip=True, beside=True),
    )
}
BEST = "skip, beside"
"""The reading that is reported."""
CHOOSING = 1
"""Trials by which it is chosen."""


@dataclass(frozen=True)
class PaperArmConfig:
    """One study."""

    study: ReacherConfig = field(default_factory=ReacherConfig)


def trial(config: PaperArmConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One trial on one goal."""
    number, which = divmod(seed, PARTS)
    goal = list(GOALS)[which]
    given = shown(number, config.study.shown)
    plain = ReacherBench(GOALS[goal], given, number, config.study)
    about = {"panel": goal, "trial": number, "names": list(SOURCES)}
    choosing = number < CHOOSING
    for reading in READINGS.values() if choosing else (READINGS[BEST],):
        bench = ReacherBench(GOALS[goal], given, number, config.study)
        if reading.beside:
            bench.learner = BesideDQN(**vars(bench.learner))
        run = bench.run(reading.method)
        yield about | {"method": OURS, "reading": reading.name} | run
    for method in () if choosing else RIVALS:
        yield about | {"method": method} | plain.run(method)


@dataclass(frozen=True)
class BesideDQN(DQN):
    """The learner that trains on a source's batch on top of an own one. [Algorithm dqn]"""

    def played(
        self, key: PRNGKeyArray, state: DQNState, handed: Handed
    ) -> tuple[DQNState, Transitions]:
        """One episode."""
        how = {"task": self.task, "config": self.config}
        return episode_beside(key, state, handed, self.pool, **how)


@partial(jax.jit, static_argnames=("task", "config"), donate_argnames="state")
def episode_beside(
    key: PRNGKeyArray,
    state: DQNState,
    handed: Handed,
    pool: Transitions,
    *,
    task: ChoiceTask,
    config: DQNConfig,
) -> tuple[DQNState, Transitions]:
    """One episode: at every step act, store, learn from an own batch and, now and then, another."""

    def act(key: PRNGKeyArray, state: DQNState, seen: Any) -> Int32[Array, ""]:
        coin_key, random_key = jax.random.split(key)
        q = state.net(seen)
        other = jax.random.randint(random_key, (), 0, q.shape[-1], jnp.int32)
        explores = jax.random.uniform(coin_key) < config.epsilon
        return jnp.where(explores, other, jnp.argmax(q).astype(jnp.int32))

    def learn(
        key: PRNGKeyArray, state: DQNState, new: Transitions, rows: Array, r_rows: Array
    ) -> tuple[DQNState, Transitions]:
        replay = add(state.replay, new)
        batch = fetch(replay, uniform(key, replay, config.batch_size))
        gamma, none = jnp.full(config.batch_size, config.gamma), jnp.zeros(())
        how = {"task": task, "config": config}
        state = replace(state, replay=replay)
        state = update(state, batch, gamma, jnp.zeros_like(rows, bool), none, **how)

        def theirs(parts: tuple[Net, Net, Moments]) -> tuple[Net, Net, Moments]:
            net, slow, moments = parts
            given = filled(batch, pool, rows, r_rows)
            after = DQNState(net, slow, moments, replay)
            after = update(after, given, gamma, rows >= 0, none, **how)
            return after.net, after.slow, after.moments

        mine = (state.net, state.slow, state.moments)
        net, slow, moments = jax.lax.cond((rows >= 0).any(), theirs, lambda parts: parts, mine)
        return DQNState(net, slow, moments, replay), new

    def follow(other: Net, seen: Any) -> Int32[Array, ""]:
        return jnp.argmax(other(seen)).astype(jnp.int32)

    return scanned(key, state, handed, task=task, act=act, follow=follow, learn=learn)


CONFIG = PaperArmConfig()
QUICK = PaperArmConfig(SHORT)
