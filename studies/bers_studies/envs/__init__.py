"""Environments with goals that conflict. Importing this package tells Gymnasium of them.

>>> import gymnasium
>>> gymnasium.spec("bers/SupplyChain-v0").max_episode_steps
200
"""

from typing import Any

from gymnasium.envs.registration import register, registry

SUPPLY_CHAIN = "bers/SupplyChain-v0"
_HERE = "bers_studies.envs"
_REACHER: dict[str, Any] = {
    "entry_point": f"{_HERE}.reacher_env:ReacherEnv",
    "vector_entry_point": f"{_HERE}.reacher_env:ReacherVectorEnv",
    "max_episode_steps": 500,
}
_ENVIRONMENTS: dict[str, dict[str, Any]] = {
    SUPPLY_CHAIN: {
        "entry_point": f"{_HERE}.supply_env:SupplyChainEnv",
        "vector_entry_point": f"{_HERE}.supply_env:SupplyChainVectorEnv",
    },
    "bers/Reacher-v0": _REACHER,
    "bers/ReacherContinuous-v0": {**_REACHER, "kwargs": {"continuous": True}},
    "bers/PendulumGoal-v0": {"entry_point": f"{_HERE}.goals:PendulumGoal"},
    "bers/CartPoleGoal-v0": {"entry_point": f"{_HERE}.goals:CartPoleGoal"},
    "bers/TrackGoal-v0": {"entry_point": f"{_HERE}.goals:TrackGoal", "max_episode_steps": 60},
    "bers/MountainCarGoal-v0": {"entry_point": f"{_HERE}.goals:MountainCarGoal"},
}
_STEPS = 200

for _name, _where in _ENVIRONMENTS.items():
    if _name not in registry:
        register(id=_name, **{"max_episode_steps": _STEPS, **_where})
