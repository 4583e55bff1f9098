"""Any file to a record, and a record to a file, by the file's format.

Enter: a path, or several. Leave: `Demonstrations` in memory, or `Shards` where the rows are too
many. Which formats there are is for `bers.data.formats` to say. Nothing here runs code from a
file: no pickle, no environment is built.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from bers.data.checks import (
    column_name_or_none,
    dropping,
    flag,
    named_columns,
    refuse_bad,
    whole,
)
from bers.data.demonstrations import Demonstrations
from bers.data.formats import (
    MAX_BYTES,
    Format,
    Options,
    RowGroups,
    check_path,
    format_of,
    formats,
    listed_endings,
)
from bers.data.formats.delimited import CSV
from bers.data.formats.metadata import rebuilt
from bers.data.shards import Shards, checked, opened
from bers.errors import ConfigError, FileError

STREAM_BYTES = 1 << 30
"""Rows in groups that would take more than this in memory are streamed, unless told otherwise."""

_NOT_STREAMED = "payload=... cannot be streamed. Pass stream=False, or leave it out."


def load(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    x: str | Sequence[str] | None = None,
    y: str | None = None,
    name: str | None = None,
    payload: Sequence[str] | None = None,
    inputs: Callable[..., Any] | None = None,
    rewards: Callable[..., Any] | None = None,
    drop_nonfinite: bool = False,
    stream: bool | None = None,
    max_bytes: int = MAX_BYTES,
    csv: CSV | None = None,
) -> Demonstrations | Shards:
    """Load one source. Reading never runs code from a file.

    Parameters
    ----------
    path : path, or sequence of paths
        A .npz, .csv, .tsv, .csv.gz or .parquet file; a folder (or list) of .parquet files, which is
        one source; "minari:ID" or the folder of a Minari data set; the folder of a LeRobot data
        set; robomimic's .hdf5.
    x : str or sequence of str, optional
        Columns that are features, of a file that BERS did not write; all numeric ones but the
        label, unless given. Of robots' logs (LeRobot, robomimic), the parts of observations.
    y : str, optional
        Column that is the label; guessed from its usual names, unless given. Of robots' logs, what
        a step paid.
    name : str, optional
        Instead of the stored name or the file's.
    payload : sequence of str, optional
        Columns for the learner, of a file that BERS did not write.
    inputs : callable, optional
        For steps of an environment (Minari, LeRobot, robomimic), what to make x of, as in
        `Demonstrations.from_transitions`.
    rewards : callable, optional
        For the same, what the steps paid: a function of all rows of observations, actions and next
        observations, instead of what the file says.
    drop_nonfinite : bool, default False
        Drop rows that are not finite, with a warning, instead of refusing the file.
    stream : bool, optional
        Keep Parquet rows on disk; by default, where they are more than 1 GiB.
    max_bytes : int, default 4 GiB
        Refuse what would take more memory.
    csv : CSV, optional
        How a table of text is written: separator, decimal mark, encoding.

    Returns
    -------
    Demonstrations or Shards
        In memory, or on disk where it is streamed. `columns_guessed` says whether BERS chose the
        columns.

    Raises
    ------
    FileError
        If the file is not there, damaged, too large, or not of numbers.
    ConfigError
        If an option does not apply to this file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Demonstrations([1.0], [2.0], "alice"), f"{folder}/a.parquet")
    ...     load(f"{folder}/a.parquet")
    Demonstrations('alice', n=1, k=1, y 2 to 2)
    """
    whole(max_bytes, "max_bytes")
    check_path(path)
    x, payload = _names(x, "x"), _names(payload, "payload")
    y = column_name_or_none(y)
    flag(drop_nonfinite, "drop_nonfinite")
    stream = None if stream is None else flag(stream, "stream")
    options = Options(
        x, y, payload, inputs, rewards, name, drop_nonfinite, max_bytes, checked_csv(csv)
    )
    kind = format_of(path)
    if csv is not None and not kind.is_text:
        raise ConfigError(f"csv=... is for tables of text; {path} is none. Leave it out.")
    if stream and kind.open_groups is None:
        able = ", ".join(one.name for one in formats() if one.open_groups)
        raise ConfigError(f"stream=True is for {able}; {path} is not. Convert it with save(...).")
    _check_steps({"inputs": inputs, "rewards": rewards}, kind)
    if kind.open_groups is None:
        return cast("Any", kind.load)(path, options)
    if stream and payload is not None:
        raise ConfigError(_NOT_STREAMED)
    shards = opened(path, x, y, name)
    if stream is None and _bytes(shards) > STREAM_BYTES:
        stream = True
        if payload is not None:
            raise ConfigError(_NOT_STREAMED)
    if stream:
        return checked(shards, drop_nonfinite, max_bytes, show=None)
    return _in_memory(checked(shards, False, max_bytes, show=False), options)


def save(
    demonstrations: Demonstrations | Shards,
    path: str | os.PathLike[str],
    *,
    rows_per_group: int = 65536,
) -> None:
    """Save one source; what `load` gives back is the same to the last bit.

    Parameters
    ----------
    demonstrations : Demonstrations or Shards
        The source. `Shards` can be saved to Parquet only, without their payload.
    path : path
        The ending decides: .npz, .csv or .parquet. A file that is there is replaced, and is never
        seen half-written.
    rows_per_group : int, default 65536
        Rows of a Parquet row group, in which they can be streamed later.

    Raises
    ------
    FileError
        If the file cannot be written.
    ConfigError
        If there is no such format, or it cannot hold this source.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Demonstrations([1.0], [2.0], "alice"), f"{folder}/a.npz")
    """
    rows = whole(rows_per_group, "rows_per_group")
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"path must be a path; got {type(path).__name__}. Name a file.")
    if not isinstance(demonstrations, Demonstrations | Shards):
        raise ConfigError(
            f"demonstrations must be Demonstrations or Shards; got {type(demonstrations).__name__}."
            " Make them with bers.Demonstrations(x, y, name)."
        )
    able = [one for one in formats() if one.save or one.save_groups]
    ending = Path(path).suffix.lower()
    kind = next((one for one in able if ending in one.endings), None)
    if kind is not None and kind.save_groups is not None:
        kind.save_groups(demonstrations, path, rows)
    elif isinstance(demonstrations, Shards):
        some = listed_endings(one for one in able if one.save_groups)
        raise ConfigError(f"Shards can be saved to {some} only; use in_memory() for others.")
    elif kind is not None and kind.save is not None:
        kind.save(demonstrations, path)
    else:
        raise ConfigError(f"cannot save to {path}: the ending must be {listed_endings(able)}.")


def checked_csv(csv: Any) -> CSV:
    """What the caller says of a table of text, if anything.

    >>> checked_csv(None).decimal
    '.'
    """
    if csv is not None and not isinstance(csv, CSV):
        raise ConfigError(
            f'csv must be a bers.CSV, such as bers.CSV(sep=";"); got {type(csv).__name__}.'
        )
    return csv or CSV()


def _check_steps(functions: dict[str, Any], kind: Format) -> None:
    """Raise for functions of steps where a file holds none, and for what is no function."""
    for word, given in functions.items():
        if given is not None and not kind.takes_inputs:
            able = ", ".join(one.name for one in formats() if one.takes_inputs)
            raise ConfigError(
                f"{word}=... is for {able} data sets. Name columns with x=... and y=..."
            )
        if given is not None and not callable(given):
            raise ConfigError(
                f"{word} must be a function of observations, actions and next observations; got "
                f"{type(given).__name__}."
            )


def _names(names: Any, what: str) -> Any:
    """Columns that were named; one stays one, as arrays of npz files do."""
    return names if names is None or isinstance(names, str) else named_columns(names, what)


def _bytes(shards: Shards) -> int:
    """What all rows would take in memory, payload and all."""
    return sum(table.row_bytes * sum(table.rows) for table in shards.reader.tables)


def _in_memory(shards: Shards, options: Options) -> Demonstrations:
    """All rows of opened files, with their payload."""
    tables = shards.reader.tables
    if _bytes(shards) > options.max_bytes:
        raise FileError(
            f"{tables[0].path.name}: would take {_bytes(shards):,} bytes in memory, more than "
            f"max_bytes = {options.max_bytes:,}. Pass stream=True, or a larger max_bytes."
        )
    parts = [table.payload(options.payload) for table in tables]
    rows = [_rows(table) for table in tables]
    own = tables[0].own
    if len(tables) == 1 and own and options.payload is None:
        d = rebuilt(own, *rows[0], parts[0], tables[0].path.name)
        return d if options.name is None else d.renamed(options.name)
    for table, (features, labels) in zip(tables, rows, strict=True):
        if not options.drop_nonfinite:
            names = (shards.x_names, shards.y_name, table.path.name)
            refuse_bad(features, labels, *names, way=dropping())
    return Demonstrations.build(
        np.concatenate([features for features, _ in rows]),
        np.concatenate([labels for _, labels in rows]),
        shards.name,
        payload=_joined_payload(parts, tables),
        transforms=shards.stored,
        x_names=shards.x_names,
        y_name=shards.y_name,
        columns_guessed=shards.columns_guessed,
        drop_nonfinite=options.drop_nonfinite,
        origin=tables[0].path.name if len(tables) == 1 else tables[0].path.parent.name,
    )


def _rows(table: RowGroups) -> tuple[np.ndarray, np.ndarray]:
    """All features and labels of one file, as they are."""
    n = sum(table.rows)
    x = np.empty((n, len(table.choice.x_names)), table.choice.x_dtype)
    y, start = np.empty(n), 0
    for group in range(len(table.rows)):
        for block_x, block_y in table.blocks(group, 65536):
            end = start + len(block_y)
            x[start:end], y[start:end] = block_x, block_y
            start = end
    return x, y


def _joined_payload(
    parts: list[dict[str, np.ndarray]], tables: Sequence[RowGroups]
) -> dict[str, np.ndarray]:
    """Payload of several files as one."""
    for part, table in zip(parts, tables, strict=True):
        kinds = [{k: (v.dtype, v.shape[1:]) for k, v in p.items()} for p in (part, parts[0])]
        if kinds[0] != kinds[1]:
            raise FileError(
                f"{table.path.name} and {tables[0].path.name} do not have the same payload. "
                "Load them as two sources."
            )
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
