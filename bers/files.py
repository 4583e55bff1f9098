"""Files that are never seen half-written, and fingerprints of what is in them.

`write_atomically` gives a temporary path in the target's own folder; when the block ends, the
file is flushed to disk and renamed over the target, then the folder is flushed. A reader sees
the old file or the new one. `digest` is the SHA-256 that every artefact carries.
"""

import glob
import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bers.errors import FileError


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path; rename it over `path` when the block ends without an error."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        _clean_leftovers(target)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield temporary
        flush(temporary)
        temporary.replace(target)
        flush(target.parent)
    except OSError as error:
        raise FileError(
            f"cannot write {target}: {error.strerror or error}. "
            "Check that the folder exists, may be written to and has room, or choose another."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def digest(parts: Mapping[str, Any]) -> str:
    """SHA-256 of named arrays and strings, whatever order they come in.

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


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _clean_leftovers(target: Path) -> None:
    """Remove temporary files that dead processes left beside `target`."""
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        process = leftover.name.split(".")[-3]
        if process.isdigit() and not Path(f"/proc/{process}").exists() and Path("/proc").exists():
            with suppress(OSError):
                leftover.unlink()


def flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
