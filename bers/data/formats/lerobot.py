"""LeRobot's folders, read without LeRobot: states and actions, no videos.

Enters: a folder with meta/info.json and data/chunk-*/*.parquet, as versions 2 and 3 write it.
Leaves: a record of transitions over all episodes: what is called `observation...` and holds
numbers, side by side in order of names; `action`; and `next.reward` and `next.done` where they were
written.
Where the files are is not taken from what the folder says of itself: only its own are opened, and
links that lead out of it are refused. Of videos and images, nothing is opened.
"""

import itertools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format, Options
from bers.data.formats.parquet import ParquetTable, open_parquet
from bers.data.formats.steps import Episode, observed_keys, record_of_episodes
from bers.errors import ConfigError, FileError
from bers.files import inside, read_regular, reading
from bers.text import printable

_INFO = Path("meta") / "info.json"
_ROWS = "data/chunk-*/*.parquet"
_LARGEST_JSON = 64 << 20
_TYPES = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")
_REWARD, _DONE = "next.reward", "next.done"
_PLACE = ("episode_index", "frame_index")


def load_lerobot(where: str | os.PathLike[str], options: Options) -> Demonstrations:
    """Read all episodes; `x` names parts of observations, `y` a column that says what was paid.

    >>> try:
    ...     load_lerobot("ann", Options())
    ... except FileError as error:
    ...     print(error)
    ann: has no meta/info.json, which says what its columns hold. Download the folder meta again.
    """
    if options.payload is not None:
        raise ConfigError("payload does not apply to a LeRobot data set; leave it out.")
    if options.y is not None and options.rewards is not None:
        raise ConfigError("y=... and rewards=... both say what was paid. Pass one of the two.")
    folder = Path(where)
    said = _description(folder)
    features = _features(said, folder)
    columns = _columns(features, options, folder)
    parts = _rows(folder, columns, options.max_bytes)
    rows = {name: np.concatenate([part[name] for part in parts]) for name in columns.all}
    starts = _starts(rows, folder)
    _compare(said, folder, starts, len(rows[_PLACE[0]]))
    episodes = [
        _episode({name: values[first:last] for name, values in rows.items()}, columns, features)
        for first, last in itertools.pairwise(starts)
    ]
    said = {"origin": str(folder), "absent": f"no column {_REWARD}"}
    return record_of_episodes(episodes, options, folder.resolve().name, **said)


@dataclass(frozen=True)
class _Feature:
    """A column of numbers."""

    width: int
    whole: bool


@dataclass(frozen=True)
class _Columns:
    """What is read of each file."""

    observed: list[str]
    reward: str | None
    done: bool
    """Whether the folder says where the task ended."""

    @property
    def all(self) -> list[str]:
        """Names, none twice."""
        more = [_DONE] if self.done else []
        named = [*self.observed, "action", *_PLACE, *more]
        return list(dict.fromkeys([*named, *([] if self.reward is None else [self.reward])]))


def _description(folder: Path) -> dict[str, Any]:
    path = folder / _INFO
    if not path.exists():
        raise FileError(
            f"{folder}: has no {_INFO}, which says what its columns hold. Download the folder "
            "meta again."
        )
    with inside(folder, path), reading(path):
        _inside(path, folder)
        said = json.loads(read_regular(path.resolve(), _LARGEST_JSON))
    if not isinstance(said, dict) or not isinstance(said.get("features"), dict):
        raise FileError(f"{folder}: {_INFO} describes no features. Download it again.")
    version = str(said.get("codebase_version", ""))
    if not re.match(r"v[23]\.", version):
        raise FileError(
            f"{folder}: is of version {printable(version) or 'unknown'}; versions 2 and 3 are "
            "read. Convert it with LeRobot."
        )
    return said


def _episode(
    rows: Mapping[str, np.ndarray], columns: _Columns, features: Mapping[str, _Feature]
) -> Episode:
    """The rows of one episode, whole numbers of one column being choices."""
    acts = rows["action"]
    if features["action"] == _Feature(1, True):
        acts = acts[:, 0].astype(np.int64)
    return Episode(
        np.concatenate([rows[name] for name in columns.observed], axis=1),
        acts,
        None if columns.reward is None else rows[columns.reward][:, 0],
        rows[_DONE][:, 0] != 0 if columns.done else None,
    )


def _features(said: Mapping[str, Any], folder: Path) -> dict[str, _Feature]:
    """The columns that hold numbers, by name; others are not read."""
    found = {}
    for name, one in said["features"].items():
        shape = one.get("shape") if isinstance(one, dict) else None
        if not isinstance(shape, list) or not all(isinstance(n, int) and n > 0 for n in shape):
            continue
        kind = str(one.get("dtype"))
        if len(shape) == 1 and _TYPES.fullmatch(kind):
            found[name] = _Feature(shape[0], "int" in kind)
    for name in ("action", *_PLACE):
        if name not in found:
            raise FileError(f"{folder}: {_INFO} has no column {name!r} of numbers.")
    return found


