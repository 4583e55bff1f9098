"""Tables as people have them: matched by name, text as columns of 0 and 1, or one sentence."""

import datetime
import time
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bers
from bers.data.demonstrations import Demonstrations
from bers.data.given import as_inputs, as_rows, as_source, as_sources
from bers.data.shards import Shards
from bers.errors import DataError, DataWarning
from bers.optimise.inputs import as_sources as past_runs

N = 40
_RNG = np.random.default_rng(0)
COLUMNS = {
    "speed": _RNG.normal(size=N),
    "load": _RNG.integers(-5, 5, N),
    "heat": _RNG.normal(size=N) * 1e-3,
    "reward": _RNG.normal(size=N),
}
X = np.column_stack([COLUMNS[name] for name in ("speed", "load", "heat")])
SHUFFLED = ["heat", "reward", "load", "speed"]
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": lambda columns: pl.DataFrame(columns).lazy(),
    "arrow": pa.table,
}
makers = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def shuffled(columns=COLUMNS, order=SHUFFLED):
    return {name: columns[name] for name in order}


def same(one, other):
    assert one.x_names == other.x_names
    assert one.x.dtype == other.x.dtype
    assert one.x.tobytes() == other.x.tobytes()
    assert one.y.tobytes() == other.y.tobytes()


# names


@makers
def test_shuffled_columns_give_the_same_bits(make):
    plain = Demonstrations(X, COLUMNS["reward"], "plain", x_names=("speed", "load", "heat"))
    (first, second), target = as_sources([make(COLUMNS), make(shuffled())], make(shuffled()))
    for one in (first, second, target):
        same(one, plain)
    assert (first.name, second.name, target.name) == ("source 0", "source 1", "target")
    assert first.y_name == "reward"
    assert first.columns_guessed


@makers
def test_what_has_names_is_fitted_to_the_first(make, tmp_path):
    plain = Demonstrations(X, COLUMNS["reward"], "plain", x_names=("speed", "load", "heat"))
    other = Demonstrations(
        X[:, ::-1], COLUMNS["reward"], "other", {"row": np.arange(N)},
        x_names=("heat", "load", "speed"),
    )  # fmt: skip
    bers.save(other, tmp_path / "other.parquet", rows_per_group=7)
    pd.DataFrame(shuffled()).to_csv(tmp_path / "table.csv", index=False)
    pq.write_table(pa.table(shuffled()), tmp_path / "table.parquet")
    stream = bers.load(tmp_path / "other.parquet", stream=True)
    assert isinstance(stream, Shards)
    given = [plain, make(shuffled()), other, stream, tmp_path / "other.parquet",
             str(tmp_path / "table.csv"), [tmp_path / "table.parquet"]]  # fmt: skip
    made, none = as_sources(given)
    assert none is None
    assert made[0] is plain
    assert [one.name for one in made[2:]] == ["other", "other", "other", "table", "table"]
    assert isinstance(made[3], Shards)
    same(made[3].in_memory(), plain)
    for one in (*made[1:3], *made[4:]):
        same(one, plain)
    assert made[2].payload["row"].tolist() == list(range(N))


def test_what_needs_no_change_is_the_same_object(tmp_path):
    a = Demonstrations(X, X[:, 0], "a")
    b = Demonstrations(X, X[:, 0], "b", x_names=("p", "q", "r"))
    bers.save(b, tmp_path / "b.parquet")
    stream = bers.load(tmp_path / "b.parquet", stream=True)
    made, target = as_sources([a, b, stream], b)
    assert made[0] is a
    assert made[1] is b
    assert made[2] is stream
    assert target is b


def test_arrays_are_matched_by_position():
    frame = pd.DataFrame(COLUMNS)
    (one, two, three), _ = as_sources([(X, X[:, 0]), frame, pd.DataFrame(shuffled())])
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(three.x, two.x)
    assert one.x_names == ("x0", "x1", "x2")
    assert two.x_names == ("speed", "load", "heat")


def test_a_frame_with_names_like_those_of_arrays_is_matched_by_name():
    frame = pd.DataFrame({"x1": [1.0, 2.0], "x0": [3.0, 4.0], "y": [0.0, 0.0]})
    (one, two, three), _ = as_sources([frame, frame[["x0", "x1", "y"]], ([[3, 1], [4, 2]], [0, 0])])
    for other in (two, three):
        same(other, one)
    with pytest.raises(DataError, match="'source 1' lacks 'a', and 'source 0' lacks 'x1'"):
        as_sources([frame.rename(columns={"x1": "a"}), frame])


def test_a_mapping_names_the_sources(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "log.csv", index=False)
    plain = Demonstrations(X, X[:, 0], "plain", x_names=("speed", "load", "heat"))
    given = {"ann": frame, "bob": tmp_path / "log.csv", "cid": plain, "dan": (X, X[:, 0])}
    made, target = as_sources(given, (frame, "reward"))
    assert [one.name for one in made] == list(given)
    assert target.name == "target"
    with pytest.raises(DataError, match="names of sources must be text; got 3"):
        as_sources({3: frame})


