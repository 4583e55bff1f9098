import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from bers.data.storage import load
from bers.errors import ConfigError, DataWarning, FileError

spaces = pytest.importorskip("gymnasium").spaces
minari = pytest.importorskip("minari")


def _stacked(space, values):
    if isinstance(space, spaces.Dict):
        return {key: _stacked(space[key], [v[key] for v in values]) for key in space}
    if isinstance(space, spaces.Tuple):
        return tuple(_stacked(s, [v[i] for v in values]) for i, s in enumerate(space))
    return np.array(values)


def write(dataset, observation_space, action_space, lengths=(3, 1, 5), **options):
    """A data set written by Minari itself."""
    from minari.data_collector import EpisodeBuffer

    rng = np.random.default_rng(0)
    observation_space.seed(0)
    action_space.seed(0)
    buffers = [
        EpisodeBuffer(
            observations=_stacked(
                observation_space, [observation_space.sample() for _ in range(n + 1)]
            ),
            actions=_stacked(action_space, [action_space.sample() for _ in range(n)]),
            rewards=list(rng.normal(size=n)),
            terminations=[False] * (n - 1) + [True],
            truncations=[False] * n,
            infos={"speed": np.zeros(n + 1)},
        )
        for n in lengths
    ]
    return minari.create_dataset_from_buffers(
        dataset,
        buffers,
        observation_space=observation_space,
        action_space=action_space,
        **options,
    )


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@quiet
def test_a_real_data_set_is_read_exactly(root):
    written = write("demo/box-v0", spaces.Box(-1, 1, (3,)), spaces.Discrete(6))
    episodes = list(written.iterate_episodes())
    d = load("minari:demo/box-v0")
    assert d.name == "demo/box-v0"
    for name, parts in {
        "observation": [e.observations[:-1] for e in episodes],
        "action": [e.actions for e in episodes],
        "reward": [e.rewards for e in episodes],
        "next_observation": [e.observations[1:] for e in episodes],
        "terminated": [e.terminations for e in episodes],
        "truncated": [e.truncations for e in episodes],
    }.items():
        expected = np.concatenate(parts)
        assert d.payload[name].dtype == expected.dtype
        assert np.array_equal(d.payload[name], expected)
    assert d.n == 9
    assert d.payload["terminated"].sum() == 3
    # Six columns for the action, though not all six were ever chosen.
    assert d.dim == 3 + 6 + 3
    assert np.array_equal(d.x[:, 3:9].argmax(axis=1), d.payload["action"])
    assert np.array_equal(d.y, d.payload["reward"])
    other = load(root / "demo" / "box-v0", name="me", inputs=lambda s, a, t: t - s)
    assert other.name == "me"
    assert np.array_equal(other.x, d.payload["next_observation"] - d.payload["observation"])
    assert (d.y_name, d.columns_guessed) == ("reward", False)


@quiet
def test_dictionaries_and_tuples_are_flattened_in_order(root):
    inner = spaces.Tuple([spaces.Discrete(3)] + [spaces.Box(-1, 1, (1,)) for _ in range(10)])
    space = spaces.Dict({"b": spaces.Box(-1, 1, (2, 2)), "a": inner})
    episodes = list(write("dict-v0", space, spaces.Box(-1, 1, (2,))).iterate_episodes())
    d = load("minari:dict-v0")
    seen = episodes[0].observations
    parts = [np.asarray(part)[:-1].reshape(3, -1) for part in (*seen["a"], seen["b"])]
    expected = np.concatenate(parts, axis=1)
    assert np.array_equal(d.payload["observation"][:3], expected)
    assert d.payload["action"].shape == (9, 2)


@quiet
def test_images_and_other_formats_are_refused_with_advice(root):
    image = spaces.Box(0, 255, (40, 40, 3), np.uint8)
    write("image-v0", image, spaces.Discrete(2), lengths=(1, 1))
    with pytest.raises(FileError, match=r"main_data.hdf5: /episode_0/observations has type object"):
        load("minari:image-v0")
    write("raw-v0", image, spaces.Discrete(2), lengths=(1, 1), jpeg_encoding=False)
    assert load("minari:raw-v0").payload["observation"].shape == (2, 40, 40, 3)
    write("arrow-v0", spaces.Box(-1, 1, (3,)), spaces.Discrete(2), data_format="arrow")
    with pytest.raises(
        FileError, match=r'its format is arrow. Write it again with data_format="hdf5"'
    ):
        load("minari:arrow-v0")


