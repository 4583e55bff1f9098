"""What a Parquet file's footer says about sizes, before any row is decoded.

Enter: Arrow's view of the footer. Leave: widths of list columns, a fingerprint, or an error
where the rows would not fit into memory.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bers.errors import FileError
from bers.integrity import text_digest
from bers.text import printable


def _leaves(kind: Any) -> int:
    """Columns that one field takes in a Parquet file."""
    return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields)) or 1


def _leaf_places(schema: Any) -> dict[str, range]:
    places, start = {}, 0
    for field in schema:
        places[field.name] = range(start, start + _leaves(field.type))
        start += _leaves(field.type)
    return places


def list_width(name: str, schema: Any, groups: Sequence[Any], path: Path) -> int:
    """How long the lists in a column are, from the counts in the footer.

    >>> import pyarrow as pa
    >>> list_width("a", pa.schema({"a": pa.list_(pa.int8(), 3)}), [], Path("a.parquet"))
    3
    """
    kind = schema.field(name).type
    if hasattr(kind, "list_size"):
        width = kind.list_size
    else:
        place = _leaf_places(schema)[name][0]
        values = sum(group.column(place).num_values for group in groups)
        n = sum(group.num_rows for group in groups)
        width = values // n if n and values % n == 0 else 0
    if width < 1:
        raise FileError(
            f"{path.name}: column {printable(name)!r} holds lists that are empty or not equally "
            "long. Make them equal, or leave the column out with x=[...]."
        )
    return width


def refuse_large(
    path: Path,
    wanted: Sequence[str],
    row_bytes: int,
    schema: Any,
    groups: Sequence[Any],
    limit: int,
) -> None:
    """Raise for a row group that would not fit, before any of it is decoded.

    >>> import pyarrow as pa
    >>> refuse_large(Path("a.parquet"), ["a"], 8, pa.schema({"a": pa.int8()}), [], 100)
    """
    places = _leaf_places(schema)
    for i, group in enumerate(groups):
        chunks = [group.column(j) for name in wanted for j in places[name]]
        claimed = max(
            sum(chunk.total_uncompressed_size for chunk in chunks),
            8 * sum(chunk.num_values for chunk in chunks),
            row_bytes * group.num_rows,
        )
        if claimed > limit:
            raise FileError(
                f"{path.name}: row group {i} would take {claimed:,} bytes in memory, more than "
                f"max_bytes = {limit:,}. Write it with smaller row groups, or raise max_bytes."
            )


def footer_digest(path: Path) -> str:
    """SHA-256 of the footer's bytes, which say where every page is and how large.

    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"a": [1.0]}), f"{folder}/t.parquet")
    ...     len(footer_digest(Path(folder) / "t.parquet"))
    64
    """
    with open(path, "rb") as stream:
        stream.seek(-8, os.SEEK_END)
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - length, os.SEEK_END)
        return text_digest(stream.read(length))