@pytest.mark.parametrize("labels", [np.asarray, list, pd.Series, pl.Series, pa.chunked_array])
@pytest.mark.parametrize("inputs", [pd.DataFrame, pl.DataFrame, pa.table])
def test_labels_beside_a_frame(inputs, labels):
    frame = inputs({name: COLUMNS[name] for name in ("load", "speed")})
    y = labels([COLUMNS["reward"]] if labels is pa.chunked_array else COLUMNS["reward"])
    made = as_source((frame, y), name="ann")
    np.testing.assert_array_equal(made.x, X[:, [1, 0]])
    np.testing.assert_array_equal(made.y, COLUMNS["reward"])
    assert made.x_names == ("load", "speed")
    assert not made.columns_guessed
    same(Demonstrations(frame, y, "ann"), made)


def test_the_label_is_named_or_guessed_as_in_files():
    frame = pd.DataFrame({"a": [1.0], "pay": [2.0], "Cost": [3.0]})
    assert as_source(frame).y_name == "Cost"
    assert as_source(frame, y="pay").x_names == ("a", "Cost")
    assert as_source((frame, "a")).y.tolist() == [1.0]
    made, target = as_sources([(frame, "pay")], frame)  # called as the sources' is
    assert (made[0].y_name, target.y_name) == ("pay", "pay")
    two = pd.DataFrame({"a": [1.0], "y": [2.0], "reward": [3.0]})
    with pytest.raises(DataError, match=r"'source 0': each of the columns y, reward may be the"):
        as_sources([two])
    run = pd.DataFrame({"a": [1.0, 2.0], "reward": [5.0, 6.0]})
    with pytest.raises(DataError, match="columns differ: 'source 0' lacks 'y'"):
        as_sources([run], two)  # called as the sources' is, so that y is an input
    _, target = as_sources([run], two, x="a")
    assert (target.x_names, target.y.tolist()) == (("a",), [3.0])
    bare = frame[["a", "pay"]]
    with pytest.raises(DataError, match=r"'source 0': cannot tell which .* has: a, pay. Name the"):
        as_sources([bare])
    with pytest.raises(DataError, match="no column 'wage' for the label; it has: a, pay. Name"):
        as_sources([bare], y="wage")
    with pytest.raises(DataError, match="'source 0': there is no column but the label 'pay'"):
        as_sources([(bare[["pay"]], "pay")])
    with pytest.raises(DataError, match="column 'pay' is the label and an input. Leave it out"):
        as_sources([(bare, bare["pay"])])
    with pytest.raises(DataError, match="column 'pay' is the label and an input. Leave it out"):
        Demonstrations(bare, bare["pay"], "ann")


def test_columns_that_only_some_have_are_refused_by_name():
    ann, bob = pd.DataFrame(COLUMNS), pd.DataFrame(COLUMNS).rename(columns={"heat": "rain"})
    said = r"columns differ: 'bob' lacks 'heat', and 'ann' lacks 'rain'. Rename .* x=\[\.\.\.\]"
    with pytest.raises(DataError, match=said):
        as_sources({"ann": ann, "bob": bob})
    with pytest.raises(DataError, match="columns differ: 'ann' lacks 'more'. Rename"):
        as_sources({"bob": ann.assign(more=1), "ann": ann})
    with pytest.raises(DataError, match="columns differ: 'target' lacks 'heat', and 'ann'"):
        as_sources({"ann": ann}, bob)
    made, target = as_sources({"ann": ann, "bob": bob}, bob, x=["speed", "load"])
    for one in (*made, target):
        assert one.x_names == ("speed", "load")
        np.testing.assert_array_equal(one.x, X[:, :2])
    with pytest.raises(DataError, match=r"'bob' has no column 'heat'; it has: speed, load, rain"):
        as_sources({"ann": ann, "bob": bob}, x=["speed", "heat"])


def test_named_columns_of_sources_that_are_there_are_picked(tmp_path):
    plain = Demonstrations(X, X[:, 0], "plain", x_names=("speed", "load", "heat"))
    bers.save(plain, tmp_path / "plain.parquet")
    stream = bers.load(tmp_path / "plain.parquet", stream=True)
    made, _ = as_sources([plain, stream, pd.DataFrame(COLUMNS)], x=["heat", "speed"])
    for one in (made[0], made[1].in_memory(), made[2]):
        np.testing.assert_array_equal(one.x, X[:, [2, 0]])
        assert one.x_names == ("heat", "speed")
    only, _ = as_sources([plain], x="load")
    np.testing.assert_array_equal(only[0].x, X[:, [1]])
    with pytest.raises(DataError, match="has no column 'sped'; .* Did you mean 'speed'"):
        as_sources([plain], x=["sped"])


def test_counts_of_columns_without_names_must_agree():
    with pytest.raises(DataError, match=r"same inputs; 'a' has 3 \(x0, x1, x2\), 'b' has 2"):
        as_sources({"a": (X, X[:, 0]), "b": (X[:, :2], X[:, 0])})
    with pytest.raises(DataError, match=r"the target has 2 \(x0, x1\) inputs, the sources have 3"):
        as_sources({"a": pd.DataFrame(COLUMNS)}, (X[:, :2], X[:, 0]))


