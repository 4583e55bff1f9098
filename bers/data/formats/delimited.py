"""Tables of text as people have them: separators, decimal marks, encodings, a row of units.

Enter: a file, and what the caller says of it. Leave: an Arrow table, or one sentence that says what
was found and which option reads it. Only what is certain is guessed: the mark on which the first
lines agree, UTF-8, and UTF-16 by its first bytes. Decimal commas are not: 1,234 may be a thousand.
"""

import codecs
import csv as csv_module
import gzip
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bers.data.columns import compute
from bers.errors import ConfigError, DataWarning, FileError
from bers.files import reading
from bers.text import printable

MOST_COLUMNS = 100_000
"""More columns than this are a table that lies on its side."""

_MARKS = (",", ";", "\t", "|")
_LINES, _HEAD, _PIECE = 20, 1 << 16, 1 << 20
_SCANNED = 1 << 26  # bytes of a file that are gone through once more to name a line
_SHORT, _LONGEST = 1 << 20, (1 << 31) - 1  # bytes of a block that Arrow reads, at least and at most
_WIDEST = 32  # times the header: a number has more digits than its column's name has letters
_MOSTLY = 0.8  # of a column's cells that have a unit: then the others are slips
_POINT = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
_COMMA = r"^\s*[-+]?([0-9]+,?[0-9]*|,[0-9]+)([eE][-+]?[0-9]+)?\s*$"


@dataclass(frozen=True)
class CSV:
    """How a table of text is written, where the file itself does not say.

    Parameters
    ----------
    sep : str, optional
        The character between columns; found in the first lines, unless given.
    decimal : str, default "."
        The decimal mark: "." or ",".
    encoding : str, optional
        Such as "latin-1" or "cp1252"; UTF-8, unless given.
    missing : tuple of str, default ()
        Words that stand for a missing number, such as "ERR" or "n.a."; an empty cell, "NA", "NaN"
        and "null" do so always.
    units : tuple of str, default ()
        Signs or words beside numbers that are taken off, such as "%" or "km": 45.3% is read as
        45.3. They are taken off in columns where all is a number then.

    Examples
    --------
    >>> CSV(sep=";", decimal=",").sep
    ';'
    """

    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        sep = self.sep
        if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '\r\n"'):
            raise ConfigError(f'CSV(sep=...) must be one character, such as ";"; got {sep!r}.')
        if not isinstance(self.decimal, str) or self.decimal not in (".", ","):
            raise ConfigError(f'CSV(decimal=...) must be "." or ","; got {self.decimal!r}.')
        if self.encoding is not None:
            _check_encoding(self.encoding)
        for name, such in (("missing", "ERR"), ("units", "%")):
            words = getattr(self, name)
            words = (words,) if isinstance(words, str) else words
            if not isinstance(words, tuple | list) or not all(isinstance(w, str) for w in words):
                raise ConfigError(
                    f'CSV({name}=...) must be words, such as ("{such}",); got {words!r}.'
                )
            object.__setattr__(self, name, tuple(words))
        if "" in self.units:
            raise ConfigError("CSV(units=...) must not have an empty word. Leave it out.")


