"""Logs of robots as people have them: LeRobot's folders and robomimic's files, made by hand."""

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bers
from bers.cli import app
from bers.data.storage import load
from bers.errors import ConfigError, DataWarning, FileError

LENGTHS = (4, 3)


def steps(seed=0):
    """Two episodes: states, actions, rewards, and ends."""
    rng, n = np.random.default_rng(seed), sum(LENGTHS)
    done = np.zeros(n, bool)
    done[np.cumsum(LENGTHS) - 1] = True
    return {
        "state": rng.normal(size=(n, 2)).astype(np.float32),
        "gripper": rng.normal(size=n).astype(np.float32),
        "action": rng.normal(size=(n, 3)).astype(np.float32),
        "reward": rng.normal(size=n).astype(np.float32),
        "done": done,
    }


def lists(values):
    flat = pa.array(values.ravel(), pa.float32())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])


def lerobot(folder, change=lambda columns: None, info=None, files=2, version="v3.0", lengths=True):
    """A data set of version 3, each episode in a file of its own if there are two."""
    made = steps()
    episode = np.repeat([0, 1], LENGTHS)
    columns = {
        "observation.state": lists(made["state"]),
        "observation.gripper": pa.array(made["gripper"]),
        "action": lists(made["action"]),
        "next.reward": pa.array(made["reward"]),
        "next.done": pa.array(made["done"]),
        "timestamp": pa.array(np.arange(7) / 10, pa.float32()),
        "frame_index": pa.array(np.concatenate([np.arange(n) for n in LENGTHS])),
        "episode_index": pa.array(episode),
        "task_index": pa.array(np.zeros(7, np.int64)),
        "observation.images.top": pa.array([{"bytes": b"x", "path": None}] * 7),
    }
    change(columns)
    shapes = {"observation.state": [2], "action": [3]}
    kinds = {"next.done": "bool", "frame_index": "int64", "episode_index": "int64"}
    features = {
        name: {"dtype": kinds.get(name, "float32"), "shape": shapes.get(name, [1]), "names": None}
        for name in columns
    }
    if "observation.images.top" in features:
        features["observation.images.top"] = {"dtype": "image", "shape": [4, 4, 3]}
    features["observation.images.side"] = {"dtype": "video", "shape": [3, 4, 4]}
    said = {
        "codebase_version": version,
        "total_episodes": 2,
        "total_frames": 7,
        "fps": 10,
        "data_path": "/etc/passwd",
        "features": features,
        **(info or {}),
    }
    table = pa.table(columns)
    (folder / "data" / "chunk-000").mkdir(parents=True, exist_ok=True)
    for i in range(files):
        part = table.filter(pa.array(episode == i)) if files > 1 else table
        pq.write_table(part, folder / "data" / "chunk-000" / f"file-{i:03d}.parquet")
    (folder / "meta" / "episodes" / "chunk-000").mkdir(parents=True, exist_ok=True)
    (folder / "meta" / "info.json").write_text(json.dumps(said))
    if lengths:
        about = pa.table({"episode_index": [0, 1], "length": LENGTHS, "tasks": [["a"], ["b"]]})
        pq.write_table(about, folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
    return folder


def robomimic(path, change=lambda file: None, later=True):
    """A file with two demonstrations, the second numbered 10."""
    made, start = steps(), 0
    with h5py.File(path, "w") as file:
        for i, n in zip((2, 10), LENGTHS, strict=True):
            rows = slice(start, start + n)
            demo = file.create_group(f"data/demo_{i}")
            demo.attrs["num_samples"], demo.attrs["model_file"] = n, "<mujoco>"
            for part, shift in (("obs", 0), ("next_obs", 1))[: 1 + later]:
                demo[f"{part}/state"] = np.roll(made["state"], -shift, axis=0)[rows]
                demo[f"{part}/gripper"] = np.roll(made["gripper"], -shift)[rows]
            demo["actions"], demo["states"] = made["action"][rows], np.zeros((n, 9))
            demo["rewards"], demo["dones"] = made["reward"][rows], made["done"][rows].astype(int)
            start += n
        file["mask/train"] = np.array([b"demo_2"])
        change(file)
    return path


def expected(later):
    """What both hold: the last step of each episode is an end, so all seven are kept."""
    made = steps()
    seen = np.column_stack([made["gripper"], made["state"]])
    after = np.roll(seen, -1, axis=0)
    if not later:  # nobody saw what came after the end
        after[made["done"]] = seen[made["done"]]
    return {**made, "seen": seen, "after": after}


@pytest.mark.parametrize("files", [1, 2])
def test_a_lerobot_folder_is_read_exactly(tmp_path, files):
    d = load(lerobot(tmp_path / "ann", files=files))
    wanted = expected(later=False)
    assert (d.name, d.n, d.y_name) == ("ann", 7, "reward")
    assert d.payload["observation"].dtype == np.float32
    assert np.array_equal(d.payload["observation"], wanted["seen"])
    assert np.array_equal(d.payload["next_observation"], wanted["after"])
    assert np.array_equal(d.payload["action"], wanted["action"])
    assert np.array_equal(d.y, wanted["reward"].astype(float))
    assert d.payload["terminated"].tolist() == wanted["done"].tolist()
    assert not d.payload["truncated"].any()
    assert d.dim == 3 + 3 + 3


def test_version_2_has_a_file_for_each_episode(tmp_path):
    folder = lerobot(tmp_path / "ann", version="v2.1", lengths=False)
    for i in range(2):
        chunk = folder / "data" / "chunk-000"
        (chunk / f"file-{i:03d}.parquet").rename(chunk / f"episode_{i:06d}.parquet")
    assert load(folder).digest == load(lerobot(tmp_path / "v3" / "ann")).digest


@pytest.mark.parametrize("later", [True, False])
def test_a_robomimic_file_is_read_exactly(tmp_path, later):
    d = load(robomimic(tmp_path / "ann.hdf5", later=later))
    wanted = expected(later)
    assert (d.name, d.n) == ("ann", 7)
    assert np.array_equal(d.payload["observation"], wanted["seen"])
    assert np.array_equal(d.payload["next_observation"], wanted["after"])
    assert np.array_equal(d.payload["action"], wanted["action"])
    assert np.array_equal(d.y, wanted["reward"].astype(float))
    assert d.payload["terminated"].tolist() == wanted["done"].tolist()


def test_both_formats_of_the_same_log_agree(tmp_path):
    one = load(lerobot(tmp_path / "ann"))
    other = load(robomimic(tmp_path / "ann.hdf5", later=False))
    assert np.array_equal(one.x, other.x)


def test_without_ends_the_last_step_of_each_episode_is_cut(tmp_path):
    without = ("dones", "next_obs")

    def change(file):
        for part in without:
            for demo in file["data"].values():
                del demo[part]

    d = load(robomimic(tmp_path / "ann.hdf5", change))
    assert d.n == 5
    assert not d.payload["terminated"].any()
    assert np.flatnonzero(d.payload["truncated"]).tolist() == [2, 4]
    folder = lerobot(tmp_path / "ann", lambda columns: columns.pop("next.done"))
    assert np.array_equal(load(folder).x, d.x)


def _no_rewards(where):
    if where.suffix:
        return robomimic(where, lambda file: [d.pop("rewards") for d in file["data"].values()])
    return lerobot(where, lambda columns: columns.pop("next.reward"))


@pytest.mark.parametrize("name", ["ann", "ann.hdf5"])
def test_without_rewards_it_says_what_to_do_and_takes_a_function_or_a_column(tmp_path, name):
    where = _no_rewards(tmp_path / name)
    with pytest.raises(FileError, match=r"holds no rewards .* y=..., or pass rewards=..., a"):
        load(where)
    moved = load(where, rewards=lambda seen, act, later: (later - seen)[:, 1] - act[:, 0])
    p = moved.payload
    assert np.allclose(
        moved.y, (p["next_observation"] - p["observation"])[:, 1] - p["action"][:, 0]
    )
    assert np.array_equal(p["reward"], moved.y)
    with pytest.raises(
        ConfigError, match=r"one number a row, shape \(7,\); it gave shape \(7, 3\)"
    ):
        load(where, rewards=lambda seen, act, later: act)
    column = "dones" if name.endswith("5") else "next.done"
    assert load(where, y=column).y.tolist() == steps()["done"].astype(float).tolist()
    with pytest.raises(ConfigError, match=r"both say what was paid"):
        load(where, y=column, rewards=len)
    with pytest.raises(FileError, match=r"price"):
        load(where, y="price")
    with pytest.raises(ConfigError, match=r"rewards must be a function"):
        load(where, rewards=1.0)


@pytest.mark.parametrize("name", ["ann", "ann.hdf5"])
def test_parts_of_observations_are_chosen_and_inputs_made(tmp_path, name):
    make, part = (robomimic, "state") if name.endswith("5") else (lerobot, "observation.state")
    where = make(tmp_path / name)
    d = load(where, x=[part], inputs=lambda seen, act, later: later - seen, name="me")
    assert d.name == "me"
    assert d.payload["observation"].tolist() == steps()["state"].tolist()
    assert np.array_equal(d.x, d.payload["next_observation"] - d.payload["observation"])
    with pytest.raises(FileError, match=r"no part 'odour' of numbers .*It has: .*gripper"):
        load(where, x=["odour"])
    with pytest.raises(ConfigError, match=r"payload does not apply"):
        load(where, payload=["a"])


def test_images_are_left_out_with_a_word(tmp_path):
    def change(file):
        for demo in file["data"].values():
            demo["obs/camera"] = np.zeros((len(demo["actions"]), 8, 8, 3), np.uint8)
            demo["next_obs/camera"] = demo["obs/camera"][()]

    where = robomimic(tmp_path / "ann.hdf5", change)
    with pytest.warns(DataWarning, match=r"demo_2/obs: camera are images, or no numbers, and left"):
        assert load(where).payload["observation"].shape == (7, 3)
    assert load(where, x=["state"]).payload["observation"].shape == (7, 2)


def test_whole_actions_are_choices(tmp_path):
    def change(columns):
        columns["action"] = pa.array([0, 1, 2, 1, 0, 2, 2])

    folder = lerobot(tmp_path / "ann", change)
    said = json.loads((folder / "meta" / "info.json").read_text())
    said["features"]["action"] = {"dtype": "int64", "shape": [1]}
    (folder / "meta" / "info.json").write_text(json.dumps(said))
    d = load(folder)
    assert d.payload["action"].tolist() == [0, 1, 2, 1, 0, 2, 2]
    assert d.x[:, 3:6].argmax(axis=1).tolist() == [0, 1, 2, 1, 0, 2, 2]


def _replaced(part, make):
    def change(file):
        del file[f"data/demo_10/{part}"]
        make(file, f"data/demo_10/{part}")

    return change


def _elsewhere(file, key):
    file.create_dataset(key, (3,), "f8", external=[("/etc/hostname", 0, 24)])


def _virtual(file, key):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", (3,))
    file.create_virtual_dataset(key, layout)


def _assign(value):
    return lambda file, key: file.__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_replaced("rewards", _assign(h5py.SoftLink("/data/demo_2/rewards"))), "is a link to ano"),
        (_replaced("obs", _assign(h5py.ExternalLink("o.h5", "/r"))), "is a link to another"),
        (_replaced("rewards", _elsewhere), "keeps its numbers in other files"),
        (_replaced("rewards", _virtual), "keeps its numbers in other files"),
        (_replaced("rewards", _assign(["a", "b", "c"])), "has type object, not numbers"),
        (_replaced("actions", _assign(np.ones((3, 3), "c16"))), "type complex128, not numbers"),
        (_replaced("actions", _assign(np.ones((4, 3)))), "demo_10 has 4 actions, and obs of shape"),
        (_replaced("actions", _assign(np.ones((3, 4)))), "its episodes have other shapes"),
        (_replaced("actions", lambda file, key: None), "demo_10/actions is missing"),
        (_replaced("obs/state", _assign(np.ones((2, 2)))), "arrays of different lengths"),
        (_replaced("obs/state", _assign(np.ones((3, 2, 2)))), "unlike the first demonstration's"),
        (_replaced("obs/state", lambda file, key: None), "obs/state is missing"),
        (
            _replaced("rewards", _assign([1.0, np.nan, 2.0])),
            "column 'reward': 1 of 7 values.*row 5",
        ),
        (_replaced("rewards", _assign(np.ones((3, 2)))), r"and rewards of shape \(3, 2\)"),
        (lambda f: f["data/demo_2"].attrs.modify("num_samples", 9), "num_samples = 9, but has 4"),
        (lambda f: f["data/demo_2"].attrs.__setitem__("num_samples", "many"), None),
        (lambda f: f.__setitem__("data/demo_3", h5py.SoftLink("/data/demo_2")), "is a link"),
        (lambda f: f.__delitem__("data"), "has no group 'data', so it is not from robomimic"),
        (lambda f: [f.__delitem__("data"), f.create_group("data")], "holds no demonstrations"),
        (lambda f: [f.__delitem__("data"), f.__setitem__("data", [1.0])], "ann.hdf5"),
    ],
)
def test_hostile_robomimic_files_are_refused(tmp_path, change, message):
    where = robomimic(tmp_path / "ann.hdf5", change)
    if message is None:
        assert load(where).n == 7
        return
    with pytest.raises(FileError, match=message):
        load(where)


