"""RLPD whole: normalised critics, half of each batch from the trusted logs, many updates a step."""

import numpy as np
import pytest
import torch
from sb3_helpers import QUICK, Line, demonstrator
from stable_baselines3 import SAC

from bers.integrations.sb3 import BersCallback, BersReplayBuffer, NormedPolicy


def test_rlpd_with_the_offline_half_chosen():
    found = BersCallback(model=QUICK, every=40, subset=200, mix="half", schedule=1.0, follow="no")
    model = SAC(
        NormedPolicy,
        Line(1.0),
        gradient_steps=3,
        replay_buffer_class=BersReplayBuffer,
        replay_buffer_kwargs={"sources": [demonstrator(-1.0), demonstrator(1.0)]},
        policy_kwargs={"net_arch": [8]},
        learning_starts=20,
        batch_size=16,
        seed=0,
    )
    model.learn(200, callback=found)
    assert found.following is None
    assert model._n_updates == 3 * 180
    assert found.weights["to 1"] > 0.9
    found._tell(model.replay_buffer)
    model.replay_buffer.drawn[:] = 0
    model.replay_buffer.sample(64)
    of_sources, own = model.replay_buffer.drawn[:-1], model.replay_buffer.drawn[-1]
    assert own == 32
    assert of_sources.tolist() == [0, 32]


def test_hidden_layers_of_both_critics_are_normalised_and_saved(tmp_path):
    model = SAC(NormedPolicy, Line(1.0), policy_kwargs={"net_arch": [8, 8]}, seed=0)
    for critic in (*model.critic.q_networks, *model.critic_target.q_networks):
        kinds = [type(part).__name__ for part in critic]
        assert kinds.count("LayerNorm") == 2
        hidden = critic[:2](torch.randn(5, 3) * 100)
        np.testing.assert_allclose(hidden.mean(dim=1).detach(), 0, atol=1e-5)
    model.save(tmp_path / "a")
    again = SAC.load(tmp_path / "a")
    seen = np.zeros((1, 2), np.float32)
    assert again.predict(seen, deterministic=True)[0] == pytest.approx(
        model.predict(seen, deterministic=True)[0]
    )