class Stream:
    """A source of somebody's own."""

    def __init__(self, d, **more):
        self._d = d
        self.name, self.n, self.dim = d.name, d.n, d.dim
        self.blocks, self.parts, self.draw, self.split = d.blocks, d.parts, d.draw, d.split
        self.__dict__ |= more


def test_sources_of_ones_own():
    plain = Demonstrations(X, X[:, 0], "plain", x_names=("speed", "load", "heat"))
    nameless, named = Stream(plain), Stream(plain, x_names=("heat", "load", "speed"))
    made, _ = as_sources([plain, nameless])
    assert made[1] is nameless
    with pytest.raises(DataError, match="no select.columns.. Give them in this order: speed, load"):
        as_sources([plain, named])
    named.select = lambda names: plain.select(names)
    assert as_sources([plain, named])[0][1].x_names == plain.x_names


def test_what_is_no_source_is_one_sentence(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    for given in ([], {}, None, 5, "a.csv", frame, Demonstrations(X, X[:, 0], "a")):
        with pytest.raises(DataError, match="must be a list of at least one source; got "):
            as_sources(given)
    for given in (5, X, (X,), ("a.csv", X), [X, X]):
        with pytest.raises(DataError, match=r"source 0 must be Demonstrations or .* or a pair \(x"):
            as_sources([given])
    with pytest.raises(DataError, match="there is no file .*nowhere.csv"):
        as_sources([tmp_path / "nowhere.csv"])


# text and categories


def test_categories_with_other_levels_elsewhere():
    ann = pd.DataFrame({"gear": ["low", "high"], "a": [1.0, 2.0], "y": [0.0, 1.0]})
    bob = pl.DataFrame({"y": [2.0], "a": [3.0], "gear": ["off"]})
    new = pd.DataFrame({"a": [4.0], "gear": pd.Categorical(["low"], ["x", "low"]), "y": [3.0]})
    (one, two), three = as_sources([ann, bob], new)
    assert one.x_names == ("gear=high", "gear=low", "gear=off", "a")
    assert one.x.tolist() == [[0, 1, 0, 1], [1, 0, 0, 2]]
    assert two.x.tolist() == [[0, 0, 1, 3]]
    assert three.x.tolist() == [[0, 1, 0, 4]]  # levels that no row has do not count
    assert two.x_names == three.x_names == one.x_names


@pytest.mark.parametrize(
    "gear",
    [
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string"),
        pl.Series(["b", "a", "b"], dtype=pl.Categorical),
        pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "c", "a"])),
        pa.chunked_array([["b"], ["a", "b"]]).dictionary_encode(),
        pa.chunked_array([["b"], ["a", "b"]], pa.string_view()),
    ],
    ids=str,
)
def test_text_of_every_kind(gear):
    library = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    make = library[type(gear).__module__.split(".")[0]]
    made = as_source(make({"gear": gear, "y": [1.0, 2.0, 3.0]}))
    assert made.x_names == ("gear=a", "gear=b")
    assert made.x.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_categories_that_are_numbers_and_truth():
    frame = pd.DataFrame({"day": pd.Categorical([2, 1]), "on": [True, False], "y": [0, 1]})
    made = as_source(frame)
    assert made.x_names == ("day=1", "day=2", "on")
    assert made.x.tolist() == [[0, 1, 1], [1, 0, 0]]


def test_a_file_gives_text_where_a_frame_beside_it_has_it(tmp_path):
    rows = {"gear": ["low", "off"], "a": [1.0, 2.0], "note": ["p", "q"], "y": [0.0, 1.0]}
    pd.DataFrame(rows).to_csv(tmp_path / "log.csv", index=False)
    pq.write_table(pa.table(shuffled(rows, ["y", "note", "a", "gear"])), tmp_path / "log.parquet")
    frame = pd.DataFrame({"a": [5.0], "gear": ["high"], "y": [3.0]})
    files = [tmp_path / "log.csv", tmp_path / "log.parquet"]
    with pytest.warns(DataWarning, match=r"left out, .* columns 'note' \(text\)\. Text"):
        (text, rows, one), _ = as_sources([*files, frame])
    assert one.x_names == text.x_names == rows.x_names == ("a", "gear=high", "gear=low", "gear=off")
    assert text.x.tolist() == rows.x.tolist() == [[1, 0, 1, 0], [2, 0, 0, 1]]
    assert one.x.tolist() == [[5, 1, 0, 0]]
    with pytest.warns(DataWarning, match=r"columns 'gear' \(text\), 'note' \(text\)"):
        alone, _ = as_sources(files[:1])
    with pytest.warns(DataWarning, match=r"columns 'gear' \(text\), 'note' \(text\)"):
        same(alone[0], bers.load(files[0]))  # as ever: numbers only
    chosen, _ = as_sources(files, x=["note", "a"])
    for one in chosen:
        assert one.x_names == ("note=p", "note=q", "a")
        assert one.x.tolist() == [[1, 0, 1], [0, 1, 2]]


def test_text_beside_a_record_that_was_made_before():
    frame = pd.DataFrame({"gear": ["low", "high"], "a": [1.0, 2.0], "y": [0.0, 1.0]})
    before = as_source(frame, name="before")
    made, target = as_sources([before], frame[frame.gear == "low"])
    assert made[0] is before
    assert target.x_names == before.x_names
    assert target.x.tolist() == [[0, 1, 1]]
    with pytest.raises(DataError, match="columns differ: 'before' lacks 'gear=off'. Rename"):
        as_sources([before], frame.assign(gear="off"))
    with pytest.raises(DataError, match="columns differ: 'target' lacks 'gear'. Rename"):
        as_sources([before], frame[["a", "y"]])


