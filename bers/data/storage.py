"""Any file to a record, and a record to a file, by the file's ending.

Enter: a path to .npz, .csv or .parquet, a folder of Parquet files, or a Minari data set.
Leave: `Demonstrations` in memory, or `Shards` where the rows are too many. Nothing here runs
code from a file: no pickle, no environment is built.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from bers.data import minari
from bers.data.checks import refuse_bad, whole
from bers.data.csv_files import choose_csv, load_csv, read_table, save_csv, sidecar
from bers.data.demonstrations import Demonstrations
from bers.data.metadata import Metadata, metadata_of, rebuilt
from bers.data.npz import load_npz, save_npz
from bers.data.parquet import MAX_BYTES, read_payload, read_rows
from bers.data.parquet_write import write_parquet
from bers.data.shards import Shards
from bers.errors import ConfigError, FileError

STREAM_BYTES = 1 << 30
"""Parquet data that would take more than this in memory are streamed, unless told otherwise."""


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    name: str | None = None,
    payload: Sequence[str] | None = None,
    inputs: Callable[..., Any] | None = None,
    drop_nonfinite: bool = False,
    stream: bool | None = None,
    max_bytes: int = MAX_BYTES,
) -> Demonstrations | Shards:
    """Load one source.

    path: a .npz, .csv or .parquet file; a folder (or list) of .parquet files, which is one
    source; "minari:ID" or the folder of a Minari data set. x, y, payload: columns of a file
    that BERS did not write. name: instead of the stored name or the file's. inputs: for
    Minari, what to make x of. drop_nonfinite: drop rows that are not finite, with a warning,
    instead of refusing the file. stream: keep Parquet rows on disk; None decides by size.
    max_bytes: refuse what would take more memory.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Demonstrations([1.0], [2.0], "alice"), f"{folder}/a.parquet")
    ...     load(f"{folder}/a.parquet")
    Demonstrations('alice', n=1, k=1, y 2 to 2)
    """
    whole(max_bytes, "max_bytes")
    columns = {"x": x, "y": y, "payload": payload}
    common = {"name": name, "drop_nonfinite": drop_nonfinite, "max_bytes": max_bytes}
    kind, one = _kind(path), cast("str | os.PathLike[str]", path)
    if kind != "parquet" and stream:
        raise ConfigError(f"stream=True is for Parquet; {path} is not. Convert it with save(...).")
    if kind != "minari" and inputs is not None:
        raise ConfigError("inputs=... is for Minari data sets. Name columns with x=...")
    if kind == "minari":
        if x is not None or y is not None or payload is not None:
            raise ConfigError("x, y and payload do not apply to a Minari data set; use inputs=...")
        return minari.load_minari(str(path), inputs=inputs, **common)
    if kind == "npz":
        return load_npz(one, **columns, **common)
    if kind == "csv":
        return load_csv(one, **columns, **common)
    if stream is None:
        shards = Shards.open(path, x, y, name, max_bytes=1 << 62)
        stream = _bytes(shards) > STREAM_BYTES
    if not stream:
        return _parquet_in_memory(path, **columns, **common)
    if payload is not None:
        raise ConfigError("payload=... cannot be streamed. Pass stream=False, or leave it out.")
    limit = {"drop_nonfinite": drop_nonfinite, "max_bytes": max_bytes}
    return Shards.open(path, x, y, name, **limit, show=None)


def save(
    demonstrations: Demonstrations | Shards,
    path: str | os.PathLike[str],
    *,
    rows_per_group: int = 65536,
) -> None:
    """Save one source; what `load` gives back is the same to the last bit.

    The ending decides: .npz, .csv or .parquet. Only Parquet can be streamed later, in row
    groups of `rows_per_group`; only to Parquet can `Shards` be saved, without their payload.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Demonstrations([1.0], [2.0], "alice"), f"{folder}/a.npz")
    """
    rows = whole(rows_per_group, "rows_per_group")
    ending = Path(path).suffix.lower()
    if ending == ".parquet":
        _save_parquet(demonstrations, path, rows)
    elif isinstance(demonstrations, Shards):
        raise ConfigError("Shards can be saved to .parquet only; use in_memory() for others.")
    elif ending in (".npz", ".csv"):
        (save_npz if ending == ".npz" else save_csv)(demonstrations, path)
    else:
        raise ConfigError(f"cannot save to {path}: the ending must be .npz, .csv or .parquet.")


def describe_columns(
    path: str | os.PathLike[str], x: str | Sequence[str] | None = None, y: str | None = None
) -> tuple[tuple[str, ...], str, bool]:
    """Names of features and label that `load` would take, and whether it would guess them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.csv").write_text("speed,reward\\n1,2\\n")
    ...     describe_columns(f"{folder}/a.csv")
    (('speed',), 'reward', True)
    """
    kind = _kind(path)
    if kind == "parquet":
        tables = Shards.open(path, x, y, max_bytes=1 << 62).reader.tables
        choice = tables[0].choice
        return choice.x_names, choice.y, choice.guessed
    if kind == "csv" and (x is not None or y is not None or not sidecar(path).exists()):
        choice = choose_csv(read_table(Path(path)), Path(path), x, y)
        return choice.x_names, choice.y, choice.guessed
    d = load(path, x=x, y=y)
    return d.x_names, d.y_name, False


def _kind(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        return "parquet"
    if str(path).startswith("minari:"):
        return "minari"
    path = Path(path)
    if path.is_dir():
        return "minari" if minari.is_dataset(path) else "parquet"
    ending = path.suffix.lower()
    if ending in (".npz", ".csv", ".parquet"):
        return ending[1:]
    if not path.exists():
        raise FileError(f"there is no file {path}. Check the path.")
    raise FileError(
        f"{path.name}: the ending must be .npz, .csv or .parquet, or the path a folder of "
        "Parquet files or a Minari data set."
    )


def _bytes(shards: Shards) -> int:
    return sum(table.row_bytes * table.n for table in shards.reader.tables)


def _parquet_in_memory(
    path: Any, x: Any, y: Any, payload: Any, name: Any, drop_nonfinite: bool, max_bytes: int
) -> Demonstrations:
    shards = Shards.open(path, x, y, name, max_bytes=max_bytes)
    if _bytes(shards) > max_bytes:
        raise FileError(
            f"{shards.reader.tables[0].path.name}: would take {_bytes(shards):,} bytes in memory, "
            f"more than max_bytes = {max_bytes:,}. Pass stream=True, or a larger max_bytes."
        )
    tables = shards.reader.tables
    parts = [read_payload(table, payload) for table in tables]
    rows = [read_rows(table) for table in tables]
    own = tables[0].own
    if len(tables) == 1 and own and payload is None:
        d = rebuilt(own, *rows[0], parts[0], tables[0].path.name)
        return d if name is None else d.renamed(name)
    for table, (features, labels) in zip(tables, rows, strict=True):
        if not drop_nonfinite:
            refuse_bad(features, labels, shards.x_names, shards.y_name, table.path.name)
    return Demonstrations.build(
        np.concatenate([features for features, _ in rows]),
        np.concatenate([labels for _, labels in rows]),
        shards.name,
        payload=_joined_payload(parts, tables),
        transforms=shards.stored,
        x_names=shards.x_names,
        y_name=shards.y_name,
        drop_nonfinite=drop_nonfinite,
        origin=tables[0].path.name if len(tables) == 1 else tables[0].path.parent.name,
    )


def _joined_payload(parts: list[dict[str, np.ndarray]], tables: Any) -> dict[str, np.ndarray]:
    for part, table in zip(parts, tables, strict=True):
        kinds = [{k: (v.dtype, v.shape[1:]) for k, v in p.items()} for p in (part, parts[0])]
        if kinds[0] != kinds[1]:
            raise FileError(
                f"{table.path.name} and {tables[0].path.name} do not have the same payload. "
                "Load them as two sources."
            )
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def _save_parquet(source: Demonstrations | Shards, path: Any, rows: int) -> None:
    if isinstance(source, Shards):
        heads = (source.name, source.n, source.x_names, source.x_dtype, source.y_name)
        metadata = Metadata(*heads, source.transforms, (), "")
        empty = np.empty((0, source.dim), source.x_dtype), np.empty(0), {}
        blocks = ((x, y, {}) for x, y in source.blocks(rows, show=None))
    else:
        d, metadata = source, metadata_of(source)
        parts = (d.take(slice(i, i + rows)) for i in range(0, d.n, rows))
        none = d.take(slice(0, 0))
        empty = none.x, none.y, none.payload
        blocks = ((part.x, part.y, part.payload) for part in parts)
    write_parquet(path, metadata, empty, blocks)
