"""A replay buffer for Stable-Baselines3 and SBX that holds sources, too.

Enters: what the learner adds, and a guide: how far each source is trusted, and how often to look at
sources at all. Leaves: batches in which some rows are the learner's own and some a source's.
Without a guide, or if its chance is zero, it is the library's buffer, bit for bit: its own choices
come from a generator of its own.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Int
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples

from bers.errors import ConfigError, DataWarning
from bers.integrations.sb3.sources import Pool, Sources, flat, pool_of, unscaled
from bers.reuse.transitions import BatchGuide


class BersReplayBuffer(ReplayBuffer):
    """For `replay_buffer_class`; sources are given by `replay_buffer_kwargs={"sources": [...]}`.

    A `BersCallback` tells the buffer whom to trust; before it does, no row of a source is drawn.
    Dictionaries of observations work.

    Parameters
    ----------
    buffer_size, observation_space, action_space
        As the library hands them over.
    *args, **kwargs
        Of the library's buffer.
    sources
        Records of transitions (`Demonstrations.from_transitions`) or paths to them, in the
        environment's own units.
    n_steps
        Must be 1: rows of a source need not stand beside their successors.
    gamma
        Comes with n_steps; not used.
    """

    pool: Pool | None
    """The sources' rows, once they are needed."""

    def __new__(cls, buffer_size: int = 0, observation_space: Any = None, *more: Any, **named: Any):
        """A buffer for dictionaries, if observations are dictionaries."""
        if cls is BersReplayBuffer and isinstance(observation_space, spaces.Dict):
            return object.__new__(BersDictReplayBuffer)
        return super().__new__(cls)

    def __init__(
        self,
        buffer_size: int,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        *args: Any,
        sources: Any = None,
        n_steps: int = 1,
        gamma: float | None = None,
        **kwargs: Any,
    ) -> None:
        if sources is None:
            raise ConfigError(
                'sources are missing: pass replay_buffer_kwargs={"sources": [...]} to the learner.'
            )
        if n_steps != 1:
            raise ConfigError(
                "n-step returns need rows that follow one another, and rows of a source need not. "
                "Use n_steps=1 with BersReplayBuffer."
            )
        super().__init__(buffer_size, observation_space, action_space, *args, **kwargs)
        self.sources = Sources(sources)
        self.guide: BatchGuide | None = None
        self.chunk: int | None = None
        self.imitation: Any = None
        self.added = 0
        self.met = False
        self.drawn = np.zeros(len(self.sources) + 1, np.int64)
        self.pool = None
        if self.sources.at_hand:
            self._fill()

    def attach(self, sources: Any) -> None:
        """Give the sources again, after the buffer was loaded from a file.

        Parameters
        ----------
        sources
            The same rows in the same order; others are refused.
        """
        given = Sources(sources)
        if not given.same_as(self.sources):
            raise ConfigError(
                f"these are not the sources that the buffer was made with ({self.sources}). Give "
                "the same rows in the same order, or make a new learner."
            )
        self.sources = given
        self._fill()

    def follow(self, guide: BatchGuide | None, *, chunk: int | None = None) -> None:
        """From now on draw as this guide says.

        Parameters
        ----------
        guide
            A `bers.reuse.transitions.BatchGuide`; None: own rows only.
        chunk
            Rows of one gradient step, where a learner asks for several steps at once.
        """
        self.met = True
        if guide is not None and self.pool is None:
            self._fill()
        self.guide, self.chunk = guide, chunk

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in the library; counts what came in.

        Parameters
        ----------
        *args, **kwargs
            As the library hands them over.
        """
        super().add(*args, **kwargs)
        self.added += 1

    def sample(self, batch_size: int, env: Any = None) -> Any:
        """A batch: rows of sources by the guide, the rest as in the library.

        Parameters
        ----------
        batch_size
            Number of rows.
        env
            What normalises them, if anything, as the library hands it over.

        Returns
        -------
        ReplayBufferSamples or DictReplayBufferSamples
            As in the library.
        """
        if not self.met:
            self.met = True
            warnings.warn(
                f"no row of the {len(self.sources)} sources will be used, since nobody says whom "
                "to trust. Pass learn(..., callback=BersCallback()).",
                DataWarning,
                stacklevel=2,
            )
        guide = self.guide
        if guide is None or guide.p_m <= 0:
            self.drawn[-1] += batch_size
            return super().sample(batch_size, env)
        size = min(self.chunk or batch_size, batch_size)
        rows = guide.draw(-(-batch_size // size), size).ravel()[:batch_size]
        foreign = rows >= 0
        theirs = rows[foreign]
        ours = batch_size - len(theirs)
        self._count(guide, theirs, ours)
        if not len(theirs):
            return super().sample(batch_size, env)
        held = self.buffer_size if self.full else self.pos
        if ours and not held:
            raise ConfigError("the buffer is empty. Let the learner see some steps first.")
        at = guide.rng.integers(0, max(held, 1) * self.n_envs, ours)
        if self.optimize_memory_usage and self.full:  # the place written next is half a row
            at = (at % ((held - 1) * self.n_envs) + (self.pos + 1) * self.n_envs) % (
                held * self.n_envs
            )
        both = self._both(guide, at, theirs)
        if size < batch_size:  # several gradient steps: each gets its own share
            both = [_map(partial(np.take, indices=_places(foreign), axis=0), part) for part in both]
        return self._handed(both, env)

    def rows_of_sources(self, rows: Int[np.ndarray, " n"]) -> tuple[Any, np.ndarray]:
        """Observations and actions at some rows of the sources, as they are stored.

        Parameters
        ----------
        rows
            Numbers of rows, all sources one behind the other.

        Returns
        -------
        tuple
            Rows of observations, a dictionary of them if observations are dictionaries; actions.
        """
        if self.pool is None:
            self._fill()
        assert self.pool is not None
        take = partial(np.take, indices=rows, axis=0)
        return _map(take, self.pool.observations), take(self.pool.actions)

    def own_states(self, rng: np.random.Generator, rows: int) -> Any:
        """Observations that the learner has stored, as they are.

        Parameters
        ----------
        rng
            Which ones.
        rows
            How many.

        Returns
        -------
        Array or dict
            One row each, drawn with repetition.
        """
        held = self.buffer_size if self.full else self.pos
        at, env = rng.integers(0, max(held, 1), rows), rng.integers(0, self.n_envs, rows)
        return _map(lambda part: part[at, env], self.observations)

    def as_the_networks_see(self, observations: Any, env: Any = None) -> Any:
        """Stored observations as tensors, normalised like those of a batch.

        Parameters
        ----------
        observations
            Rows of them.
        env
            What normalises them, if anything.

        Returns
        -------
        Tensor or dict
            For the learner's networks.
        """
        return _map(partial(self.to_torch, copy=False), self._normalize_obs(observations, env))

    def since(self, added: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What came in after the first `added` rows and is still here.

        Parameters
        ----------
        added
            Calls of `add` that were seen before: each brings a row for every environment.

        Returns
        -------
        tuple
            Observations, actions in the environment's units, next observations, all as rows of
            numbers, and rewards; all environments of a step together.
        """
        first = max(added, self.added - self.buffer_size + 1)
        at = np.arange(first, self.added) % self.buffer_size
        before, after = self._stored(at)
        actions = self.actions[at].reshape(-1, self.action_dim)
        space = self.action_space
        return (
            flat(before, self.observation_space),
            flat(unscaled(actions, space), space),
            flat(after, self.observation_space),
            self.rewards[at].ravel().astype(np.float64),
        )

    def _stored(self, at: Int[np.ndarray, " n"]) -> tuple[Any, Any]:
        """Observations before and after, environments one behind the other."""
        shape = (-1, *self.obs_shape)  # pyright: ignore[reportGeneralTypeIssues]
        if self.optimize_memory_usage:
            after = self.observations[(at + 1) % self.buffer_size]
        else:
            after = self.next_observations[at]
        return self.observations[at].reshape(shape), after.reshape(shape)

    def _fill(self) -> None:
        self.pool = pool_of(
            self.sources,
            self.observation_space,
            self.action_space,
            timeouts_are_no_ends=self.handle_timeout_termination,
        )

    def _count(self, guide: BatchGuide, theirs: np.ndarray, ours: int) -> None:
        ends = np.cumsum(guide.counts)
        self.drawn[:-1] += np.bincount(ends.searchsorted(theirs, "right"), minlength=len(ends))
        self.drawn[-1] += ours

    def _both(self, guide: BatchGuide, at: np.ndarray, theirs: np.ndarray) -> list[Any]:
        """Own rows and then those of sources: seen, done, seen next, ended, paid.

        `at` numbers own rows by step and environment, all environments of a step together.
        """
        pool = self.pool
        assert pool is not None
        if self.optimize_memory_usage:
            after, later = self.observations, (at + self.n_envs) % self.dones.size
        else:
            after, later = self.next_observations, at
        ends = self.dones.take(at) * (1 - self.timeouts.take(at))
        return [
            _stacked(self.observations, at, pool.observations, theirs),
            _stacked(self.actions, at, pool.actions, theirs),
            _stacked(after, later, pool.next_observations, theirs),
            np.concatenate([ends, pool.dones.take(theirs)])[:, None],
            np.concatenate([self.rewards.take(at), guide.rewards(theirs)])[:, None],
        ]

    def _handed(self, both: list[Any], env: Any) -> Any:
        """A batch as the library hands it out."""
        seen, action, later, ends, reward = both
        fields = (
            self._normalize_obs(seen, env),
            action,
            self._normalize_obs(later, env),
            ends,
            self._normalize_reward(reward.astype(np.float32), env),
        )
        kind = DictReplayBufferSamples if isinstance(seen, dict) else ReplayBufferSamples
        move = partial(torch.as_tensor, device=self.device)  # the arrays are nobody else's
        return kind(*(_map(move, field) for field in fields))  # pyright: ignore

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pool": None, "guide": None, "imitation": None}