def read_delimited(path: Path, style: CSV, max_bytes: int, kinds: Any = None) -> Any:
    """The whole file as an Arrow table; types are guessed unless `kinds` names them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.csv").write_text("s;y\\n1,5;2\\n")
    ...     read_delimited(Path(f"{folder}/a.csv"), CSV(decimal=","), 1000).to_pydict()
    {'s': [1.5], 'y': [2]}
    """
    import pyarrow.csv as pc

    with reading(path):
        source, head = _content(path, max_bytes)
        encoding, sep = _written(path, style, head)
        _refuse_wide(head, sep, path)
        line = len(head.split(b"\n", 1)[0])
        block = min(max(_SHORT, _WIDEST * line), _LONGEST)

        def read(skipped: int) -> Any:
            return _without_units(parsed(skipped), style)

        def parsed(skipped: int) -> Any:
            # In files of our own an odd word is damage; in others' it may mean a missing value.
            usual = [] if kinds else [*pc.ConvertOptions().null_values, *style.missing]
            return pc.read_csv(
                source(),
                pc.ReadOptions(block_size=block, encoding=encoding, skip_rows_after_names=skipped),
                pc.ParseOptions(delimiter=sep, newlines_in_values=True),
                pc.ConvertOptions(
                    column_types=kinds, null_values=usual, decimal_point=style.decimal
                ),
            )

        try:
            table = read(0)
            # Names are decoded only when asked for; a bad one must fail here, not later.
            names = table.schema.names
        except UnicodeError as error:
            raise _other_encoding(path, encoding) from error
        except Exception as error:
            if "invalid UTF8" in str(error):
                raise _other_encoding(path, encoding) from error
            if found := re.search(r"Expected (\d+) columns, got (\d+): (.*)", str(error), re.S):
                where = _line_like(path, encoding, sep, found[3])
                raise _uneven(path, sep, found[1], found[2], found[3], where) from error
            raise
        if kinds:
            return table
        _refuse_marks(names, sep, path)
        if any(str(kind) == "binary" for kind in table.schema.types):
            raise _other_encoding(path, encoding)
        if units := _units(table):
            import warnings

            warnings.warn(
                f"{path.name}: the row under the header was left out, as one of units: "
                f"{printable(', '.join(units), 80)}.",
                DataWarning,
                stacklevel=2,
            )
            table = read(1)
        _refuse_decimals(table, style, path)
        return table


def line_of(path: Path, style: CSV, rows: int, row: int) -> int | None:
    """In which line of a file one of its rows starts, the first line being 1.

    Blank lines hold no row, and a text in quotes may have several lines. None where the file cannot
    be told apart into so many rows, or is too large to look.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.csv").write_text('who,y\\n"an\\nn",1\\n\\nbob,2\\n')
    ...     line_of(Path(f"{folder}/a.csv"), CSV(), 2, 1)
    5
    """
    found, count = {}, 0
    with suppress(OSError, EOFError, csv_module.Error):  # of a file that changed meanwhile
        with _opened(path) as stream:
            head = stream.read(_HEAD)
        for line, _ in _records(path, *_written(path, style, head)):
            if row < count <= row + 2:
                found[count] = line
            count += 1
    above = count - rows  # the header and, it may be, a row of units
    return found.get(above + row) if above in (1, 2) else None


def _line_like(path: Path, encoding: str, sep: str, text: str) -> int | None:
    """The first line that holds the cells of this text."""
    with suppress(OSError, EOFError, csv_module.Error):
        wanted = next(csv_module.reader([text], delimiter=sep), None)
        found = (line for line, cells in _records(path, encoding, sep) if cells == wanted)
        return next(found, None)
    return None


def _records(path: Path, encoding: str, sep: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row, the header being one, and the line in which it starts."""
    if path.stat().st_size > _SCANNED:
        return
    with (
        _opened(path) as stream,
        io.TextIOWrapper(stream, encoding, errors="replace", newline="") as text,
    ):
        reader, line = csv_module.reader(text, delimiter=sep), 1
        for cells in reader:
            if cells:
                yield line, cells
            line = reader.line_num + 1


def _opened(path: Path) -> Any:
    """The bytes of a file, unpacked."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb")


def _written(path: Path, style: CSV, head: bytes) -> tuple[str, str]:
    """The encoding of a file, and the mark between its columns."""
    encoding = style.encoding or _by_first_bytes(head)
    sep = style.sep or ("\t" if ".tsv" in path.suffixes[-2:] else None)
    return encoding, sep or _mark(_lines(head, encoding))


