"""A learner of the library is pulled towards what trusted sources did, and only then."""

import numpy as np
import pytest
import torch
from sb3_helpers import QUICK, Line, demonstrator
from stable_baselines3 import DDPG, DQN, SAC, TD3

from bers import Demonstrations
from bers.errors import ConfigError
from bers.integrations.sb3 import BersCallback, BersReplayBuffer
from bers.integrations.sb3.following import Following
from bers.integrations.sb3.imitation import Imitation

pytestmark = pytest.mark.filterwarnings("ignore:.* rows are left out of the weights")


def learner(kind, source, env=None, **how):
    small = {"policy_kwargs": {"net_arch": [32]}, "learning_starts": 20, "batch_size": 16}
    env = env or Line(1.0, kind="discrete" if kind is DQN else "box")
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
        learner(kind, source, **how).learn(140, callback=callback(follow=f)) for f in ("lead", "no")
    )
    near, far = agreement(pulled, source), agreement(alone, source)
    assert near > (0.85 if kind is DQN else -0.5)
    assert near > far


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_values_of_choices_are_pulled_in_any_unit_of_rewards(unit):
    source = demonstrator(1.0, skilled=True, kind="discrete")
    paid = source.payload["reward"] * unit
    source = Demonstrations(source.x, paid, "one", payload={**source.payload, "reward": paid})

    class Other(Line):
        def step(self, action):
            seen, reward, *rest = super().step(action)
            return seen, unit * reward, *rest

    model = learner(DQN, source, Other(1.0, "discrete"), learning_rate=3e-3, train_freq=1)
    model.learn(140, callback=callback())
    assert agreement(model, source) > 0.85


def test_the_leader_acts_for_a_whole_episode_and_the_spread_of_the_policy_shrinks():
    source = demonstrator(1.0, skilled=True)
    model, found = learner(SAC, source), callback()
    model.learn(45, callback=found)
    began = model.num_timesteps
    model.learn(300, callback=found, reset_num_timesteps=False)
    buffer = model.replay_buffer
    assert found.following.earned[0]
    clone = buffer.imitation or Imitation(model, buffer, found.following)
    seen, did = buffer.observations[began : began + 100, 0], buffer.actions[began : began + 100, 0]
    wanted = clone.clone(0).act(torch.as_tensor(seen))
    clone.stop()
    near = np.abs(wanted - did) < 0.4  # four times the spread of actions that are collected
    assert near.mean() > 0.8
    _, log_std, _ = model.actor.get_action_dist_params(torch.as_tensor(seen))
    assert float(log_std.detach().exp().mean()) < 0.5


def test_the_pull_stays_within_the_librarys_clipping():
    source, norms = demonstrator(1.0, skilled=True, kind="discrete"), []
    model = learner(DQN, source, max_grad_norm=0.5, train_freq=1)

    def heard(*_):
        grads = [p.grad for p in model.q_net.parameters() if p.grad is not None]
        norms.append(float(torch.stack([g.norm() for g in grads]).norm()))

    optimiser(model).register_step_post_hook(heard)
    model.learn(120, callback=callback())
    assert max(norms) <= 0.5 + 1e-5


def test_the_weight_of_the_pull_rises_while_the_policy_is_too_far():
    """And it falls while it is near; only gradients change."""
    source = demonstrator(1.0, skilled=True)
    model = learner(TD3, source)
    model.replay_buffer.met = True  # nobody is to be warned
    model.learn(30)
    following = Following(np.random.default_rng(0), 1, forced=True, acts=False)
    following.try_out(0, 0.0)
    pull = Imitation(model, model.replay_buffer, following)
    before = [p.detach().clone() for p in model.actor.parameters()]
    for parameter in model.actor.parameters():
        parameter.grad = torch.zeros_like(parameter)
    for freedom, sign in ((1e-9, 1), (1e9, -1)):
        following.freedom, was = freedom, pull.weight
        if freedom > 1:
            following.freedom = 0.99
            pull.become()
            before = [p.detach().clone() for p in model.actor.parameters()]
            was = pull.weight
        for _ in range(2):
            pull._before_step()
        assert np.sign(pull.weight - was) == sign
        for p, old in zip(model.actor.parameters(), before, strict=True):
            np.testing.assert_array_equal(p.detach(), old)
    assert float(model.actor.mu[-2].bias.grad.abs().max()) > 0
    pull.stop()


def test_becoming_the_leader_makes_the_actor_do_as_he_does():
    source = demonstrator(1.0, skilled=True)
    model = learner(SAC, source)
    model.replay_buffer.met = True
    model.learn(60)
    far = agreement(model, source)
    model.ent_coef_optimizer.param_groups[0]["lr"] = 0.0
    following = Following(np.random.default_rng(0), 1, forced=True, acts=False)
    following.try_out(0, 0.0)
    pull = Imitation(model, model.replay_buffer, following)
    pull.become()
    pull.stop()
    assert agreement(model, source) > -0.3 > far
    most = 0.1 * np.std(model.replay_buffer.rewards[:60])
    assert float(model.log_ent_coef.detach().exp()) == pytest.approx(most, rel=1e-4)


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


def test_actions_are_collected_as_without_us_once_it_is_over():
    model = learner(SAC, demonstrator(1.0))
    model.learn(60, callback=callback())
    assert "_sample_action" not in model.__dict__


def test_a_learner_of_sbx_is_led_though_it_cannot_be_pulled():
    sbx = pytest.importorskip("sbx")
    source = demonstrator(1.0, skilled=True)
    model, found = learner(sbx.SAC, source), callback()
    model.learn(120, callback=found)
    assert found.following.earned[0]
    theirs = model.replay_buffer.actions[40:60, 0]
    wanted = demonstrated(source, model.replay_buffer.observations[40:60, 0])
    assert np.mean(np.abs(theirs - wanted) < 0.5) > 0.8


def demonstrated(source, seen):
    """What its rule would do, scaled to [-1, 1]."""
    return (np.clip(1 + 5 * (1.0 - seen[:, :1]), -2, 4) - 1) / 3


def test_what_cannot_be_followed_is_refused():
    with pytest.raises(ConfigError, match=r'follow=...\) must be "lead", "pull" or "no"'):
        BersCallback(follow="worth")
    with pytest.warns(DeprecationWarning, match="clone= is called follow= now"):
        assert BersCallback(clone=0).follow == "no"
