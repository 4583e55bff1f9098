import io
import json
import zipfile

import numpy as np
import pytest
from data_helpers import example, records, same_bits
from hypothesis import given, settings

from bers.data.storage import load, save
from bers.errors import DataError, FileError
from bers.integrity import sealed_json


@given(d=records())
@settings(deadline=None, max_examples=60)
def test_round_trip_keeps_every_bit(d, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    save(d, path)
    assert same_bits(load(path), d)


def test_the_same_record_gives_the_same_bytes_and_numpy_can_read_them(tmp_path):
    d = example()
    save(d, tmp_path / "a.npz")
    save(d, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as stored:
        assert np.array_equal(stored["x"], d.x)
        assert np.array_equal(stored["payload/pixels"], d.payload["pixels"])


def test_name_can_be_replaced(tmp_path):
    save(example(), tmp_path / "a.npz")
    assert load(tmp_path / "a.npz", name="bob").name == "bob"


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_foreign_arrays(tmp_path, write):
    x = np.asfortranarray(np.arange(6.0).reshape(3, 2)).astype(">f8")
    write(tmp_path / "f.npz", x=x, y=np.arange(3), extra=np.arange(3, dtype=np.int8))
    d = load(tmp_path / "f.npz")
    assert d.name == "f"
    assert d.x.tolist() == x.tolist()
    assert d.x_names == ("x0", "x1")
    assert d.payload == {}
    assert load(tmp_path / "f.npz", payload=["extra"]).payload["extra"].dtype == np.int8


def test_foreign_arrays_by_name(tmp_path):
    np.savez(tmp_path / "f.npz", s=np.ones((2, 2), "f4"), a=np.zeros(2, "f4"), r=[1.0, 2.0])
    d = load(tmp_path / "f.npz", x=["s", "a"], y="r", name="me")
    assert d.x.tolist() == [[1, 1, 0], [1, 1, 0]]
    assert d.x.dtype == np.float32
    assert d.x_names == ("s.0", "s.1", "a")
    assert (d.y_name, d.name) == ("r", "me")


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"a": [1.0]}, {}, "there is no array 'x'; it has: a. Name the arrays with x="),
        ({"x": [1.0]}, {}, "there is no array 'y'; it has: x"),
        ({"x": np.ones(()), "y": [1.0]}, {}, r"array 'x' has shape \(\)"),
        ({"x": np.ones((2, 1, 1)), "y": [1.0, 2.0]}, {}, "array 'x' has shape"),
        ({"x": [1.0, 2.0], "y": [1.0]}, {}, "f.npz: x has 2 rows but y has 1"),
        (
            {"x": [1.0, np.nan], "y": [1.0, 2.0]},
            {},
            "f.npz: column 'x0': 1 of 2 values are not fin",
        ),
        ({"x": ["a"], "y": [1.0]}, {}, "f.npz: array 'x' has type <U1, not numbers"),
        ({"x": [1j], "y": [1.0]}, {}, "f.npz: array 'x' has type complex128, not numbers"),
        ({"s": [1.0], "t": [1.0, 2.0], "y": [1.0]}, {"x": ["s", "t"]}, "array 't' has shape"),
    ],
)
def test_foreign_arrays_that_do_not_fit(tmp_path, arrays, options, message):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(FileError, match=message):
        load(tmp_path / "f.npz", **options)


def test_structured_and_object_arrays_are_refused_unread(tmp_path):
    pickled = np.array([print], dtype=object)
    np.savez(tmp_path / "o.npz", x=pickled, y=[1.0])
    with pytest.raises(FileError, match=r"o.npz: array 'x' has type object, not numbers"):
        load(tmp_path / "o.npz")
    np.savez(tmp_path / "s.npz", x=np.zeros(1, [("a", "f8")]), y=[1.0])
    with pytest.raises(FileError, match=r"array 'x' has type"):
        load(tmp_path / "s.npz")


def _npy(values, header=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(values), allow_pickle=False)
    content = stream.getvalue()
    return content if header is None else content.replace(*header)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ((b"(3,)", b"(4,)"), "should hold 32 bytes after its header but has 24"),
        ((b"(3,)", b"(2,)"), "should hold 16 bytes after its header but has 24"),
        ((b"(3,)", b"(-3,)"), "f.npz"),
        ((b"<f8", b"|O8"), "f.npz"),
        ((b"(3,)", b"(9**9**9,)"), "f.npz: cannot be read"),
        ((b"\x93NUMPY\x01", b"\x93NUMPY\x03"), "has format"),
        ((b"\x93NUMPY", b"\x92NUMPY"), "f.npz: cannot be read"),
        ((b"'descr'", b"'descs'"), "f.npz: cannot be read"),
    ],
)
def test_headers_that_lie(tmp_path, header, message):
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("x.npy", _npy(np.ones(3), header))
        archive.writestr("y.npy", _npy(np.ones(3)))
    with pytest.raises(FileError, match=message):
        load(tmp_path / "f.npz")


def test_zip_bombs_and_large_files_are_refused_before_reading(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w") as member:
            np.lib.format.write_array_header_1_0(
                member, {"descr": "<f8", "fortran_order": False, "shape": (20 << 20,)}
            )
            for _ in range(160):
                member.write(bytes(1 << 20))
        archive.writestr("y.npy", _npy(np.ones(3)))
    with pytest.raises(FileError, match=r"b.npz: would grow from .* like a zip bomb"):
        load(tmp_path / "b.npz")
    with pytest.raises(
        FileError, match=r"b.npz: would take 167,\d+,\d+ bytes in memory, more than"
    ):
        load(tmp_path / "b.npz", max_bytes=10**6)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_given_twice_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        for _ in range(2):
            archive.writestr("x.npy", _npy(np.ones(3)))
    with pytest.raises(FileError, match=r"two members are named 'x.npy'"):
        load(tmp_path / "d.npz")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", "mallory", "the rows are not those that were saved"),
        ("x_names", ["a", "b"], "x has 3 columns but x_names has 2"),
        ("x_names", [1, 2, 3], "must be a string; got int"),
        ("bers", 2, "it is not of version 1"),
        ("x_dtype", "object", "'object' is not one of float32, float64"),
        ("n", -1, "'n' must be of type int"),
        ("new", 1, "key 'new' is missing or unknown"),
        ("payload", [], "the rows are not those that were saved"),
        ("payload", [{"name": "action"}], "a payload entry is incomplete"),
        ("payload", [3], "metadata in it is damaged"),
        ("transforms", [{"name": "sqr"}], "Did you mean 'sqrt'"),
        ("transforms", [{"name": "trim"}], "fitted"),
    ],
)
def test_changed_metadata_is_seen(tmp_path, key, value, message):
    save(example(), tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    stored = {**json.loads(members["bers.json"]), key: value}
    unsealed = {k: v for k, v in stored.items() if k != "seal"}
    for text, expected in [
        (json.dumps(stored), message if key == "bers" else "its SHA-256 does not match"),
        (sealed_json(unsealed), message),
    ]:
        with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
            for name, content in {**members, "bers.json": text}.items():
                archive.writestr(name, content)
        with pytest.raises(FileError, match=expected):
            load(tmp_path / "c.npz")


def test_a_missing_file_and_a_missing_folder(tmp_path):
    with pytest.raises(FileError, match=r"there is no file .*none.npz"):
        load(tmp_path / "none.npz")
    with pytest.raises(DataError, match=r"cannot write .*none/a.npz"):
        save(example(), tmp_path / "none" / "a.npz")
