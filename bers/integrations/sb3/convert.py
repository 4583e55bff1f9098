"""Replay buffers of Stable-Baselines3 as demonstrations.

Enters: a buffer in memory. Leaves: a record of transitions in the environment's own units, oldest
first. Saved buffers are pickles, which BERS does not read: reading one runs whatever its writer put
there. Their owner loads them with the library that wrote them, and hands on Parquet.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer

from bers.data.demonstrations import Demonstrations
from bers.data.transitions import Inputs
from bers.errors import ConfigError, DataError
from bers.integrations.sb3.sources import unscaled


def from_replay_buffer(
    buffer: ReplayBuffer,
    *,
    name: str,
    inputs: Inputs | None = None,
) -> Demonstrations:
    """All transitions that a buffer holds; several environments one behind the other.

    Parameters
    ----------
    buffer
        A `ReplayBuffer` of Stable-Baselines3, in memory.
    name
        Whose steps these are.
    inputs
        Makes x of observations, actions and next observations, as in
        `Demonstrations.from_transitions`.

    Returns
    -------
    Demonstrations
        One row a step, in the environment's own units, oldest first.

    Examples
    --------
    >>> box = spaces.Box(-2.0, 2.0, (1,))
    >>> buffer = ReplayBuffer(9, box, box)
    >>> one = np.ones((1, 1), np.float32)
    >>> buffer.add(one, one, one / 2, one[0], one[0], [{}])
    >>> from_replay_buffer(buffer, name="alice").payload["action"].tolist()
    [[1.0]]
    """
    if not isinstance(buffer, ReplayBuffer):
        raise ConfigError(f"a ReplayBuffer is needed; got a {type(buffer).__name__}.")
    held = buffer.buffer_size if buffer.full else buffer.pos
    order = (np.arange(held) + (buffer.pos if buffer.full else 0)) % buffer.buffer_size
    if buffer.optimize_memory_usage and buffer.full:
        order = order[1:]  # the place that is written next holds half a transition
    if not len(order):
        raise DataError("the buffer is empty. Save it after the learner has seen some steps.")
    before, after = _observations(buffer, order)
    dones = _column(buffer.dones, order) > 0
    timeouts = dones & (_column(buffer.timeouts, order) > 0)
    space = buffer.action_space
    actions = unscaled(_column(buffer.actions, order), space)
    return Demonstrations.from_transitions(
        before,
        actions.ravel() if isinstance(space, spaces.Discrete) else actions,
        _column(buffer.rewards, order),
        after,
        dones & ~timeouts,
        timeouts,
        name=name,
        inputs=inputs,
        n_actions=int(space.n) if isinstance(space, spaces.Discrete) and inputs is None else None,
    )


def _column(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Environments one behind the other, each in order of time."""
    rows = np.swapaxes(values[order], 0, 1)
    return rows.reshape(-1, *rows.shape[2:])


def _observations(buffer: ReplayBuffer, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    stored: Any = buffer.observations
    if isinstance(stored, dict):
        later: Any = buffer.next_observations
        return _side_by_side(stored, order), _side_by_side(later, order)
    if buffer.optimize_memory_usage:
        following = (order + 1) % buffer.buffer_size
        return _column(stored, order), _column(stored, following)
    return _column(stored, order), _column(buffer.next_observations, order)


def _side_by_side(parts: dict[str, np.ndarray], order: np.ndarray) -> np.ndarray:
    columns = [_column(parts[key], order) for key in sorted(parts)]
    return np.concatenate([c.reshape(len(c), -1) for c in columns], axis=1)
