"""How large the columns of a Parquet file are, from its footer.

Enter: the footer's bytes, which are Thrift's compact protocol. Leave: for each row group, what its
columns claim. Arrow's own objects for this end the whole process (`terminate`) where a damaged
footer contradicts itself, and no caller can catch that; so they are never made.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12
_TRUTH, _WHOLE = (1, 2), (4, 5, 6)
_DEEPEST = 16  # structures within structures; a footer has seven


@dataclass(frozen=True)
class Claim:
    """What the footer says of one column of one row group."""

    values: int
    """How many there are, those in lists counted singly."""
    size: int
    """Bytes once unpacked."""


def footer_bytes(stream: IO[bytes]) -> bytes:
    """The footer, which says where every page is and how large.

    >>> import io
    >>> footer_bytes(io.BytesIO(b"PAR1" + b"abc" + (3).to_bytes(4, "little") + b"PAR1"))
    b'abc'
    """
    stream.seek(-8, os.SEEK_END)
    length = int.from_bytes(stream.read(4), "little")
    stream.seek(-8 - length, os.SEEK_END)
    return stream.read(length)


def claims(footer: bytes) -> list[list[Claim]]:
    """Of each row group, its columns in order; ValueError where the bytes are no footer.

    >>> import pyarrow as pa, pyarrow.parquet as pq, io
    >>> file = io.BytesIO()
    >>> pq.write_table(pa.table({"a": [1.0, 2.0], "y": [[3], [4, 5]]}), file)
    >>> [[claim.values for claim in group] for group in claims(footer_bytes(file))]
    [[2, 3]]
    """
    reader = _Reader(footer)
    groups: list[list[Claim]] = []
    try:
        for field, kind in reader.fields():
            if (field, kind) == (4, _LIST):
                groups = [_group(reader) for _ in reader.items(_STRUCT)]
            else:
                reader.skip(kind)
    except IndexError:
        raise ValueError("it ends too soon") from None
    if reader.at > len(footer):
        raise ValueError("it ends too soon")
    return groups


def _group(reader: "_Reader") -> list[Claim]:
    columns: list[Claim] = []
    for field, kind in reader.fields():
        if (field, kind) == (1, _LIST):
            columns = [_column(reader) for _ in reader.items(_STRUCT)]
        else:
            reader.skip(kind)
    return columns


def _column(reader: "_Reader") -> Claim:
    found: dict[int, int] = {}
    for outer, outer_kind in reader.fields():
        if (outer, outer_kind) != (3, _STRUCT):
            reader.skip(outer_kind)
            continue
        for field, kind in reader.fields():
            if field in (5, 6) and kind in _WHOLE:
                found[field] = reader.number()
            else:
                reader.skip(kind)
    if len(found) < 2 or min(found.values()) < 0:
        raise ValueError("a column does not say how large it is")
    return Claim(found[5], found[6])


class _Reader:
    """A place in the bytes; it moves on as things are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.depth = data, 0, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def length(self) -> int:
        """A number that is not negative, seven bits a byte."""
        value = 0
        for shift in range(0, 70, 7):
            one = self.byte()
            value |= (one & 127) << shift
            if one < 128:
                return value
        raise ValueError("a number has too many bytes")

    def number(self) -> int:
        """A number that may be negative: the last bit is its sign."""
        value = self.length()
        return (value >> 1) ^ -(value & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of each field of a structure; the caller reads or skips its value."""
        field = 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.number()
            yield field, head & 15

    def items(self, kind: int) -> range:
        """As many as a list has, which must be of this type."""
        found, count = self._list()
        if found != kind:
            raise ValueError("a list is of another type")
        return range(count)

    def skip(self, kind: int, *, listed: bool = False) -> None:
        """Move past a value; in a list, truth takes a byte."""
        if kind in _TRUTH:
            self.at += listed
        elif kind == _BYTE:
            self.at += 1
        elif kind in _WHOLE:
            self.length()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            size = self.length()  # which moves on itself
            self.at += size
        else:
            self._skip_many(kind)

    def _skip_many(self, kind: int) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError("it is too deep")
        if kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        elif kind in (_LIST, _SET):
            inner, count = self._list()
            self._skip_all([inner], count)
        elif kind == _MAP:
            count = self.length()
            both = self.byte() if count else 0
            self._skip_all([both >> 4, both & 15], count)
        else:
            raise ValueError("a value is of no type")
        self.depth -= 1

    def _skip_all(self, kinds: list[int], count: int) -> None:
        for _ in range(count):
            for kind in kinds:
                self.skip(kind, listed=True)
            if self.at > len(self.data):
                raise IndexError

    def _list(self) -> tuple[int, int]:
        head = self.byte()
        return head & 15, self.length() if head >> 4 == 15 else head >> 4
