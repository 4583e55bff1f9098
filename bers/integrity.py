"""One way to tell that a file, or a record, holds what was written.

Enter: named arrays and texts, whole or in blocks. Leave: fingerprints, which are SHA-256 in
hexadecimal, and one check that refuses what differs. On these stand JSON that carries its own
fingerprint, and sealed files: tensors by safetensors, the rest as JSON in the header, so that a
flipped byte, a cut file or a file of another program is refused by name. Nothing in a file is
ever executed.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bers.errors import BersError, FileError
from bers.files import named_file, write_atomically

if TYPE_CHECKING:  # texts and files need no NumPy, and journals have nothing else
    import numpy as np

_DAMAGE = ValueError, KeyError, TypeError, AttributeError


def digest(parts: Mapping[str, Any]) -> str:
    """SHA-256 of named arrays and texts, whatever order they come in.

    Names, types and shapes are part of it, so no two different collections share one.

    >>> import numpy as np
    >>> digest({"y": np.zeros(3), "name": "alice"})[:12]
    'cff413138b70'
    """
    total = hashlib.sha256()
    for name in sorted(parts):
        value = parts[name]
        if isinstance(value, str):
            head, body = f"{name}\0str\0", value.encode()
        else:
            head = f"{name}\0{value.dtype.str}\0{value.shape}\0"
            body = value.tobytes()
        total.update(f"{len(head)}\0{head}{len(body)}\0".encode())
        total.update(body)
    return total.hexdigest()


def text_digest(text: str | bytes) -> str:
    """SHA-256 of one text, or of bytes.

    >>> text_digest("abc")[:12]
    'ba7816bf8f01'
    """
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class ArrayDigest:
    """SHA-256 of one array whose rows come in blocks, and need never be in memory together.

    >>> import numpy as np
    >>> rows = ArrayDigest(np.zeros(1))
    >>> rows.update(np.zeros(1))
    >>> rows.text(np.dtype("f8"), (2,)) == array_digest(np.zeros(2))
    True
    """

    def __init__(self, values: "np.ndarray | None" = None) -> None:
        self._total = hashlib.sha256()
        if values is not None:
            self.update(values)

    def update(self, values: "np.ndarray") -> None:
        """Add rows, in C order, without a copy where that can be."""
        import numpy as np

        self._total.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)

    def hexdigest(self) -> str:
        """Of the bytes so far."""
        return self._total.hexdigest()

    def text(self, dtype: "np.dtype", shape: tuple[int, ...]) -> str:
        """With type and shape, as records have it."""
        return f"{dtype.newbyteorder('<').str} {tuple(map(int, shape))} {self.hexdigest()}"


def array_digest(values: "np.ndarray") -> str:
    """Type, shape and SHA-256 of one array.

    >>> import numpy as np
    >>> array_digest(np.zeros(2))[:12]
    '<f8 (2,) 374'
    """
    return ArrayDigest(values).text(values.dtype, values.shape)


def verify(found: str, stored: object, complaint: str) -> None:
    """Raise a `FileError` with this complaint where a fingerprint is not the stored one.

    >>> verify(text_digest("abc"), text_digest("abc"), "a.csv: changed since it was saved.")
    """
    if found != stored:
        raise FileError(complaint)


def difference(found: str, stored: str) -> str:
    """How a complaint names two fingerprints.

    >>> difference("ba7816bf8f01cfea", "374708fff7719dd5")
    'SHA-256 ba7816bf8f01 instead of 374708fff771'
    """
    return f"SHA-256 {found[:12]} instead of {stored[:12]}"


def sealed_json(values: Mapping[str, Any]) -> str:
    """JSON text that carries its own SHA-256.

    >>> sealed_json({"a": 1})[:20]
    '{"a": 1, "seal": "f9'
    """
    seal = text_digest(json.dumps(values, sort_keys=True))
    return json.dumps({**values, "seal": seal}, sort_keys=True)


def check_sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """What such a text held, without the seal; raises a `FileError` where it does not match.

    >>> check_sealed(json.loads(sealed_json({"a": 1})))
    {'a': 1}
    """
    inner = {key: value for key, value in values.items() if key != "seal"}
    found = text_digest(json.dumps(inner, sort_keys=True))
    verify(found, values.get("seal"), "its SHA-256 does not match")
    return inner


def write_sealed(
    path: str | os.PathLike[str],
    kind: str,
    arrays: "Mapping[str, np.ndarray]",
    about: Mapping[str, Any],
) -> None:
    """Write arrays and settings as a file of this kind, such as "bers-model-1".

    >>> import tempfile
    >>> import numpy as np
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
) -> "tuple[dict[str, np.ndarray], dict[str, Any]]":
    """The arrays and settings of such a file; `what` names it in errors, as in "a BERS model"."""
    from safetensors import SafetensorError, safe_open

    path = named_file(path)
    try:
        there = path.is_file()
    except OSError as error:  # a name that is too long
        raise FileError(f"cannot read {path!s:.80}: {error.strerror}. Check the path.") from error
    if not there:
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
        found = digest({**arrays, "about": header["about"]})
        complaint = f"{path} is damaged: its SHA-256 does not match. Save it again."
        verify(found, header["sha256"], complaint)
        return arrays, json.loads(header["about"])
    except BersError:
        raise
    except (SafetensorError, OSError, RecursionError, *_DAMAGE) as error:
        raise FileError(f"{path} is damaged or not {what}: {error}. Save it again.") from error


def _solid(array: "np.ndarray") -> "np.ndarray":
    """In one piece and in the machine's own byte order, as it will be read back."""
    import numpy as np

    array = np.asarray(array, order="C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
