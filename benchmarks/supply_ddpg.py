"""DDPG on the supply chain: training steps per second, against Stable-Baselines3 and SBX.

A step is an action, a period of the network, and one update of actor, critic and their slow copies
on a batch. All have two hidden layers of 300 units, batches of 32, the same stocks one-hot, and one
thread. Ours is one compiled call for each episode; the peers step a Gymnasium environment. They do
without the penalty on weights that ours has.
"""

from collections.abc import Callable

import gymnasium
import numpy as np
from bers_studies.envs.supply_chain import SupplyChain
from bers_studies.envs.supply_env import OneHotStocks
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.rl import ddpg
from bers_studies.rl.ddpg import DDPGConfig
from row import Row
from training import compiled, continued, race

STEPS = SupplyChain().horizon
_CONFIG = DDPGConfig()


def rows() -> list[Row]:
    """Two races."""
    return race("supply_ddpg", {"ours": ours, "sb3": sb3, "sbx": sbx}, steps=STEPS, config=_CONFIG)


def ours() -> Callable[[], object]:
    """An episode at a call."""
    return compiled(ddpg, SupplyTask(SupplyChain()), _CONFIG)


def sb3() -> Callable[[], object]:
    """The same number of steps; its actor and critic share one rate."""
    from stable_baselines3 import DDPG

    return _peer(DDPG, device="cpu", policy_kwargs={"net_arch": list(_CONFIG.hidden)})


def sbx() -> Callable[[], object]:
    """The same number of steps."""
    from sbx import DDPG

    return _peer(
        DDPG,
        qf_learning_rate=_CONFIG.critic_rate,
        policy_kwargs={"net_arch": list(_CONFIG.hidden)},
    )


def _peer(make: type, **options: object) -> Callable[[], object]:
    from stable_baselines3.common.noise import NormalActionNoise

    env = OneHotStocks(gymnasium.make("bers/SupplyChain-v0", disable_env_checker=True))
    outputs = env.action_space.shape[0]
    model = make(
        "MlpPolicy",
        env,
        learning_rate=_CONFIG.actor_rate,
        buffer_size=_CONFIG.capacity,
        learning_starts=_CONFIG.batch_size,
        batch_size=_CONFIG.batch_size,
        tau=_CONFIG.target_rate,
        gamma=_CONFIG.gamma,
        train_freq=1,
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(outputs), np.full(outputs, _CONFIG.noise)),
        seed=0,
        **options,
    )
    return continued(model, STEPS)