def test_text_that_cannot_be_used_is_refused_by_name():
    many = pd.DataFrame({"who": [f"p{i}" for i in range(51)], "y": np.zeros(51)})
    said = r"column 'who' holds 51 different texts \('p0', 'p1', 'p10', ...\); at most 50 become"
    with pytest.raises(DataError, match=said):
        as_sources([many[:25], many[25:]])
    assert as_source(many[:50]).dim == 50
    frame = pd.DataFrame({"gear": ["low"], "a": [1.0], "y": [0.0]})
    said = "column 'gear' holds text in 'ann' and numbers in 'bob'. Make them alike"
    with pytest.raises(DataError, match=said):
        as_sources({"ann": frame, "bob": frame.assign(gear=1)})
    with pytest.raises(DataError, match="two columns are named 'gear=low'. Rename one"):
        as_sources([frame.assign(**{"gear=low": 1.0})])
    with pytest.raises(DataError, match="'ann': the label 'y' has type large_string, not one numb"):
        as_sources({"ann": frame.assign(y="p")})
    with pytest.raises(DataError, match="'ann': column 'gear' has type large_s.*bers.as_sources"):
        Demonstrations(frame[["gear"]], frame["y"], "ann")


@makers
def test_dates_are_refused_by_name(make):
    for when in (datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1), datetime.timedelta(1)):
        frame = make({"a": [1.0, 2.0], "when": [when, when], "y": [0.0, 1.0]})
        with pytest.raises(DataError, match=r"'source 0': column 'when' holds dates or times \("):
            as_sources([frame])
        assert as_source(frame, x=["a"]).x_names == ("a",)


def test_other_types_are_refused_by_name():
    for odd in ([{"p": 1}, {"p": 2}], [b"p", b"q"], [1, "p"], [1j, 2j]):
        frame = pd.DataFrame({"a": [1.0, 2.0], "odd": odd, "y": [0.0, 1.0]})
        with pytest.raises(DataError, match="'source 0': column 'odd' h.* or leave it out"):
            as_sources([frame])


# numbers


def test_numbers_of_every_kind():
    frame = pd.DataFrame(
        {
            "whole": np.array([1, 2], np.int8),
            "nullable": pd.array([3, 4], dtype="Int64"),
            "small": np.array([0.1, 0.2], np.float32),
            "decimal": [Decimal("1.25"), Decimal("-2.5")],
            "truth": [True, False],
            "maybe": pd.array([True, False], dtype="boolean"),
            "sparse": pd.arrays.SparseArray([0.0, 7.0]),
            "arrow": pd.array([5, 6], dtype="int32[pyarrow]"),
            "y": [0, 1],
        },
        index=[7, 7],
    )
    expected = [
        [1, 3, np.float32(0.1), 1.25, 1, 1, 0, 5],
        [2, 4, np.float32(0.2), -2.5, 0, 0, 7, 6],
    ]
    made = as_source(frame)
    np.testing.assert_array_equal(made.x, np.array(expected, np.float64))
    assert made.x.dtype == np.float64
    named = pl.DataFrame({"a": [Decimal("1.5")], "b": [3], "y": [True]})
    assert as_source(named).x.tolist() == [[1.5, 3.0]]
    assert as_source(named).y.tolist() == [1.0]
    huge = pd.DataFrame({"a": [2**60], "y": [0.0]})
    with pytest.raises(DataError, match="'source 0': column 'a' holds integers beyond"):
        as_sources([huge])


@makers
def test_small_floats_stay_small(make):
    frame = make({"a": np.array([0.1], np.float32), "gear": ["p"], "y": np.array([0.3])})
    made = as_source(frame)
    assert made.x.dtype == np.float32
    assert made.x.tolist() == [[np.float32(0.1), 1.0]]


def test_lists_in_a_column_are_spread():
    frame = pl.DataFrame({"s": [[1.0, 2.0], [3.0, 4.0]], "a": [5, 6], "y": [0, 1]})
    made = as_source(frame)
    assert made.x_names == ("s.0", "s.1", "a")
    assert made.x.tolist() == [[1, 2, 5], [3, 4, 6]]
    chosen, _ = as_sources([frame, made], x=["a", "s"])
    for one in chosen:
        assert one.x.tolist() == [[5, 1, 2], [6, 3, 4]]
    ragged = pl.DataFrame({"s": [[1.0, 2.0], [3.0]], "y": [0, 1]})
    with pytest.raises(DataError, match="'source 0': column 's': 1 rows do not hold 2 numbers"):
        as_sources([ragged])


# missing values


