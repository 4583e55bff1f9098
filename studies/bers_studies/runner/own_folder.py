"""A folder of the user's own for what runs share: nobody else can put anything there, or read it.

Enters: nothing. Leaves: a folder in the temporary folder, mode 0700, that belongs to this user; one
that does not is refused. What a run leaves there when it is killed, the next one removes: a lock
that the kernel holds says who is alive.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bers.errors import FileError

_LOCK = "lock"
_JUST_MADE = 60.0  # seconds in which a folder may not have its lock yet


def own_folder() -> Path:
    """The folder, made if need be.

    >>> oct(own_folder().stat().st_mode & 0o777)
    '0o700'
    """
    folder = Path(tempfile.gettempdir()) / f"bers-studies-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = os.lstat(folder)
    fine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    if not fine or status.st_mode & 0o077:
        raise FileError(
            f"{folder} is not a folder that only you can use, so what is in it is not trusted. "
            "Remove it, or set TMPDIR to a folder of your own."
        )
    return folder


@contextmanager
def passing_folder(start: str) -> Iterator[Path]:
    """A folder until the block ends; those that killed processes left are removed first.

    >>> with passing_folder("example-") as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    root = own_folder()
    for left in root.glob(f"{start}*"):
        _remove_if_left(left)
    folder = Path(tempfile.mkdtemp(prefix=start, dir=root))
    handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _remove_if_left(folder: Path) -> None:
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR)
    except OSError:
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _JUST_MADE:
                shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        pass  # its process is alive
    finally:
        os.close(handle)
