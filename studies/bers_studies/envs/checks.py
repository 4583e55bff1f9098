"""What our Gymnasium environments check alike: limits, seeds, masks, actions, ways to draw."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32
from numpy.typing import ArrayLike

from bers.errors import ConfigError, DataError

RENDERING: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}
"""For `metadata`."""


def checked_options(options: dict[str, Any], kind: type, *, own: set[str]) -> dict[str, Any]:
    """Options that a record of settings has; those of `own` are given otherwise.

    >>> from bers_studies.envs.reacher import Reacher
    >>> checked_options({"mass": 0.1}, Reacher, own={"goal"})
    {'mass': 0.1}
    """
    if "horizon" in options:
        raise ConfigError(
            "the length of an episode is Gymnasium's: give max_episode_steps, not horizon."
        )
    known = {field.name for field in fields(kind)} - own - {"horizon"}
    if unknown := sorted(set(options) - known):
        raise ConfigError(
            f"the environment has no option {', '.join(unknown)}; it has "
            f"{', '.join(sorted(known))}."
        )
    return options


def checked_limit(steps: int | None) -> float:
    """Steps of an episode; None, or -1 as `gymnasium.make` has it, is for ever.

    >>> checked_limit(200), checked_limit(None)
    (200, inf)
    """
    if steps is None or steps == -1:
        return np.inf
    if steps < 1:
        raise ConfigError(f"max_episode_steps must be 1 or more, or None; got {steps}.")
    return steps


def checked_mode(mode: str | None) -> str | None:
    """A way to draw that we have.

    >>> checked_mode("rgb_array")
    'rgb_array'
    """
    if mode not in (None, *RENDERING["render_modes"]):
        raise ConfigError(f'render_mode must be None or "rgb_array"; got {mode!r}.')
    return mode


def checked_action(action: ArrayLike, shape: tuple[int, ...]) -> Float32[np.ndarray, "..."]:
    """Finite numbers of the right shape.

    >>> checked_action([1, 0], (2,)).dtype
    dtype('float32')
    """
    numbers = np.asarray(action, np.float32)
    if numbers.shape != shape:
        raise DataError(f"an action must have shape {shape}; got {numbers.shape}.")
    if not np.isfinite(numbers).all():
        raise DataError("an action must be finite; got NaN or infinity.")
    return numbers


def seeds_of(seed: int | Sequence[int | None] | None, n: int) -> Sequence[int | None]:
    """One seed for each copy; a single one is counted up.

    >>> seeds_of(5, 2)
    [5, 6]
    """
    if seed is None:
        return [None] * n
    if isinstance(seed, int | np.integer):
        return [int(seed) + i for i in range(n)]
    if len(seed) != n:
        raise ConfigError(
            f"reset(seed=...) must be one seed or {n}, one per copy; got {len(seed)}."
        )
    return seed


def checked_mask(mask: Any, n: int) -> Bool[np.ndarray, " n"]:
    """Which copies to reset; all by default.

    >>> checked_mask(None, 2)
    array([ True,  True])
    """
    if mask is None:
        return np.ones(n, bool)
    mask = np.asarray(mask)
    if mask.shape != (n,) or mask.dtype != bool:
        raise ConfigError(f"reset_mask must be {n} truth values; got {mask.dtype} {mask.shape}.")
    return mask