@makers
def test_missing_numbers_are_refused_or_dropped(make):
    frame = make({"a": [1.0, None, 3.0, None], "b": [1, 2, 3, 4], "y": [0.0, 1.0, 2.0, 3.0]})
    said = (
        r"'ann': column 'a': 2 of 4 values are not finite .*, the first in row 1. Repair the rows, "
        r"or drop them: bers.as_sources\(\.\.\., drop_nonfinite=True\)"
    )
    with pytest.raises(DataError, match=said):
        as_sources({"ann": frame})
    with pytest.warns(DataWarning, match="dropped 2 of 4 rows"):
        made = as_source(frame, drop_nonfinite=True)
    assert made.x.tolist() == [[1.0, 1.0], [3.0, 3.0]]
    assert made.y.tolist() == [0.0, 2.0]


@makers
def test_missing_text_is_refused_or_dropped(make):
    frame = make({"gear": ["p", "q", None], "b": [1, 2, 3], "y": [0.0, 1.0, 2.0]})
    with pytest.raises(DataError, match="column 'gear': 1 of 3 values are missing, the first in r"):
        as_sources([frame])
    with pytest.warns(DataWarning, match="dropped 1 of 3 rows"):
        made = as_source(frame, drop_nonfinite=True)
    assert made.x.tolist() == [[1, 0, 1], [0, 1, 2]]


def test_missing_labels_and_text_in_files(tmp_path):
    (tmp_path / "log.csv").write_text("gear,a,y\nlow,1,2\n,3,4\nhigh,5,\n")
    frame = pd.DataFrame({"gear": ["low"], "a": [1.0], "y": [0.0]})
    with pytest.raises(DataError, match="log.csv: column 'gear': 1 of 3 values are missing, the"):
        as_sources([frame, tmp_path / "log.csv"])
    with pytest.warns(DataWarning, match="'log': dropped 2 of 3 rows"):
        made, _ = as_sources([frame, tmp_path / "log.csv"], drop_nonfinite=True)
    assert made[1].x.tolist() == [[0, 1, 1]]
    with pytest.raises(DataError, match="'source 0': column 'y': 1 of 1 values are not finite"):
        as_sources([frame.assign(y=np.nan)])


# odd frames


def test_names_given_twice_are_refused():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "y"])
    with pytest.raises(DataError, match="'source 0': more than one column is named 'a'. Rename"):
        as_sources([frame])
    alike = pd.DataFrame([[1.0, 2.0, 3.0]], columns=[1, "1", "y"])
    with pytest.raises(DataError, match="'source 0': 2 columns are named '1'. Rename one"):
        as_sources([alike])
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "a", "y"])
    with pytest.raises(DataError, match="named 'a'. Rename one"):
        as_sources([table])


def test_the_index_is_ignored():
    frame = pd.DataFrame(COLUMNS)
    mixed = frame.set_index(np.arange(N)[::-1])
    labels = mixed["reward"].set_axis(np.arange(N))
    same(as_source((mixed.drop(columns="reward"), labels)), as_source(frame))
    assert as_source(frame.set_index("speed")).x_names == ("load", "heat")


def test_names_that_are_numbers_become_text():
    frame = pd.DataFrame(X)
    made = as_source((frame, X[:, 0]))
    assert made.x_names == ("0", "1", "2")
    np.testing.assert_array_equal(made.x, X)


@makers
def test_frames_without_rows(make):
    none = make({"a": np.zeros(0), "gear": np.zeros(0, str), "y": np.zeros(0)})
    some = make({"gear": ["p"], "a": [1.0], "y": [2.0]})
    made, _ = as_sources([none, some])
    assert made[0].n == 0
    assert made[0].x.shape == (0, 2)
    assert made[0].x_names == made[1].x_names == ("a", "gear=p")


def test_frames_without_rows_or_types_or_columns(tmp_path):
    none = pd.DataFrame(columns=["gear", "a", "y"])
    some = pd.DataFrame({"a": [1.0], "y": [2.0], "gear": ["p"]})
    (tmp_path / "none.csv").write_text("y,gear,a\n")
    made, _ = as_sources([some, none, tmp_path / "none.csv"])
    assert [one.n for one in made] == [1, 0, 0]
    assert {one.x_names for one in made} == {("a", "gear=p")}
    same(as_source(tmp_path / "none.csv"), bers.load(tmp_path / "none.csv"))
    assert as_source(none).x_names == ("gear", "a")
    with pytest.raises(DataError, match="'source 0': the frame has no columns. Give it inputs"):
        as_sources([pd.DataFrame()])
    with pytest.raises(DataError, match="x has 1 rows but y has 2. Give one label a row"):
        as_sources([(some[["a"]], [1.0, 2.0])])


def test_a_table_of_many_rows_is_quick():
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(50)]
    x = rng.normal(size=(100_000, 50))
    frame = pd.DataFrame(x, columns=names).assign(y=x[:, 0])
    as_source(frame[:10])  # imports
    for given in (frame, pl.from_pandas(frame)):
        started = time.perf_counter()
        made = as_source(given)
        assert time.perf_counter() - started < 1.0
        np.testing.assert_array_equal(made.x, x)


# files are as `load` has them


