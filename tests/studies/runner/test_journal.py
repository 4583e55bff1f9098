"""Journals: what goes in comes out, and no damage goes unseen."""

import json
import math
import os

import numpy as np
import pytest
from bers_studies.runner import journal as journals
from bers_studies.runner.journal import (
    canonical,
    plain,
    read_journal,
    read_journals,
    restored,
    seal,
    unseal,
    write_journal,
)

from bers.errors import DataError, FileError

HEADER = {"seed": 3, "config": {"rate": 0.1, "limit": math.inf}}
RECORDS = [{"best": 0.1 + 0.2, "at": [1, 2]}, {"best": -0.0, "name": "a\n<b> ☃"}]


@pytest.fixture
def path(tmp_path):
    write_journal(tmp_path / "trial.jsonl", HEADER, RECORDS)
    return tmp_path / "trial.jsonl"


def test_what_goes_in_comes_out(path):
    found = read_journal(path)
    assert found.header == HEADER
    assert list(found.records) == RECORDS
    assert math.copysign(1, found.records[1]["best"]) == -1
    assert not found.failed
    assert found.traceback is None


def test_a_failed_trial_keeps_its_traceback_and_records(tmp_path):
    write_journal(tmp_path / "a.jsonl", HEADER, RECORDS[:1], traceback="Trace\nValueError: no")
    found = read_journal(tmp_path / "a.jsonl")
    assert found.failed
    assert found.traceback == "Trace\nValueError: no"
    assert found.records == (RECORDS[0],)


def test_every_line_carries_its_check(path):
    lines = path.read_text().splitlines()
    assert len(lines) == 4
    for line in map(json.loads, lines):
        assert line["check"] == journals._sha(canonical(line["line"]))
    assert json.loads(lines[-1])["line"]["status"] == "ok"
    assert json.loads(lines[-1])["line"]["records"] == 2


def test_nan_and_infinities_survive(tmp_path):
    values = [math.nan, math.inf, -math.inf, 1e308, 5e-324]
    write_journal(tmp_path / "a.jsonl", {"seed": 0}, [{"values": values, "text": "nan"}])
    record = read_journal(tmp_path / "a.jsonl").records[0]
    np.testing.assert_array_equal(record["values"], values)
    assert record["text"] == "nan"
    assert b"NaN" not in (tmp_path / "a.jsonl").read_bytes()  # plain JSON


def test_arrays_become_lists():
    found = plain({"a": np.array([1.5, np.nan]), "b": np.float32(0.5), "c": np.int64(7), "d": (1,)})
    assert found == {"a": [1.5, {"$float": "nan"}], "b": 0.5, "c": 7, "d": [1]}
    assert plain(np.bool_(True)) is True
    assert math.isnan(restored(found)["a"][1])


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(DataError, match="a record, key 'a' has a set; a journal takes numbers"):
        plain({"a": {1, 2}})
    with pytest.raises(DataError, match="a record has the key 1; keys must be text"):
        plain({1: 2})
    with pytest.raises(DataError, match=r"has the key '\$float'.* Rename it"):
        plain({"a": {"$float": "nan"}})
    with pytest.raises(DataError, match="has a complex"):
        plain({"a": np.array([1j])})


def test_any_flipped_byte_is_found(path):
    content = path.read_bytes()
    for i in range(len(content)):
        broken = bytearray(content)
        broken[i] ^= 1 << i % 8
        path.write_bytes(broken)
        with pytest.raises(FileError, match=r"trial.jsonl, line \d+: .* Delete the file"):
            read_journal(path)


def test_any_truncation_is_found(path):
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(FileError, match=r"trial.jsonl, line \d+: .* Delete the file"):
            read_journal(path)


def test_the_line_is_named(path):
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], lines[2].replace(b"best", b"bets"), *lines[3:]]))
    with pytest.raises(FileError, match="trial.jsonl, line 3: damaged, or not written by BERS"):
        read_journal(path)
    path.write_bytes(b"")
    with pytest.raises(FileError, match="trial.jsonl, line 1: the file is empty"):
        read_journal(path)
    path.write_bytes(b"\n".join(lines[:2]) + b"\n")
    with pytest.raises(FileError, match="trial.jsonl, line 2: the file is cut off after it"):
        read_journal(path)


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 3], [0, 1, 1, 2, 3], [0, 3], [3]])
def test_lines_that_are_swapped_lost_or_doubled_are_found(path, order):
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"".join(lines[i] + b"\n" for i in order))
    with pytest.raises(FileError, match=f"line {len(order)}: lines before it are lost or new"):
        read_journal(path)


@pytest.mark.parametrize("order", [[1, 0, 3], [0, 0, 3], [0, 3, 2, 3]])
def test_lines_out_of_place_are_found(path, order):
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"".join(lines[i] + b"\n" for i in order))
    with pytest.raises(FileError, match=r"line \d: out of place"):
        read_journal(path)


@pytest.mark.parametrize(
    "content",
    [
        b'{"seed": 3}\n',
        b"[1, 2]\n",
        b"NaN\n",
        b"1e999\n",
        b"9" * 5000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"check": 1, "line": {"a": NaN}}\n',
        b'{"check": 1, "line": {"$float": "nan"}}\n',
        b"\xff\xfe\n",
        b"\x80\x04K\x01.\n",
        b"\n",
    ],
)
def test_foreign_files_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match="line 1: damaged, or not written by BERS"):
        read_journal(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileError, match="cannot read .*none.jsonl: No such file"):
        read_journal(tmp_path / "none.jsonl")
    with pytest.raises(FileError, match="there is no folder .*none. Check the path"):
        read_journals(tmp_path / "none")


def test_a_folder_is_read_by_seed(tmp_path):
    for seed in (10, 9, 100):
        write_journal(tmp_path / f"trial-{seed}.jsonl", {"seed": seed}, [{"s": seed}])
    (tmp_path / ".trial-3.jsonl.1.tmp").write_text("half")
    assert [j.records[0]["s"] for j in read_journals(tmp_path)] == [9, 10, 100]
    write_journal(tmp_path / "other.jsonl", {}, [])
    with pytest.raises(FileError, match="other.jsonl, line 1: the header names no seed"):
        read_journals(tmp_path)


def test_nothing_is_written_if_a_record_is_bad(tmp_path):
    with pytest.raises(DataError, match="has a object"):
        write_journal(tmp_path / "a.jsonl", HEADER, [{"a": object()}])
    assert os.listdir(tmp_path) == []


def test_one_sealed_line():
    assert unseal(seal({"a": math.inf}).encode(), "here") == {"a": math.inf}
    with pytest.raises(FileError, match="here: damaged"):
        unseal(seal({"a": 1}).replace("1}", "2}").encode(), "here")
