"""Formats of files: one module each, which this package finds by itself.

A module that defines a `FORMAT` is a format: `bers.load` and `bers.save` know it, and nothing else
need be changed. The other modules are what formats share: `tables` for columns of tables,
`delimited` for tables of text, `hdf5` for files of arrays, `steps` for episodes that lack
something, `metadata` for what BERS writes beside the rows. Formats import the libraries they need
inside their functions, so that reading one format never loads the library of another.
"""

import errno
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.data.formats.delimited import CSV
from bers.data.formats.metadata import Metadata
from bers.data.formats.tables import Choice, Table
from bers.errors import ConfigError, FileError
from bers.files import refuse_special
from bers.text import printable

MAX_BYTES = 4 << 30
"""Larger than this in memory is refused, unless the caller raises it."""

AnyPath = str | os.PathLike[str]
"""One path."""


@dataclass(frozen=True)
class Options:
    """What the caller of `bers.load` asked for.

    >>> Options(y="reward").drop_nonfinite
    False
    """

    x: str | Sequence[str] | None = None
    """Columns that are features."""
    y: str | None = None
    """Column that is the label."""
    payload: Sequence[str] | None = None
    """Columns for the learner."""
    inputs: Callable[..., Any] | None = None
    """What to make x of, where the file holds steps of an environment."""
    rewards: Callable[..., Any] | None = None
    """What the steps of an environment pay, instead of what the file says."""
    name: str | None = None
    """Instead of the stored name, or the file's."""
    drop_nonfinite: bool = False
    """Drop rows that are not finite, instead of refusing the file."""
    max_bytes: int = MAX_BYTES
    """Refuse what would take more memory."""
    csv: CSV = field(default_factory=CSV)
    """How a table of text is written."""

    @property
    def names_columns(self) -> bool:
        """Whether any column was named, so that what BERS wrote beside the rows does not count."""
        return self.x is not None or self.y is not None or self.payload is not None


