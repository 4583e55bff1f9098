"""Demonstrations in the form that a replay buffer of Stable-Baselines3 holds.

Enters: records of transitions, or paths to them, and the spaces of a task. Leaves: arrays that a
buffer can draw from: actions scaled to [-1, 1] as the library stores them, ends that are no
time-outs, observations in the space's type. Whoever pickles a `Sources` gets names, digests and
paths, and not the rows.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from jaxtyping import Float32, Int

from bers.data.demonstrations import Demonstrations
from bers.data.transitions import STEP
from bers.errors import ConfigError, DataError, FileError
from bers.text import unique

_EDGE = 1e-4  # of a range: how far an action may lie outside it, for rounding


class Sources:
    """Several demonstrators.

    Parameters
    ----------
    items
        A list of `Demonstrations` or paths to them; or a `Sources`, for the same once more.

    Examples
    --------
    >>> steps = [[0.0]], [[0.5]], [1.0], [[0.1]], [False], [False]
    >>> Sources([Demonstrations.from_transitions(*steps, name="alice")])
    Sources('alice': 1 rows)
    """

    def __init__(
        self, items: "Sequence[Demonstrations | str | os.PathLike[str]] | Sources"
    ) -> None:
        if isinstance(items, Sources):
            self.__dict__.update(items.__dict__)
            return
        if isinstance(items, Demonstrations | str | os.PathLike):
            raise ConfigError("sources must be a list: sources=[...], also if there is one only.")
        items = list(items)
        given = [_read(item) for item in items]
        if not given:
            raise ConfigError("sources must not be empty. Without sources use ReplayBuffer.")
        self._items: list[Demonstrations] | None = given
        self.paths = [None if isinstance(i, Demonstrations) else str(i) for i in items]
        self.names = unique([source.name for source in given])
        self.digests = [source.digest for source in given]

    @property
    def items(self) -> list[Demonstrations]:
        """The records; read again from their paths after unpickling."""
        if self._items is None:
            self._items = [self._again(i) for i in range(len(self.names))]
        return self._items

    @property
    def at_hand(self) -> bool:
        """Whether the rows are in memory."""
        return self._items is not None

    def _again(self, i: int) -> Demonstrations:
        path = self.paths[i]
        if path is None or not (path.startswith("minari:") or Path(path).exists()):
            raise FileError(
                f"the rows of source {self.names[i]!r} were not saved with the learner. Give them "
                "again: model.replay_buffer.attach([...])."
            )
        found = _read(path)
        if found.digest != self.digests[i]:
            raise FileError(
                f"{path} has changed since source {self.names[i]!r} was read from it. Give the "
                "rows of then: model.replay_buffer.attach([...])."
            )
        return found

    def same_as(self, others: "Sources") -> bool:
        """Whether these are the same rows, in the same order.

        Parameters
        ----------
        others
            What to compare with, by digests: rows need not be at hand.

        Returns
        -------
        bool
            Names count, paths do not.
        """
        return self.digests == others.digests

    def __iter__(self) -> Any:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_items": None}

    def __repr__(self) -> str:
        if self._items is None:
            return f"Sources({', '.join(map(repr, self.names))}: not read)"
        said = (f"{n!r}: {d.n} rows" for n, d in zip(self.names, self._items, strict=True))
        return f"Sources({', '.join(said)})"


@dataclass(frozen=True)
class Pool:
    """Transitions of all sources, one source behind the other, as a buffer stores them."""

    observations: Any
    next_observations: Any
    actions: np.ndarray
    dones: Float32[np.ndarray, " n"]
    rewards: Float32[np.ndarray, " n"]
    counts: Int[np.ndarray, " N"]
    """Rows of each source."""


def pool_of(
    sources: Sources,
    observation_space: spaces.Space,
    action_space: spaces.Space,
    *,
    timeouts_are_no_ends: bool = True,
) -> Pool:
    """All rows, checked against the spaces."""
    parts = [_steps(source) for source in sources]
    seen = [
        [
            in_space(part[name], observation_space, f"{name} of {source.name!r}")
            for part, source in zip(parts, sources, strict=True)
        ]
        for name in ("observation", "next_observation")
    ]
    acts = [
        scaled(in_space(p["action"], action_space, f"action of {s.name!r}"), action_space, s.name)
        for p, s in zip(parts, sources, strict=True)
    ]
    ends = [
        np.asarray(p["terminated"], bool)
        | (np.asarray(p["truncated"], bool) & (not timeouts_are_no_ends))
        for p in parts
    ]
    return Pool(
        observations=_joined(seen[0]),
        next_observations=_joined(seen[1]),
        actions=np.concatenate(acts),
        dones=np.concatenate(ends).astype(np.float32),
        rewards=np.concatenate([p["reward"] for p in parts]).astype(np.float32),
        counts=np.array([source.n for source in sources]),
    )


def in_space(values: Any, space: spaces.Space, what: str) -> Any:
    """Rows of a space: (n, ...) in its type; for a dictionary of spaces one array each.

    Rows of a dictionary are its parts side by side, sorted by name. Images may have their colours
    last; Stable-Baselines3 has them first.

    >>> in_space(np.array([1, 0]), spaces.Discrete(2), "action").tolist()
    [[1], [0]]
    """
    values = np.asarray(values)
    n = len(values)
    if isinstance(space, spaces.Dict):
        inside = sorted(space.spaces.items())
        for key, inner in inside:
            if len(inner.shape or ()) > 2:
                raise ConfigError(
                    f"{what}, part {key!r}: images in dictionaries cannot be used here, since "
                    "rows do not say where their colours are. Observe the image alone."
                )
        widths = [_width(inner) for _, inner in inside]
        flat = _reshaped(values, (n, sum(widths)), what, space)
        cuts = np.split(flat, np.cumsum(widths)[:-1], axis=1)
        return {
            key: in_space(cut, inner, f"{what}, part {key!r}")
            for (key, inner), cut in zip(inside, cuts, strict=True)
        }
    if isinstance(space, spaces.Discrete):
        numbers = _reshaped(values, (n, 1), what, space)
        if not ((numbers >= space.start) & (numbers < space.start + space.n)).all():
            raise DataError(
                f"{what}: numbers must lie in {space.start} ... {space.start + space.n - 1}, as "
                "the task's space says. Are these rows of another task?"
            )
        return numbers.astype(np.int64)
    if space.shape is None:
        raise ConfigError(f"{what}: spaces of type {type(space).__name__} cannot be used here.")
    if values.ndim == 4 and values.shape[1:] != space.shape:
        values = np.moveaxis(values, -1, 1)
    if values.ndim > 2 and values.shape[1:] != space.shape:
        raise _misfit(values, what, space)
    return _reshaped(values, (n, *space.shape), what, space).astype(space.dtype)


def scaled(actions: np.ndarray, space: spaces.Space, name: str) -> np.ndarray:
    """Actions as Stable-Baselines3 stores them: those of a box go from [low, high] to [-1, 1].

    >>> scaled(np.array([[2.0]]), spaces.Box(0.0, 2.0, (1,)), "alice").tolist()
    [[1.0]]
    """
    if not isinstance(space, spaces.Box):
        return actions
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    slack = _EDGE * (high - low)
    if ((actions < low - slack) | (actions > high + slack)).any():
        worst = float(np.abs(actions).max())
        raise DataError(
            f"actions of source {name!r} lie outside the task's action space (up to {worst:g} in "
            "size). Give actions in the environment's own units, before any scaling."
        )
    return np.clip(2 * (actions - low) / (high - low) - 1, -1, 1).astype(np.float32)


def unscaled(actions: np.ndarray, space: spaces.Space) -> np.ndarray:
    """The way back.

    >>> unscaled(np.array([[1.0]]), spaces.Box(0.0, 2.0, (1,))).tolist()
    [[2.0]]
    """
    if not isinstance(space, spaces.Box):
        return actions
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    return (low + (actions + 1) / 2 * (high - low)).astype(np.float32)


def flat(values: Any, space: spaces.Space) -> Float32[np.ndarray, "n k"]:
    """Rows of numbers; a choice becomes one column for each possibility.

    >>> flat(np.array([[1], [0]]), spaces.Discrete(2)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if isinstance(space, spaces.Dict):
        parts = [flat(values[key], inner) for key, inner in sorted(space.spaces.items())]
        return np.concatenate(parts, axis=1)
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[values.ravel() - space.start]
    return values.reshape(len(values), int(np.prod(values.shape[1:]))).astype(np.float32)


def _read(item: Any) -> Demonstrations:
    if isinstance(item, Demonstrations):
        return item
    from bers.data.storage import load  # the readers of files, where there are any

    found = load(item)
    if not isinstance(found, Demonstrations):
        raise DataError(
            f"{item} is too large to be held in memory, which a replay buffer must do. Take a "
            "sample of its rows first, or load it with stream=False."
        )
    return found


def _steps(source: Demonstrations) -> dict[str, np.ndarray]:
    missing = [name for name in STEP if name not in source.payload]
    if missing:
        raise DataError(
            f"source {source.name!r} holds no transitions: {', '.join(missing)} are missing from "
            "its payload. Make it by Demonstrations.from_transitions, or load a Minari data set."
        )
    return {name: source.payload[name] for name in STEP}


def _reshaped(
    values: np.ndarray, shape: tuple[int, ...], what: str, space: spaces.Space
) -> np.ndarray:
    if values.size != int(np.prod(shape)):
        raise _misfit(values, what, space)
    return values.reshape(shape)


def _misfit(values: np.ndarray, what: str, space: spaces.Space) -> DataError:
    return DataError(
        f"{what} has shape {values.shape}, but the task's space is {space}. Are these rows of "
        "another task, or seen through another wrapper?"
    )


def _width(space: spaces.Space) -> int:
    return 1 if isinstance(space, spaces.Discrete) else int(np.prod(space.shape or ()))


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)
