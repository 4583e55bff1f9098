"""Episodes to a Minari data set, through Minari's own storage.

Enters: episodes, the spaces, a folder. Leaves: a data set of format "hdf5" that Minari and
`bers.load` read to the bit. It is made under a temporary name and renamed when it is whole; an old
one is replaced only if asked. Images are stored as they are, not as JPEG, which would change them.
"""

import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bers.data.formats.minari import is_dataset
from bers.errors import ConfigError, FileError
from bers.files import flush
from bers.integrations.gymnasium.episodes import Episode
from bers.text import printable

_LARGEST_SEED = 2**64 - 1  # of HDF5


def folder_of(dataset_id: str) -> Path:
    """Where Minari keeps a data set of this name, known to it by its namespace.

    >>> try:
    ...     folder_of("../x")
    ... except ConfigError as error:
    ...     print(str(error)[:41])
    '../x' is not an id of a Minari data set.
    """
    checked_id(dataset_id)
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage import get_dataset_path

    namespace = dataset_id.rpartition("/")[0]
    if namespace and namespace not in list_local_namespaces():
        create_namespace(namespace)
    return get_dataset_path(dataset_id)


def checked_id(dataset_id: str) -> str:
    """An id that Minari can take apart: folders, a name, a version.

    >>> checked_id("pendulum/alice-v0")
    'pendulum/alice-v0'
    """
    _need_minari()
    from minari.dataset.minari_dataset import parse_dataset_id

    try:
        if "//" in dataset_id:  # which Minari takes
            raise ValueError("a folder without a name")
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):  # a missing version is a TypeError of Minari's
        raise ConfigError(
            f"{printable(dataset_id)!r} is not an id of a Minari data set. "
            "Ids look like pendulum/alice-v0; a folder in it has two letters or more."
        ) from None
    return dataset_id


def write_minari(
    folder: Path,
    episodes: Iterable[Episode],
    *,
    spaces: tuple[Any, Any],
    dataset_id: str,
    described: Mapping[str, Any],
    env_spec: Any = None,
    overwrite: bool = False,
) -> None:
    """Write all episodes as one data set.

    `spaces` are those of observations and actions; `described` is what Minari's metadata say of
    the data set: author, algorithm_name, description, and whatever else is worth keeping.

    >>> import numpy as np
    >>> from gymnasium.spaces import Box, Discrete
    >>> from bers.integrations.gymnasium.episodes import ends
    >>> from bers.data.storage import load
    >>> one = Episode(np.zeros((3, 1)), np.array([1, 0]), np.ones(2), *ends(2, truncated=True))
    >>> write_minari(Path("alice-v0"), [one], spaces=(Box(-1, 1, (1,)), Discrete(2)),
    ...     dataset_id="alice-v0", described={"author": {"alice"}})
    >>> load("alice-v0")
    Demonstrations('alice-v0', n=2, k=4, y 1 to 1)
    """
    _need_minari()
    may_write(folder, overwrite=overwrite)
    checked_id(dataset_id)
    folder = folder.absolute()  # Minari's storage looks for relative paths in the wrong place
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.mkdir(parents=True)
        _fill(temporary / "data", episodes, spaces, _storable(env_spec), dataset_id, described)
        for path in (*(temporary / "data").iterdir(), temporary / "data", temporary):
            flush(path)
        _swap(temporary, folder)
    except OSError as error:
        raise FileError(
            f"cannot write {folder}: {error.strerror or error}. "
            "Check that the folder may be written to and has room, or choose another."
        ) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary)


def may_write(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that is taken, unless told; and never replace a folder of other things.

    >>> may_write(Path("nothing-there-v0"), overwrite=False)
    """
    if not path.exists():
        return
    if path.is_dir() and not is_dataset(path) and any(path.iterdir()):
        raise FileError(f"{path} is a folder that holds other things. Choose another.")
    if not overwrite:
        raise FileError(
            f"{path} is there already. Choose another name, or say that it may be replaced "
            "(overwrite=True, or --force)."
        )


def _fill(
    data: Path,
    episodes: Iterable[Episode],
    spaces: tuple[Any, Any],
    env_spec: Any,
    dataset_id: str,
    described: Mapping[str, Any],
) -> None:
    from minari.data_collector import EpisodeBuffer
    from minari.dataset.minari_storage import MinariStorage

    storage = MinariStorage.new(
        data, *spaces, env_spec=env_spec, data_format="hdf5", jpeg_encoding=False
    )
    known = {"dataset_id": dataset_id, "minari_version": version("minari")}
    storage.update_metadata({**described, **known})
    storage.update_episodes(
        EpisodeBuffer(
            seed=one.seed if one.seed is None or one.seed <= _LARGEST_SEED else None,
            observations=one.observations,
            actions=one.actions,
            rewards=one.rewards,  # pyright: ignore[reportArgumentType]
            terminations=one.terminated,  # pyright: ignore[reportArgumentType]
            truncations=one.truncated,  # pyright: ignore[reportArgumentType]
        )
        for one in episodes
    )


def _swap(new: Path, folder: Path) -> None:
    """Put a folder in its place; if that fails, the old one is there as before."""
    old = new.with_suffix(".old")
    if folder.exists():
        folder.replace(old)
    try:
        new.replace(folder)
    except OSError:
        if old.exists():
            old.replace(folder)
        raise
    flush(folder.parent)
    if old.exists():
        shutil.rmtree(old)


def _storable(env_spec: Any) -> Any:
    """The environment's description, if it can be written; one of living objects cannot."""
    try:
        if env_spec is not None:
            env_spec.to_json()
    except (TypeError, ValueError):
        return None
    return env_spec


def _need_minari() -> None:
    try:
        import h5py  # noqa: F401
        import minari  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "writing Minari data sets needs Minari. Install it with `pip install 'bers[minari]'`."
        ) from error
