"""Files that are never seen half-written, and one error for those that cannot be read.

`write_atomically` gives a temporary path in the target's own folder; when the block ends, the
file is flushed to disk and renamed over the target, then the folder is flushed. A reader sees
the old file or the new one. `read_regular` follows no link and waits for no pipe. `reading` names
the file in place of the dozen kinds of error that Arrow, zipfile and h5py have; errors of BERS pass
untouched.
"""

import errno
import glob
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bers.errors import BersError, ConfigError, FileError
from bers.text import printable


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path; rename it over `path` when the block ends without an error."""
    target = named_file(path)
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


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes a library raise into one error that names the file.

    >>> with reading(Path(".")):
    ...     pass
    """
    try:
        refuse_special(path)
        yield
    except (BersError, Warning):
        raise
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}. Check the path.") from error
    except Exception as error:
        # OSError and MemoryError are among them
        raise FileError(
            f"{path.name}: cannot be read ({type(error).__name__}: {printable(str(error), 120)}). "
            "Restore it from a copy, or save it again."
        ) from error


@contextmanager
def inside(folder: Path, path: Path) -> Iterator[None]:
    """Errors about a file of a folder that name the folder too: many have files of that name.

    >>> try:
    ...     with inside(Path("ann"), Path("ann/meta/info.json")):
    ...         raise FileError("info.json: cannot be read.")
    ... except FileError as error:
    ...     print(error)
    ann: meta/info.json: cannot be read.
    """
    try:
        yield
    except FileError as error:
        said = str(error).removeprefix(path.name)
        if said == str(error):
            raise
        raise FileError(f"{folder}: {path.relative_to(folder).as_posix()}{said}") from error


def named_file(path: Any) -> Path:
    """A path that may be that of a file, or an error.

    >>> named_file("a.html").name
    'a.html'
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"path must be a path; got {type(path).__name__}. Name a file.")
    found = Path(path)
    try:
        fine = bool(found.name) and b"\0" not in os.fsencode(found)
    except UnicodeEncodeError:
        fine = False
    if not fine:
        raise FileError(
            f"{printable(str(path), 80)!r} cannot be the name of a file. Choose another."
        )
    return found


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Raise for a pipe, a socket or a device, which may keep a reader waiting for ever.

    >>> refuse_special(".")
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(
            f"{printable(str(path), 200)} is a pipe or a device, not a file. Write what comes out "
            "of it to a file first, and give that."
        )


def read_regular(path: str | os.PathLike[str], most: int = 1 << 30) -> bytes:
    """All bytes of a plain file; links, pipes, devices and very large files are refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.md").write_text("a")
    ...     read_regular(f"{folder}/a.md")
    b'a'
    """
    name = printable(str(path), 200)
    try:
        # without waiting for the other end of a pipe
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileError(
                f"{name} is a link to another place, which is not followed. Put the file itself "
                "there, or remove the link."
            ) from error
        raise FileError(f"cannot read {name}: {error.strerror}. Check the path.") from error
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise FileError(f"{name} is not a plain file. Remove it.")
        if status.st_size > most:
            raise FileError(f"{name} has {status.st_size:,} bytes, more than {most:,}. Remove it.")
        return stream.read(most)


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
