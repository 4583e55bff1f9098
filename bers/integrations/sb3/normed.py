"""Critics with layer normalisation for SAC, as RLPD has them: they do not overrate actions that
were never seen (Ball, Smith, Kostrikov and Levine, 2023).

Enters: what a policy of Stable-Baselines3 is made of. Leaves: `NormedPolicy`, to be passed in place
of "MlpPolicy".
"""

from typing import Any

import numpy as np
import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.common.torch_layers import create_mlp
from stable_baselines3.sac.policies import SACPolicy


class NormedCritic(ContinuousCritic):
    """The library's critics, each hidden layer normalised.

    Parameters
    ----------
    *args, **named
        Of the library's critic.
    """

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
    """The library's policy for SAC with such critics: SAC(NormedPolicy, env, ...).

    Parameters
    ----------
    *args, **named
        Of the library's policy.
    """

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        """As in the library.

        Parameters
        ----------
        features_extractor
            As the library hands it over.

        Returns
        -------
        ContinuousCritic
            With layer normalisation.
        """
        how = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return NormedCritic(**how).to(self.device)