def _without_units(table: Any, style: CSV) -> Any:
    """Columns of numbers with units as numbers; where a few cells are something else, as text."""
    import pyarrow as pa
    import pyarrow.csv as csv

    if not style.units:
        return table
    pc, point = compute(), re.escape(style.decimal)
    longest_first = sorted(style.units, key=len, reverse=True)
    unit = rf"\s*(?:{'|'.join(re.escape(word) for word in longest_first)})?\s*"
    number = rf"(?:[0-9]+{point}?[0-9]*|{point}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    beside = rf"^\s*([-+]?){unit}({number}){unit}$"
    words = pa.array([*csv.ConvertOptions().null_values, *style.missing], pa.string())
    for j, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if not pa.types.is_string(column.type):
            continue
        column = pc.if_else(pc.is_in(column, words), pa.scalar(None, pa.string()), column)
        fits = pc.match_substring_regex(column, beside)
        if (pc.mean(pc.cast(fits, pa.int8())).as_py() or 0) < _MOSTLY:
            continue
        column = pc.replace_substring_regex(column, beside, r"\1\2")
        if pc.all(fits).as_py():
            column = pc.cast(pc.replace_substring(column, style.decimal, "."), pa.float64())
        table = table.set_column(j, name, column)
    return table


def _content(path: Path, max_bytes: int) -> tuple[Any, bytes]:
    """A function that opens the text anew, and its first lines."""
    if not path.is_file() and path.exists():
        raise FileError(f"{path.name}: is not a file. Give a file of text.")
    size = path.stat().st_size
    packed = path.suffix.lower() == ".gz"
    if size == 0:
        raise FileError(f"{path.name}: the file is empty. Give it a header line at least.")
    if size > max_bytes:
        raise _too_large(path, f"has {size:,} bytes", max_bytes)
    if packed:
        import pyarrow as pa

        with gzip.open(path) as stream:
            text = _at_most(stream, path, max_bytes)
        if not text:
            raise FileError(f"{path.name}: the file is empty. Give it a header line at least.")
        whole = pa.py_buffer(text)
        return lambda: pa.BufferReader(whole), _first(text)
    with open(path, "rb") as stream:
        head = stream.read(_HEAD)
        if b"\n" not in head:
            head += stream.readline()
    return lambda: path, head


def _first(text: bytes) -> bytes:
    """The first lines, of which the header is whole."""
    return text[: max(_HEAD, text.find(b"\n") + 1)]


def _at_most(stream: Any, path: Path, max_bytes: int) -> bytes:
    """All that a packed file holds, unless it grows past the limit."""
    parts, total = [], 0
    while piece := stream.read(_PIECE):
        total += len(piece)
        if total > max_bytes:
            raise _too_large(path, f"unpacks to more than {max_bytes:,} bytes", max_bytes)
        parts.append(piece)
    return b"".join(parts)


def _too_large(path: Path, what: str, max_bytes: int) -> FileError:
    return FileError(
        f"{path.name}: {what}, more than max_bytes = {max_bytes:,}. "
        "Pass a larger max_bytes, or convert it to Parquet and stream it."
    )


def _by_first_bytes(head: bytes) -> str:
    """UTF-16 says so itself; all else is taken for UTF-8."""
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf8"


def _lines(head: bytes, encoding: str) -> list[str]:
    """The first lines as text, without what is in quotes; the last one may be cut and is not."""
    text = head.decode(encoding, errors="replace")
    whole = text.splitlines() if len(head) < _HEAD else text.splitlines()[:-1] or [text]
    return [re.sub(r'"[^"]*"', "", line) for line in itertools.islice(whole, _LINES) if line]


def _mark(lines: list[str]) -> str:
    """The character between columns: one that each of the first lines has as often as the header.

    >>> _mark(["a;b", "1,5;2,5"]), _mark(["a,b", "1,2"]), _mark(["a"])
    (';', ',', ',')
    """
    if not lines:
        return ","
    agreed = [m for m in _MARKS if lines[0].count(m) and len({x.count(m) for x in lines}) == 1]
    if len(agreed) == 1 or "," in agreed:
        return agreed[0]
    return max(_MARKS, key=lines[0].count)  # the first of them where none occurs


def _refuse_wide(head: bytes, sep: str, path: Path) -> None:
    columns = head.split(b"\n", 1)[0].count(sep.encode()) + 1
    if columns > MOST_COLUMNS:
        raise FileError(
            f"{path.name}: its first line has {columns:,} columns; at most {MOST_COLUMNS:,} are "
            "read. If rows and columns are swapped, turn the table; else convert it to .npz."
        )


