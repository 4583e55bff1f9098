"""Fingerprints tell all apart; a sealed file gives back the same bits, or is refused by name."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from bers.errors import FileError
from bers.integrity import digest, file_digest, read_sealed, write_sealed

ARRAYS = {
    "x": np.array([[1.0, np.nan], [-0.0, np.inf]]),
    "few": np.arange(3, dtype=np.float32),
    "whole": np.array([-(2**62), 2**62]),
    "yes": np.array([True, False]),
    "none": np.zeros((0, 4)),
    "one": np.array(2.5),
    "bytes": np.frombuffer(b"\x00\xff\x0a", np.uint8),
}
ABOUT = {"name": 'a "<b>\n é', "nested": {"list": [1, 2.5, None, True]}, "nothing": []}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.bers"
    write_sealed(path, "example-1", ARRAYS, ABOUT)
    return path


def read(path, kind="example-1"):
    return read_sealed(path, kind, "a saved run")


def test_round_trip_is_bit_exact(path, tmp_path):
    arrays, about = read(path)
    assert about == ABOUT
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
    again = tmp_path / "again.bers"
    write_sealed(again, "example-1", arrays, about)
    assert again.read_bytes() == path.read_bytes()


def test_arrays_of_any_layout(tmp_path):
    x = np.arange(12.0).reshape(3, 4)
    for array in (x.T, x[::2], x[:, ::-1], np.asfortranarray(x)):
        write_sealed(tmp_path / "a", "example-1", {"x": array}, {})
        np.testing.assert_array_equal(read(tmp_path / "a")[0]["x"], array)


@pytest.mark.parametrize("kind", [">f8", ">i4"])
def test_arrays_of_the_other_byte_order(tmp_path, kind):
    write_sealed(tmp_path / "a", "example-1", {"x": np.arange(3).astype(kind)}, {})
    assert read(tmp_path / "a")[0]["x"].tolist() == [0, 1, 2]


def test_a_header_that_is_nested_without_end_is_refused(tmp_path):
    save_file({"w": np.zeros(3)}, tmp_path / "deep", metadata={"bers": "[" * 100_000})
    with pytest.raises(FileError, match="deep is damaged or not a saved run"):
        read(tmp_path / "deep")


def test_no_arrays_and_nothing_about_them(tmp_path):
    write_sealed(tmp_path / "a", "example-1", {}, {})
    assert read(tmp_path / "a") == ({}, {})


def test_any_flipped_byte_is_noticed(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for at in range(len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        with pytest.raises(FileError, match=r"run\.bers (is damaged|is not a saved run)"):
            read(path)


def test_a_file_that_was_cut_short_or_has_grown_is_noticed(path):
    whole = path.read_bytes()
    for broken in (*(whole[:k] for k in (0, 1, 8, 9, 100, len(whole) - 1)), whole + b"\0"):
        path.write_bytes(broken)
        with pytest.raises(FileError, match=r"run\.bers is damaged or not a saved run"):
            read(path)


def test_arrays_that_were_exchanged_are_noticed(tmp_path, path):
    """Names, types and shapes are sealed as well as the bytes."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        seal = file.metadata()
    same = {name: np.asarray(array, order="C") for name, array in ARRAYS.items()}
    changes = {
        "another name": {**{k: v for k, v in same.items() if k != "few"}, "Few": same["few"]},
        "another shape": {**same, "x": same["x"].reshape(4)},
        "another type": {**same, "few": same["few"].view(np.int32)},
        "one less": {k: v for k, v in same.items() if k != "none"},
        "one more": {**same, "more": np.zeros(0)},
    }
    save_file(same, path, metadata=seal)
    assert read(path)[1] == ABOUT
    for arrays in changes.values():
        save_file(arrays, path, metadata=seal)
        with pytest.raises(
            FileError, match="is damaged: its SHA-256 does not match. Save it again"
        ):
            read(path)


def test_files_of_another_kind_are_refused(path, tmp_path):
    with pytest.raises(
        FileError, match=r"is not a saved run \(format 'example-1', wanted 'example-2'\)"
    ):
        read(path, "example-2")
    foreign = tmp_path / "foreign"
    save_file({"w": np.zeros(3)}, foreign)
    with pytest.raises(FileError, match="foreign is not a saved run .format None"):
        read(foreign)
    for header in (
        '{"format": "example-1"}', '{"format": "example-1", "about": "{}"}', "[]", "3", "{", "",
        '{"format": "example-1", "about": 3, "sha256": "a"}',
    ):  # fmt: skip
        save_file({"w": np.zeros(3)}, foreign, metadata={"bers": header})
        with pytest.raises(FileError, match="foreign is damaged or not a saved run"):
            read(foreign)
    for content in (b"", b"not at all", b"PK\x03\x04", bytes(1000)):
        foreign.write_bytes(content)
        with pytest.raises(FileError, match="foreign is damaged or not a saved run"):
            read(foreign)


def test_a_missing_file_is_named(tmp_path):
    for nothing in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileError, match=f"there is no run file {nothing}. Check the path"):
            read(nothing)


def test_what_cannot_be_written_is_an_error_and_leaves_no_trace(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        write_sealed(tmp_path / "no" / "folder", "example-1", {}, {})
    with pytest.raises(FileError, match="cannot write .*Unknown dtype"):
        write_sealed(tmp_path / "a", "example-1", {"x": np.array(["text"])}, {})
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_sealed(tmp_path / "a", "example-1", {}, {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_survives_a_write_that_fails(path):
    with pytest.raises(FileError, match="cannot write"):
        write_sealed(path, "example-1", {"x": np.array(["text"])}, {})
    assert read(path)[1] == ABOUT


def test_numbers_that_json_does_not_know_come_back(tmp_path):
    write_sealed(tmp_path / "a", "example-1", {}, {"best": float("inf"), "last": float("nan")})
    about = read(tmp_path / "a")[1]
    assert about["best"] == np.inf
    assert np.isnan(about["last"])
    json.dumps(about)


def test_digest_tells_everything_apart():
    y = np.arange(6.0)
    same = [digest({"a": y, "b": "s"}), digest({"b": "s", "a": y.copy()})]
    assert len(set(same)) == 1
    others = [
        {"a": y, "b": "t"}, {"a": y.astype("f4"), "b": "s"}, {"a": y.reshape(2, 3), "b": "s"},
        {"a": y[::-1], "b": "s"}, {"c": y, "b": "s"}, {"a": y}, {"a": "s", "b": y},
    ]  # fmt: skip
    assert len({same[0], *(digest(o) for o in others)}) == 8
    assert digest({"ab": "c"}) != digest({"a": "bc"})


def test_file_digest_is_sha256(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_digest(tmp_path / "a").startswith("ba7816bf8f01cfea")
