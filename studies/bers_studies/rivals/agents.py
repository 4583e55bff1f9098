"""What rivals of BERS among agents of Stable-Baselines3 need: cloned starts, normalised critics.

Enters: a learner, or what a policy is made of. Leaves: the learner with another actor, or a policy
whose critics normalise their layers.
"""

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.torch_layers import create_mlp
from stable_baselines3.sac.policies import SACPolicy

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


class NormedCritic(ContinuousCritic):
    """Critics with layer normalisation, which do not overrate actions that were never seen."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        net_arch, space = named["net_arch"], named["action_space"]
        self.q_networks = []
        for i in range(self.n_critics):
            width = named["features_dim"] + int(np.prod(space.shape))
            layers = create_mlp(
                width, 1, net_arch, named["activation_fn"], post_linear_modules=[torch.nn.LayerNorm]
            )
            made = torch.nn.Sequential(*layers)
            self.add_module(f"qf{i}", made)
            self.q_networks.append(made)


class NormedPolicy(SACPolicy):
    """The library's policy for SAC with such critics."""

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        """As in the library."""
        how = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return NormedCritic(**how).to(self.device)
