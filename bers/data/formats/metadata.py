"""What BERS writes beside the rows of a file, as JSON, and how it is read back.

Enter: a record, or the JSON text of a file. Leave: `Metadata`, checked key by key, so that a
damaged or foreign text is a named error and never a wrong record.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

from bers.data.checks import checked_name
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform, from_dict
from bers.errors import BersError, FileError
from bers.integrity import check_sealed, difference, sealed_json, verify

VERSION = 1
"""Of this layout; a file with a later one is refused."""

_KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
DTYPES = {np.dtype(kind).name: np.dtype(kind) for kind in _KINDS}
"""Types an array in a file may have, by name."""


@dataclass(frozen=True)
class Stored:
    """One payload array in a file.

    >>> Stored("a", "a", "float32", (2, 3)).width
    6
    """

    name: str
    """Its name in the record."""
    column: str
    """Its column (or first part of several columns) in the file."""
    dtype: str
    """Its type."""
    shape: tuple[int, ...]
    """Its shape, without the rows."""

    @property
    def width(self) -> int:
        """Numbers a row."""
        return prod(self.shape)


@dataclass(frozen=True)
class Metadata:
    """All of a record but the rows.

    >>> metadata_of(Demonstrations([1.0], [2.0], "a")).n
    1
    """

    name: str
    n: int
    x_names: tuple[str, ...]
    x_dtype: str
    y_name: str
    transforms: tuple[Transform, ...]
    payload: tuple[Stored, ...]
    digest: str
    """SHA-256 of the record's content."""
    groups: tuple[str, ...] = ()
    """SHA-256 of x and y of each row group, where the format has those."""


def metadata_of(d: Demonstrations, groups: tuple[str, ...] = ()) -> Metadata:
    """Metadata of a record; payload columns get names that no other column has.

    >>> metadata_of(Demonstrations([1.0], [2.0], "a", {"y": [1]})).payload[0].column
    'y_'
    """
    taken = {*d.x_names, d.y_name}
    payload = []
    for name, values in d.payload.items():
        column, shape = name, values.shape[1:]
        while taken & set(flat_names(column, shape)) or column in taken:
            column += "_"
        taken |= {column, *flat_names(column, shape)}
        payload.append(Stored(name, column, values.dtype.name, shape))
    heads = (d.name, d.n, d.x_names, d.x.dtype.name, d.y_name, d.transforms)
    return Metadata(*heads, tuple(payload), d.digest, groups)


def flat_names(column: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the columns of an array that is stored flat.

    >>> flat_names("a", (2,)), flat_names("a", ())
    (['a.0', 'a.1'], ['a'])
    """
    return [f"{column}.{j}" for j in range(prod(shape))] if shape else [column]


def to_json(metadata: Metadata, **more: Any) -> str:
    """JSON text, the same for the same record.

    >>> to_json(metadata_of(Demonstrations([1.0], [2.0], "a")))[:14]
    '{"bers": 1, "d'
    """
    stored = {
        **{key: getattr(metadata, key) for key in Metadata.__dataclass_fields__},
        "transforms": [transform.to_dict() for transform in metadata.transforms],
        "payload": [asdict(part) for part in metadata.payload],
    }
    return sealed_json({"bers": VERSION, **stored, **more})


def from_json(text: str | bytes, origin: str, **more: type) -> tuple[Metadata, dict[str, Any]]:
    """Metadata from JSON text, and the values of the `more` keys.

    >>> d = Demonstrations([1.0], [2.0], "a")
    >>> from_json(to_json(metadata_of(d)), "a.npz")[0] == metadata_of(d)
    True
    """
    try:
        stored = json.loads(text)
        if not isinstance(stored, dict) or stored.get("bers") != VERSION:
            raise ValueError(f"it is not of version {VERSION}")
        stored = check_sealed(stored)
        wanted = {"bers", *more, *Metadata.__dataclass_fields__}
        if set(stored) != wanted:
            raise ValueError(f"key {sorted(set(stored) ^ wanted)[0]!r} is missing or unknown")
        extra = {key: _typed(stored[key], kind, key) for key, kind in more.items()}
        return _metadata(stored), extra
    except (ValueError, TypeError, KeyError, RecursionError, BersError) as error:
        raise FileError(
            f"{origin}: the BERS metadata in it is damaged ({error}). "
            "Restore the file from a copy, or save it again."
        ) from error


def rebuilt(
    metadata: Metadata, x: np.ndarray, y: np.ndarray, payload: Mapping[str, Any], origin: str
) -> Demonstrations:
    """The record of a file that BERS wrote, if it holds what was saved.

    >>> d = Demonstrations([[1.0]], [2.0], "a")
    >>> rebuilt(metadata_of(d), d.x, d.y, {}, "a.npz").name
    'a'
    """
    d = Demonstrations.build(
        x,
        y,
        metadata.name,
        payload=payload,
        transforms=metadata.transforms,
        x_names=metadata.x_names,
        y_name=metadata.y_name,
        origin=origin,
    )
    complaint = (
        f"{origin}: the rows are not those that were saved "
        f"({difference(d.digest, metadata.digest)}). Restore the file from a copy."
    )
    verify(d.digest, metadata.digest, complaint)
    return d


def _metadata(stored: Mapping[str, Any]) -> Metadata:
    """From values that were read, each checked."""
    for part in stored["payload"]:
        if set(part) != {"name", "column", "dtype", "shape"} or part["dtype"] not in DTYPES:
            raise ValueError("a payload entry is incomplete")
    return Metadata(
        name=checked_name(stored["name"]),
        n=_typed(stored["n"], int, "n"),
        x_names=tuple(checked_name(name) for name in stored["x_names"]),
        x_dtype=_one_of(stored["x_dtype"], ("float32", "float64")),
        y_name=checked_name(stored["y_name"]),
        transforms=tuple(from_dict(transform) for transform in stored["transforms"]),
        payload=tuple(_stored(part) for part in stored["payload"]),
        digest=checked_name(stored["digest"]),
        groups=tuple(checked_name(group) for group in stored["groups"]),
    )


def _stored(part: Mapping[str, Any]) -> Stored:
    """One payload entry, checked."""
    shape = tuple(_typed(size, int, "shape") for size in part["shape"])
    name, column = checked_name(part["name"]), checked_name(part["column"])
    return Stored(name, column, _one_of(part["dtype"], DTYPES), shape)


def _typed(value: Any, kind: type, key: str) -> Any:
    """A value of this very type; whole numbers are not negative."""
    if type(value) is not kind or (kind is int and value < 0):
        raise ValueError(f"{key!r} must be of type {kind.__name__}")
    return value


def _one_of(value: Any, allowed: Any) -> str:
    """One of the words allowed."""
    if value not in allowed:
        raise ValueError(f"{value!r} is not one of {', '.join(allowed)}")
    return value
