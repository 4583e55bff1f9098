"""Arrays and settings in one sealed file: tensors by safetensors, the rest as JSON in its header.

Enter: named arrays, and anything JSON can say about them. Leave: a file that gives back the same
bits. The header carries a SHA-256 of all of it, so a flipped byte, a cut file or a file of another
program is refused by name. Nothing in a file is ever executed.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bers.errors import BersError, FileError
from bers.files import digest, write_atomically

_DAMAGE = ValueError, KeyError, TypeError, AttributeError


def write_sealed(
    path: str | os.PathLike[str],
    kind: str,
    arrays: Mapping[str, np.ndarray],
    about: Mapping[str, Any],
) -> None:
    """Write arrays and settings as a file of this kind, such as "bers-model-1".

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sealed(f"{folder}/a.bers", "example-1", {"x": np.ones(2)}, {"name": "alice"})
    ...     read_sealed(f"{folder}/a.bers", "example-1", "an example")
    ({'x': array([1., 1.])}, {'name': 'alice'})
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    solid = {name: _solid(array) for name, array in arrays.items()}
    text = json.dumps(about)
    seal = {"format": kind, "about": text, "sha256": digest({**solid, "about": text})}
    # one key, because safetensors writes several in no fixed order
    header = {"bers": json.dumps(seal)}
    with write_atomically(path) as temporary:
        try:
            save_file(solid, temporary, metadata=header)
        except SafetensorError as error:
            raise OSError(str(error)) from error


def read_sealed(
    path: str | os.PathLike[str], kind: str, what: str
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and settings of such a file; `what` names it in errors, as in "a BERS model"."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileError(f"there is no {what.rsplit(' ', 1)[-1]} file {path}. Check the path.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("bers", "{}"))
            if header.get("format") != kind:
                raise FileError(
                    f"{path} is not {what} (format {header.get('format')!r}, wanted {kind!r}). "
                    "Give a file that was saved as such."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if digest({**arrays, "about": header["about"]}) != header["sha256"]:
            raise FileError(f"{path} is damaged: its SHA-256 does not match. Save it again.")
        return arrays, json.loads(header["about"])
    except BersError:
        raise
    except (SafetensorError, OSError, RecursionError, *_DAMAGE) as error:
        raise FileError(f"{path} is damaged or not {what}: {error}. Save it again.") from error


def _solid(array: np.ndarray) -> np.ndarray:
    """In one piece and in the machine's own byte order, as it will be read back."""
    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
