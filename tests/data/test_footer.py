"""Footers of Parquet, read by ourselves: the same numbers as Arrow, and no end of the process."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bers
from bers.data.formats.footer import Claim, claims, footer_bytes
from bers.errors import FileError

STORED = Path(__file__).parent / "stored" / "footer_against_itself.parquet"


def written(table, **options):
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


TABLES = {
    "numbers": pa.table({"a": np.arange(100.0), "y": np.arange(100)}),
    "lists and gaps": pa.table({"s": [[1, 2], None, []], "t": ["x", "y", None], "y": [1, 2, 3]}),
    "structures": pa.table({"s": [{"u": 1, "v": [2.0]}, {"u": 3, "v": []}], "y": [True, False]}),
    "no rows": pa.table({"a": pa.array([], pa.float32()), "y": pa.array([], pa.float64())}),
    "many columns": pa.table({f"c{j}": [1.0, 2.0] for j in range(300)}),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("options", [{}, {"row_group_size": 1}, {"compression": "none"}])
def test_the_same_numbers_as_arrow(name, options):
    file = written(TABLES[name], **options)
    footer = pq.ParquetFile(file).metadata
    expected = []
    for i in range(footer.num_row_groups):
        group = footer.row_group(i)
        chunks = [group.column(j) for j in range(group.num_columns)]
        expected.append([Claim(c.num_values, c.total_uncompressed_size) for c in chunks])
    assert claims(footer_bytes(file)) == expected
    assert sum(map(len, expected)) == footer.num_row_groups * footer.num_columns


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_other_bytes_are_a_value_error_or_small(content):
    try:
        found = claims(content)
    except ValueError:
        return
    assert sum(map(len, found)) <= len(content)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_footers_are_a_value_error_or_small(data):
    footer = bytearray(footer_bytes(written(TABLES["lists and gaps"])))
    for _ in range(data.draw(st.integers(1, 3))):
        footer[data.draw(st.integers(0, len(footer) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = claims(bytes(footer))
    except ValueError:
        return
    assert sum(map(len, found)) <= len(footer)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x19" + b"\x19" * 40, "too deep"),  # lists in lists
        (b"\x18\xff\xff\xff\xff\x7f", "ends too soon"),  # a text that is not there
        (b"\x19\xf1\xff\xff\xff\xff\x0f", "ends too soon"),  # truths without end
        (b"\x49\x1c\x19\x1c\x00\x00\x00", "does not say how large"),
        (b"\x49\x15\x00\x00", "of another type"),
        (b"\x1d\x00", "of no type"),
        (b"\x16" + b"\xff" * 20, "too many bytes"),
        (b"", "ends too soon"),
    ],
)
def test_what_is_no_footer(content, message):
    with pytest.raises(ValueError, match=message):
        claims(content)


def test_a_footer_that_contradicts_itself_does_not_end_the_process():
    """Arrow's own objects end it for this file, so it is read in another process."""
    program = (
        "import sys, bers\n"
        "streamed = lambda path: bers.load(path, stream=True)\n"
        "for read in (bers.load, streamed, lambda path: bers.as_sources([path])):\n"
        "    try:\n"
        "        read(sys.argv[1])\n"
        "    except bers.errors.BersError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, STORED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said
    assert all(line.startswith(STORED.name) for line in said)


def test_groups_with_other_columns_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1.0], "y": [2.0]}), path)
    monkeypatch.setattr("bers.data.formats.parquet.claims", lambda content: [[Claim(1, 8)]])
    for read in (bers.load, lambda p: bers.load(p, stream=True), lambda p: bers.as_sources([p])):
        with pytest.raises(FileError, match=r"a.parquet: its footer is damaged: its row groups"):
            read(path)
