"""One error for whatever a damaged file makes a library raise.

Enters: a path, around the code that reads it. Leaves: a `FileError` that names the file, in place
of the dozen kinds of error that Arrow, zipfile and h5py have. Errors of BERS pass untouched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bers.errors import BersError, FileError
from bers.text import printable


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes a library raise into one error that names the file.

    >>> with reading(Path("a.parquet")):
    ...     pass
    """
    try:
        yield
    except BersError:
        raise
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}. Check the path.") from error
    except Exception as error:
        # OSError and MemoryError are among them
        raise FileError(
            f"{path.name}: cannot be read ({type(error).__name__}: {printable(str(error), 120)}). "
            "Restore it from a copy, or save it again."
        ) from error
