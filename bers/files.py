"""Files that are never seen half-written, and one error for those that cannot be read.

`write_atomically` gives a temporary path in the target's own folder; when the block ends, the
file is flushed to disk and renamed over the target, then the folder is flushed. A reader sees
the old file or the new one. `reading` names the file in place of the dozen kinds of error that
Arrow, zipfile and h5py have; errors of BERS pass untouched.
"""

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bers.errors import BersError, FileError
from bers.text import printable


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


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes a library raise into one error that names the file.

    >>> with reading(Path("a.parquet")):
    ...     pass
    """
    try:
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
