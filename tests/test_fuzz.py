"""Whatever is handed over: a result, or one sentence of BERS; never another error, never a hang.

In the suite the examples are few and always the same. `make fuzz` tries a hundred times as many, at
random: FUZZ=100 is how many times.
"""

import gzip
import os
import signal
import warnings
from contextlib import contextmanager

import h5py
import jaxtyping
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bers_studies.report.page import page
from bers_studies.runner.journal import read_journals, seal, write_journal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odd_values import ODD, calls, model_calls

import bers
from bers.errors import BersError

TIMES = int(os.environ.get("FUZZ", "1"))
LARGE = 10**7
LONGEST = 120  # seconds for one call, on a machine that others use too


def examples(count):
    return settings(
        max_examples=count * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(autouse=True)
def quiet(folder, monkeypatch):
    monkeypatch.chdir(folder)
    # as users have it: without the shapes that tests check
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def in_time(said):
    """Most odd values are refused at once, the others leave little to do."""

    def late(*_):
        raise TimeoutError(f"not done after {LONGEST} seconds: {said}")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(function, *arguments, **options):
    """What a call gives; None where BERS refused it. Every other error fails the test."""
    try:
        return function(*arguments, **options)
    except BersError:
        return None


@pytest.fixture(scope="module")
def table(folder):
    return calls(folder)


@pytest.fixture(scope="module")
def larger(folder):
    return model_calls(folder)


def test_the_calls_are_right_to_begin_with(table, larger):
    for name, (function, right) in [*table.items(), *larger.items()]:
        try:
            function(**right)
        except BersError as error:
            pytest.fail(f"{name}: {error}")


def one_at_a_time(calls, step):
    """Every argument with odd values, of which the suite skips some where a call takes long."""
    place = 0
    for name, (function, right) in calls.items():
        for argument in right:
            place += 1
            for odd in ODD[place % step :: step]:
                with in_time(f"{name}({argument}={odd!r:.80})"):
                    outcome(function, **{**right, argument: odd})


def test_one_odd_argument_is_a_result_or_a_sentence(table):
    one_at_a_time(table, 1)


def test_one_odd_argument_of_what_trains_weighs_and_searches(larger):
    one_at_a_time(larger, 4 if TIMES == 1 else 1)


@examples(60)
@given(data=st.data())
def test_several_odd_arguments_are_a_result_or_a_sentence(table, larger, data):
    every = table | larger
    function, right = every[data.draw(st.sampled_from(sorted(every)))]
    odd = data.draw(st.dictionaries(st.sampled_from(sorted(right)), st.sampled_from(ODD)))
    with in_time(odd):
        outcome(function, **{**right, **odd})


CELLS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(width=64).map(repr),
    st.sampled_from(
        ["", "NA", "nan", "ERR", "1,5", "0x10", "1_000", "true", "2020-01-01", '"a;b"', '"']
    ),
    st.text(max_size=4),
)


@examples(60)
@given(
    names=st.lists(st.sampled_from(["a", "b", "y", "reward", "ö", '"c,d"', "", "=1"]), max_size=4),
    rows=st.lists(st.lists(CELLS, max_size=4), max_size=5),
    mark=st.sampled_from(",;\t| :"),
    encoding=st.sampled_from(["utf-8", "latin-1", "utf-16", "utf-8-sig"]),
    style=st.sampled_from(
        [None, bers.CSV(decimal=","), bers.CSV(sep=";"), bers.CSV(encoding="cp1252")]
    ),
    end=st.sampled_from(["csv", "tsv", "csv.gz"]),
)
def test_tables_of_text(folder, names, rows, mark, encoding, style, end):
    text = "\n".join(mark.join(row) for row in [names, *rows])
    content = text.encode(encoding, errors="replace")
    path = folder / f"t.{end}"
    path.write_bytes(gzip.compress(content) if end.endswith("gz") else content)
    d = outcome(bers.load, path, csv=style)
    if d is not None:
        assert d.n <= len(rows) + text.count("\n") + text.count("\r")
        assert np.isfinite(d.x).all()
        assert np.isfinite(d.y).all()
    outcome(bers.as_sources, [path], path, csv=style, categories=True)


