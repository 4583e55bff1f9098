"""Stable-Baselines3 and SBX: what a user imports.

from bers.integrations.sb3 import BersCallback, BersReplayBuffer

model = SAC("MlpPolicy", env, replay_buffer_class=BersReplayBuffer,
            replay_buffer_kwargs={"sources": ["alice.parquet", "bob.parquet"]})
model.learn(50_000, callback=BersCallback())
"""

from bers.errors import ConfigError

try:
    import stable_baselines3  # noqa: F401
except ImportError as error:
    raise ConfigError(
        "bers.integrations.sb3 needs Stable-Baselines3: pip install 'bers[sb3]'."
    ) from error

from bers.integrations.sb3.buffer import BersDictReplayBuffer, BersReplayBuffer
from bers.integrations.sb3.callback import BersCallback
from bers.integrations.sb3.convert import from_replay_buffer
from bers.integrations.sb3.normed import NormedPolicy
from bers.integrations.sb3.prioritised import PrioritizedCallback, PrioritizedReplayBuffer
from bers.integrations.sb3.sources import Sources

__all__ = [
    "BersCallback",
    "BersDictReplayBuffer",
    "BersReplayBuffer",
    "NormedPolicy",
    "PrioritizedCallback",
    "PrioritizedReplayBuffer",
    "Sources",
    "from_replay_buffer",
]
