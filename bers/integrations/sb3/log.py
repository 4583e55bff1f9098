"""What a user of Stable-Baselines3 sees of trust while an agent learns.

Enters: weights, chances and the make-up of batches. Leaves: entries of the library's logger, which
TensorBoard and CSV files show, and a few words in its progress bar.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Int
from stable_baselines3.common.callbacks import CallbackList, ProgressBarCallback
from stable_baselines3.common.logger import Logger

from bers.integrations.sb3.following import FREE, Following
from bers.text import unique
from bers.trust.worth import Worth

_KEY = 26
"""Letters of a name that fit: the library's table cuts keys at 36, and does not bear two that are
then alike."""


def record(
    logger: Logger,
    weights: Mapping[str, float],
    drawn: Int[np.ndarray, " N+1"],
    *,
    p_m: float,
    explained: float,
) -> None:
    """The weights by name with "nobody" last, and rows drawn from each source, own ones last."""
    *given, nobody = weights
    names = _short(given)
    for short, name in zip(names, given, strict=True):
        logger.record(f"bers/weight_{short}", weights[name])
    logger.record("bers/nobody", weights[nobody])
    logger.record("bers/p_m", p_m)
    logger.record("bers/explained", explained)
    for short, share in zip([*names, "own"], drawn / max(1, drawn.sum()), strict=True):
        logger.record(f"bers/rows_{short}", float(share))


def followed(logger: Logger, worth: Worth, following: Following) -> None:
    """What each source would earn, who is followed (his number, from 0; -1: nobody), how freely,
    what he earns and what the learner earns by itself."""
    names = [one.name for one in worth.sources]
    for short, mean in zip(_short(names), worth.mean, strict=True):
        logger.record(f"bers/worth_{short}", float(mean))
    leader = following.leader if following.leader is not None and following.freedom < FREE else -1
    logger.record("bers/leader", leader)
    logger.record("bers/freedom", following.freedom)
    logger.record("bers/leader_return", following.reference)
    logger.record("bers/own_return", following.level)


def _short(names: list[str]) -> list[str]:
    return unique([name if len(name) <= _KEY else name[: _KEY - 5] for name in names])


def show(callback: Any, weights: Mapping[str, float], p_m: float) -> None:
    """Whom the agent trusts most, in the progress bar, if there is one."""
    bar = _progress_bar(callback)
    if bar is not None:
        best = max(weights, key=lambda name: weights[name])
        told = f"trust {best} {weights[best]:.2f}, p {p_m:.2f} "
        bar.set_description_str(told)  # the library's bar draws no postfix


def _progress_bar(callback: Any) -> Any:
    """The bar of `learn(progress_bar=True)`, if there is one."""
    for one in callback.callbacks if isinstance(callback, CallbackList) else [callback]:
        if isinstance(one, ProgressBarCallback):
            return getattr(one, "pbar", None)
        if isinstance(one, CallbackList):
            found = _progress_bar(one)
            if found is not None:
                return found
    return None
