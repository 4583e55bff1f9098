"""Damaged files of every format: a named error or an equal result, never a different one."""

import os
import random
import shutil
import warnings

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_helpers import example, same_bits

import bers
from bers.data.formats.csv import sidecar
from bers.data.storage import load, save
from bers.errors import DataError, FileError

FORMATS = ["npz", "csv", "parquet"]


def outcome(path, **options):
    """The record, or None where a FileError named the file; anything else fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return load(path, **options)
        except FileError as error:
            names_file(error, path.name, sidecar(path).name)
            return None


def names_file(error, *names):
    if not any(name in str(error) for name in names):
        pytest.fail(f"no file named in: {error}")


def damaged(path, positions, change):
    """The file with one change at each position in turn."""
    good = path.read_bytes()
    for position in positions:
        bad = change(good, position)
        if bad != good:
            path.write_bytes(bad)
            yield position
    path.write_bytes(good)


def flip(content, position):
    mask = 1 << random.Random(position).randrange(8)
    return content[:position] + bytes([content[position] ^ mask]) + content[position + 1 :]


def invert(content, position):
    return content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :]


def cut(content, position):
    return content[:position]


def every(size, most):
    return sorted({*range(0, size, max(1, size // most)), *range(max(0, size - 60), size)})


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("change", [flip, invert])
def test_a_changed_byte_is_an_error_or_makes_no_difference(tmp_path, ending, change):
    d, path = example(20), tmp_path / f"a.{ending}"
    save(d, path, rows_per_group=8)
    assert same_bits(outcome(path), d)
    named = 0
    for position in damaged(path, every(path.stat().st_size, 900), change):
        found = outcome(path)
        named += found is None
        assert found is None or same_bits(found, d), position
    assert named > 100


@pytest.mark.parametrize("change", [flip, invert])
def test_a_changed_byte_in_a_streamed_file(tmp_path, change):
    d, path = example(40), tmp_path / "a.parquet"
    save(d, path, rows_per_group=16)
    for position in damaged(path, every(path.stat().st_size, 700), change):
        found = outcome(path, stream=True)
        if found is None:
            continue
        try:
            rows = found.in_memory()
        except FileError as error:
            names_file(error, "a.parquet")
            continue
        same = rows.x.tobytes() == d.x.tobytes() and rows.y.tobytes() == d.y.tobytes()
        assert same, position
        names = (found.name, found.x_names, found.y_name, found.transforms)
        if names != (d.name, d.x_names, d.y_name, d.transforms):
            pytest.fail(f"names differ unseen after byte {position}")


def test_a_changed_byte_in_the_second_file_of_a_csv(tmp_path):
    d, path = example(10), tmp_path / "a.csv"
    save(d, path)
    second = sidecar(path)
    for position in damaged(second, range(second.stat().st_size), flip):
        found = outcome(path)
        assert found is None or same_bits(found, d), position


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_cut_short_is_an_error(tmp_path, ending):
    d, path = example(20), tmp_path / f"a.{ending}"
    save(d, path, rows_per_group=8)
    for position in damaged(path, every(path.stat().st_size, 300), cut):
        assert outcome(path) is None, position


@pytest.mark.parametrize("ending", FORMATS)
def test_empty_and_random_files_are_errors(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"")
    with pytest.raises(FileError, match=rf"a.{ending}"):
        load(path)
    rng = np.random.default_rng(0)
    start = {"npz": b"PK\x03\x04", "parquet": b"PAR1", "csv": b""}[ending]
    for size in [1, 7, 8, 12, 100, 1000, 5000]:
        for head in (b"", start):
            path.write_bytes(head + rng.bytes(size) + head)
            assert outcome(path) is None


@pytest.mark.parametrize("ending", FORMATS)
def test_files_under_a_wrong_ending_and_folders(tmp_path, ending):
    other = {"npz": "csv", "csv": "parquet", "parquet": "npz"}[ending]
    save(example(), tmp_path / f"a.{ending}")
    shutil.copy(tmp_path / f"a.{ending}", tmp_path / f"b.{other}")
    with pytest.raises(FileError, match=rf"b.{other}"):
        load(tmp_path / f"b.{other}")
    (tmp_path / f"dir.{ending}").mkdir()
    with pytest.raises(FileError, match=rf"dir.{ending}"):
        load(tmp_path / f"dir.{ending}")


def test_foreign_parquet_with_damage_raises_nothing_foreign(tmp_path):
    path = tmp_path / "f.parquet"
    table = pa.table(
        {"a": np.arange(50.0), "l": [[1.0, 2.0]] * 50, "s": ["x"] * 50, "y": np.arange(50.0)}
    )
    pq.write_table(table, path, row_group_size=20)
    for _ in damaged(path, every(path.stat().st_size, 700), invert):
        outcome(path, x=["a", "l"], max_bytes=10**7)
        outcome(path, x=["a", "l"], max_bytes=10**7, stream=True)


def test_page_checksums_of_foreign_files_are_compared(tmp_path):
    path, values = tmp_path / "f.parquet", np.arange(100.0)
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.table({"a": values, "y": values}), path, **options)
    place = path.read_bytes().index(values.tobytes())
    for _ in damaged(path, range(place, place + 800, 50), flip):
        assert outcome(path) is None
        with pytest.raises(FileError, match=r"f.parquet: cannot be read"):
            list(load(path, stream=True).blocks())


def test_damaged_hdf5_raises_nothing_foreign(tmp_path):
    folder = tmp_path / "h-v0"
    (folder / "data").mkdir(parents=True)
    path = folder / "data" / "main_data.hdf5"
    with h5py.File(path, "w") as file:
        group = file.create_group("episode_0")
        for name, values in {
            "observations": np.zeros((4, 2)),
            "actions": np.zeros(3, int),
            "rewards": np.zeros(3),
            "terminations": np.zeros(3, bool),
            "truncations": np.zeros(3, bool),
        }.items():
            group[name] = values
    assert load(folder).n == 3
    for change in (flip, invert, cut):
        for _ in damaged(path, every(path.stat().st_size, 500), change):
            try:
                load(folder, max_bytes=10**7)
            except DataError as error:
                names_file(error, "h-v0", "main_data.hdf5")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.csv.gz", "a.parquet", "folder/a.parquet"])
def test_a_pipe_is_refused_and_nobody_waits_for_its_other_end(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    given = path.parent if path.parent != tmp_path else path
    for read in (bers.load, lambda one: bers.as_sources([one])):
        with pytest.raises(FileError, match=f"{path.name} is a pipe or a device, not a file"):
            read(given)


def test_a_pipe_beside_a_file_is_refused(tmp_path):
    bers.save(bers.Demonstrations([1.0], [2.0], "a"), tmp_path / "a.csv")
    (tmp_path / "a.csv.bers.json").unlink()
    os.mkfifo(tmp_path / "a.csv.bers.json")
    with pytest.raises(FileError, match=r"a.csv.bers.json is a pipe or a device, not a file"):
        bers.load(tmp_path / "a.csv")
