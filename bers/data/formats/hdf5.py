"""HDF5 files of unknown origin, read so that they can reach nothing but themselves.

Enter: a path. Leave: arrays of numbers. Only hard links are followed; data kept in other files,
virtual data sets, and types that need decoding are refused. Sizes are checked before memory is
taken.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import refuse_wide
from bers.errors import ConfigError, FileError
from bers.text import printable

_DEEPEST = 8
_SUSPECT_BYTES, _SUSPECT_RATIO = 64 << 20, 200


@dataclass(frozen=True)
class SafeFile:
    """An open HDF5 file and the bytes that may still be read from it.

    >>> import h5py, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with h5py.File(f"{folder}/a.hdf5", "w") as made:
    ...         made["s/b"], made["s/a"] = [[1.0, 2.0]], [3.0]
    ...     with open_hdf5(Path(folder) / "a.hdf5", 1000) as file:
    ...         file.array(file.child(file.child(file.root, "s"), "a"))
    array([3.])
    """

    path: Path
    root: Any
    most: int
    """Bytes that may be read in all."""
    left: list[int] = field(repr=False)
    """One number, counted down as arrays are read."""

    def child(self, group: Any, key: str) -> Any:
        """What a hard link of a group leads to."""
        import h5py

        where = f"{self.path.name}: {printable(f'{group.name}/{key}')}"
        if not isinstance(group, h5py.Group) or key not in group.keys():  # noqa: SIM118
            raise FileError(f"{where} is missing. The file is damaged, or of another kind.")
        if not isinstance(group.get(key, getlink=True), h5py.HardLink):
            raise FileError(f"{where} is a link to another place, which is not followed.")
        return group[key]

    def array(self, dataset: Any) -> np.ndarray:
        """Read a data set of numbers that lies in this file."""
        where = f"{self.path.name}: {printable(str(dataset.name))}"
        if dataset.external or dataset.is_virtual:
            raise FileError(f"{where} keeps its numbers in other files, which is not allowed.")
        if dataset.dtype.kind not in "biuf" or dataset.dtype.itemsize > 8:
            raise FileError(
                f"{where} has type {dataset.dtype}, not numbers. Texts are not read, nor images "
                "stored as JPEG; with Minari, write the data set with jpeg_encoding=False."
            )
        if dataset.shape is None or not dataset.shape:
            raise FileError(f"{where} holds no rows.")
        refuse_wide(dataset.shape, f"{printable(str(dataset.name))!r}", self.path.name)
        # of a chunk, all is unpacked, however little of it is wanted
        largest = max(prod(dataset.shape), prod(dataset.chunks or ()) if dataset.chunks else 0)
        self.left[0] -= largest * dataset.dtype.itemsize
        if self.left[0] < 0:
            raise FileError(f"{where} is past the limit of max_bytes. Pass a larger max_bytes.")
        total, size = self.most - self.left[0], self.path.stat().st_size
        if total > _SUSPECT_BYTES and total > _SUSPECT_RATIO * size:
            raise FileError(
                f"{where}: the file would grow from {size:,} to {total:,} bytes or more, like a "
                "bomb. If you trust it, write it again without compression."
            )
        return dataset[()]


@contextmanager
def open_hdf5(path: Path, max_bytes: int) -> Iterator[SafeFile]:
    """Open a file for reading.

    >>> import h5py, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with h5py.File(f"{folder}/a.hdf5", "w") as made:
    ...         made["a"] = [1.0, 2.0]
    ...     with open_hdf5(Path(folder) / "a.hdf5", 1000) as file:
    ...         read_tree(file, file.child(file.root, "a"), None, "a")
    array([1., 2.])
    """
    try:
        import h5py
    except ImportError as error:
        raise ConfigError(
            "reading HDF5 needs h5py. Install it with `pip install 'bers[minari]'`."
        ) from error
    with h5py.File(path, "r", locking="best-effort") as root:
        yield SafeFile(path, root, max_bytes, [max_bytes])


def read_tree(file: SafeFile, node: Any, space: Any, where: str, depth: int = 0) -> np.ndarray:
    """An array; of a group of arrays, all flattened side by side, in order of keys or places.

    `space` is the stored description of what is there, if any.

    >>> import h5py, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with h5py.File(f"{folder}/a.hdf5", "w") as made:
    ...         made["s/b"], made["s/a"] = [[1.0, 2.0]], [3.0]
    ...     with open_hdf5(Path(folder) / "a.hdf5", 1000) as file:
    ...         read_tree(file, file.child(file.root, "s"), None, "s")
    array([[3., 1., 2.]])
    """
    import h5py

    if isinstance(node, h5py.Dataset):
        values = file.array(node)
        _match_space(file, values, space, where)
        return values
    if depth == _DEEPEST or not isinstance(node, h5py.Group) or not len(node):
        raise FileError(f"{file.path.name}: {printable(where)} is empty, too deep, or no data.")
    parts = []
    for key in sorted(node.keys(), key=_place):
        inner = file.child(node, key)
        values = read_tree(file, inner, _subspace(space, key), f"{where}/{key}", depth + 1)
        parts.append(values.reshape(len(values), -1) if values.size else values.reshape(0, 1))
    if len({len(part) for part in parts}) > 1:
        raise FileError(f"{file.path.name}: {printable(where)} has parts of different lengths.")
    return np.concatenate(parts, axis=1)


def _place(key: str) -> tuple[int, str]:
    """Places of a tuple by number, so that 10 comes after 9; keys by name."""
    number = key.removeprefix("_index_")
    return (int(number), "") if number != key and number.isdecimal() else (-1, key)


def _subspace(space: Any, key: str) -> Any:
    """The description of one part."""
    inner = space.get("subspaces") if isinstance(space, dict) else None
    if isinstance(inner, dict):
        return inner.get(key)
    place = _place(key)[0]
    return inner[place] if isinstance(inner, list) and 0 <= place < len(inner) else None


def _match_space(file: SafeFile, values: np.ndarray, space: Any, where: str) -> None:
    """Raise where rows do not have the shape that was described."""
    if not isinstance(space, dict) or space.get("type") != "Box":
        return
    if list(values.shape[1:]) != space.get("shape"):
        raise FileError(
            f"{file.path.name}: {printable(where)} has rows of shape {values.shape[1:]} where "
            f"{printable(str(space.get('shape')))} was described. Images stored as JPEG are not "
            "read; write the data set with jpeg_encoding=False."
        )
