"""From steps of an environment to the rows that a model regresses.

Enter: observation, action, reward, next observation and the two ends, one row a step. Leave:
the fields of a record: x is made of observation, action and next observation, y is the
reward, and the payload holds the six arrays as they came.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bers.data.checks import data_error, numbers, payloads, whole
from bers.errors import ConfigError

STEP: tuple[str, ...] = (
    "observation",
    "action",
    "reward",
    "next_observation",
    "terminated",
    "truncated",
)
"""The payload of one step, in this order."""

Inputs = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From rows of observations, actions and next observations to what a model sees of them."""


def transition_fields(
    steps: Mapping[str, Any],
    inputs: Inputs | None,
    n_actions: int | None,
    origin: str = "",
) -> dict[str, Any]:
    """Fields for a record of transitions; the caller adds the name.

    >>> steps = dict(zip(STEP, ([[0.5]], [0], [1.0], [[0.7]], [True], [False]), strict=True))
    >>> transition_fields(steps, None, 2)["x_names"]
    ('observation.0', 'action.0', 'action.1', 'next_observation.0')
    """
    if inputs is not None and not callable(inputs):
        raise ConfigError(
            "inputs must be a function of observations, actions and next observations; got "
            f"{type(inputs).__name__}."
        )
    reward = numbers(steps["reward"], "reward", origin=origin)
    if reward.ndim != 1:
        raise data_error(f"reward must have shape (rows,); got {reward.shape}.", origin)
    kept = payloads(steps, len(reward), origin)
    parts = {name: kept[name] for name in ("observation", "action", "next_observation")}
    if inputs is None:
        columns = {name: _flat(values) for name, values in parts.items()}
        columns["action"] = _action_columns(parts["action"], n_actions, origin)
        x = np.concatenate(list(columns.values()), axis=1)
        x_names = tuple(f"{name}.{j}" for name, c in columns.items() for j in range(c.shape[1]))
    elif n_actions is not None:
        raise ConfigError("n_actions has no effect with inputs=...; pass one of the two.")
    else:
        x, x_names = inputs(*parts.values()), ()
    return {"x": x, "y": kept["reward"], "payload": kept, "x_names": x_names, "y_name": "reward"}


def _flat(values: np.ndarray) -> np.ndarray:
    width = int(np.prod(values.shape[1:]))
    return values.reshape(len(values), width)


def _action_columns(action: np.ndarray, n_actions: int | None, origin: str) -> np.ndarray:
    """Flatten the actions; a whole number stands for a choice, so it gets a column a choice."""
    if action.ndim > 1 or action.dtype.kind not in "iu":
        if n_actions is not None:
            raise ConfigError(
                f"n_actions is for whole-number actions of shape (rows,); these have shape "
                f"{action.shape} and type {action.dtype}. Leave n_actions out."
            )
        return _flat(action)
    largest = int(action.max(initial=0))
    count = largest + 1 if n_actions is None else whole(n_actions, "n_actions")
    wrong = (action < 0) | (action >= count)
    if wrong.any() or count > 10_000:
        row = int(wrong.argmax()) if wrong.any() else int(action.argmax())
        raise data_error(
            f"column 'action': {max(int(wrong.sum()), 1)} actions do not lie in 0 ... "
            f"{min(count, 10_000) - 1}, the first in row {row} ({action[row]}). "
            "Number the actions from 0, or pass inputs=...",
            origin,
        )
    return (action[:, None] == np.arange(count)).astype(np.float32)
