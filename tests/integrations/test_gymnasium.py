"""Recorded episodes: what the environment showed is what every file gives back."""

import json
import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import Autoreset, TimeLimit

import bers
from bers.data.transitions import STEP
from bers.errors import ConfigError, DataError, DataWarning, FileError
from bers.integrations.gymnasium import Recorder, Recording
from bers.integrations.gymnasium.episodes import Episode, ends

minari = pytest.importorskip("minari")

NESTED = spaces.Dict(
    {
        "b": spaces.Box(-1, 1, (2, 2)),
        "a": spaces.Tuple([spaces.Discrete(3)] + [spaces.Box(-1, 1, (1,), np.float64)] * 11),
        "c": spaces.Dict({"on": spaces.MultiBinary(3), "level": spaces.MultiDiscrete([4, 5])}),
    }
)
SPACES = {
    "box and box": (spaces.Box(-1, 1, (3,)), spaces.Box(-2, 2, (2,))),
    "box and choice": (spaces.Box(-1, 1, (3,), np.float64), spaces.Discrete(6)),
    "choice and choice": (spaces.Discrete(5), spaces.Discrete(3, start=2)),
    "nested and box": (NESTED, spaces.Box(-1, 1, (2,))),
    "box and nested": (spaces.Box(-1, 1, (1,)), NESTED),
    "image": (spaces.Box(0, 255, (32, 33), np.uint8), spaces.MultiDiscrete([3, 2])),
}


class Random(gymnasium.Env):
    """Any spaces; ends by itself after `length` steps."""

    def __init__(self, observation_space, action_space, length=5):
        self.observation_space, self.action_space = observation_space, action_space
        self.length, self.shown = length, None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.time += 1
        reward = self.np_random.normal()
        return self.observation_space.sample(), reward, self.time == self.length, False, {}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def play(env, steps, seed=None):
    """Random actions; resets where an episode ends, not at the end."""
    env.action_space.seed(0)
    seen = [env.reset(seed=seed)[0]]
    for i in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if (seen[-1][2] or seen[-1][3]) and i < steps - 1:
            seen.append(env.reset()[0])
    return seen


def same_rows(one, other):
    assert np.array_equal(one.x, other.x)
    assert one.x.dtype == other.x.dtype
    assert one.x_names == other.x_names
    assert np.array_equal(one.y, other.y)
    assert list(one.payload) == list(other.payload) == list(STEP)
    for name in STEP:
        a, b = one.payload[name], other.payload[name]
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape, name
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize("kind", SPACES)
def test_every_way_to_disk_gives_the_same_bits_back(kind, root):
    env = Recorder(TimeLimit(Random(*SPACES[kind]), 7), "alice")
    play(env, 18, seed=1)
    alice = env.recording
    now = alice.demonstrations()
    assert now.n == 18
    assert now.payload["terminated"].sum() == 3
    assert now.payload["truncated"].tolist() == [False] * 17 + [True]
    for where in ("alice.parquet", "alice.npz", "folder/alice-v0", "minari:some/where/alice-v3"):
        alice.save(root / where if "folder" in where else where)
        same_rows(bers.load(where), now)
    assert bers.load("alice.parquet").digest == now.digest
    assert bers.load("minari:some/where/alice-v3").name == "some/where/alice-v3"
    # and Minari reads it too, with the structure of the spaces
    theirs = minari.load_dataset("some/where/alice-v3")
    assert theirs.observation_space == SPACES[kind][0]
    assert theirs.action_space == SPACES[kind][1]
    episodes = list(theirs.iterate_episodes())
    assert [len(e) for e in episodes] == [5, 5, 5, 3]
    assert np.concatenate([e.rewards for e in episodes]).tobytes() == now.y.tobytes()


def test_the_recorded_steps_are_those_that_the_policy_saw():
    plain, env = (gymnasium.make("CartPole-v1") for _ in range(2))
    env = Recorder(env, "alice")
    one, other = play(plain, 60, seed=5), play(env, 60, seed=5)
    for a, b in zip(one, other, strict=True):
        a, b = (x if isinstance(x, tuple) else (x,) for x in (a, b))
        assert np.array_equal(a[0], b[0])
        assert a[1:] == b[1:]
    steps = [x for x in other if isinstance(x, tuple)]
    payload = env.recording.demonstrations().payload
    assert np.array_equal(payload["next_observation"], [step[0] for step in steps])
    assert np.array_equal(payload["reward"], [step[1] for step in steps])
    assert np.array_equal(payload["terminated"], [step[2] for step in steps])
    starts = np.flatnonzero(payload["terminated"]) + 1
    follows = np.setdiff1d(np.arange(1, 60), starts)
    assert np.array_equal(payload["observation"][follows], payload["next_observation"][follows - 1])