def stored(folder):
    """A sound file of each kind."""
    d = bers.Demonstrations(np.arange(8.0).reshape(4, 2), np.arange(4.0), "a", {"p": [1, 2, 3, 4]})
    for end in ("npz", "csv", "parquet"):
        bers.save(d, folder / f"own.{end}")
    np.savez_compressed(folder / "their.npz", x=d.x, y=d.y)
    rows = {"a": [1.0, 2.0], "s": [[1, 2], [3, 4]], "w": ["p", "q"], "y": [3.0, 4.0]}
    pq.write_table(pa.table(rows), folder / "their.parquet")
    (folder / "their.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n3,4\n"))
    (folder / "h-v0" / "data").mkdir(parents=True, exist_ok=True)
    with h5py.File(folder / "h-v0" / "data" / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        group["observations"] = np.zeros((4, 2))
        for name in ("actions", "rewards", "terminations", "truncations"):
            group[name] = np.zeros(3)
    return {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("stored"))


def damaged(content, changes):
    changed = bytearray(content)
    for kind, place, value in changes:
        at = place % max(len(changed), 1)
        if kind == "byte" and changed:
            changed[at] = value
        elif kind == "cut":
            del changed[at : at + value]
        else:
            changed[at:at] = bytes([value]) * (value % 9)
    return bytes(changed)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["byte", "cut", "more"]), st.integers(0, 10**5), st.integers(0, 255)),
    min_size=1, max_size=6,
)  # fmt: skip


@examples(150)
@given(place=st.integers(0, 100), changes=CHANGES)
def test_damaged_files_of_every_format(kept, place, changes):
    path = sorted(kept)[place % len(kept)]
    good, bad = kept[path], damaged(kept[path], changes)
    path.write_bytes(bad)
    try:
        where = path.parent.parent if path.suffix == ".hdf5" else path
        if path.suffix == ".json":
            where = path.with_name(path.name.removesuffix(".bers.json"))
        found = outcome(bers.load, where, max_bytes=LARGE)
        if path.name.startswith("own") and found is not None:
            assert found.y.tolist() == [0, 1, 2, 3]  # it has a seal: no other rows are taken
        if path.suffix == ".parquet":
            found = outcome(bers.load, path, stream=True, max_bytes=LARGE)
            if found is not None:
                outcome(found.in_memory)
        outcome(bers.as_sources, [where])
    finally:
        path.write_bytes(good)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**9), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = ("method", "panel", "best", "profit", "returns", "weights", "weights_at", "at", "makeup",
          "truth", "sources", "names", "along", "number")  # fmt: skip


@examples(50)
@given(
    header=st.dictionaries(
        st.sampled_from(["seed", "name", "config", "code", "provenance"]), VALUES, max_size=3
    ),
    records=st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5), max_size=3),
    text=st.one_of(
        st.none(), st.binary(max_size=30), st.text("|-: a\n#*`", max_size=30).map(str.encode)
    ),
)
def test_journals_that_are_sealed_and_odd(tmp_path_factory, header, records, text):
    where = tmp_path_factory.mktemp("study")
    sound = {"seed": 0, "name": "other", "config": {}, "code": "", "provenance": {}}
    write_journal(where / "trial.jsonl", {**sound, **header}, records)
    if text is not None:
        (where / "tables.md").write_bytes(text)
    made = outcome(page, [where])
    assert made is None or "</html>" in made


@examples(40)
@given(lines=st.lists(st.one_of(st.binary(max_size=40), VALUES), max_size=4))
def test_journals_of_any_bytes(tmp_path_factory, lines):
    where = tmp_path_factory.mktemp("journals")
    texts = [one if isinstance(one, bytes) else seal({"header": one}).encode() for one in lines]
    (where / "trial.jsonl").write_bytes(b"\n".join(texts))
    assert outcome(read_journals, where) is None