def _linked(folder):
    path = folder / "data" / "chunk-000" / "file-001.parquet"
    path.rename(folder.parent / "elsewhere.parquet")
    os.symlink(folder.parent / "elsewhere.parquet", path)


def _linked_info(folder):
    path = folder / "meta" / "info.json"
    path.rename(folder.parent / "elsewhere.json")
    os.symlink(folder.parent / "elsewhere.json", path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_linked, r"data/chunk-000/file-001.parquet leads out of the folder"),
        (_linked_info, r"meta/info.json leads out of the folder"),
        (lambda f: (f / "data/chunk-000/file-001.parquet").unlink(), "total_episodes = 2, but"),
        (lambda f: (f / "data/chunk-000/file-001.parquet").write_bytes(b"PAR1"), "file-001.parq"),
        (lambda f: lerobot(f, info={"total_frames": 8}), "total_frames = 8, but the data have 7"),
        (lambda f: lerobot(f, version="v1.6"), "is of version v1.6; versions 2 and 3 are read"),
        (lambda f: lerobot(f, info={"features": []}), "describes no features"),
        (lambda f: (f / "meta/info.json").write_text("{"), "info.json: cannot be read"),
        (lambda f: lerobot(f, lambda c: c.pop("action")), "has no column 'action' of numbers"),
        (
            lambda f: lerobot(f, lambda c: c.update(frame_index=pa.array([0, 1, 3, 2, 0, 1, 2]))),
            "its steps are not in order, or some are missing",
        ),
        (
            lambda f: lerobot(f, lambda c: c.update({"next.reward": pa.array(["a"] * 7)})),
            r"column 'next.reward'",
        ),
        (
            lambda f: pq.write_table(
                pa.table({"episode_index": [0, 1], "length": [3, 4]}),
                f / "meta/episodes/chunk-000/file-000.parquet",
            ),
            "meta/episodes promises other lengths",
        ),
    ],
)
def test_hostile_lerobot_folders_are_refused(tmp_path, change, message):
    folder = lerobot(tmp_path / "ann")
    change(folder)
    with pytest.raises(FileError, match=message):
        load(folder)