def test_ends_and_seeds_are_kept(root):
    env = Recorder(TimeLimit(Random(*SPACES["box and choice"]), 3), "alice")
    play(env, 3, seed=11)  # the time limit
    env.reset(seed=2**63)
    env.step(0)
    env.reset()  # left in the middle
    env.reset(seed=2**70)  # no step: no episode
    env.step(5)
    env.recording.save("first-v0")
    assert bers.load("first-v0").payload["truncated"].tolist() == [False, False, True, True, True]
    env.step(1)  # a saved episode goes on
    env.close()
    env.close()
    assert [len(one) for one in env.recording.episodes] == [3, 1, 2]
    assert [one.seed for one in env.recording.episodes] == [11, 2**63, 2**70]
    env.recording.save("minari:alice-v0")
    stored = minari.load_dataset("alice-v0").storage.get_episode_metadata([0, 1, 2])
    assert [one.get("seed") for one in stored] == [11, 2**63, None]  # HDF5 has 64 bits
    over = TimeLimit(Random(*SPACES["box and choice"], length=3), 3)
    both = Recorder(over, "bob")
    play(both, 3)
    last = both.recording.episodes[0]
    assert (last.terminated[-1], last.truncated[-1]) == (True, True)


def test_arrays_that_the_environment_or_the_policy_write_over_are_copied():
    class Reuses(Random):
        def reset(self, **how):
            super().reset(**how)
            self.shown = np.zeros(3, np.float32)
            return self.shown, {}

        def step(self, action):
            self.shown += action[0]
            action[:] = 9
            return self.shown, 0.0, False, False, {}

    env = Recorder(Reuses(*SPACES["box and box"]), "alice")
    env.reset()
    action = np.zeros(2, np.float32)
    for i in range(3):
        action[:] = i
        env.step(action)
    payload = env.recording.demonstrations().payload
    assert payload["action"][:, 0].tolist() == [0, 1, 2]
    assert payload["next_observation"][:, 0].tolist() == [0, 1, 3]
    assert payload["observation"][:, 0].tolist() == [0, 0, 1]


def test_types_are_those_of_the_space_and_no_digit_is_lost():
    class Wide(Random):
        def step(self, action):
            return np.full(3, 0.1), 1, False, False, {}

        def reset(self, **how):
            super().reset(**how)
            return [0.0, 0.0, 0.0], {}

    env = Recorder(Wide(*SPACES["box and box"]), "alice")
    env.reset()
    env.step([1, 2])
    payload = env.recording.demonstrations().payload
    assert payload["next_observation"].tolist() == [[0.1] * 3]  # float64, as it came
    assert payload["action"].dtype == np.float32
    assert payload["reward"].dtype == np.float64
    chosen = Recorder(Random(*SPACES["box and choice"]), "bob")
    chosen.reset()
    for action in (True, np.int8(2), 5, np.array(3)):
        chosen.step(action)
    assert chosen.recording.demonstrations().payload["action"].dtype == np.int64


def test_several_demonstrators_are_recorded_at_once():
    envs = [Recorder(gymnasium.make("Pendulum-v1"), name) for name in ("alice", "bob")]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    for i in range(12):
        for push, env in zip((-1, 1), envs, strict=True):
            env.step(np.array([push * i / 6], np.float32))
    rows = [env.recording.demonstrations() for env in envs]
    assert [d.name for d in rows] == ["alice", "bob"]
    assert np.array_equal(rows[0].payload["action"], -rows[1].payload["action"])


def test_copies_in_a_vector_share_a_recording():
    alice = Recording("alice")
    envs = SyncVectorEnv(
        [lambda: Recorder(Random(spaces.Box(-1, 1, (3,)), spaces.Discrete(2)), alice)] * 3
    )
    envs.reset(seed=4)
    for _ in range(13):
        envs.step(np.ones(3, np.int64))
    envs.close()
    # five steps, one call that resets, five steps, one call that resets, one step
    assert sorted(len(one) for one in alice.episodes) == [1, 1, 1, 5, 5, 5, 5, 5, 5]
    assert sorted(one.seed for one in alice.episodes if one.seed is not None) == [4, 5, 6]
    assert alice.demonstrations().payload["terminated"].sum() == 6


