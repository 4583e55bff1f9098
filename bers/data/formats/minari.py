"""Minari data sets, read from their HDF5 files without Minari.

Enter: "minari:ID", looked up as Minari does, or the folder of a data set. Leave: a record of
transitions over all episodes. Minari itself is never imported and no environment is built:
opening a hostile data set with it can run code. HDF5 has no checksums, so damage that leaves
a file well-formed cannot be seen; the number of episodes and steps is compared. A file of
unknown origin can reach nothing but itself: only hard links are followed; data kept in other
files, virtual data sets, and types that need decoding are refused.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import refuse_wide
from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format, Options
from bers.data.transitions import STEP
from bers.errors import ConfigError, FileError
from bers.files import reading
from bers.text import printable

_DATA = Path("data") / "main_data.hdf5"
_LARGEST_JSON = 64 << 20
_DEEPEST = 8
_SUSPECT_BYTES, _SUSPECT_RATIO = 64 << 20, 200


def is_dataset(folder: Path) -> bool:
    """Whether a folder holds a Minari data set.

    >>> is_dataset(Path("."))
    False
    """
    return (folder / _DATA).exists() or (folder / "data" / "metadata.json").exists()


def load_minari(where: str | os.PathLike[str], options: Options) -> Demonstrations:
    """Read all episodes; x is made of `inputs`, as in `Demonstrations.from_transitions`.

    A dictionary or tuple of observations is flattened, in the order of keys or places.

    >>> try:
    ...     load_minari("minari:../x", Options())
    ... except FileError as error:
    ...     print(error)
    'minari:../x' is not an id of a Minari data set. Ids look like D4RL/door/human-v2.
    """
    if options.names_columns:
        raise ConfigError("x, y and payload do not apply to a Minari data set; use inputs=...")
    folder = _folder(str(where))
    described = _description(folder)
    if not (folder / _DATA).exists():
        raise FileError(
            f"{folder.name}: has no {_DATA}; its format is "
            f"{printable(str(described.get('data_format', 'unknown')))}. Write it again with "
            'data_format="hdf5".'
        )
    with reading(folder / _DATA), open_hdf5(folder / _DATA, options.max_bytes) as file:
        episodes = [_episode(file, key, described) for key in _episode_keys(file)]
    _compare(described, episodes, folder)
    steps = {
        part: np.concatenate([episode[part] for episode in episodes])
        if episodes
        else np.empty((0, 1) if "observation" in part else 0)
        for part in STEP
    }
    stored, name, inputs = described.get("dataset_id"), options.name, options.inputs
    return Demonstrations.from_transitions(
        *steps.values(),
        name=name if name is not None else stored if isinstance(stored, str) else folder.name,
        inputs=inputs,
        n_actions=_n_actions(described, steps["action"]) if inputs is None else None,
        drop_nonfinite=options.drop_nonfinite,
        origin=folder.name,
    )


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
            raise FileError(f"{where} is missing. The file is damaged, or not from Minari.")
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
                "stored as JPEG; write the data set with jpeg_encoding=False."
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
            "reading Minari data sets needs h5py. Install it with `pip install 'bers[minari]'`."
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


def _folder(where: str) -> Path:
    """Where a data set is, by its id or its folder."""
    if not where.startswith("minari:"):
        return Path(where)
    found = where.removeprefix("minari:")
    root = Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", found):
        raise FileError(
            f"{printable(where)!r} is not an id of a Minari data set. "
            "Ids look like D4RL/door/human-v2."
        )
    folder = root / found
    if not folder.resolve().is_relative_to(root.resolve()):
        raise FileError(f"{printable(where)!r} leads out of the folder {root}. Copy it there.")
    if not is_dataset(folder):
        raise FileError(
            f"there is no Minari data set {printable(found)!r} in {root}. Download it with "
            f"`minari download {printable(found)}`, or set MINARI_DATASETS_PATH."
        )
    return folder


def _description(folder: Path) -> Mapping[str, Any]:
    """What metadata.json says, if it is there."""
    path = folder / "data" / "metadata.json"
    if not path.exists():
        return {}
    with reading(path):
        if path.stat().st_size > _LARGEST_JSON:
            raise FileError(f"{path.name}: is larger than {_LARGEST_JSON:,} bytes.")
        described = json.loads(path.read_bytes())
        for key in ("observation_space", "action_space"):
            if isinstance(described.get(key), str):
                described[key] = json.loads(described[key])
    return described


def _episode_keys(file: SafeFile) -> list[str]:
    """Episodes by number, so that 10 comes after 9."""
    keys = [key for key in file.root if re.fullmatch(r"episode_\d{1,18}", key)]
    return sorted(keys, key=lambda key: int(key[8:]))


def _episode(file: SafeFile, key: str, described: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The steps of one episode."""
    group = file.child(file.root, key)
    parts = {}
    for part in ("observations", "actions", "rewards", "terminations", "truncations"):
        space = described.get(f"{part[:-1]}_space")
        parts[part] = read_tree(file, file.child(group, part), space, f"{key}/{part}")
    length, seen = len(parts["rewards"]), len(parts["observations"])
    for part, values in parts.items():
        if len(values) != (length + 1 if part == "observations" else length):
            raise FileError(
                f"{file.path.name}: {key} has {length} rewards, {seen} observations and "
                f"{len(values)} {part}; observations must be one more than all others."
            )
    seen = parts["observations"]
    values = (seen[:-1], parts["actions"], parts["rewards"], seen[1:])
    return dict(zip(STEP, (*values, parts["terminations"], parts["truncations"]), strict=True))


def _compare(described: Mapping[str, Any], episodes: list, folder: Path) -> None:
    """Raise where there are not as many episodes or steps as described."""
    steps = sum(len(episode["reward"]) for episode in episodes)
    for what, found in (("total_episodes", len(episodes)), ("total_steps", steps)):
        if described.get(what, found) != found:
            raise FileError(
                f"{folder.name}: metadata.json promises {what} = "
                f"{printable(str(described[what]))}, but the data have {found}. "
                "Download or write it again."
            )


def _n_actions(described: Mapping[str, Any], action: np.ndarray) -> int | None:
    """The number of choices, from the description: the data may never show the last one."""
    space = described.get("action_space")
    if not isinstance(space, dict) or space.get("type") != "Discrete" or action.ndim != 1:
        return None
    start, n = space.get("start", 0), space.get("n")
    if not isinstance(start, int) or not isinstance(n, int) or start < 0 or n < 1:
        return None
    return start + n if action.dtype.kind in "iu" else None


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


def _recognises(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the id or the folder of a data set."""
    return str(path).startswith("minari:") or is_dataset(Path(path))


FORMAT = Format("Minari", recognises=_recognises, load=load_minari, takes_inputs=True)
