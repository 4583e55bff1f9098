"""The callback: the right source is found, nothing is disturbed, everything can be resumed."""

import io

import numpy as np
import pytest
import torch
from sb3_helpers import QUICK, Line, demonstrator
from stable_baselines3 import DQN, PPO, SAC, TD3
from stable_baselines3.common.logger import HumanOutputFormat, Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from bers import Demonstrations, fit
from bers.errors import ConfigError, DataWarning, FileError
from bers.integrations.sb3 import BersCallback, BersReplayBuffer
from bers.integrity import read_sealed, write_sealed


def small():
    """Settings; some learners write into them."""
    return {"policy_kwargs": {"net_arch": [8]}, "learning_starts": 20, "batch_size": 16}


SOURCES = [demonstrator(-1.0), demonstrator(1.0), demonstrator(0.3)]


def learner(kind=SAC, env=None, sources=SOURCES, seed=0, policy="MlpPolicy", **how):
    return kind(
        policy,
        Line(1.0) if env is None else env,
        replay_buffer_class=BersReplayBuffer,
        replay_buffer_kwargs={"sources": sources},
        seed=seed,
        **{**small(), **how},
    )


def callback(**how):
    return BersCallback(**{"model": QUICK, "every": 40, "subset": 200, **how})


def weights_of(model):
    return [p.detach().numpy().copy() for p in model.policy.parameters()]


of_a_novice = pytest.mark.filterwarnings(
    "ignore:.*rows are left out of the weights:bers.errors.DataWarning"
)


def test_the_right_source_is_trusted():
    found = callback(schedule=0.8)
    learner().learn(200, callback=found)
    assert found.weights["to 1"] > 0.9
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert found.reuse.m == 5
    assert found.explained > 0.8


@of_a_novice
def test_nobody_is_trusted_if_all_mislead():
    class Other(Line):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, float(np.sin(9 * self.x) + 3 * np.sin(20 * self.x)), *rest

    found = callback(schedule=0.9)
    with pytest.warns(DataWarning, match="not to be trusted"):
        learner(env=Other(), sources=SOURCES[:2]).learn(400, callback=found)
    assert found.weights["nobody"] > 0.5


@pytest.mark.parametrize("kind", [SAC, TD3])
def test_with_no_chance_the_learner_is_as_without_us_bit_for_bit(kind):
    plain = kind("MlpPolicy", Line(1.0), seed=0, **small()).learn(120)
    ours = learner(kind).learn(120, callback=callback(schedule=0.0))
    for one, other in zip(weights_of(plain), weights_of(ours), strict=True):
        np.testing.assert_array_equal(one, other)
    reused = learner(kind).learn(120, callback=callback(schedule=0.9))
    pairs = zip(weights_of(plain), weights_of(reused), strict=True)
    assert any((one != other).any() for one, other in pairs)


def test_the_same_seed_gives_the_same_learner():
    one, other = (learner().learn(120, callback=callback(schedule=0.5)) for _ in range(2))
    for a, b in zip(weights_of(one), weights_of(other), strict=True):
        np.testing.assert_array_equal(a, b)


@of_a_novice
def test_rewards_of_sources_are_those_of_the_target():
    source = demonstrator(0.0)
    model = learner(sources=[source])
    found = callback(schedule=1.0)
    model.learn(250, callback=found)
    buffer = model.replay_buffer
    found._tell(buffer)
    rows = np.arange(source.n)
    handed = buffer.guide.rewards(rows)
    place = source.payload["next_observation"][:, 0]
    truth = -((place - 1.0) ** 2)  # the target's, not the source's
    assert np.corrcoef(handed, truth)[0, 1] > 0.9
    assert np.corrcoef(buffer.pool.rewards, truth)[0, 1] < 0.5


@pytest.mark.parametrize("rule", ["equal", "single:0"])
def test_a_rule_without_posteriors_relabels_all_the_same(rule):
    source, found = SOURCES[0], callback(rule=rule, schedule=1.0)
    model = learner(sources=[source])
    model.learn(250, callback=found)
    assert found.weights == {"to -1": 1.0, "nobody": 0.0}
    trust, buffer = found.reuse.trust, model.replay_buffer
    assert found.explained > 0.8
    found._tell(buffer)
    batch = buffer.sample(64)
    seen = batch.next_observations.numpy()
    handed, truth = batch.rewards.numpy().ravel(), -((seen[:, 0] - 1.0) ** 2)
    stored = -((seen[:, 0] + 1.0) ** 2)  # what the source was paid for the same rows
    expected = trust.relabel(found.reuse.offer.x)
    assert np.isin(handed, expected.astype(np.float32)).all()  # all rows are the source's
    assert np.abs(handed - stored).min() > 0
    assert np.mean((handed - truth) ** 2) < 0.1 * np.mean((stored - truth) ** 2)
    by_head = trust.model.features(trust.x) @ trust.head.mu
    np.testing.assert_array_equal(by_head, trust.relabel(trust.x))