def test_a_file_is_what_load_makes_of_it(tmp_path):
    rows = shuffled() | {"flag": COLUMNS["load"] > 0}
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(pa.table(rows), tmp_path / "t.parquet", row_group_size=9)
    np.savez(tmp_path / "t.npz", x=X, y=COLUMNS["reward"])
    for file in ("t.csv", "t.parquet", "t.npz"):
        expected, made = bers.load(tmp_path / file), as_source(tmp_path / file)
        same(made, expected)
        assert made.name == expected.name
        assert made.y_name == expected.y_name
        assert made.columns_guessed == expected.columns_guessed
        assert made.digest == expected.digest
    mapped = Demonstrations(X, COLUMNS["reward"], "own", x_names=("speed", "load", "heat"))
    mapped = mapped.transformed(bers.transforms.Standardise())
    for file in ("own.csv", "own.parquet", "own.npz"):
        bers.save(mapped, tmp_path / file)
        for y in (None, "y"):
            made = as_source(tmp_path / file, y=y)
            assert made.transforms == mapped.transforms
            assert made.digest == mapped.digest
    plain = as_source(tmp_path / "own.csv", y="heat")
    np.testing.assert_array_equal(plain.y, X[:, 2])
    assert plain.transforms == ()


def test_a_damaged_file_of_our_own_is_not_read_as_a_plain_table(tmp_path):
    bers.save(Demonstrations(X, X[:, 0], "own"), tmp_path / "own.parquet")
    rows = pq.read_table(tmp_path / "own.parquet")
    pq.write_table(rows.replace_schema_metadata(None), tmp_path / "bare.parquet")
    with pytest.raises(DataError, match="was written by BERS, but its metadata are lost"):
        as_sources([tmp_path / "bare.parquet"])


def test_files_of_one_source_may_have_other_orders_of_columns(tmp_path):
    rows = pa.table(COLUMNS)
    pq.write_table(rows.slice(0, 25), tmp_path / "1.parquet")
    pq.write_table(rows.slice(25).select(SHUFFLED), tmp_path / "2.parquet")
    expected = as_source(pd.DataFrame(COLUMNS))
    same(as_source(tmp_path), expected)
    same(as_source([tmp_path / "1.parquet", str(tmp_path / "2.parquet")]), expected)
    same(bers.load(tmp_path), expected)
    stream = bers.load(tmp_path, stream=True)
    same(stream.in_memory(), expected)
    assert stream.columns_guessed


# selecting


def test_select_takes_columns_by_name(tmp_path):
    d = Demonstrations(X, X[:, 0], "d", {"row": np.arange(N)}, x_names=("p", "q", "r"))
    bers.save(d, tmp_path / "d.parquet", rows_per_group=11)
    stream = bers.load(tmp_path / "d.parquet", stream=True)
    for one in (
        d.select(["r", "p"]),
        stream.select(["q", "r", "p"]).select(["r", "p"]).in_memory(),
    ):
        assert one.x_names == ("r", "p")
        np.testing.assert_array_equal(one.x, X[:, [2, 0]])
        np.testing.assert_array_equal(one.y, d.y)
    assert d.select(["r", "p"]).payload["row"].tolist() == list(range(N))
    assert not d.select("q").x.flags.writeable
    for one in (d, stream):
        with pytest.raises(DataError, match="'d' has no column 's'; it has: p, q, r"):
            one.select(["p", "s"])
        with pytest.raises(DataError, match="column 'p' is named twice"):
            one.select(["p", "q", "p"])
        with pytest.raises(DataError, match="no column was named"):
            one.select([])
    assert stream.select(["p", "q", "r"]).in_memory().digest == stream.in_memory().digest
    assert stream.select(["q", "p"]).digest != stream.select(["p", "q"]).digest


def test_selected_shards_do_all_that_shards_do(tmp_path):
    d = Demonstrations(X, X[:, 0], "d", x_names=("p", "q", "r"))
    bers.save(d, tmp_path / "d.parquet", rows_per_group=11)
    picked = bers.load(tmp_path / "d.parquet", stream=True).select(["r", "p"])
    here = d.select(["r", "p"])
    ours = picked.draw(np.random.default_rng(1), 3, 8)
    theirs = here.draw(np.random.default_rng(1), 3, 8)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.concatenate([x for x, _ in picked.blocks(7)]), here.x)
    np.testing.assert_array_equal(
        np.concatenate([x for part in picked.parts() for x, _ in part.blocks()]), here.x
    )
    mapped = picked.transformed(bers.transforms.Standardise())
    np.testing.assert_array_equal(mapped.in_memory().x, here.x)
    kept, out = picked.split(np.random.default_rng(0), 0.5)
    assert kept.x_names == out.x_names == ("r", "p")
    bers.save(picked, tmp_path / "picked.parquet")
    same(bers.load(tmp_path / "picked.parquet"), here)