def test_vectors_and_other_processes_are_refused_with_advice():
    with pytest.raises(ConfigError, match="not a vector of them. Wrap each copy: SyncVectorEnv"):
        Recorder(gymnasium.make_vec("CartPole-v1", num_envs=2), "alice")
    alice = Recording("alice")
    alice._process = -1  # as it is after a fork
    env = Recorder(gymnasium.make("CartPole-v1"), alice)
    with pytest.raises(ConfigError, match="in another process, .* not AsyncVectorEnv"):
        env.reset()


def test_steps_outside_of_an_episode_are_refused():
    env = Recorder(Autoreset(Random(*SPACES["box and choice"], length=1)), "alice")
    with pytest.raises(DataError, match=r"outside of an episode .* Call reset\(\) first"):
        env.step(0)
    env.reset()
    env.step(0)
    with pytest.raises(DataError, match="with Gymnasium's Autoreset, put the Recorder inside"):
        env.step(0)
    with pytest.raises(DataError, match=r"action has type float64 and shape \(2,\)"):
        inside = Recorder(Random(*SPACES["box and choice"]), "bob")
        inside.reset()
        inside.step(np.zeros(2))
    assert inside.recording.episodes == []


def test_nothing_is_overwritten_unless_told(root):
    env = Recorder(Random(*SPACES["box and choice"]), "alice")
    with pytest.raises(DataError, match="nothing was recorded of 'alice' yet. Call reset"):
        env.recording.save("a.parquet")
    with pytest.raises(DataError, match="nothing was recorded of 'alice' yet. Call reset"):
        env.recording.save("minari:a-v0")
    play(env, 3)
    for where in ("a.parquet", "a-v0", "minari:xy/a-v0"):
        env.recording.save(where)
        with pytest.raises(FileError, match="is there already. Choose another name, or say"):
            env.recording.save(where)
    env.step(0)
    for where in ("a.parquet", "a-v0", "minari:xy/a-v0"):
        env.recording.save(where, overwrite=True)
        assert bers.load(where).n == 4
    (root / "mine-v0").mkdir()
    (root / "mine-v0" / "thesis.tex").write_text("years of work")
    with pytest.raises(FileError, match="mine-v0 is a folder that holds other things"):
        env.recording.save("mine-v0", overwrite=True)
    assert not list(root.rglob(".*"))  # no leftovers


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("minari:../x-v0", "is not an id of a Minari data set. Ids look like pendulum/alice-v0"),
        ("minari:a//x-v0", "is not an id of a Minari data set"),
        ("minari:alice", "is not an id of a Minari data set"),
        ("some folder", "is not an id of a Minari data set"),
        ("a.hdf5", "a Minari data set is a folder. Name one, as alice-v0"),
    ],
)
def test_bad_places_are_refused(where, says, root):
    env = Recorder(Random(*SPACES["box and choice"]), "alice")
    play(env, 3)
    with pytest.raises(ConfigError, match=says):
        env.recording.save(where)
    with pytest.raises(ConfigError, match="Give inputs and drop_nonfinite to bers.load"):
        env.recording.save("a-v0", drop_nonfinite=True)


@pytest.mark.parametrize(
    ("space", "says"),
    [
        (spaces.Text(5), "observation space is Text.* Wrap the environment so that it is Box"),
        (spaces.Sequence(spaces.Discrete(2)), "observation space is Sequence"),
        (spaces.Dict({"a": spaces.Text(5)}), "observation a space is Text"),
        (spaces.Dict({"a/b": spaces.Discrete(2)}), "has a key 'a/b'. Rename it"),
        (spaces.Dict({"_index_1": spaces.Discrete(2)}), "has a key '_index_1'. Rename it"),
        (spaces.Tuple([]), "observation space is empty"),
        (spaces.Box(0, 1, (0,)), "observation space is Box"),
    ],
)
def test_spaces_that_are_not_rows_of_numbers_are_refused(space, says):
    with pytest.raises(ConfigError, match=says):
        Recorder(Random(space, spaces.Discrete(2)), "alice")


def test_one_recording_is_of_one_kind_of_environment():
    alice = Recording("alice")
    with pytest.raises(ConfigError, match="knows no spaces yet. Wrap an environment"):
        alice.add(Episode(np.zeros((2, 1)), np.zeros(1), np.zeros(1), *ends(1)))
    Recorder(Random(*SPACES["box and choice"]), alice)
    with pytest.raises(ConfigError, match="has other spaces. Make a recording for each kind"):
        Recorder(Random(*SPACES["box and box"]), alice)