def _columns(features: Mapping[str, _Feature], options: Options, folder: Path) -> _Columns:
    """Which columns are read."""
    some = [name for name in features if name.startswith("observation")]
    observed = observed_keys(some, options, str(folder))
    reward = options.y
    if reward is None and options.rewards is None and _REWARD in features:
        reward = _REWARD
    single = [name for name, one in features.items() if one.width == 1]
    if reward is not None and reward not in single:
        raise FileError(
            f"{folder}: there is no column {printable(reward)!r} with one number a step. It "
            f"has: {', '.join(printable(name, 40) for name in single[:20])}."
        )
    return _Columns(observed, reward, _DONE in single)


def _files(folder: Path) -> list[Path]:
    """The files of rows, in order of their numbers, all of them in this folder."""
    paths = sorted(
        folder.glob(_ROWS),
        key=lambda path: [int(n) for n in re.findall(r"\d+", f"{path.parent.name}/{path.name}")],
    )
    if not paths:
        raise FileError(f"{folder}: there is no {_ROWS}. Download it again.")
    for path in paths:
        _inside(path, folder)
    return paths


def _inside(path: Path, folder: Path) -> None:
    """Raise for a link that leads out of the folder."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileError(
            f"{folder}: {path.relative_to(folder)} leads out of the folder, and is not "
            "followed. Copy the files themselves into it."
        )


def _rows(folder: Path, columns: _Columns, max_bytes: int) -> list[dict[str, np.ndarray]]:
    """All rows of each file, a two-dimensional array for each column; sizes are added up first."""
    wanted = [name for name in columns.all if name != _PLACE[1]]
    tables = []
    for path in _files(folder):
        with inside(folder, path):
            tables.append(open_parquet(path, x=wanted, y=_PLACE[1]))
    if sum(sum(table.claimed) for table in tables) > max_bytes:
        raise FileError(f"{folder}: is past the limit of max_bytes. Pass a larger max_bytes.")
    parts = []
    for table in tables:
        with inside(folder, table.path):
            parts.append(_columns_of(table))
    return parts


def _columns_of(table: ParquetTable) -> dict[str, np.ndarray]:
    """The rows of one file."""
    blocks = [block for group in range(len(table.rows)) for block in table.blocks(group)]
    if not blocks:
        blocks = [(np.empty((0, len(table.choice.x_names))), np.empty(0))]
    x = np.concatenate([x for x, _ in blocks])
    rows = {table.choice.y: np.concatenate([y for _, y in blocks])[:, None]}
    start = 0
    for column in table.choice.x:
        values = x[:, start : start + len(column.names)]
        rows[column.name] = values.astype(np.float32) if column.small else values
        start += len(column.names)
    return rows


def _starts(rows: Mapping[str, np.ndarray], folder: Path) -> list[int]:
    """Where each episode begins, and the end of the last; raises where steps are not in order."""
    number, frame = (rows[name][:, 0] for name in _PLACE)
    new = np.flatnonzero(number[1:] != number[:-1]) + 1
    starts = [0, *new.tolist(), len(number)] if len(number) else [0]
    firsts = number[starts[:-1]]
    steps = np.arange(len(number)) - np.repeat(starts[:-1], np.diff(starts))
    if len(np.unique(firsts)) != len(firsts) or (frame != steps).any():
        raise FileError(
            f"{folder}: its steps are not in order, or some are missing. Download it again."
        )
    return starts


def _compare(said: Mapping[str, Any], folder: Path, starts: list[int], rows: int) -> None:
    """Raise where there are not as many episodes or steps as promised."""
    for what, found in (("total_episodes", len(starts) - 1), ("total_frames", rows)):
        if said.get(what, found) != found:
            raise FileError(
                f"{folder}: {_INFO} promises {what} = {printable(str(said[what]))}, but the "
                f"data have {found}. Download it again."
            )
    lengths = _lengths(folder)
    if lengths and lengths != dict(enumerate(np.diff(starts).tolist())):
        raise FileError(
            f"{folder}: meta/episodes promises other lengths of episodes than the data have. "
            "Download it again."
        )


def _lengths(folder: Path) -> dict[int, int]:
    """Steps of each episode, by what version 3 writes beside the data."""
    found: dict[int, int] = {}
    for path in sorted(folder.glob("meta/episodes/chunk-*/*.parquet")):
        _inside(path, folder)
        with inside(folder, path):
            table = open_parquet(path, x=["episode_index"], y="length")
            table.refuse_large(_LARGEST_JSON)
            for x, y in itertools.chain(*map(table.blocks, range(len(table.rows)))):
                found.update(zip(x[:, 0].astype(int).tolist(), y.astype(int).tolist(), strict=True))
    return found


def _recognises(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a data set; one that lost its description is one too."""
    folder = Path(path)
    if (folder / _INFO).exists():
        return (folder / "data").is_dir()
    return any(folder.glob(_ROWS)) and not any(folder.glob("*.parquet"))


FORMAT = Format("LeRobot", recognises=_recognises, load=load_lerobot, takes_inputs=True)