@pytest.mark.parametrize("rule", ["equal", "single:0"])
def test_without_relabelling_such_a_rule_needs_no_model(rule):
    source, found = SOURCES[0], callback(rule=rule, schedule=1.0, relabel=False)
    model = learner(sources=[source])
    model.learn(120, callback=found)
    assert found.reuse.trust.model is None
    assert not found.reuse.trust.has_target
    assert np.isnan(found.explained)
    assert found.weights == {"to -1": 1.0, "nobody": 0.0}
    with pytest.raises(ConfigError, match=f"with the rule '{rule}' there is no model here"):
        found.reuse.trust.predict(found.reuse.trust.x)
    found._tell(model.replay_buffer)
    batch = model.replay_buffer.sample(64)
    stored = -((batch.next_observations.numpy()[:, 0] + 1.0) ** 2)
    np.testing.assert_allclose(batch.rewards.numpy().ravel(), stored, atol=1e-5)


def test_without_relabelling_the_usual_rule_has_its_model():
    found = callback(schedule=0.8, relabel=False)
    model = learner()
    model.learn(120, callback=found)
    assert found.weights["to 1"] > 0.9
    assert found.reuse.trust.has_target
    found._tell(model.replay_buffer)
    rows = np.flatnonzero(np.repeat(model.replay_buffer.guide.a > 0, [one.n for one in SOURCES]))
    assert len(rows) >= SOURCES[1].n
    stored = np.concatenate([one.payload["reward"] for one in SOURCES])
    np.testing.assert_array_equal(model.replay_buffer.guide.rewards(rows), stored[rows])


@of_a_novice
def test_a_target_out_of_reach_trusts_nobody():
    class Far(Line):
        def step(self, action):
            seen, reward, *rest = super().step(action)
            return seen, -reward - 100.0, *rest

    model, found = learner(env=Far()), callback(schedule=0.9)
    model.learn(200, callback=found)
    assert found.weights == {**dict.fromkeys(found.names, 0.0), "nobody": 1.0}
    found._tell(model.replay_buffer)
    assert model.replay_buffer.guide is None


def test_a_callback_goes_on_or_begins_anew():
    model, found = learner(), callback(schedule=0.9)
    model.learn(200, callback=found)
    looks = found.reuse.m
    model.learn(200, callback=found)  # steps are counted from 0 again
    assert found.reuse.m >= 2 * looks - 1
    drawn = model.replay_buffer.drawn.copy()
    model.learn(50, reset_num_timesteps=False)  # without us
    assert (model.replay_buffer.drawn[:-1] == drawn[:-1]).all()
    learner(env=Line(-1.0)).learn(200, callback=found)
    assert max(found.weights, key=lambda name: found.weights[name]) == "to -1"
    env = DummyVecEnv([lambda: Line(1.0)] * 8)
    learner(env=env).learn(80, callback=callback(every=8))  # as many steps as environments


def test_the_usual_chance_fades_over_what_is_left_to_learn():
    # the first 2000 steps only count: nothing is learned in them
    model, found = learner(learning_starts=1990), callback()
    with pytest.warns(DataWarning, match=r"no row of the 3 sources .* callback=BersCallback"):
        model.learn(2000)
    model.learn(200, callback=found, reset_num_timesteps=False)
    assert 0.02 < found.reuse.p_m < 0.08


def test_a_schedule_may_begin_with_nothing():
    found = callback(schedule=lambda m: 0.0 if m <= 2 else 0.5)
    learner().learn(200, callback=found)
    assert found.reuse.m >= 4
    assert found.reuse.p_m == 0.5


@pytest.mark.filterwarnings("ignore:rich is experimental")
def test_long_names_and_the_bar(capsys):
    names = ["operator alice, night shift, week 1", "operator alice, night shift, week 2"]
    sources = [demonstrator(goal, name=name) for goal, name in zip((-1.0, 1.0), names, strict=True)]
    found = callback()
    model = learner(sources=sources, verbose=1)
    model.learn(200, callback=found, log_interval=1, progress_bar=True)
    assert list(found.weights) == [*names, "nobody"]
    assert "trust operator alice" in capsys.readouterr().out


