"""The SHA-256 that says two records, or a record and its file, hold the same.

Enter: names, transforms and arrays, whole or in blocks. Leave: one fingerprint. Arrays are
hashed one by one, so that rows which never were in memory together get the same fingerprint
as those that were.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bers.files import digest


def sealed_array(values: np.ndarray) -> str:
    """Type, shape and SHA-256 of one array.

    >>> sealed_array(np.zeros(2))[:12]
    '<f8 (2,) 374'
    """
    total = hashlib.sha256(contiguous_bytes(values))
    return seal_text(values.dtype, values.shape, total.hexdigest())


def contiguous_bytes(values: np.ndarray) -> Any:
    """The bytes of an array in C order, without a copy where that can be.

    >>> len(contiguous_bytes(np.zeros((2, 3)).T))
    48
    """
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def seal_text(dtype: np.dtype, shape: tuple[int, ...], sha256: str) -> str:
    """How a sealed array is written down; for rows that come in blocks.

    >>> seal_text(np.dtype("f4"), (2, 1), "ab")
    '<f4 (2, 1) ab'
    """
    return f"{dtype.newbyteorder('<').str} {tuple(map(int, shape))} {sha256}"


def content_digest(
    name: str,
    x_names: Sequence[str],
    y_name: str,
    transforms: Sequence[Any],
    arrays: Mapping[str, str],
) -> str:
    """One SHA-256 of a whole record, whose arrays were sealed before.

    >>> content_digest("a", ("x0",), "y", (), {"y": sealed_array(np.zeros(2))})[:6]
    'addff6'
    """
    heads = {
        "name": name,
        "x_names": json.dumps(list(x_names)),
        "y_name": y_name,
        "transforms": json.dumps([transform.to_dict() for transform in transforms]),
    }
    return digest({**heads, **{f"array/{key}": value for key, value in arrays.items()}})
