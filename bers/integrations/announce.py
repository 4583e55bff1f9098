"""Gymnasium hears of our environments, whichever of the two is imported first.

BERS does not import Gymnasium: it is optional, and brings in NumPy. If Gymnasium is there already,
they are registered at once. Else a finder that finds nothing of its own waits on
`sys.meta_path` until Gymnasium is imported, and takes itself away.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SUPPLY_CHAIN = "bers/SupplyChain-v0"
_ENVIRONMENTS: dict[str, dict[str, Any]] = {
    SUPPLY_CHAIN: {
        "entry_point": "bers.integrations.gymnasium:SupplyChainEnv",
        "vector_entry_point": "bers.integrations.gymnasium:SupplyChainVectorEnv",
    },
    "bers/Reacher-v0": {
        "entry_point": "bers.integrations.reacher:ReacherEnv",
        "vector_entry_point": "bers.integrations.reacher:ReacherVectorEnv",
        "max_episode_steps": 500,
    },
    "bers/ReacherContinuous-v0": {
        "entry_point": "bers.integrations.reacher:ReacherEnv",
        "vector_entry_point": "bers.integrations.reacher:ReacherVectorEnv",
        "max_episode_steps": 500,
        "kwargs": {"continuous": True},
    },
    "bers/PendulumGoal-v0": {"entry_point": "bers.integrations.goals:PendulumGoal"},
    "bers/CartPoleGoal-v0": {"entry_point": "bers.integrations.goals:CartPoleGoal"},
    "bers/MountainCarGoal-v0": {"entry_point": "bers.integrations.goals:MountainCarGoal"},
}
_STEPS = 200


def announce() -> None:
    """Register now, or once Gymnasium is imported; where it is not installed, never.

    >>> import gymnasium
    >>> announce()
    >>> gymnasium.spec("bers/SupplyChain-v0").max_episode_steps
    200
    """
    if not _registered() and importlib.util.find_spec("gymnasium") is not None:
        sys.meta_path.insert(0, _Waiting())


class _Waiting(MetaPathFinder):
    """Gymnasium imports more of itself when its registry is there: that is the moment."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("gymnasium.") or not _registered():
            return None
        sys.meta_path.remove(self)
        return importlib.util.find_spec(fullname)  # by all the others


def _registered() -> bool:
    """Register if Gymnasium's registry is there; whether it was."""
    registration: Any = sys.modules.get("gymnasium.envs.registration")
    if not hasattr(registration, "register"):
        return False
    for name, where in _ENVIRONMENTS.items():
        if name not in registration.registry:
            registration.register(id=name, **{"max_episode_steps": _STEPS, **where})
    return True