def test_a_column_that_was_left_out_may_be_bad(tmp_path):
    rows = {"a": [1.0, None, 3.0], "b": [4.0, 5.0, 6.0], "y": [0.0, 1.0, 2.0]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    stream = bers.load(tmp_path / "t.parquet", stream=True)
    assert stream.select("b").in_memory().x.tolist() == [[4.0], [5.0], [6.0]]
    with pytest.raises(DataError, match="column 'a': 1 of 3 values"):
        stream.select(["b", "a"]).in_memory()
    with pytest.warns(DataWarning, match="dropped 1 of 3"):
        dropped = bers.load(tmp_path / "t.parquet", stream=True, drop_nonfinite=True)
    assert dropped.select("b").in_memory().x.tolist() == [[4.0], [6.0]]


def test_demonstrations_keep_the_names_of_a_frame():
    frame = pd.DataFrame(COLUMNS)
    x = frame[["speed", "load", "heat"]]
    assert Demonstrations(x, frame["reward"], "d").y_name == "reward"
    assert Demonstrations(x, frame["reward"], "d", y_name="pay").y_name == "pay"
    assert Demonstrations(X, frame["reward"], "d").x_names == ("x0", "x1", "x2")
    one = Demonstrations(x, frame[["reward"]], "d")
    assert (one.x_names, one.y_name) == (("speed", "load", "heat"), "reward")
    turned = Demonstrations(x, frame["reward"], "d", x_names=("heat", "load", "speed"))
    np.testing.assert_array_equal(turned.x, X[:, ::-1])
    renamed = Demonstrations(x, frame["reward"], "d", x_names=("p", "q", "r"))
    np.testing.assert_array_equal(renamed.x, X)
    with pytest.raises(DataError, match="'d': the labels have 2 columns .speed, load.. Give one"):
        Demonstrations(X, frame[["speed", "load"]], "d")
    frame = frame.assign(load=np.where(np.arange(N) == 3, 1e200, 1.0))
    with pytest.raises(DataError, match="column 'load': 1 of 40 values are beyond"):
        Demonstrations(frame[["speed", "load"]], frame["reward"], "d")


# rows for sources that are there


@makers
def test_rows_of_a_frame_are_matched_by_name(make, tmp_path):
    sources, _ = as_sources([(X, X[:, 0]), pd.DataFrame(COLUMNS)])
    rows = make(shuffled() | {"more": np.ones(N)})
    pd.DataFrame(shuffled() | {"more": np.ones(N)}).to_csv(tmp_path / "new.csv", index=False)
    inputs = make({name: COLUMNS[name] for name in ("heat", "load", "speed")})
    y = COLUMNS["reward"]
    for given in (
        (rows,), (rows, "reward"), ((rows, "reward"),), (inputs, y), (inputs, pd.Series(y)),
        ((inputs, pl.Series(y)),), (tmp_path / "new.csv",), (str(tmp_path / "new.csv"), "reward"),
        (X, pd.Series(y)), ((X, y),),
    ):  # fmt: skip
        found_x, found_y = as_rows(*given, like=sources)
        np.testing.assert_array_equal(found_x, X)
        np.testing.assert_array_equal(found_y, y)
    np.testing.assert_array_equal(as_inputs(rows, ("speed", "load", "heat")), X)
    np.testing.assert_array_equal(as_inputs(X, ("speed", "load", "heat")), X)


def test_rows_of_sources_stay_sources(tmp_path):
    sources, _ = as_sources([pd.DataFrame(COLUMNS)])
    new = as_source(pd.DataFrame(shuffled()), name="new")
    bers.save(new, tmp_path / "new.parquet")
    for given in (new, bers.load(tmp_path / "new.parquet", stream=True), tmp_path / "new.parquet"):
        found, none = as_rows(given, like=sources)
        assert none is None
        assert found.x_names == ("speed", "load", "heat")
        assert found.name == "new"
    assert as_rows(sources[0], like=sources)[0] is sources[0]
    with pytest.raises(DataError, match="columns differ: 'narrow' lacks 'load'. Rename"):
        as_rows(new.select(["speed", "heat"]).renamed("narrow"), like=sources)
    with pytest.raises(DataError, match=r"the target has 2 \(x0, x1\) inputs, the sources have 3"):
        as_rows(Demonstrations(X[:, :2], X[:, 0], "n"), like=sources)
    assert as_rows(X, like=sources) == (X, None)


def test_rows_with_text_and_failed_labels():
    frame = pd.DataFrame({"gear": ["low", "high"], "a": [1.0, 2.0], "y": [0.0, 1.0]})
    sources, _ = as_sources([frame])
    x, y = as_rows(frame.assign(y=[np.nan, 5.0])[["y", "a", "gear"]], like=sources)
    assert x.tolist() == [[0, 1, 1], [1, 0, 2]]
    np.testing.assert_array_equal(y, [np.nan, 5.0])
    with pytest.raises(DataError, match="column 'gear' holds 'off' in row 0, which no source has"):
        as_rows(frame.assign(gear="off"), like=sources)
    with pytest.raises(DataError, match="'target' lacks the column 'gear=high', 'gear=low'; it h"):
        as_rows(frame[["a", "y"]], like=sources)
    with pytest.raises(DataError, match="column 'gear': 1 of 2 values are missing, .* leave them"):
        as_rows(frame.assign(gear=["low", None]), like=sources)
    with pytest.raises(DataError, match="column 'a': 1 of 2 values are not finite .* leave them"):
        as_rows(frame.assign(a=[np.nan, 1.0]), like=sources)
    with pytest.raises(DataError, match="'target': column 'a' holds text, the sources' holds num"):
        as_rows(frame.assign(a="p"), like=sources)
    with pytest.raises(DataError, match="'target': cannot tell which column is the label"):
        as_rows(frame.rename(columns={"y": "pay"}), like=sources)


def test_rows_of_frames_for_sources_without_names():
    sources = [Demonstrations(X, X[:, 0], "plain")]
    x, y = as_rows(pd.DataFrame(COLUMNS), like=sources)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, COLUMNS["reward"])
    turned = pd.DataFrame({"x2": X[:, 2], "x0": X[:, 0], "y": X[:, 0], "x1": X[:, 1]})
    np.testing.assert_array_equal(as_rows(turned, like=sources)[0], X)
    with pytest.raises(DataError, match="the sources have 3 columns of numbers without names"):
        as_rows(pd.DataFrame(COLUMNS).drop(columns="heat"), like=sources)


