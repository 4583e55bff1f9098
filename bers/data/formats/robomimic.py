"""robomimic's HDF5 files, read without robomimic.

Enters: a file with a group `data` of `demo_0`, `demo_1`, ..., each with `actions`, a group `obs` of
arrays by name, and, where they were written down, `next_obs`, `rewards` and `dones`. Leaves: a
record of transitions over all of them, observations side by side in order of their names. Models of
the simulator and its settings, which these files also hold, are not looked at.
"""

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format, Options
from bers.data.formats.hdf5 import SafeFile, open_hdf5
from bers.data.formats.steps import Episode, observed_keys, record_of_episodes
from bers.errors import ConfigError, DataWarning, FileError
from bers.files import reading
from bers.text import printable

_FLAT = 2  # axes of numbers in rows; images have more


def load_robomimic(path: str | os.PathLike[str], options: Options) -> Demonstrations:
    """Read all demonstrations; `x` names parts of observations, `y` an array of rewards.

    >>> import h5py, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with h5py.File(f"{folder}/ann.hdf5", "w") as made:
    ...         made["data/demo_0/obs/joints"] = np.zeros((3, 2))
    ...         made["data/demo_0/actions"] = np.ones((3, 1))
    ...         made["data/demo_0/rewards"], made["data/demo_0/dones"] = [0.0, 0, 1], [0, 0, 1]
    ...     load_robomimic(f"{folder}/ann.hdf5", Options())
    Demonstrations('ann', n=3, k=5, y 0 to 1)
    """
    if options.payload is not None:
        raise ConfigError("payload does not apply to robomimic files; leave it out.")
    if options.y is not None and options.rewards is not None:
        raise ConfigError("y=... and rewards=... both say what was paid. Pass one of the two.")
    path = Path(path)
    with reading(path), open_hdf5(path, options.max_bytes) as file:
        if "data" not in file.root.keys():  # noqa: SIM118
            raise FileError(
                f"{path.name}: has no group 'data', so it is not from robomimic. Of a Minari data "
                "set, give the folder that holds the folder 'data'."
            )
        data = file.child(file.root, "data")
        keys = _demo_keys(data)
        if not keys:
            raise FileError(f"{path.name}: holds no demonstrations, such as data/demo_0.")
        observed = _observed(file, data, keys[0], options)
        episodes = [_episode(file, data, key, observed, options) for key in keys]
    said = {"origin": path.name, "absent": "no array rewards in its demonstrations"}
    return record_of_episodes(episodes, options, FORMAT.stem(path), **said)


def _demo_keys(data: Any) -> list[str]:
    """Demonstrations by number, so that 10 comes after 9."""
    keys = [key for key in data if re.fullmatch(r"demo_\d{1,18}", key)]
    return sorted(keys, key=lambda key: int(key[5:]))


def _observed(file: SafeFile, data: Any, key: str, options: Options) -> list[str]:
    """Which arrays of the group `obs` are read, by the first demonstration."""
    import h5py

    where = f"{file.path.name}: {key}/obs"
    obs = file.child(file.child(data, key), "obs")
    if not isinstance(obs, h5py.Group):
        raise FileError(f"{where} is no group of arrays by name. The file is of another kind.")
    nodes = {name: file.child(obs, name) for name in obs}
    flat = [
        name
        for name, node in nodes.items()
        if isinstance(node, h5py.Dataset) and node.dtype.kind in "biuf" and node.ndim <= _FLAT
    ]
    others = ", ".join(printable(name, 40) for name in sorted({*nodes} - {*flat})[:10])
    if others and options.x is None:
        warnings.warn(
            f"{where}: {others} are images, or no numbers, and left out. Where the reward depends "
            "on them alone, nothing can be told.",
            DataWarning,
            stacklevel=2,
        )
    return observed_keys(flat, options, where)


def _episode(file: SafeFile, data: Any, key: str, observed: list[str], options: Options) -> Episode:
    """One demonstration."""
    demo = file.child(data, key)
    action = file.array(file.child(demo, "actions"))
    arrays = {"obs": _side_by_side(file, demo, "obs", observed)}
    if "next_obs" in demo:
        arrays["next_obs"] = _side_by_side(file, demo, "next_obs", observed)
    paid = options.y or "rewards"
    wanted = ["dones"] if options.rewards is not None else [paid, "dones"]
    for part in wanted:
        if part in demo or part == options.y:
            values = file.array(file.child(demo, part))
            arrays[part] = values[:, 0] if values.shape[1:] == (1,) else values
    for part, values in arrays.items():
        if len(values) != len(action) or (part not in ("obs", "next_obs") and values.ndim != 1):
            raise FileError(
                f"{file.path.name}: {key} has {len(action)} actions, and {printable(part)} of "
                f"shape {values.shape}; all must have a row for each action."
            )
    _compare(file, demo, key, len(action))
    found = (arrays.get(part) for part in (paid, "dones", "next_obs"))
    return Episode(arrays["obs"], action, *found)


def _side_by_side(file: SafeFile, demo: Any, part: str, observed: list[str]) -> np.ndarray:
    group, parts = file.child(demo, part), []
    for name in observed:
        values = file.array(file.child(group, name))
        if values.ndim > _FLAT:
            raise FileError(
                f"{file.path.name}: {printable(f'{demo.name}/{part}/{name}')} has shape "
                f"{values.shape}, unlike the first demonstration's. The file is damaged."
            )
        parts.append(values.reshape(len(values), -1) if len(values) else np.empty((0, 1)))
    if len({len(values) for values in parts}) > 1:
        raise FileError(
            f"{file.path.name}: {printable(f'{demo.name}/{part}')} has arrays of different lengths."
        )
    return np.concatenate(parts, axis=1)


def _compare(file: SafeFile, demo: Any, key: str, rows: int) -> None:
    """Raise where there are not as many rows as promised."""
    if "num_samples" not in demo.attrs:
        return
    said = demo.attrs.get_id("num_samples")
    if said.shape == () and said.dtype.kind in "iu" and int(demo.attrs["num_samples"]) != rows:
        raise FileError(
            f"{file.path.name}: {key} promises num_samples = {int(demo.attrs['num_samples'])}, but "
            f"has {rows} actions. Download or write it again."
        )


FORMAT = Format("robomimic", also_reads=(".hdf5", ".h5"), load=load_robomimic, takes_inputs=True)