def test_a_folder_that_lost_its_description_is_still_known_by_its_data(tmp_path):
    folder = lerobot(tmp_path / "ann")
    (folder / "meta" / "info.json").unlink()
    with pytest.raises(FileError, match=r"ann: has no meta/info.json.* Download the folder meta"):
        load(folder)
    # a folder of Parquet files stays one, whatever else lies in it
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": [3.0, 5.0]}), folder / "rows.parquet")
    assert load(folder).y.tolist() == [3.0, 5.0]


@pytest.mark.parametrize(
    "part",
    [
        "meta/info.json",
        "data/chunk-000/file-001.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
    ],
)
def test_of_several_folders_the_damaged_one_is_named(tmp_path, monkeypatch, part):
    for name in ("ann", "bob"):
        lerobot(tmp_path / name)
    (tmp_path / "bob" / part).write_bytes(b"{")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match=rf"^bob: {part}: cannot be read"):
        bers.as_sources(["ann", "bob"])
    monkeypatch.chdir("bob")
    with pytest.raises(FileError, match=r"cannot be read"):
        load(".")


def test_a_file_and_a_folder_without_rewards_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for where in ("ann.hdf5", "ann"):
        _no_rewards(Path(where))
        with pytest.raises(FileError, match=rf"^{where}: holds no rewards"):
            load(where)


