"""A replay buffer for Stable-Baselines3 and SBX that holds sources, too.

Enters: what the learner adds, and a guide: how far each source is trusted, and how often to look at
sources at all. Leaves: batches in which some rows are the learner's own and some a source's.
Without a guide, or if its chance is zero, it is the library's buffer, bit for bit: its own choices
come from a generator of its own.
"""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Int
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples, ReplayBufferSamples

from bers.errors import ConfigError
from bers.integrations.sb3_sources import Pool, Sources, flat, pool_of, unscaled
from bers.reuse.batches import BatchGuide


class BersReplayBuffer(ReplayBuffer):
    """For `replay_buffer_class`; sources are given by `replay_buffer_kwargs={"sources": [...]}`.

    Sources are records of transitions (`Demonstrations.from_transitions`) or paths to them, in the
    environment's own units. A `BersCallback` tells the buffer whom to trust; before it does, no
    row of a source is drawn. Dictionaries of observations work; n-step returns do not, for rows of
    a source need not stand beside their successors.
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
        self.added = 0
        self.drawn = np.zeros(len(self.sources) + 1, np.int64)
        self.pool = None
        if self.sources.at_hand:
            self._fill()

    def attach(self, sources: Any) -> None:
        """Give the sources again, after the buffer was loaded from a file."""
        given = Sources(sources)
        if not given.same_as(self.sources):
            raise ConfigError(
                f"these are not the sources that the buffer was made with ({self.sources}). Give "
                "the same rows in the same order, or make a new learner."
            )
        self.sources = given
        self._fill()

    def follow(self, guide: BatchGuide | None, *, chunk: int | None = None) -> None:
        """From now on draw as this guide says; None: own rows only.

        `chunk`: rows of one gradient step, where a learner asks for several steps at once.
        """
        if guide is not None and self.pool is None:
            self._fill()
        self.guide, self.chunk = guide, chunk

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in the library; counts what came in."""
        super().add(*args, **kwargs)
        self.added += 1

    def sample(self, batch_size: int, env: Any = None) -> Any:
        """A batch: rows of sources by the guide, the rest as in the library."""
        guide = self.guide
        if guide is None or guide.p_m <= 0:
            self.drawn[-1] += batch_size
            return super().sample(batch_size, env)
        size = min(self.chunk or batch_size, batch_size)
        rows = guide.draw(-(-batch_size // size), size).ravel()[:batch_size]
        foreign = rows >= 0
        theirs = rows[foreign]
        ends = np.cumsum(guide.counts)
        self.drawn[:-1] += np.bincount(np.searchsorted(ends, theirs, "right"), minlength=len(ends))
        self.drawn[-1] += batch_size - len(theirs)
        if not len(theirs):
            return super().sample(batch_size, env)
        handed = self._handed(theirs, guide, env)
        if len(theirs) == batch_size:
            return handed
        own = super().sample(batch_size - len(theirs), env)
        places = None if size == batch_size else _places(foreign)
        return type(own)(*(_joined(a, b, places) for a, b in zip(own, handed, strict=True)))

    def since(self, added: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What came in after the first `added` rows and is still here.

        Leaves observations and next observations as rows of numbers, actions in the environment's
        units and as rows of numbers, rewards; all environments one behind the other.
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

    def _handed(self, rows: Int[np.ndarray, " n"], guide: BatchGuide, env: Any) -> Any:
        """Rows of sources as the library hands rows out."""
        assert self.pool is not None
        rewards = np.asarray(guide.rewards(rows), np.float32).reshape(-1, 1)
        fields = (
            self._normalize_obs(_taken(self.pool.observations, rows), env),
            self.pool.actions[rows],
            self._normalize_obs(_taken(self.pool.next_observations, rows), env),
            self.pool.dones[rows].reshape(-1, 1),
            self._normalize_reward(rewards, env),
        )
        kind = DictReplayBufferSamples if isinstance(fields[0], dict) else ReplayBufferSamples
        return kind(*map(self._tensors, fields))  # pyright: ignore[reportArgumentType]

    def _tensors(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.to_torch(part) for key, part in value.items()}
        return self.to_torch(value)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pool": None, "guide": None}


class BersDictReplayBuffer(BersReplayBuffer, DictReplayBuffer):
    """The same for dictionaries of observations."""

    def _stored(self, at: Int[np.ndarray, " n"]) -> tuple[Any, Any]:
        both: list[dict[str, np.ndarray]] = []
        for stored in (self.observations, self.next_observations):
            kept: Any = stored
            both.append({k: v[at].reshape(-1, *v.shape[2:]) for k, v in kept.items()})
        return both[0], both[1]


def _taken(values: Any, rows: Int[np.ndarray, " n"]) -> Any:
    if isinstance(values, dict):
        return {key: part[rows] for key, part in values.items()}
    return values[rows]


def _places(foreign: np.ndarray) -> torch.Tensor:
    """Where each row of the batch is, if own rows stand before foreign ones."""
    places = np.empty(len(foreign), np.int64)
    own = int((~foreign).sum())
    places[~foreign] = np.arange(own)
    places[foreign] = own + np.arange(len(foreign) - own)
    return torch.as_tensor(places)


def _joined(own: Any, theirs: Any, places: torch.Tensor | None) -> Any:
    if own is None:
        return None
    if isinstance(own, dict):
        return {key: _joined(own[key], theirs[key], places) for key in own}
    both = torch.cat([own, theirs])
    return both if places is None else both[places.to(both.device)]