# past runs of an optimiser


def test_past_runs_of_frames_and_files_agree_with_one_another(tmp_path):
    low, high = np.zeros(2), np.ones(2)
    frame = pd.DataFrame({"p": [0.1, 0.2, 0.3], "q": [0.4, 0.5, 0.6], "cost": [3.0, 2.0, 1.0]})
    turned = frame[["cost", "q", "p"]]
    turned.to_csv(tmp_path / "log.csv", index=False)
    plain = frame[["p", "q"]].to_numpy()
    given = [frame, pl.from_pandas(turned), tmp_path / "log.csv", (plain, frame["cost"]),
             (turned, "cost"), (turned[["q", "p"]], turned["cost"]), (tmp_path / "log.csv", "cost"),
             str(tmp_path / "log.csv")]  # fmt: skip
    runs = past_runs(given, low, high)
    for run in runs:
        np.testing.assert_array_equal(run.x, plain)
        np.testing.assert_array_equal(run.y, frame["cost"])
    assert [run.name for run in runs[:4]] == ["run 0", "run 1", "log", "run 3"]
    named = past_runs({"ann": turned, "bob": tmp_path / "log.csv"}, low, high)
    assert [run.name for run in named] == ["ann", "bob"]
    np.testing.assert_array_equal(named[0].x, plain[:, ::-1])
    with pytest.raises(DataError, match="columns differ: 'bob' lacks 'q', and 'ann' lacks 'r'"):
        past_runs({"ann": frame, "bob": frame.rename(columns={"q": "r"})}, low, high)
    with pytest.raises(DataError, match="'ann' has 3 inputs, bounds have 2"):
        past_runs({"ann": frame.assign(r=1.0)}, low, high)
    with pytest.warns(DataWarning, match="'run 0': dropped 1 of 3 rows"):
        (failed,) = past_runs([frame.assign(cost=[1.0, np.nan, 2.0])], low, high)
    np.testing.assert_array_equal(failed.x, plain[[0, 2]])


def test_a_frame_of_past_runs_helps_as_its_arrays_do():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (60, 2))
    values = np.sum((points - 0.5) ** 2, axis=1)
    frame = pl.DataFrame({"p": points[:, 0], "cost": values, "q": points[:, 1]})
    how = {"bounds": [(-1, 1)] * 2, "rng": 0, "maxiter": 3}
    small = bers.ModelConfig(hidden=(4,), latent_dim=2, batches=5)
    results = [
        bers.minimize(lambda x: np.sum((x - 0.5) ** 2), sources=[given], model=small, **how)
        for given in (frame, (points, values))
    ]
    np.testing.assert_array_equal(results[0].x, results[1].x)
    assert results[0].fun == results[1].fun


def test_plain_arrays_load_no_library_of_frames():
    program = """
import sys
import numpy as np
from bers.data.demonstrations import Demonstrations
from bers.data.given import as_sources
x = np.ones((3, 2))
as_sources({"a": (x, [1, 2, 3]), "b": Demonstrations(x, x[:, 0], "b")}, (x, x[:, 0]))
assert not {"pandas", "polars", "narwhals"} & set(sys.modules)
"""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_is_written_beside_a_file(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_source(tmp_path / "t.csv")
    assert [path.name for path in Path(tmp_path).iterdir()] == ["t.csv"]


@pytest.mark.parametrize("place", ["source", "target"])
def test_a_slip_in_a_column_of_numbers_is_named(tmp_path, place):
    good, slip = tmp_path / "good.csv", tmp_path / "slip.csv"
    rows = [f"{i},{i % 7},{i % 3}" for i in range(20)]
    good.write_text("\n".join(["a,b,y", *rows]))
    rows[12] = "12,ERR,0"
    slip.write_text("\n".join(["a,b,y", *rows]))
    given = ([slip], good) if place == "source" else ([good], slip)
    said = r"slip.csv: column 'b' holds numbers but for 1 of 20 cells.* line 14 of the file: 'ERR'"
    with pytest.raises(DataError, match=said):
        as_sources(*given)
    with pytest.raises(DataError, match=said):
        bers.load(slip)
    rows[12] = "12,5,n.a."
    slip.write_text("\n".join(["a,b,y", *rows]))
    with pytest.raises(DataError, match=r"slip.csv: column 'y' holds numbers but for 1 of 20"):
        as_sources(*given)


def test_words_and_numbers_are_categories(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["gear,y", *(f"{'low' if i % 2 else i % 3},{i}" for i in range(12))]))
    (made,), _ = as_sources([file], x=["gear"])
    assert made.x_names == ("gear=0", "gear=1", "gear=2", "gear=low")