@of_a_novice
def test_rare_rewards_are_not_trimmed_away():
    rows = demonstrator(1.0)
    pay = np.where(np.arange(rows.n) % 100 == 0, 10.0, 0.0)
    rare = Demonstrations(rows.x, pay, "rare", payload={**rows.payload, "reward": pay})
    found = callback()
    learner(sources=[rare]).learn(100, callback=found)
    assert found.reuse.trust._settings.keep == (-2.5, 12.5)


def test_choices_and_several_environments():
    sources = [demonstrator(-1.0, kind="discrete"), demonstrator(1.0, kind="discrete")]
    env = DummyVecEnv([lambda: Line(-1.0, kind="discrete")] * 2)
    found = callback()
    learner(DQN, env=env, sources=sources).learn(200, callback=found)
    assert found.weights["to -1"] > 0.9


def test_dictionaries_and_normalised_environments():
    sources = [demonstrator(-1.0, observations="dict"), demonstrator(1.0, observations="dict")]
    env = VecNormalize(DummyVecEnv([lambda: Line(1.0, observations="dict")]))
    found = callback()
    learner(env=env, sources=sources, policy="MultiInputPolicy").learn(160, callback=found)
    assert found.weights["to 1"] > 0.9  # rewards are seen as they are, not normalised


def test_what_is_logged_and_shown():
    text = io.StringIO()
    model = learner()
    model.set_logger(Logger(None, [HumanOutputFormat(text)]))
    model.learn(100, callback=callback(), log_interval=1)
    said = text.getvalue()
    for word in (
        "weight_to 1",
        "nobody",
        "p_m",
        "explained",
        "rows_own",
        "rows_to -1",
        "leader",
        "own_return",
    ):
        assert word in said


def test_saved_and_resumed(tmp_path):
    model, found = learner(), callback(schedule=0.8)
    model.learn(120, callback=found)
    model.save(tmp_path / "model.zip")
    model.save_replay_buffer(tmp_path / "buffer.pkl")
    found.save(tmp_path / "run.bers")
    assert (tmp_path / "buffer.pkl").stat().st_size < 40_000_000
    again = SAC.load(tmp_path / "model.zip", env=Line(1.0))
    again.load_replay_buffer(tmp_path / "buffer.pkl")
    again.replay_buffer.attach(SOURCES)
    later = callback(schedule=0.8).resume(tmp_path / "run.bers")
    again.learn(80, callback=later, reset_num_timesteps=False)
    assert later.reuse.m == found.reuse.m + 2
    assert later.weights["to 1"] > 0.9
    other = learner(sources=SOURCES[:2])
    with pytest.raises(FileError, match="other sources"):
        other.learn(40, callback=callback().resume(tmp_path / "run.bers"))


def test_a_resumed_callback_goes_on_with_the_same_bits(tmp_path):
    whole = callback(schedule=0.8)
    model = learner()
    model.learn(120, callback=whole)
    whole.save(tmp_path / "run.bers")
    half = callback(schedule=0.8).resume(tmp_path / "run.bers")
    half.init_callback(model)
    half._on_training_start()
    assert half.reuse.m == whole.reuse.m
    one, other = half.reuse.trust, whole.reuse.trust
    for name in ("weights", "x", "y"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.target.y, other.target.y)
    np.testing.assert_array_equal(one.predict(one.x).mean, other.predict(one.x).mean)
    assert half.reuse.rng is one.rng  # the guide and the model share one stream
    more = one.x[::3] + 0.01, one.y[::3]
    np.testing.assert_array_equal(one.observe(*more).weights, other.observe(*more).weights)
    assert half.reuse.rng.random() == whole.reuse.rng.random()


def test_a_saved_file_holds_the_parts_of_a_trust(tmp_path):
    found = callback(schedule=0.8)
    learner().learn(120, callback=found)
    found.save(tmp_path / "run.bers")
    arrays, about = read_sealed(tmp_path / "run.bers", "bers-sb3-2", "a BERS callback")
    trust = found.reuse.trust
    for name, kept in (("a", trust.weights), ("x", trust.x), ("y", trust.y)):
        np.testing.assert_array_equal(arrays[f"trust.{name}"], kept)
    assert (about["m"], about["schedule"]) == (3, ["Constant", {"p": 0.8}])
    assert about["trust"]["rule"] == "odds"
    assert about["digests"] == learner().replay_buffer.sources.digests
    write_sealed(tmp_path / "old.bers", "bers-sb3-1", arrays, about)
    with pytest.raises(FileError, match=r"is not a BERS callback \(format 'bers-sb3-1', wanted"):
        callback().resume(tmp_path / "old.bers")
    write_sealed(tmp_path / "cut.bers", "bers-sb3-2", arrays, {"digests": about["digests"]})
    with pytest.raises(FileError, match="the file is damaged: 'seen'. Save it again"):
        learner().learn(40, callback=callback().resume(tmp_path / "cut.bers"))


