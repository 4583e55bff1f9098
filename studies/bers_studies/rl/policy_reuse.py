"""Policies of the sources, and which one to follow: the rival HAT + PPR of the paper.

Enters: transitions of each source; later the return of each episode. Leaves: a policy per source,
made by supervised learning (HAT, Taylor and others, 2011), and per episode the one to follow (Li
and Zhang, 2018): a bandit whose arms are the source policies and the learner's own, by UCB1 on
returns that are scaled to [0, 1] by the worst and the best seen so far. In an episode of a source's
arm each step follows that source's policy with probability p_m, the schedule of BERS. [Eq. ppr]

# Paper: cites both and prints no settings beside 50 epochs and the cross-entropy.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import jax
import numpy as np
from jaxtyping import Array, Bool, Float64, Int, PRNGKeyArray

from bers_studies.rl.adam import adam, no_moments
from bers_studies.rl.networks import Net, new_net, width
from bers_studies.rl.replay import Transitions


class Imitable(Protocol):
    """What cloning needs of a task; see `bers_studies.rl.task`."""

    @property
    def outputs(self) -> int:
        """Numbers that a policy's last layer must give."""
        ...

    def observe(self, s: Any) -> Any:
        """A state as an input of a network."""
        ...

    def surprise(self, outputs: Any, action: Any) -> Any:
        """How little a policy with these outputs expected an action."""
        ...


@partial(jax.jit, static_argnames=("task", "hidden", "epochs", "batch_size", "rate", "l2"))
def cloned(
    key: PRNGKeyArray,
    shown: Transitions,
    *,
    task: Imitable,
    hidden: tuple[int, ...] = (300, 300),
    epochs: int = 50,
    batch_size: int = 32,
    rate: float = 1e-4,
    l2: float = 1e-4,
) -> Net:
    """A policy that does what the transitions show, by cross-entropy (paper: 50 epochs)."""
    net_key, order_key = jax.random.split(key)
    seen = jax.vmap(task.observe)(shown.s_tm1)
    net = new_net(net_key, (width(seen), *hidden, task.outputs))

    def loss(net: Net, rows: Int[Array, " b"]) -> Array:
        surprise = jax.vmap(task.surprise)(
            net(jax.tree.map(lambda x: x[rows], seen)), shown.a_tm1[rows]
        )
        return surprise.mean() + l2 * net.penalty

    def step(carry: tuple, rows: Int[Array, " b"]) -> tuple[tuple, None]:
        net, moments = carry
        return adam(net, jax.grad(loss)(net, rows), moments, rate), None

    def epoch(carry: tuple, key: PRNGKeyArray) -> tuple[tuple, None]:
        whole = len(shown) // batch_size * batch_size
        order = jax.random.permutation(key, len(shown))[:whole].reshape(-1, batch_size)
        return jax.lax.scan(step, carry, order)

    keys = jax.random.split(order_key, epochs)
    return jax.lax.scan(epoch, (net, no_moments(net)), keys)[0][0]


@dataclass(frozen=True)
class Arms:
    """A bandit over the source policies and, last, the learner's own.

    >>> arms = Arms.new(2)
    >>> for arm, gain in ((0, 5.0), (1, 1.0), (2, 0.0)):
    ...     arms = arms.after(arm, gain)
    >>> arms.choose()
    0
    """

    pulls: Int[np.ndarray, " arms"]
    totals: Float64[np.ndarray, " arms"]
    """Sums of returns."""
    worst: float = np.inf
    best: float = -np.inf

    @classmethod
    def new(cls, N: int) -> "Arms":
        """Nothing known of N source policies."""
        return cls(np.zeros(N + 1, int), np.zeros(N + 1))

    def choose(self) -> int:
        """Each arm once, then the one with the greatest upper bound. [Eq. ppr]"""
        if not self.pulls.all():
            return int(np.argmin(self.pulls))
        mean = (self.totals / self.pulls - self.worst) / max(self.best - self.worst, 1e-12)
        return int(np.argmax(mean + np.sqrt(2 * np.log(self.pulls.sum()) / self.pulls)))

    def after(self, arm: int, gain: float) -> "Arms":
        """One episode of an arm, and its return."""
        one = np.arange(len(self.pulls)) == arm
        return replace(
            self,
            pulls=self.pulls + one,
            totals=self.totals + gain * one,
            worst=min(self.worst, gain),
            best=max(self.best, gain),
        )


@dataclass(frozen=True)
class PolicyGuide:
    """Whom to follow in one episode, and how often; no net: the learner's own policy."""

    rng: np.random.Generator
    net: Net | None
    p_m: float

    def draw(self, steps: int) -> Bool[np.ndarray, " steps"]:
        """The steps at which the source's policy acts.

        >>> PolicyGuide(np.random.default_rng(0), None, 1.0).draw(3).tolist()
        [False, False, False]
        """
        coin = self.rng.random(steps)
        return (coin < self.p_m) & (self.net is not None)
