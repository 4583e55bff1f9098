"""A learner of the library is pulled towards what trusted sources did, and only then."""

import numpy as np
import pytest
import torch
from sb3_helpers import QUICK, Line, demonstrator
from stable_baselines3 import DDPG, DQN, SAC, TD3

from bers.errors import ConfigError
from bers.integrations.sb3 import BersCallback, BersReplayBuffer
from bers.integrations.sb3.imitation import Imitation
from bers.reuse.transitions import BatchGuide


def learner(kind, source, **how):
    small = {"policy_kwargs": {"net_arch": [32]}, "learning_starts": 20, "batch_size": 16}
    env = Line(1.0, kind="discrete" if kind is DQN else "box")
    buffer = {
        "replay_buffer_class": BersReplayBuffer,
        "replay_buffer_kwargs": {"sources": [source]},
    }
    return kind("MlpPolicy", env, seed=0, **small, **buffer, **how)


def callback(**how):
    trust = {"rule": "single:0", "schedule": 1.0, "relabel": False}
    return BersCallback(**{"model": QUICK, "every": 40, "subset": 200, **trust, **how})


def optimiser(model):
    return model.policy.optimizer if isinstance(model, DQN) else model.actor.optimizer


def agreement(model, source):
    seen, did = source.payload["observation"], source.payload["action"]
    would, _ = model.predict(seen.astype(np.float32), deterministic=True)
    if isinstance(model, DQN):
        return np.mean(would == did.argmax(axis=1) if did.ndim == 2 else would == did)
    return -np.mean((would - did.reshape(would.shape)) ** 2)


@pytest.mark.parametrize("kind", [SAC, TD3, DDPG, DQN])
def test_the_policy_comes_close_to_the_source(kind):
    source = demonstrator(1.0, skilled=True, kind="discrete" if kind is DQN else "box")
    how = {"learning_rate": 3e-3, **({"train_freq": 1} if kind is DQN else {})}
    pulled, alone = (
        learner(kind, source, **how).learn(300, callback=callback(clone=c)) for c in (10.0, 0.0)
    )
    near, far = agreement(pulled, source), agreement(alone, source)
    assert near > (0.85 if kind is DQN else -0.35)
    assert near > far


def test_the_pull_stays_within_the_librarys_clipping():
    source, norms = demonstrator(1.0, skilled=True, kind="discrete"), []
    model = learner(DQN, source, max_grad_norm=0.5, train_freq=1)

    def heard(*_):
        grads = [p.grad for p in model.q_net.parameters() if p.grad is not None]
        norms.append(float(torch.stack([g.norm() for g in grads]).norm()))

    found = callback(clone=10.0)
    optimiser(model).register_step_post_hook(heard)
    model.learn(120, callback=found)
    assert max(norms) <= 0.5 + 1e-5


def test_what_is_added_to_the_gradient():
    """The derivative, by the critic's size, of the cross-entropy, by hand."""
    source = demonstrator(1.0, skilled=True, episodes=1)
    model = learner(TD3, source)
    buffer = model.replay_buffer
    rows = np.arange(source.n)

    class Everything(BatchGuide):
        def draw(self, batches, size):
            return np.resize(rows, (batches, size))

    guide = Everything(np.random.default_rng(0), np.ones(1), 1.0, np.array([source.n]), np.take)
    buffer.follow(guide)
    imitation = Imitation(model, buffer, 2.0)
    used = np.resize(rows, 64)
    seen, did = (
        torch.as_tensor(part[used]) for part in (buffer.pool.observations, buffer.pool.actions)
    )
    last = model.actor.mu[-2]

    def distance():
        with torch.no_grad():
            size = model.critic(seen, did)[0].abs().mean()
            share, wanted = (1 + model.actor(seen)) / 2, (1 + did) / 2
            far = -wanted * share.log() - (1 - wanted) * (1 - share).log()
            return float(2.0 * size * 2 * far.mean())

    for parameter in model.actor.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with torch.no_grad():
        before = [p.clone() for p in model.actor.parameters()]
    imitation._before_step()
    found = float(last.bias.grad[0])
    for p, was in zip(model.actor.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.detach(), was)  # only gradients change
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            last.bias += sign * 1e-2
        ends.append(distance())
        with torch.no_grad():
            last.bias -= sign * 1e-2
    assert found == pytest.approx((ends[0] - ends[1]) / 2e-2, rel=0.02)
    assert abs(found) > 1e-4


def test_nothing_is_left_hooked():
    model = learner(SAC, demonstrator(1.0))
    model.learn(60, callback=callback())
    assert not optimiser(model)._optimizer_step_pre_hooks

    class Broken(BersCallback):
        def _on_step(self):
            if self.num_timesteps == 100:
                raise KeyboardInterrupt("at step 100")
            return super()._on_step()

    with pytest.raises(KeyboardInterrupt, match="at step 100"):
        model.learn(200, callback=Broken(model=QUICK, every=40), reset_num_timesteps=False)
    found = callback()
    model.learn(40, callback=found, reset_num_timesteps=False)
    assert not optimiser(model)._optimizer_step_pre_hooks
    assert found.seconds > 0


def test_who_cannot_be_pulled_is_refused():
    with pytest.raises(ConfigError, match=r"BersCallback\(clone=...\) must be 0 or more"):
        BersCallback(clone=-1)
    sbx = pytest.importorskip("sbx")
    source = demonstrator(1.0)
    buffer = {
        "replay_buffer_class": BersReplayBuffer,
        "replay_buffer_kwargs": {"sources": [source]},
    }
    model = sbx.SAC("MlpPolicy", Line(1.0), seed=0, learning_starts=20, batch_size=16, **buffer)
    with pytest.raises(ConfigError, match=r"Pass BersCallback\(clone=0\)"):
        model.learn(40, callback=callback(clone=1.0))
