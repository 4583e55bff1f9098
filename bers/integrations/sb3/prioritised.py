"""Prioritised replay for Stable-Baselines3: rows that surprised the critic come up more often.

Enters: what the learner adds, and the critic's errors on the rows it last learned from. Leaves:
batches. The library's losses take no weight per row, so the bias of such batches cannot be undone
by weights; instead the preference itself fades to none while the learner learns. [Eq. prioritised]
The tree is NumPy's: `bers_studies.rl.prioritised` is for whole episodes in one compiled call, and a
call into JAX for each batch would take longer than the batch.
"""

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Float, Float64, Int
from stable_baselines3 import DQN, SAC, TD3
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from bers.errors import ConfigError

_REMEMBERED = 1000  # batches between two looks at the critic's errors
_WIDTH = 32  # children of a node: a million leaves need four levels


class SumTree:
    """Numbers of which some are drawn, each as often as its size says.

    >>> tree = SumTree(3)
    >>> tree.write(np.array([0, 2]), np.array([1.0, 3.0]))
    >>> tree.find(np.array([0.5, 1.5, 3.9])).tolist()
    [0, 2, 2]
    """

    def __init__(self, size: int) -> None:
        counts = [max(1, size)]
        while counts[-1] > 1:
            counts.append(-(-counts[-1] // _WIDTH))
        if len(counts) == 1:
            counts.append(1)
        self.size = size
        self.levels = [np.zeros((count, _WIDTH)) for count in counts[1:]]
        """From the leaves up: for every node its children."""

    @property
    def total(self) -> float:
        """The sum of all."""
        return float(self.levels[-1].sum())

    @property
    def leaves(self) -> Float64[np.ndarray, " size"]:
        """The numbers themselves."""
        return self.levels[0].ravel()[: self.size]

    def write(self, rows: Int[np.ndarray, " n"], values: Float[np.ndarray, " n"]) -> None:
        """Set some; where a row comes twice, its last value counts."""
        for level, above in zip(self.levels, [*self.levels[1:], None], strict=True):
            nodes, places = np.divmod(rows, _WIDTH)
            level[nodes, places] = values
            if above is None:
                return
            rows = np.unique(nodes)
            values = level[rows].sum(axis=1)  # summed anew, so that nothing drifts

    def find(self, u: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """The rows in which points u of [0, total) fall."""
        rows, rest = np.zeros(len(u), np.int64), np.asarray(u, np.float64).copy()
        for level in reversed(self.levels):
            ends = np.cumsum(level[rows], axis=1)
            rest = np.minimum(rest, np.nextafter(ends[:, -1], 0))
            child = (ends <= rest[:, None]).sum(axis=1)
            at = np.arange(len(rows))
            rest = rest - np.where(child > 0, ends[at, child - 1], 0.0)
            rows = rows * _WIDTH + child
        return rows


class PrioritizedReplayBuffer(ReplayBuffer):
    """For `replay_buffer_class`; goes with a `PrioritizedCallback`.

    Rows that were not learned from yet have the greatest priority there is. Observations are
    arrays.

    Parameters
    ----------
    *args, **kwargs
        Of the library's buffer.
    alpha
        The power of an error that is its priority, in [0, 1].
    seed
        The same one gives the same draws.
    """

    def __init__(self, *args: Any, alpha: float = 0.6, seed: int | None = None, **kwargs: Any):
        seen = kwargs.get("observation_space", args[1] if len(args) > 1 else None)
        if isinstance(seen, spaces.Dict):
            raise ConfigError(
                "prioritised replay takes arrays of observations, not dictionaries. Wrap the "
                "environment in gymnasium.wrappers.FlattenObservation."
            )
        super().__init__(*args, **kwargs)
        if not 0 <= alpha <= 1:
            raise ConfigError(f"alpha must be in [0, 1]; got {alpha}.")
        if self.optimize_memory_usage:
            raise ConfigError("optimize_memory_usage is not possible with prioritised replay.")
        self.alpha = self.first_alpha = alpha
        self.errors = np.zeros(self.buffer_size * self.n_envs, np.float32)
        self.tree = SumTree(self.buffer_size * self.n_envs)
        self.greatest = 1.0
        self.drawn: list[np.ndarray] = []
        self.rng = np.random.default_rng(seed)

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in the library; the new rows will be looked at soon.

        Parameters
        ----------
        *args, **kwargs
            As the library hands them over.
        """
        rows = self.pos * self.n_envs + np.arange(self.n_envs)
        super().add(*args, **kwargs)
        self.learned(rows, np.full(self.n_envs, self.greatest))

    def sample(self, batch_size: int, env: Any = None) -> Any:
        """Rows by their priority, each stretch of the total once.

        Parameters
        ----------
        batch_size
            Number of rows.
        env
            What normalises them, if anything, as the library hands it over.

        Returns
        -------
        ReplayBufferSamples
            As in the library.
        """
        width = self.tree.total / batch_size
        u = (np.arange(batch_size) + self.rng.random(batch_size)) * width
        rows = self.tree.find(u)
        self.drawn.append(rows)
        del self.drawn[:-_REMEMBERED]  # without a callback nobody empties it
        return self.rows(rows, env)

    def rows(self, rows: Int[np.ndarray, " n"], env: Any = None) -> Any:
        """Some rows as a batch.

        Parameters
        ----------
        rows
            Their numbers, by step and environment, all environments of a step together.
        env
            What normalises them, if anything.

        Returns
        -------
        ReplayBufferSamples
            As in the library.
        """
        steps, which = np.divmod(rows, self.n_envs)
        ends = self.dones[steps, which] * (1 - self.timeouts[steps, which])
        kept = (
            self._normalize_obs(self.observations[steps, which], env),
            self.actions[steps, which],
            self._normalize_obs(self.next_observations[steps, which], env),
            ends.reshape(-1, 1),
            self._normalize_reward(self.rewards[steps, which].reshape(-1, 1), env),
        )
        return ReplayBufferSamples(*map(self.to_torch, kept))  # pyright: ignore[reportArgumentType]

    def learned(self, rows: Int[np.ndarray, " n"], errors: Float[np.ndarray, " n"]) -> None:
        """The critic's errors on some rows.

        Parameters
        ----------
        rows
            Their numbers, as in `rows`.
        errors
            One for each; the sign does not matter.
        """
        size = np.abs(errors) + 1e-6
        self.errors[rows] = size
        self.greatest = max(self.greatest, float(size.max()))
        self.tree.write(rows, size**self.alpha)

    def prefer(self, alpha: float) -> None:
        """From now on with another power.

        Parameters
        ----------
        alpha
            Of the errors, also of those known already.
        """
        self.alpha = alpha
        rows = np.flatnonzero(self.errors > 0)
        self.tree.write(rows, self.errors[rows] ** alpha)


class PrioritizedCallback(BaseCallback):
    """Tells a `PrioritizedReplayBuffer` the critic's errors, and lets the preference fade.

    Parameters
    ----------
    fade
        Whether alpha goes down to zero until the last step of training.
    levels
        Steps in which it goes down.
    verbose
        As in the library.
    """

    def __init__(self, *, fade: bool = True, levels: int = 20, verbose: int = 0) -> None:
        super().__init__(verbose)
        self.fade, self.levels = fade, levels
        self._level = 0

    def _on_training_start(self) -> None:
        self._start, self._level = self._buffer().first_alpha, -1
        self._first = self.model.num_timesteps
        self._buffer().drawn.clear()

    def _on_rollout_start(self) -> None:
        buffer = self._buffer()
        if buffer.drawn:
            rows = np.unique(np.concatenate(buffer.drawn))
            buffer.drawn.clear()
            env = self.model._vec_normalize_env
            buffer.learned(rows, td_errors(self.model, buffer.rows(rows, env)))
        steps = self.model._total_timesteps - self._first
        level = int(self.levels * (self.model.num_timesteps - self._first) / max(1, steps))
        if self.fade and level != self._level:
            self._level = level
            buffer.prefer(self._start * max(0.0, 1 - level / self.levels))
            self.logger.record("replay/alpha", buffer.alpha)

    def _on_step(self) -> bool:
        return True

    def _buffer(self) -> PrioritizedReplayBuffer:
        buffer = getattr(self.model, "replay_buffer", None)
        if not isinstance(buffer, PrioritizedReplayBuffer):
            raise ConfigError(
                "PrioritizedCallback needs a learner with "
                "replay_buffer_class=PrioritizedReplayBuffer."
            )
        return buffer


@torch.no_grad()
def td_errors(model: Any, rows: Any) -> Float[np.ndarray, " n"]:
    """How far the critic is from what it would learn at some rows; the mean over its networks."""
    r, ends, gamma = rows.rewards, rows.dones, model.gamma
    if isinstance(model, DQN):
        best = model.q_net_target(rows.next_observations).max(dim=1, keepdim=True).values
        now = model.q_net(rows.observations).gather(1, rows.actions.long())
        return (r + (1 - ends) * gamma * best - now).abs().cpu().numpy().ravel()
    if isinstance(model, SAC):
        action, log_p = model.actor.action_log_prob(rows.next_observations)
        log_alpha = getattr(model, "log_ent_coef", None)
        alpha = model.ent_coef_tensor if log_alpha is None else log_alpha.exp()
        bonus = -alpha * log_p.reshape(-1, 1)
    elif isinstance(model, TD3):
        action, bonus = model.actor_target(rows.next_observations), 0.0
    else:
        raise ConfigError(
            f"prioritised replay knows DDPG, TD3, SAC and DQN; this is {type(model).__name__}."
        )
    after = torch.cat(model.critic_target(rows.next_observations, action), dim=1)
    goal = r + (1 - ends) * gamma * (after.min(dim=1, keepdim=True).values + bonus)
    now = torch.cat(model.critic(rows.observations, rows.actions), dim=1)
    return (goal - now).abs().mean(dim=1).cpu().numpy()
