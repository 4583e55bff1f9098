"""Records in NumPy's .npz files, read without `np.load` and without pickle.

Enter: a path. Leave: a record. The zip directory is checked first: sizes, ratios, names given
twice. Then each array's header is read alone: only numbers, and as many bytes as it claims.
A file that BERS wrote also holds `bers.json`; any other needs arrays `x` and `y`, or names.
"""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bers.data.checks import refuse_wide
from bers.data.demonstrations import Demonstrations
from bers.data.formats import Format, Options
from bers.data.formats.metadata import flat_names, from_json, metadata_of, rebuilt, to_json
from bers.errors import FileError
from bers.files import reading, write_atomically
from bers.text import printable

_LONGEST_HEADER = 10_000
_SUSPECT_BYTES, _SUSPECT_RATIO = 64 << 20, 200
_META, _PIECE = "bers.json", 1 << 20


def save_npz(d: Demonstrations, path: str | os.PathLike[str]) -> None:
    """Write a record, not compressed; the same record always gives the same bytes.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_npz(Demonstrations([1.0], [2.0], "a"), f"{folder}/a.npz")
    ...     load_npz(f"{folder}/a.npz", Options())
    Demonstrations('a', n=1, k=1, y 2 to 2)
    """
    arrays = {"x": d.x, "y": d.y}
    arrays |= {f"payload/{name}": values for name, values in d.payload.items()}
    with write_atomically(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(zipfile.ZipInfo(_META), to_json(metadata_of(d)))
        for name, values in arrays.items():
            # A fixed date, as the bytes must not depend on when they were written.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, version=(2, 0), allow_pickle=False)


def load_npz(path: str | os.PathLike[str], options: Options) -> Demonstrations:
    """Read a record; the options name arrays of a file that BERS did not write.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/a.npz", s=[[1.0, 2.0]], r=[3.0])
    ...     load_npz(f"{folder}/a.npz", Options(x="s", y="r"))
    Demonstrations('a', n=1, k=2, y 3 to 3)
    """
    path, x, name = Path(path), options.x, options.name
    with _opened(path) as archive:
        members = _checked_directory(archive, path, options.max_bytes)
        if _META in members and not options.names_columns:
            return _own(archive, members, path, name)
        y_name = options.y or "y"
        names = ["x"] if x is None else [x] if isinstance(x, str) else list(x)
        values = {each: _array(archive, members, each, path) for each in names}
        _refuse_shapes(values, path)
        columns = [v[:, None] if v.ndim == 1 else v for v in values.values()]
        plain = {each: () if v.ndim == 1 else v.shape[1:] for each, v in values.items()}
        x_names = [part for each, shape in plain.items() for part in flat_names(each, shape)]
        return Demonstrations.build(
            columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1),
            _array(archive, members, y_name, path),
            path.stem if name is None else name,
            payload={each: _array(archive, members, each, path) for each in options.payload or ()},
            x_names=() if x is None else tuple(x_names),
            y_name=y_name,
            drop_nonfinite=options.drop_nonfinite,
            origin=path.name,
        )


def _own(archive: zipfile.ZipFile, members: dict, path: Path, name: str | None) -> Demonstrations:
    """The record of a file that BERS wrote."""
    with archive.open(members[_META]) as member:
        metadata, _ = from_json(member.read(members[_META].file_size), path.name)
    payload = {
        part.name: _array(archive, members, f"payload/{part.name}", path)
        for part in metadata.payload
    }
    x, y = (_array(archive, members, each, path) for each in "xy")
    d = rebuilt(metadata, x, y, payload, path.name)
    return d if name is None else d.renamed(name)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, with errors that name the file."""
    with reading(path), zipfile.ZipFile(path) as archive:
        yield archive


def _checked_directory(archive: zipfile.ZipFile, path: Path, max_bytes: int) -> dict[str, Any]:
    """Members by name, once their sizes are known to be sound."""
    members = {}
    for info in archive.infolist():
        if info.filename in members:
            raise FileError(f"{path.name}: two members are named {printable(info.filename)!r}.")
        members[info.filename] = info
        # Each name is stored twice; opening compares them, also of members not read.
        archive.open(info).close()
    total = sum(info.file_size for info in members.values())
    if total > max_bytes:
        raise FileError(
            f"{path.name}: would take {total:,} bytes in memory, more than max_bytes = "
            f"{max_bytes:,}. Pass a larger max_bytes, or convert it to Parquet and stream it."
        )
    if total > _SUSPECT_BYTES and total > _SUSPECT_RATIO * path.stat().st_size:
        raise FileError(
            f"{path.name}: would grow from {path.stat().st_size:,} to {total:,} bytes, like a zip "
            "bomb. If you trust it, save it again without compression."
        )
    return members


def _array(archive: zipfile.ZipFile, members: dict, name: str, path: Path) -> np.ndarray:
    """One member, read by its header."""
    info = members.get(f"{name}.npy")
    if info is None:
        present = ", ".join(printable(member.removesuffix(".npy")) for member in members)
        raise FileError(
            f"{path.name}: there is no array {printable(name)!r}; it has: {present or 'none'}. "
            "Name the arrays with x=... and y=..."
        )
    where = f"{path.name}: array {printable(name)!r}"
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:
            raise FileError(f"{where} has format {version}; only 1.0 and 2.0 are read.")
        shape, fortran, dtype = read(member, max_header_size=_LONGEST_HEADER)
        if dtype.kind not in "biuf":
            raise FileError(f"{where} has type {dtype}, not numbers. Convert it and save again.")
        if min(shape, default=0) < 0:
            raise FileError(f"{where} has the impossible shape {shape}.")
        refuse_wide(shape, f"array {printable(name)!r}", path.name)
        expected = prod(shape) * dtype.itemsize
        if member.tell() + expected != info.file_size:
            raise FileError(
                f"{where} should hold {expected:,} bytes after its header but has "
                f"{info.file_size - member.tell():,}. The file is damaged."
            )
        data, start = np.empty(expected, np.uint8), 0
        # To the end and one step further, which makes zipfile compare the checksum.
        while piece := member.read(_PIECE):
            data[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
            start += len(piece)
        if start != expected:
            raise FileError(f"{where} is cut short. Restore the file from a copy.")
    values = data.view(dtype)
    return values.reshape(shape[::-1]).T if fortran else values.reshape(shape)


def _refuse_shapes(arrays: dict[str, np.ndarray], path: Path) -> None:
    """Raise where arrays of features do not fit side by side."""
    first, rows = next((name, values.shape[:1]) for name, values in arrays.items())
    for name, values in arrays.items():
        if values.ndim not in (1, 2) or values.shape[:1] != rows:
            raise FileError(
                f"{path.name}: array {printable(name)!r} has shape {values.shape}; it must have "
                f"one or two dimensions and as many rows as {printable(first)!r}, {rows}."
            )


FORMAT = Format("NumPy", (".npz",), load=load_npz, save=save_npz)