def test_a_saved_learner_takes_no_rows_along(tmp_path):
    many = [demonstrator(-1.0, episodes=600), demonstrator(1.0, episodes=600)]
    model = learner(sources=many)
    model.learn(45, callback=callback())
    model.save(tmp_path / "model.zip")
    assert (tmp_path / "model.zip").stat().st_size < 200_000
    assert SAC.load(tmp_path / "model.zip").predict(np.zeros(2))[0].shape == (1,)


def test_rows_that_no_source_explains_are_counted_and_mentioned():
    class Worse(Line):
        def step(self, action):
            seen, reward, *rest = super().step(action)
            return seen, reward - 100.0 * (self.x > 0), *rest

    found = callback(schedule=0.9)
    left_out = pytest.warns(DataWarning, match=r"rows are left out of the weights, since no")
    with pytest.warns(DataWarning, match="not to be trusted"), left_out:
        learner(env=Worse()).learn(260, callback=found)
    assert 0.3 < found.doubts.share < 1


def test_rewards_that_are_all_equal_are_mentioned():
    class Rare(Line):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, 0.0, *rest

    with pytest.warns(DataWarning, match=r"all of the first \d+ rewards are 0, and equal"):
        learner(env=Rare()).learn(260, callback=callback(schedule=0.9))


def test_wrong_uses_are_refused_with_advice():
    other = PPO("MlpPolicy", Line(1.0), n_steps=32, batch_size=32)
    with pytest.raises(ConfigError, match="PPO has no replay buffer.* Use SAC, TD3, DDPG or DQN"):
        other.learn(32, callback=callback())
    plain = SAC("MlpPolicy", Line(1.0), **small())
    with pytest.raises(ConfigError, match="replay_buffer_class=BersReplayBuffer"):
        plain.learn(30, callback=callback())
    with pytest.raises(ConfigError, match="nothing to save"):
        callback().save("nowhere")
    with pytest.raises(ConfigError, match="trimmed"):
        BersCallback(trimmed=0.5)
    with pytest.raises(ConfigError, match="every"):
        BersCallback(every=0)
    with pytest.raises(ConfigError, match=r"'ucb' learns from what .* BersCallback cannot tell it"):
        BersCallback(rule="ucb")
    with pytest.raises(ConfigError, match="there is no rule 'best'. Known: odds"):
        BersCallback(rule="best")


def test_config_is_the_old_word_for_model():
    with pytest.warns(DeprecationWarning, match="config= is called model= now") as caught:
        before = BersCallback(config=QUICK, every=40, subset=200, schedule=0.8)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    now = callback(schedule=0.8)
    models = [learner().learn(120, callback=one) for one in (before, now)]
    assert before.weights == now.weights
    assert before.weights["to 1"] > 0.9
    for one, other in zip(*map(weights_of, models), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_model_that_was_fitted_before():
    first = callback(schedule=0.8)
    learner().learn(45, callback=first)
    fitted = fit(first.reuse.trust.sources, config=QUICK, rng=np.random.default_rng(0))
    found = callback(schedule=0.8, model=fitted)
    model = learner()
    found.init_callback(model)
    model._total_timesteps = 200
    found._on_training_start()
    assert found.reuse.trust.model is fitted  # not trained anew
    model = learner()
    found = callback(schedule=0.8, model=fitted)
    model.learn(200, callback=found)
    assert found.weights["to 1"] > 0.9


def test_the_model_remembers_so_many_rows():
    found = callback(remember=90, schedule=0.5)
    learner().learn(160, callback=found)
    assert len(found.reuse.trust.y) == 90


def test_sbx_asks_for_several_steps_at_once():
    sbx = pytest.importorskip("sbx")
    found = callback(mix="batch", schedule=0.9)
    model = learner(sbx.SAC, gradient_steps=2)
    model.learn(160, callback=found)
    assert found.weights["to 1"] > 0.9
    found._tell(model.replay_buffer)
    assert model.replay_buffer.chunk == 16
    assert torch.device("cpu") == model.replay_buffer.device