class RowGroups(Protocol):
    """One file whose rows come in groups: opened, its columns chosen, no row read yet."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    @property
    def fingerprint(self) -> str:
        """Differs between files that hold different rows."""
        ...

    @property
    def choice(self) -> Choice:
        """Features and label."""
        ...

    @property
    def own(self) -> Metadata | None:
        """What BERS wrote beside the rows, if it did."""
        ...

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each group."""
        ...

    @property
    def row_bytes(self) -> int:
        """Bytes that one row takes in memory."""
        ...

    def refuse_large(self, max_bytes: int) -> None:
        """Raise for a group that would take more memory."""
        ...

    def blocks(
        self, group: int, rows: int, *, y_only: bool = False
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features and labels of one group, at most `rows` rows at a time, in order."""
        ...

    def payload(self, wanted: Iterable[str] | None) -> dict[str, np.ndarray]:
        """Payload arrays: all that BERS wrote, or the columns named."""
        ...


@dataclass(frozen=True)
class Format:
    """How files of one kind are read and written; what a format cannot do is None.

    Rows are read in memory (`load`) or in groups (`open_groups`), and written likewise.

    >>> Format("Text", (".txt",)).load is None
    True
    """

    name: str
    """In messages."""
    endings: tuple[str, ...] = ()
    """In small letters, with the dot."""
    also_reads: tuple[str, ...] = ()
    """Endings of files that are read and not written."""
    recognises: Callable[[AnyPath], bool] = lambda path: False
    """Whether a path that has none of the endings is one: a folder, or another kind of name."""
    load: Callable[[AnyPath, Options], Demonstrations] | None = None
    """Reads all rows."""
    save: Callable[[Demonstrations, AnyPath], None] | None = None
    """Writes all rows."""
    open_groups: Callable[[AnyPath, Any, str | None], RowGroups] | None = None
    """Opens one file, given `x` and `y`; a folder of such files, or a list, is one source."""
    save_groups: Callable[[Any, AnyPath, int], None] | None = None
    """Writes a source of any size, so many rows a group."""
    open_table: Callable[[Any, Options], Table | None] | None = None
    """Opens a table, its columns not chosen; None where BERS wrote it, or where it is large."""
    takes_inputs: bool = False
    """Whether the options `inputs` and `rewards` apply, which are for steps of an environment."""
    is_text: bool = False
    """Whether the option `csv` applies."""

    @property
    def all_endings(self) -> tuple[str, ...]:
        """Of files that are read."""
        return (*self.endings, *self.also_reads)

    def stem(self, path: AnyPath) -> str:
        """The name of a file without its ending, which may have two dots."""
        name = Path(path).name
        long = [e for e in self.all_endings if name.lower().endswith(e)]
        return name[: -max(map(len, long))] if long else Path(path).stem


def formats() -> tuple[Format, ...]:
    """All formats, in order of their modules' names.

    >>> [one.name for one in formats()]
    ['CSV', 'LeRobot', 'Minari', 'NumPy', 'Parquet', 'robomimic']
    """
    modules = (import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return tuple(module.FORMAT for module in modules if hasattr(module, "FORMAT"))


def check_path(path: Any) -> None:
    """Raise for what names no file, and no list of files.

    >>> check_path("a.csv")
    """
    many = path if isinstance(path, list | tuple) else [path]
    if not all(isinstance(one, str | os.PathLike) for one in many):
        raise ConfigError(
            f"path must be a path, or a list of paths; got {type(path).__name__}. "
            'Name a file, such as bers.load("alice.csv").'
        )
    for one in many:
        try:
            if not str(one).startswith("minari:"):
                refuse_special(one)
        except FileError:
            raise
        except (ValueError, OSError) as error:
            if not isinstance(error, OSError) or error.errno == errno.ENAMETOOLONG:
                raise FileError(
                    f"{printable(str(one))!r} cannot be the name of a file. Check the path."
                ) from error


def format_of(path: AnyPath | Sequence[AnyPath]) -> Format:
    """The format by which a path is read.

    >>> format_of("a.csv").name
    'CSV'
    """
    if not isinstance(path, (str, os.PathLike)):
        return grouped_format(path)
    found = _named_after(path)
    if found is not None:
        return found
    known = formats()
    found = next((one for one in known if one.recognises(path)), None)
    if found is not None:
        return found
    if Path(path).is_dir():
        return grouped_format(path)
    found = _by_ending(known, [Path(path)])
    if found is not None:
        return found
    if not Path(path).exists():
        raise FileError(f"there is no file {path}. Check the path.")
    folders = [f"a folder of {one.name} files" for one in known if one.open_groups]
    folders += [f"a {one.name} data set" for one in known if not one.all_endings]
    raise FileError(
        f"{Path(path).name}: the ending must be {listed_reads(known)}, or the path "
        f"{_either(folders)}."
    )


def grouped_format(path: AnyPath | Sequence[AnyPath]) -> Format:
    """The format by which a file, a folder or a list of files is read in groups.

    Where no ending tells, the first of them: a Parquet file may have any name.

    >>> grouped_format("rows.pq").name
    'Parquet'
    """
    if not isinstance(path, (str, os.PathLike)):
        files = [Path(each) for each in path]
    else:
        files = list(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]
    first = _named_after(files[0]) if files else None
    if first is not None and first.open_groups:
        return first
    grouped = [one for one in formats() if one.open_groups]
    return _by_ending(grouped, files) or grouped[0]


def files_of(path: AnyPath | Sequence[AnyPath], kind: Format) -> list[Path]:
    """The files of one source: a file, those in a folder, or those in a list.

    >>> files_of(["a.parquet", "b.parquet"], grouped_format("a.parquet"))[1].name
    'b.parquet'
    """
    if not isinstance(path, (str, os.PathLike)):
        paths = [Path(each) for each in path]
    elif Path(path).is_dir():
        paths = sorted(each for end in kind.endings for each in Path(path).glob(f"*{end}"))
    else:
        paths = [Path(path)]
    if not paths:
        raise FileError(f"no {kind.name} file in {path}. Give a file, a folder or a list of files.")
    return paths


def listed_endings(some: Iterable[Format]) -> str:
    """Endings of these formats, for messages.

    >>> listed_endings(formats())
    '.csv, .npz or .parquet'
    """
    return _either([ending for one in some for ending in one.endings])


def listed_reads(some: Iterable[Format]) -> str:
    """Endings of files that these formats read, for messages.

    >>> listed_reads(formats())
    '.csv, .tsv, .csv.gz, .tsv.gz, .npz, .parquet, .hdf5 or .h5'
    """
    return _either([ending for one in some for ending in one.all_endings])


def _named_after(path: AnyPath) -> Format | None:
    """The format whose module is called as a file ends: no other need be imported."""
    name = Path(path).suffix.lower().removeprefix(".")
    if not name.isidentifier() or not Path(path).is_file() or not find_spec(f"{__name__}.{name}"):
        return None
    found = getattr(import_module(f"{__name__}.{name}"), "FORMAT", None)
    return found if found is not None and f".{name}" in found.endings else None


def _by_ending(some: Iterable[Format], files: Iterable[Path]) -> Format | None:
    """The first format that has an ending of these files."""
    names = [file.name.lower() for file in files]
    return next((one for one in some if any(n.endswith(one.all_endings) for n in names)), None)


def _either(words: Sequence[str]) -> str:
    """Words as a sentence has them: a, b or c."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
