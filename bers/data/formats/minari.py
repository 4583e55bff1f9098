"""Minari data sets, read from their HDF5 files without Minari.

Enter: "minari:ID", looked up as Minari does, or the folder of a data set. Leave: a record of
transitions over all episodes. Minari itself is never imported and no environment is built:
opening a hostile data set with it can run code. HDF5 has no checksums, so damage that leaves
a file well-formed cannot be seen; the number of episodes and steps is compared. What a file may
not do is for `bers.data.formats.hdf5` to say.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format, Options
from bers.data.formats.hdf5 import SafeFile, open_hdf5, read_tree
from bers.data.formats.steps import given_rewards
from bers.data.transitions import STEP
from bers.errors import ConfigError, FileError
from bers.files import inside, reading
from bers.text import printable

_DATA = Path("data") / "main_data.hdf5"
_LARGEST_JSON = 64 << 20


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
    path = folder / _DATA
    with inside(folder, path), reading(path), open_hdf5(path, options.max_bytes) as file:
        episodes = [_episode(file, key, described) for key in _episode_keys(file)]
    _compare(described, episodes, folder)
    steps = {
        part: np.concatenate([episode[part] for episode in episodes])
        if episodes
        else np.empty((0, 1) if "observation" in part else 0)
        for part in STEP
    }
    if options.rewards is not None:
        steps["reward"] = given_rewards(options, steps)
    stored, name, inputs = described.get("dataset_id"), options.name, options.inputs
    return Demonstrations.from_transitions(
        *steps.values(),
        name=name if name is not None else stored if isinstance(stored, str) else folder.name,
        inputs=inputs,
        n_actions=_n_actions(described, steps["action"]) if inputs is None else None,
        drop_nonfinite=options.drop_nonfinite,
        origin=folder.name,
    )


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
    with inside(folder, path), reading(path):
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


def _recognises(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the id or the folder of a data set."""
    return str(path).startswith("minari:") or is_dataset(Path(path))


FORMAT = Format("Minari", recognises=_recognises, load=load_minari, takes_inputs=True)