class BersDictReplayBuffer(BersReplayBuffer, DictReplayBuffer):
    """The same for dictionaries of observations.

    Parameters
    ----------
    buffer_size, observation_space, action_space, *args, sources, n_steps, gamma, **kwargs
        As in `BersReplayBuffer`.
    """

    def _stored(self, at: Int[np.ndarray, " n"]) -> tuple[Any, Any]:
        both: list[dict[str, np.ndarray]] = []
        for stored in (self.observations, self.next_observations):
            kept: Any = stored
            both.append({k: v[at].reshape(-1, *v.shape[2:]) for k, v in kept.items()})
        return both[0], both[1]


def _stacked(own: Any, at: np.ndarray, pool: Any, rows: np.ndarray) -> Any:
    """Own rows above, rows of the pool below, in one array."""
    if isinstance(own, dict):
        return {key: _stacked(own[key], at, pool[key], rows) for key in own}
    found = np.empty((len(at) + len(rows), *pool.shape[1:]), own.dtype)
    flat_rows = own.reshape(-1, *pool.shape[1:])  # a view: steps and environments in one axis
    flat_rows.take(at, axis=0, out=found[: len(at)], mode="clip")
    pool.take(rows, axis=0, out=found[len(at) :], mode="clip")
    return found


def _places(foreign: np.ndarray) -> Int[np.ndarray, " b"]:
    """Where each row of the batch is, if own rows stand before foreign ones."""
    places = np.empty(len(foreign), np.int64)
    own = int((~foreign).sum())
    places[~foreign] = np.arange(own)
    places[foreign] = own + np.arange(len(foreign) - own)
    return places


def _map(what: Any, value: Any) -> Any:
    """For an array, or for each of a dictionary's."""
    if isinstance(value, dict):
        return {key: what(part) for key, part in value.items()}
    return what(value)
