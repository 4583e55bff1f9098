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

from bers.text import unique

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
    names = unique([name if len(name) <= _KEY else name[: _KEY - 5] for name in given])
    for short, name in zip(names, given, strict=True):
        logger.record(f"bers/weight_{short}", weights[name])
    logger.record("bers/nobody", weights[nobody])
    logger.record("bers/p_m", p_m)
    logger.record("bers/explained", explained)
    for short, share in zip([*names, "own"], drawn / max(1, drawn.sum()), strict=True):
        logger.record(f"bers/rows_{short}", float(share))


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
