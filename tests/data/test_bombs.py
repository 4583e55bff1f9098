"""Small files that claim to be large: refused before memory is taken."""

import resource
import subprocess
import sys
import textwrap
import zipfile

import h5py
import numpy as np
import pytest

import bers
from bers.errors import DataError, FileError


def npz_of(path, shape, name="x"):
    """An archive whose array has this shape, by its header alone."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.npy", start)
        if name != "y":
            with archive.open("y.npy", "w") as member:
                np.save(member, np.zeros(0))


@pytest.mark.parametrize("shape", ["(0, 10**18)", "(0, 1000000000000000000)", "(0, 2000000)"])
def test_npz_without_rows_and_with_endless_columns(tmp_path, shape):
    npz_of(tmp_path / "a.npz", shape)
    with pytest.raises(FileError, match=r"a.npz: (cannot be read|array 'x' has .* numbers a row)"):
        bers.load(tmp_path / "a.npz")
    if "*" not in shape:
        with pytest.raises(FileError, match=r"a.npz: array 'x' has .* numbers a row; at most"):
            bers.load(tmp_path / "a.npz", x=["x"])


def test_arrays_without_rows_and_with_endless_columns():
    with pytest.raises(DataError, match=r"x has 1,000,000,000,000,000,000 numbers a row"):
        bers.Demonstrations(np.empty((0, 10**18)), [], "a")
    with pytest.raises(DataError, match=r"payload 'p' has 1,000,000,000,000,000,000 numbers a row"):
        bers.Demonstrations(np.empty((0, 1)), [], "a", {"p": np.empty((0, 10**9, 10**9))})


def dataset(folder, **episode):
    """A Minari data set of one episode; keywords are options of h5py by array."""
    path = folder / "data"
    path.mkdir(parents=True)
    usual = {
        "observations": {"data": np.zeros((4, 2))},
        "actions": {"data": np.zeros(3)},
        "rewards": {"data": np.zeros(3)},
        "terminations": {"data": np.zeros(3, bool)},
        "truncations": {"data": np.zeros(3, bool)},
    }
    with h5py.File(path / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        for name, how in {**usual, **episode}.items():
            group.create_dataset(name, **how)
    return folder


def test_hdf5_without_rows_and_with_endless_columns(tmp_path):
    wide = {"shape": (0, 2**40), "dtype": "f8", "chunks": (1, 1024)}
    wide["maxshape"] = (None, 2**40)
    folder = dataset(tmp_path / "a-v0", observations=wide)
    with pytest.raises(FileError, match=r"observations' has 1,099,511,627,776 numbers a row"):
        bers.load(folder)


BOMB = {
    "whole": {"shape": (2**28, 1), "dtype": "f8", "chunks": (2**20, 1), "compression": "gzip"},
    "one chunk": {
        "shape": (4, 1), "dtype": "f8", "chunks": (2**27, 1), "maxshape": (None, 1),
        "compression": "gzip",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", BOMB)
def test_an_hdf5_bomb_takes_no_memory_before_it_is_refused(tmp_path, kind):
    folder = dataset(tmp_path / "a-v0", observations=BOMB[kind])
    assert (folder / "data" / "main_data.hdf5").stat().st_size < 100_000
    program = f"""
        import resource
        import h5py, pyarrow
        import bers
        bers.Demonstrations([1.0], [1.0], "a")
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            bers.load({str(folder)!r})
        except bers.errors.FileError as error:
            print(error)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    shown = subprocess.run(
        [sys.executable, "-c", "import bers.errors\n" + textwrap.dedent(program)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    said, grown = shown.stdout.strip().splitlines()
    assert "main_data.hdf5: /episode_0/observations: the file would grow from" in said
    assert int(grown) < 50_000  # kilobytes
    assert resource.RLIMIT_AS


def test_the_same_array_linked_often_is_counted_often(tmp_path):
    folder = dataset(tmp_path / "a-v0")
    with h5py.File(folder / "data" / "main_data.hdf5", "a") as file:
        zeros = np.zeros((2**20, 1))
        file.create_dataset("zeros", data=zeros, compression="gzip")
        group = file["episode_0"]
        del group["observations"]
        group.create_group("observations")
        for j in range(30):
            group["observations"][f"part{j}"] = file["zeros"]
    with pytest.raises(FileError, match=r"the file would grow from .* like a bomb"):
        bers.load(folder)