@pytest.mark.parametrize("make", [lerobot, robomimic])
def test_sizes_are_checked_before_memory_is_taken(tmp_path, make):
    where = make(tmp_path / ("ann" if make is lerobot else "ann.hdf5"))
    with pytest.raises(FileError, match=r"past the limit of max_bytes"):
        load(where, max_bytes=100)


def test_they_serve_a_replay_buffer_and_the_command_line(tmp_path, capsys):
    spaces = pytest.importorskip("gymnasium").spaces
    pytest.importorskip("stable_baselines3")
    from bers.integrations.sb3 import BersReplayBuffer

    one, other = lerobot(tmp_path / "ann"), robomimic(tmp_path / "bob.hdf5")
    buffer = BersReplayBuffer(
        10, spaces.Box(-9, 9, (3,)), spaces.Box(-9, 9, (3,)), sources=[str(one), str(other)]
    )
    assert buffer.pool.counts.tolist() == [7, 7]
    assert buffer.pool.actions[:7] == pytest.approx(steps()["action"] / 9, abs=1e-6)
    ranking = bers.rank(
        [load(one), load(other)], load(other), model=bers.ModelConfig(hidden=(4,), batches=2)
    )
    assert list(ranking.names) == ["ann", "bob"]
    with pytest.raises(SystemExit, match="^0$"):
        app(["info", str(one), str(other)])
    assert "observation.0" in capsys.readouterr().out
