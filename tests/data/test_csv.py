from pathlib import Path

import numpy as np
import pytest
from data_helpers import SAFE_NAMES, example, records, same_bits
from hypothesis import given, settings

from bers.data.demonstrations import Demonstrations
from bers.data.formats.csv import sidecar
from bers.data.storage import load, save
from bers.errors import DataError, DataWarning, FileError


@given(d=records(names=SAFE_NAMES, nan=False))
@settings(deadline=None, max_examples=60)
def test_round_trip_keeps_every_bit(d, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    save(d, path)
    assert same_bits(load(path), d)


def test_the_text_is_plain_and_loads_without_its_second_file(tmp_path):
    d = Demonstrations([[0.1, 1e-300], [1 / 3, -0.0]], [1, 2], "a", {"p": [[1, 2], [3, 4]]})
    save(d, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[0] == '"x0","x1","y","p.0","p.1"'
    assert lines[1] == "0.1,1e-300,1,1,2"
    sidecar(tmp_path / "a.csv").unlink()
    plain = load(tmp_path / "a.csv", x=["x0", "x1"], payload=["p.1"])
    assert plain.x.tobytes() == d.x.tobytes()
    assert plain.payload["p.1"].tolist() == [2, 4]
    assert load(tmp_path / "a.csv").x_names == ("x0", "x1", "p.0", "p.1")


def test_formulas_and_odd_nan_are_refused_on_saving(tmp_path):
    for name in ("=1+1", "+a", "-a", "@a"):
        d = Demonstrations([1.0], [2.0], "a", x_names=(name,))
        with pytest.raises(DataError, match=r"would run as a formula in a spreadsheet. Rename"):
            save(d, tmp_path / "a.csv")
    odd = np.array([-np.nan])
    with pytest.raises(DataError, match=r"payload 'p' holds 1 NaN with bits of their own"):
        save(Demonstrations([1.0], [2.0], "a", {"p": odd}), tmp_path / "a.csv")
    assert not list(tmp_path.iterdir())


def test_a_changed_file_is_seen(tmp_path):
    save(example(), tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(text + "1,1,1,1,1,1,1,1,1\n")
    with pytest.raises(
        FileError, match=r"a.csv: changed since it was saved .* delete a.csv.bers.json"
    ):
        load(tmp_path / "a.csv")
    save(example(), tmp_path / "a.csv")
    sidecar(tmp_path / "a.csv").write_text("{}")
    with pytest.raises(FileError, match=r"a.csv.bers.json: the BERS metadata in it is damaged"):
        load(tmp_path / "a.csv")


def test_a_save_that_stops_halfway_is_never_read_as_a_plain_table(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    for before in (None, example(seed=1)):
        if before:
            save(before, path)
        real = Path.replace

        def stop(self, target, real=real):
            if Path(target).name == "a.csv":
                raise OSError("killed")
            return real(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", stop)
            with pytest.raises(FileError, match=r"cannot write .*a.csv"):
                save(example(seed=2), path)
        with pytest.raises(FileError, match=r"a.csv: changed since|there is no file .*a.csv"):
            load(path)


def _foreign(tmp_path, text, **options):
    (tmp_path / "f.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return load(tmp_path / "f.csv", **options)


def test_foreign_tables(tmp_path):
    left = r"left out, since they hold no numbers: columns 'who' \(text\)\. Text is used by"
    with pytest.warns(DataWarning, match=left):
        d = _foreign(tmp_path, "a,who,b,Reward\n1,bob,true,0.5\n2,eve,false,1e3\n")
    assert d.x.tolist() == [[1, 1], [2, 0]]
    assert (d.x_names, d.y_name, d.name) == (("a", "b"), "Reward", "f")
    assert d.y.tolist() == [0.5, 1000.0]
    assert _foreign(tmp_path, "a,y\n").n == 0
    assert _foreign(tmp_path, "\ufeffa,y\n1,2").x_names == ("a",)
    assert _foreign(tmp_path, "a,b,r\n1,2,3\n", x="b", y="r").x.tolist() == [[2]]
    assert _foreign(tmp_path, "value,reward,a\n1,2,3\n", y="reward").y_name == "reward"


def test_missing_values_are_dropped_when_asked(tmp_path):
    with pytest.warns(DataWarning, match=r"f.csv: 'f': dropped 2 of 3 rows"):
        d = _foreign(tmp_path, "a,y\n1,2\n,3\n4,nan\n", drop_nonfinite=True)
    assert d.x.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "f.csv: the file is empty"),
        (
            "a,y\n1,2\n,3\n",
            {},
            "f.csv: column 'a': 1 of 2 values are not fin.* in line 3 of the file",
        ),
        ("a,y\n1,inf\n", {}, "f.csv: column 'y': 1 of 1 values are not finite"),
        ("a,y\n1e200,1\n", {}, r"column 'a': 1 of 1 values are beyond ±1e\+150.*Rescale"),
        ("a,y\n9007199254740993,1\n", {}, "column 'a' holds integers beyond"),
        ("a,b\n1,2\n", {}, "cannot tell which column is the label. It has: a, b. Name the label"),
        ("a,y,Reward\n1,2,3\n", {}, r"f.csv: each of the columns y, Reward may .* y=\.\.\., and"),
        ("a,y\nx,2\n", {}, "no numeric column but the label 'y'"),
        ("a,y\nx,2\n", {"x": "a"}, "f.csv: column 'a' has type string, not numbers"),
        ("a,y\n2020-01-01,2\n", {"x": ["a"]}, "column 'a' has type date32"),
        (
            "alpha,y\n1,2\n",
            {"x": "alpa"},
            "no column 'alpa'; it has: alpha, y. Did you mean 'alpha'",
        ),
        ("a,a,y\n1,2,3\n", {}, "2 columns are named 'a'"),
        ("a,y\n1,2,3\n", {}, "f.csv: cannot be read"),
        ("a,y\n1,2\n", {"payload": ["z"]}, "no payload column 'z'"),
        ("a,y,z\n1,2,\n", {"payload": ["z"]}, "payload column 'z'"),
        (b"a,y\n\xff\xfe,2\n", {"x": "a"}, "f.csv"),
        ("a,y\n1,2\n", {"max_bytes": 3}, "has 8 bytes, more than max_bytes = 3"),
        ("a,y\n1,2\n", {"x": ["a", "y"]}, "two columns are named 'y'"),
    ],
)
def test_foreign_tables_that_do_not_fit(tmp_path, text, options, message):
    with pytest.raises(FileError, match=message):
        _foreign(tmp_path, text, **options)
