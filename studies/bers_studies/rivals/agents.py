"""What rivals of BERS among agents of Stable-Baselines3 need: a start as somebody's clone.

Enters: a learner. Leaves: the learner with another actor.
"""

from typing import Any

import numpy as np

from bers.integrations.sb3.following import Following
from bers.integrations.sb3.imitation import Imitation


def become_clone(learner: Any, *, source: int, seed: int) -> None:
    """Make a learner's policy do what a source in its buffer did, before its first step."""
    learner.replay_buffer.met = True
    following = Following(np.random.default_rng(seed), learner.n_envs, forced=True, acts=False)
    following.try_out(source, np.nan)
    start = Imitation(learner, learner.replay_buffer, following)
    start.become()
    start.stop()
