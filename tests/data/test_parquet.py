import decimal
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_helpers import example, records, same_bits
from hypothesis import given, settings

from bers.data.demonstrations import Demonstrations
from bers.data.storage import load, save
from bers.errors import DataWarning, FileError


@given(d=records())
@settings(deadline=None, max_examples=60)
def test_round_trip_keeps_every_bit(d, tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    save(d, path, rows_per_group=2)
    assert same_bits(load(path), d)
    streamed = load(path, stream=True)
    assert (streamed.n, streamed.dim, streamed.name) == (d.n, d.dim, d.name)
    back = streamed.in_memory()
    assert back.x.tobytes() == d.x.tobytes()
    assert back.y.tobytes() == d.y.tobytes()
    assert (back.x_names, back.y_name, back.transforms) == (d.x_names, d.y_name, d.transforms)


def test_others_can_read_what_is_written(tmp_path):
    d = example()
    save(d, tmp_path / "a.parquet", rows_per_group=20)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["x0", "x1", "x2", "y", "action", "pixels"]
    assert np.array_equal(table["x1"].to_numpy(), d.x[:, 1])
    assert table.schema.field("pixels").type == pa.list_(pa.float32(), 4)
    assert pq.read_metadata(tmp_path / "a.parquet").num_row_groups == 3


def _foreign(tmp_path, columns, **options):
    pq.write_table(pa.table(columns), tmp_path / "f.parquet", row_group_size=2)
    return load(tmp_path / "f.parquet", **options)


@pytest.mark.parametrize("stream", [False, True])
def test_foreign_numbers_of_every_kind(tmp_path, stream):
    with pytest.warns(DataWarning, match=r"left out, .* columns 'who' \(text\)"):
        d = _foreign(
            tmp_path,
            {
                "whole": pa.array([1, 2, 3], pa.uint8()),
                "half": pa.array(np.array([1, 2, 3], np.float16)),
                "yes": pa.array([True, False, True]),
                "money": pa.array([decimal.Decimal("1.5")] * 3),
                "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2)),
                "list": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
                "who": pa.array(["a", "b", "c"]),
                "reward": pa.array([1.0, 2.0, 3.0], pa.float32()),
            },
            stream=stream,
        )
    if stream:
        d = d.in_memory()
    assert d.x_names == ("whole", "half", "yes", "money", "fixed.0", "fixed.1", "list.0", "list.1")
    assert d.x[1].tolist() == [2, 2, 0, 1.5, 3, 4, 3, 4]
    assert d.y.tolist() == [1, 2, 3]
    assert (d.name, d.y_name) == ("f", "reward")


def test_all_small_features_stay_small(tmp_path):
    small = pa.array([1.0, 2.0], pa.float32())
    assert _foreign(tmp_path, {"a": small, "b": small, "y": [1, 2]}).x.dtype == np.float32
    assert _foreign(tmp_path, {"a": small, "b": [1, 2], "y": [1, 2]}).x.dtype == np.float64


def test_what_was_guessed_can_be_seen(tmp_path):
    def seen(path, **options):
        both = [load(path, stream=stream, **options) for stream in (True, False)]
        found = {(d.x_names, d.y_name, d.columns_guessed) for d in [*both, both[0].in_memory()]}
        assert len(found) == 1
        return found.pop()

    _foreign(tmp_path, {"a": [1.0], "b": [[1.0, 2.0]], "cost": [2.0]})
    path = tmp_path / "f.parquet"
    assert seen(path) == (("a", "b.0", "b.1"), "cost", True)
    assert seen(path, x=["a"], y="cost") == (("a",), "cost", False)
    save(example(), tmp_path / "own.parquet")
    assert seen(tmp_path / "own.parquet") == (("x0", "x1", "x2"), "y", False)
    some = load(path).take([0]).renamed("b")
    assert some.columns_guessed
    assert pickle.loads(pickle.dumps(some)).columns_guessed


def test_payload_of_foreign_tables(tmp_path):
    columns = {"a": [1.0, 2.0], "y": [1.0, 2.0], "p": pa.array([1, 2], pa.int8()), "q": [[1], [2]]}
    d = _foreign(tmp_path, columns, x="a", payload=["p", "q", "y"])
    assert d.payload["p"].dtype == np.int8
    assert d.payload["q"].tolist() == [[1], [2]]
    save(d, tmp_path / "again.parquet")
    assert same_bits(load(tmp_path / "again.parquet"), d)
    with pytest.raises(FileError, match=r"f.parquet: there is no payload column 'z'"):
        load(tmp_path / "f.parquet", x="a", payload=["z"])


def test_no_rows_and_nulls(tmp_path):
    assert (
        _foreign(tmp_path, {"a": pa.array([], pa.float64()), "y": pa.array([], pa.int8())}).n == 0
    )
    columns = {"a": [1, None, 3], "l": [[1.0, 2.0], [1.0, 2.0], [3.0, None]], "y": [1.0, 2.0, 3.0]}
    with pytest.raises(FileError, match=r"f.parquet: column 'a': 1 of 3 values are not fin.*row 1"):
        _foreign(tmp_path, columns)
    with pytest.warns(DataWarning, match=r"f.parquet: 'f': dropped 2 of 3 rows"):
        d = _foreign(tmp_path, columns, drop_nonfinite=True)
    assert d.x.tolist() == [[1, 1, 2]]
    with pytest.warns(DataWarning, match=r"dropped 2 of 3 rows"):
        s = load(tmp_path / "f.parquet", drop_nonfinite=True, stream=True)
    assert s.n == 1
    assert s.in_memory().x.tolist() == [[1, 1, 2]]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": ["x"], "y": [1.0]}, {"x": "a"}, "column 'a' has type string, not numbers"),
        ({"a": [{"b": 1}], "y": [1.0]}, {"x": ["a"]}, "column 'a' has type struct"),
        ({"a": [1.0], "y": ["2"]}, {}, "column 'y' has type string, not one number a row"),
        ({"a": [1.0], "y": [[2.0]]}, {}, "column 'y' has type list.*not one number a row"),
        ({"a": [[[1.0]]], "y": [1.0]}, {"x": "a"}, "column 'a' has type list"),
        (
            {"a": pa.array([0], pa.timestamp("s")), "y": [1.0]},
            {"x": "a"},
            "column 'a' has type times",
        ),
        ({"a": pa.array(["u"]).dictionary_encode(), "y": [1.0]}, {"x": "a"}, "has type dictionary"),
        (
            {"a": [[1.0], [1.0, 2.0]], "y": [1.0, 2.0]},
            {},
            "column 'a' holds lists that are empty or",
        ),
        (
            {"a": [[1.0], [1.0, 2.0, 3.0]], "y": [1.0, 2.0]},
            {},
            "2 rows do not hold 2 numbers.*row 0",
        ),
        ({"a": [2**60], "y": [1.0]}, {}, "column 'a' holds integers beyond"),
        ({"a": [1.0], "b": [1.0]}, {}, "cannot tell which column is the label. It has: a, b"),
        ({"a": [1.0], "y": [1.0]}, {"max_bytes": 10, "stream": False}, "more than max_bytes = 10"),
        ({"a": [1.0], "y": [1.0]}, {"max_bytes": 10, "stream": True}, "row group 0 would take"),
    ],
)
def test_foreign_tables_that_do_not_fit(tmp_path, columns, options, message):
    with pytest.raises(FileError, match=message):
        _foreign(tmp_path, columns, **options)


def test_duplicate_columns_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["a", "a", "y"])
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(FileError, match=r"d.parquet: 2 columns are named 'a'"):
        load(tmp_path / "d.parquet")


def test_a_tiny_file_that_claims_many_rows_is_refused_before_decoding(tmp_path):
    n = 3_000_000
    table = pa.table({"a": np.zeros(n), "y": np.zeros(n)})
    pq.write_table(table, tmp_path / "z.parquet", compression="zstd", row_group_size=n)
    assert (tmp_path / "z.parquet").stat().st_size < 50_000
    with pytest.raises(FileError, match=r"z.parquet: row group 0 would take 48,000,000 bytes"):
        load(tmp_path / "z.parquet", max_bytes=40_000_000)


def test_names_with_dots_do_not_mix_with_lists(tmp_path):
    d = Demonstrations([[1.0, 2.0]], [3.0], "a", {"s": [[7, 8]]}, x_names=("s.0", "s.list.element"))
    save(d, tmp_path / "a.parquet")
    assert same_bits(load(tmp_path / "a.parquet"), d)
