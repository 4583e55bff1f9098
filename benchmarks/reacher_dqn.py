"""DQN on the reacher: training steps per second, against Stable-Baselines3 and SBX.

A step is an action, a move of the arm, and one update of the network and its slow copy on a batch.
All have two hidden layers of 256 units (tanh), batches of 32, and one thread. Ours is one compiled
call for each episode; the peers step a Gymnasium environment whose step is compiled too.
"""

from collections.abc import Callable

import gymnasium
from bers_studies.envs.reacher import Reacher, ReacherTask
from bers_studies.rl import dqn
from bers_studies.rl.dqn import DQNConfig
from row import Row
from training import compiled, continued, race

STEPS = Reacher().horizon
_CONFIG = DQNConfig()


def rows() -> list[Row]:
    """Two races."""
    return race("reacher_dqn", {"ours": ours, "sb3": sb3, "sbx": sbx}, steps=STEPS, config=_CONFIG)


def ours() -> Callable[[], object]:
    """An episode at a call."""
    return compiled(dqn, ReacherTask(Reacher()), _CONFIG)


def sb3() -> Callable[[], object]:
    """The same number of steps."""
    from stable_baselines3 import DQN
    from torch import nn

    return _peer(DQN, nn.Tanh, device="cpu")


def sbx() -> Callable[[], object]:
    """The same number of steps."""
    from flax import linen
    from sbx import DQN

    return _peer(DQN, linen.tanh)


def _peer(make: type, activation: object, **options: object) -> Callable[[], object]:
    env = gymnasium.make("bers/Reacher-v0", disable_env_checker=True)
    model = make(
        "MlpPolicy",
        env,
        learning_rate=_CONFIG.rate,
        buffer_size=_CONFIG.capacity,
        learning_starts=_CONFIG.batch_size,
        batch_size=_CONFIG.batch_size,
        tau=_CONFIG.target_rate,
        target_update_interval=1,
        gamma=_CONFIG.gamma,
        train_freq=1,
        gradient_steps=1,
        exploration_initial_eps=_CONFIG.epsilon,
        exploration_final_eps=_CONFIG.epsilon,
        policy_kwargs={"net_arch": list(_CONFIG.hidden), "activation_fn": activation},
        seed=0,
        **options,
    )
    return continued(model, STEPS)