def test_what_is_kept_is_there_when_the_process_is_killed(root):
    program = """
import gymnasium, time, sys
from bers.integrations.gymnasium import Recorder, Recording
env = Recorder(gymnasium.make("CartPole-v1", max_episode_steps=6), Recording("alice", keep="kept"))
for episode in range(4):
    env.reset(seed=episode)
    for i in range(6):
        env.step(i % 2)
env.reset(seed=9)
env.step(0)
print("ready", flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    process.stdout.close()
    kept = bers.load("kept")
    assert (kept.n, kept.name) == (24, "alice")
    assert kept.payload["truncated"].sum() == 4
    env = Recorder(gymnasium.make("CartPole-v1", max_episode_steps=6), "alice")
    for episode in range(4):
        env.reset(seed=episode)
        for i in range(6):
            env.step(i % 2)
    same_rows(kept, env.recording.demonstrations())
    with pytest.raises(FileError, match="kept holds something already, maybe an earlier recording"):
        Recording("alice", keep="kept")


def test_an_episode_that_cannot_be_kept_does_not_end_the_run():
    class Broken(Random):
        def step(self, action):
            return np.full(3, np.nan), 0.0, True, False, {}

    env = Recorder(Broken(spaces.Box(-1, 1, (3,)), spaces.Discrete(2)), Recording("a", keep="k"))
    env.reset()
    with pytest.warns(DataWarning, match="an episode of 'a' is kept in memory only: column 'next_"):
        env.step(0)
    with pytest.raises(DataError, match="not finite"):
        env.recording.save("a.parquet")
    env.recording.save("a-v0")  # Minari takes them
    with pytest.raises(FileError, match="not finite"):
        bers.load("a-v0")


def test_the_metadata_name_the_demonstrator_and_nothing_is_run_when_reading(root):
    env = Recorder(gymnasium.make("Pendulum-v1"), "alice <b>\n")
    play(env, 4, seed=0)
    env.recording.save("minari:pendulum/alice-v0")
    env.recording.save("bob-v0", author="Bob", algorithm="PD", description="calm")
    read = json.loads((root / "minari/pendulum/alice-v0/data/metadata.json").read_text())
    assert read["demonstrator"] == read["algorithm_name"] == "alice <b>\n"
    assert read["author"] == ["alice <b>\n"]
    assert read["description"] == "What alice <b>\n did in Pendulum-v1, recorded by BERS."
    assert (read["total_episodes"], read["total_steps"]) == (1, 4)
    other = json.loads((root / "bob-v0/data/metadata.json").read_text())
    assert (other["author"], other["algorithm_name"], other["description"]) == (
        ["Bob"], "PD", "calm",
    )  # fmt: skip
    assert "pendulum/alice-v0" in minari.list_local_datasets()
    again = minari.load_dataset("pendulum/alice-v0").recover_environment()
    assert again.spec.id == "Pendulum-v1"
    program = "import sys, bers; bers.load('bob-v0'); assert 'minari' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_environment_of_living_objects_is_recorded_without_its_description(root):
    env = gymnasium.make("Pendulum-v1")
    env.unwrapped.spec.kwargs["friend"] = object()
    recorded = Recorder(env, "alice")
    play(recorded, 2)
    recorded.recording.save("a-v0")
    assert "env_spec" not in json.loads((root / "a-v0/data/metadata.json").read_text())


def test_inputs_say_what_the_reward_depends_on():
    env = Recorder(gymnasium.make("Pendulum-v1"), "alice")
    play(env, 9, seed=0)

    def inputs(s, a, t):
        return np.concatenate([s, a], axis=1)

    env.recording.save("a.parquet", inputs=inputs)
    env.recording.save("a-v0")
    same_rows(bers.load("a.parquet"), bers.load("a-v0", inputs=inputs))
    assert bers.load("a.parquet").dim == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_named(root):
    env = Recorder(Random(*SPACES["box and choice"]), "alice")
    play(env, 3)
    (root / "closed").mkdir(mode=0o500)
    with pytest.raises(FileError, match="cannot write .*a-v0: Permission denied"):
        env.recording.save("closed/a-v0")


@pytest.mark.parametrize("name", ["Recorder", "Recording"])
def test_the_old_place_still_has_the_same_things_and_says_so(name):
    from bers.integrations import gymnasium as now
    from bers.integrations import record as before

    new = f"bers.integrations.gymnasium.{name}"
    with pytest.warns(DeprecationWarning, match=f"record.{name} is called {new} now") as caught:
        assert getattr(before, name) is getattr(now, name)
    assert caught[0].filename == __file__
    with pytest.raises(AttributeError, match="'bers.integrations.record' has no attribute 'Tape'"):
        before.Tape  # noqa: B018
