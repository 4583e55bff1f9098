import numpy as np
import pytest
from data_helpers import example, same_bits

from bers.data import storage
from bers.data.demonstrations import Demonstrations
from bers.data.shards import Shards
from bers.data.storage import load, save
from bers.errors import ConfigError, FileError


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet", "NPZ"])
def test_endings(tmp_path, ending):
    d = example()
    save(d, tmp_path / f"a.{ending}")
    assert same_bits(load(str(tmp_path / f"a.{ending}")), d)
    again = load(tmp_path / f"a.{ending}")
    assert (again.x_names, again.y_name, again.columns_guessed) == (d.x_names, d.y_name, False)
    assert load(tmp_path / f"a.{ending}", name="bob").name == "bob"


def test_saving_twice_replaces_and_leaves_nothing_behind(tmp_path):
    for ending in ("npz", "csv", "parquet"):
        path = tmp_path / f"a.{ending}"
        save(example(seed=1), path)
        save(example(seed=2), path)
        assert same_bits(load(path), example(seed=2))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a.csv", "a.csv.bers.json", "a.npz", "a.parquet"]


def test_streaming_is_decided_by_size(tmp_path, monkeypatch):
    save(example(), tmp_path / "a.parquet")
    assert isinstance(load(tmp_path / "a.parquet"), Demonstrations)
    assert isinstance(load(tmp_path / "a.parquet", stream=True), Shards)
    monkeypatch.setattr(storage, "STREAM_BYTES", 100)
    assert isinstance(load(tmp_path / "a.parquet"), Shards)
    assert isinstance(load(tmp_path / "a.parquet", stream=False), Demonstrations)


def test_a_folder_of_parquet_files_is_one_source(tmp_path):
    d = example()
    for i in range(3):
        save(d.take(slice(i * 20, i * 20 + 20)), tmp_path / f"{i}.parquet")
    whole = load(tmp_path)
    assert same_bits(whole, d)
    assert load([tmp_path / "1.parquet", tmp_path / "0.parquet"]).y.tolist() == [
        *d.y[20:40],
        *d.y[:20],
    ]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match=r"no Parquet file in .*empty"):
        load(tmp_path / "empty")


def test_shards_can_be_saved_again_in_other_row_groups(tmp_path):
    d = example()
    save(d, tmp_path / "a.parquet", rows_per_group=7)
    save(load(tmp_path / "a.parquet", stream=True), tmp_path / "b.parquet", rows_per_group=5)
    b = load(tmp_path / "b.parquet")
    assert np.array_equal(b.x, d.x)
    assert b.transforms == d.transforms
    assert b.payload == {}
    s = load(tmp_path / "b.parquet", stream=True)
    assert max(s.rows) <= 5
    with pytest.raises(ConfigError, match=r"Shards can be saved to .parquet only"):
        save(s, tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("none.npz", {}, FileError, "there is no file .*none.npz"),
        ("none.csv", {}, FileError, "there is no file .*none.csv"),
        ("none.parquet", {}, FileError, "there is no file .*none.parquet"),
        ("none.pkl", {}, FileError, "there is no file .*none.pkl"),
        ("a.pkl", {}, FileError, "a.pkl: the ending must be .csv, .tsv, .csv.gz, .tsv.gz, .npz"),
        ("a.csv", {"stream": True}, ConfigError, "stream=True is for Parquet"),
        ("a.csv", {"inputs": len}, ConfigError, "inputs=... is for LeRobot, Minari"),
        ("minari:a", {"x": "b"}, ConfigError, "x, y and payload do not apply to a Minari"),
        ("a.csv", {"max_bytes": 0}, ConfigError, "max_bytes must be a whole number"),
    ],
)
def test_wrong_paths_and_options(tmp_path, name, options, error, message):
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04.")
    (tmp_path / "a.csv").write_text("a,y\n1,2\n")
    where = name if name.startswith("minari:") else tmp_path / name
    with pytest.raises(error, match=message):
        load(where, **options)


def test_wrong_targets(tmp_path):
    with pytest.raises(ConfigError, match=r"the ending must be .csv, .npz or .parquet"):
        save(example(), tmp_path / "a.pkl")
    with pytest.raises(ConfigError, match=r"rows_per_group must be a whole number"):
        save(example(), tmp_path / "a.parquet", rows_per_group=0)
    for ending in ("npz", "csv", "parquet"):
        with pytest.raises(FileError, match=r"cannot write .*Check that the folder exists"):
            save(example(), tmp_path / "none" / f"a.{ending}")


def test_importing_needs_no_arrow(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys, bers.data.storage as s, bers.data.demonstrations as d;"
        "bad = {'pyarrow', 'h5py', 'jax', 'scipy', 'minari'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