def _refuse_marks(names: list[str], sep: str, path: Path) -> None:
    """Raise where all is one column that holds another mark."""
    marks = [m for m in (*_MARKS, ":", " ") if m != sep and len(names) == 1 and m in names[0]]
    if marks:
        raise FileError(
            f"{path.name}: has one column, {printable(names[0])!r}. If another mark separates "
            f'them, pass csv=bers.CSV(sep="{printable(marks[0])}").'
        )


def _uneven(
    path: Path, sep: str, expected: str, found: str, line: str, where: int | None
) -> FileError:
    """A row that has more or fewer cells than the header."""
    commas = ""
    if sep == "," and int(found) > int(expected):
        commas = (
            " If commas are decimal marks, save it with another separator, or with quotes around "
            'the numbers, and pass csv=bers.CSV(decimal=",").'
        )
    return FileError(
        f"{path.name}: cannot be read: {'a line' if where is None else f'line {where}'} has "
        f"{found} cells where the header has {expected}, by the separator {printable(sep)!r}: "
        f"{printable(line)!r}. Mend it.{commas}"
    )


def _other_encoding(path: Path, encoding: str) -> FileError:
    """What a file that cannot be decoded is."""
    name = "UTF-8" if encoding == "utf8" else encoding
    return FileError(
        f"{path.name}: is not text in {name}. Pass its encoding, such as "
        'csv=bers.CSV(encoding="latin-1"), or save it as UTF-8.'
    )


def _units(table: Any) -> list[str]:
    """Cells of a first row that holds no number, above columns that hold nothing else."""
    import pyarrow as pa

    if table.num_rows < 3:
        return []
    found = []
    for column in table.columns:
        first = column[0].as_py()
        if not pa.types.is_string(column.type):
            if first is not None:
                return []  # a number, or a date
            continue
        later = column.slice(1)
        fine = compute().match_substring_regex(later, _POINT)
        fine = compute().or_(fine, compute().match_substring_regex(later, _COMMA))
        first = first or ""
        if re.match(_POINT, first) or re.match(_COMMA, first):
            return []  # a number, by one decimal mark or the other
        if compute().all(fine).as_py():
            found.append(first)
    return found if any(found) else []


def _refuse_decimals(table: Any, style: CSV, path: Path) -> None:
    """Raise for columns that would be numbers with the other decimal mark."""
    import pyarrow as pa

    pc = compute()
    other, pattern = (",", _COMMA) if style.decimal == "." else (".", _POINT)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type) or not len(column):
            continue
        marked = pc.and_(
            pc.match_substring_regex(column, pattern), pc.match_substring(column, other)
        )
        share = pc.mean(pc.cast(marked, pa.int8())).as_py()
        if share < 0.5:
            continue
        row = pc.index(marked, pa.scalar(True)).as_py()
        line = line_of(path, style, table.num_rows, row)
        cell = printable(column[row].as_py(), 30)
        advice = (
            'If that is the decimal mark, pass csv=bers.CSV(decimal=","); if it marks thousands, '
            "take it out."
            if other == ","
            else 'Leave csv=bers.CSV(decimal=",") out, or write all numbers alike.'
        )
        raise FileError(
            f"{path.name}: column {printable(name)!r} holds numbers with a "
            f"{'comma' if other == ',' else 'point'}, such as {cell!r} in "
            f"{f'row {row}' if line is None else f'line {line} of the file'}. {advice}"
        )


def _check_encoding(encoding: Any) -> None:
    """Raise for what is no encoding of text."""
    try:
        found = codecs.lookup(encoding)
        fine = getattr(found, "_is_text_encoding", True)  # others unpack, or turn letters about
    except (LookupError, TypeError, ValueError):
        fine = False
    if not fine:
        raise ConfigError(
            f'CSV(encoding=...) must name an encoding, such as "latin-1"; got {encoding!r}.'
        )
