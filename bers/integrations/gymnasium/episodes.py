"""Episodes of an environment as arrays: one that is running, and those that are over.

Enters: what `reset` and `step` return. Leaves: `Episode`, whose observations and actions have the
shape of their spaces: an array, or a dictionary or tuple of arrays; and the six arrays of a step,
flattened as `bers.data.formats.minari` does when it reads: every way to disk gives the same bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from bers.data.transitions import STEP
from bers.errors import ConfigError, DataError
from bers.text import printable

try:
    from gymnasium import Space, spaces
except ImportError as error:
    raise ConfigError(
        "bers.integrations.gymnasium.episodes needs Gymnasium: pip install 'bers[gymnasium]'."
    ) from error

_LEAVES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


@dataclass(frozen=True)
class Episode:
    """T steps, from a reset to an end.

    >>> one = Episode(np.zeros((3, 2)), np.array([1, 0]), np.ones(2), *ends(2, truncated=True))
    >>> len(one), one.total, one.steps()["next_observation"].shape
    (2, 2.0, (2, 2))
    """

    observations: Any
    """T + 1 rows."""
    actions: Any
    """T rows."""
    rewards: Float64[np.ndarray, " T"]
    terminated: Bool[np.ndarray, " T"]
    """Where the task itself was over."""
    truncated: Bool[np.ndarray, " T"]
    """Where somebody stopped it: a time limit, a reset, the end of the recording."""
    seed: int | None = None
    """What `reset` was given."""

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> float:
        """The sum of its rewards."""
        return float(self.rewards.sum())

    def steps(self) -> dict[str, np.ndarray]:
        """Its transitions: the six arrays of `Demonstrations.from_transitions`, by name."""
        seen = flat(self.observations)
        values = (seen[:-1], flat(self.actions), self.rewards, seen[1:])
        return dict(zip(STEP, (*values, self.terminated, self.truncated), strict=True))


class Running:
    """An episode that goes on: rows are copied, for environments may write over their arrays.

    >>> running = Running(0, None, spaces.Discrete(3), spaces.Box(-1, 1, (1,)))
    >>> running.add([0.5], 2, 1.0, False, False)
    >>> running.stopped().steps()["truncated"]
    array([ True])
    """

    def __init__(
        self, observation: Any, seed: int | None, observation_space: Space, action_space: Space
    ) -> None:
        self._seen, self._did = observation_space, action_space
        self._seed = seed
        self._observations = [copied(observation, observation_space, "observation")]
        self._actions: list[Any] = []
        self._rest: list[tuple[float, bool, bool]] = []

    def add(
        self, action: Any, observation: Any, reward: Any, terminated: bool, truncated: bool
    ) -> None:
        """One step: the action, and what came of it."""
        row = copied(action, self._did, "action"), copied(observation, self._seen, "observation")
        self._rest.append((float(reward), bool(terminated), bool(truncated)))
        self._actions.append(row[0])
        self._observations.append(row[1])

    def stopped(self) -> Episode | None:
        """The episode so far, truncated unless it ended by itself; None if there was no step."""
        if not self._rest:
            return None
        rewards, terminated, truncated = (
            np.array(column) for column in zip(*self._rest, strict=True)
        )
        truncated[-1] |= not terminated[-1]
        return Episode(
            stacked(self._observations),
            stacked(self._actions),
            rewards,
            terminated,
            truncated,
            self._seed,
        )


def ends(
    steps: int, *, terminated: bool = False, truncated: bool = False
) -> tuple[Bool[np.ndarray, " T"], Bool[np.ndarray, " T"]]:
    """The two columns of an episode that ends after so many steps.

    >>> ends(2, truncated=True)
    (array([False, False]), array([False,  True]))
    """
    last = np.arange(steps) == steps - 1
    return last & terminated, last & truncated


def check_space(space: Space, what: str) -> None:
    """Refuse what cannot be kept as rows of numbers.

    >>> check_space(spaces.Dict({"a": spaces.Discrete(2)}), "observation")
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        inner = space.spaces if isinstance(space, spaces.Dict) else dict(enumerate(space.spaces))
        if not inner:
            raise ConfigError(f"the {what} space is empty; there is nothing to record.")
        for key, part in inner.items():
            name = str(key)
            if isinstance(space, spaces.Dict) and (
                not isinstance(key, str) or not name.strip(".") or "/" in name or name[:1] == "_"
            ):
                raise ConfigError(
                    f"the {what} space has a key {printable(repr(key))}. Rename it to a text that "
                    "has no / in it and does not start with _ ."
                )
            check_space(part, f"{what} {printable(name)}")
    elif not isinstance(space, _LEAVES) or not np.prod(space.shape or (1,)):
        raise ConfigError(
            f"the {what} space is {printable(str(space))}, which is not recorded. Wrap the "
            "environment so that it is Box, Discrete, MultiDiscrete, MultiBinary, or a Dict or "
            "Tuple of these."
        )


def copied(value: Any, space: Space, what: str) -> Any:
    """One observation or action, as arrays of its own, in the shape of its space.

    Floats keep the width they came in; whole numbers get the type of the space.

    >>> copied({"b": 1, "a": [2, 3]}, spaces.Dict(a=spaces.Box(0, 9, (2,)), b=spaces.Discrete(2)),
    ...     "observation")
    {'a': array([2., 3.], dtype=float32), 'b': array(1)}
    """
    if isinstance(space, spaces.Dict):
        return {key: copied(value[key], part, f"{what} {key}") for key, part in space.items()}
    if isinstance(space, spaces.Tuple):
        pairs = enumerate(zip(value, space, strict=True))
        return tuple(copied(one, part, f"{what} {i}") for i, (one, part) in pairs)
    array = np.array(value)
    if array.dtype.kind not in "biuf" or array.shape != space.shape:
        raise DataError(
            f"{printable(what)} has type {array.dtype} and shape {array.shape}; its space has "
            f"{space.dtype} and {space.shape}. Correct the environment or the policy."
        )
    if array.dtype == space.dtype or array.dtype.kind == "f":
        return array
    same = array.astype(space.dtype)
    return same if np.array_equal(same, array) else array


def stacked(rows: list[Any]) -> Any:
    """Rows of the same shape as one array, or one dictionary or tuple of arrays.

    >>> stacked([{"a": np.array(1)}, {"a": np.array(2)}])
    {'a': array([1, 2])}
    """
    first = rows[0]
    if isinstance(first, dict):
        return {key: stacked([row[key] for row in rows]) for key in first}
    if isinstance(first, tuple):
        return tuple(stacked([row[i] for row in rows]) for i in range(len(first)))
    return np.array(rows)


def flat(tree: Any) -> np.ndarray:
    """An array as it is; of several, all flattened side by side, in order of keys or places.

    >>> flat({"b": np.array([[1.0, 2.0]]), "a": np.array([3])})
    array([[3., 1., 2.]])
    """
    if isinstance(tree, np.ndarray):
        return tree
    parts = [tree[key] for key in sorted(tree)] if isinstance(tree, dict) else tree
    columns = [flat(part) for part in parts]
    return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1)