def made(root, change=lambda file: None, described=None):
    """A data set written by hand, changed before it is closed."""
    (root / "hand-v0" / "data").mkdir(parents=True, exist_ok=True)
    path = root / "hand-v0" / "data" / "main_data.hdf5"
    with h5py.File(path, "w") as file:
        for i in range(2):
            group = file.create_group(f"episode_{i}")
            group["observations"] = np.arange(8.0).reshape(4, 2)
            group["actions"] = np.arange(3)
            group["rewards"] = np.arange(3.0)
            group["terminations"] = np.array([False, False, True])
            group["truncations"] = np.zeros(3, bool)
        change(file)
    if described is not None:
        (root / "hand-v0" / "data" / "metadata.json").write_text(json.dumps(described))
    return path


def replaced(part, make):
    def change(file):
        del file[f"episode_1/{part}"]
        make(file, f"episode_1/{part}")

    return change


def _external_storage(file, key):
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
        (replaced("rewards", _assign(h5py.SoftLink("/episode_0/rewards"))), "is a link to another"),
        (replaced("rewards", _assign(h5py.ExternalLink("o.h5", "/r"))), "is a link to another"),
        (replaced("rewards", _external_storage), "keeps its numbers in other files"),
        (replaced("rewards", _virtual), "keeps its numbers in other files"),
        (replaced("rewards", _assign(["a", "b", "c"])), "has type object, not numbers"),
        (replaced("rewards", _assign(np.ones(3, "c16"))), "has type complex128, not numbers"),
        (replaced("rewards", _assign(np.ones(3, [("a", "f8")]))), "not numbers"),
        (replaced("rewards", _assign(h5py.Empty("f8"))), "holds no rows"),
        (replaced("rewards", _assign(1.0)), "holds no rows"),
        (replaced("rewards", lambda file, key: None), "/episode_1/rewards is missing"),
        (replaced("rewards", lambda file, key: file.create_group(key)), "is empty, too deep"),
        (
            replaced("actions", _assign(np.arange(4))),
            "episode_1 has 3 rewards, 4 observations and 4",
        ),
        (replaced("rewards", _assign([1.0, np.nan, 2.0])), "column 'reward': 1 of 6 values.*row 4"),
        (replaced("actions", _assign([0, -1, 0])), "column 'action': 1 actions"),
        (lambda file: file["episode_0"].__setitem__("loop", file["episode_0"]), None),
        (
            replaced("observations", lambda file, key: file.__setitem__(key, file["episode_1"])),
            "main_data.hdf5",
        ),
        (lambda file: file.__setitem__("episode_2", h5py.SoftLink("/episode_0")), "is a link"),
    ],
)
def test_hostile_files_are_refused(root, change, message):
    made(root, change)
    if message is None:
        assert load("minari:hand-v0").n == 6
        return
    with pytest.raises(FileError, match=message):
        load("minari:hand-v0")


def test_rows_that_are_not_finite_can_be_dropped(root):
    made(root, replaced("rewards", _assign([1.0, np.nan, 2.0])))
    with pytest.warns(DataWarning, match=r"dropped 1 of 6 rows"):
        assert load("minari:hand-v0", drop_nonfinite=True).n == 5


def test_sizes_and_promises_are_compared(root):
    made(root)
    with pytest.raises(FileError, match=r"is past the limit of max_bytes"):
        load("minari:hand-v0", max_bytes=100)
    for described, message in [
        ({"total_episodes": 3}, "total_episodes = 3, but the data have 2"),
        ({"total_steps": 5}, "total_steps = 5, but the data have 6"),
        ({"observation_space": '{"type": "Box", "shape": [3]}'}, r"shape \(2,\) where \[3\] was"),
        ({"observation_space": "{"}, "hand-v0: data/metadata.json: cannot be read"),
        ([], "metadata.json"),
    ]:
        made(root, described=described)
        with pytest.raises(FileError, match=message):
            load("minari:hand-v0")


@pytest.mark.parametrize("name", ["../x", "/etc", "a/../../x", "", ".", "a//b", "a/./b", "a\0b"])
def test_ids_cannot_leave_the_root(root, name):
    with pytest.raises(FileError, match=r"is not an id of a Minari data set"):
        load(f"minari:{name}")


def test_links_out_of_the_root_and_unknown_ids(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    made(outside)
    os.symlink(outside / "hand-v0", root / "link-v0")
    with pytest.raises(FileError, match=r"leads out of the folder"):
        load("minari:link-v0")
    with pytest.raises(FileError, match=r"there is no Minari data set 'none-v0'.*minari download"):
        load("minari:none-v0")


def test_no_episodes(root):
    made(root, lambda file: file.clear())
    assert load("minari:hand-v0").n == 0


def test_minari_is_never_imported_and_h5py_is_asked_for(root, monkeypatch):
    made(root)
    code = "import sys, bers; bers.load('minari:hand-v0'); assert 'minari' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        ConfigError, match=r"needs h5py. Install it with `pip install 'bers\[minari\]'`"
    ):
        load("minari:hand-v0")
