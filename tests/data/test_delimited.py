"""Tables of text as people have them: read, or one sentence with the option that reads it."""

import gzip
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bers
from bers.data.formats.delimited import CSV
from bers.errors import ConfigError, DataError, DataWarning, FileError


def made(folder, content, name="f.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


ROWS = [[1.5, 2.0], [3.25, 4.0], [5.0, 6.5]]
PLAIN = "speed,load,reward\n1.5,2,7\n3.25,4,8\n5,6.5,9\n"


def as_expected(d):
    assert d.x_names == ("speed", "load")
    assert d.x.tolist() == ROWS
    assert d.y.tolist() == [7, 8, 9]
    assert d.name == "f"


@pytest.mark.parametrize("mark", [";", "\t", "|", ","])
def test_the_mark_between_columns_is_found(tmp_path, mark):
    as_expected(bers.load(made(tmp_path, PLAIN.replace(",", mark))))


def test_a_mark_that_nobody_would_guess_is_named(tmp_path):
    path = made(tmp_path, PLAIN.replace(",", ":"))
    with pytest.raises(FileError, match=r"f.csv: has one column, 'speed:load:reward'.*sep=\":\""):
        bers.load(path)
    as_expected(bers.load(path, csv=CSV(sep=":")))


def test_columns_with_marks_in_quotes(tmp_path):
    text = '"speed, max";"load; mean";reward\n1;2;3\n4;5;6\n'
    assert bers.load(made(tmp_path, text)).x_names == ("speed, max", "load; mean")
    text = '"a;b;c;d",e,reward\n1,2,3\n'
    assert bers.load(made(tmp_path, text)).x_names == ("a;b;c;d", "e")


@pytest.mark.parametrize("name", ["f.tsv", "f.TSV"])
def test_tsv(tmp_path, name):
    as_expected(bers.load(made(tmp_path, PLAIN.replace(",", "\t"), name)))


@pytest.mark.parametrize(("name", "mark"), [("f.csv.gz", ";"), ("f.tsv.gz", "\t")])
def test_packed_text(tmp_path, name, mark):
    path = made(tmp_path, gzip.compress(PLAIN.replace(",", mark).encode()), name)
    as_expected(bers.load(path))
    (found,), _ = bers.as_sources([path])
    as_expected(found)


def test_packed_text_that_grows_is_refused_before_it_has(tmp_path):
    path = made(tmp_path, gzip.compress(b"a,y\n" + b"1,2\n" * 500_000), "f.csv.gz")
    with pytest.raises(FileError, match=r"f.csv.gz: unpacks to more than 100,000 bytes"):
        bers.load(path, max_bytes=100_000)
    path = made(tmp_path, b"\x1f\x8b" + b"not packed at all", "g.csv.gz")
    with pytest.raises(FileError, match=r"g.csv.gz: cannot be read"):
        bers.load(path)
    with pytest.raises(FileError, match=r"h.csv.gz: the file is empty"):
        bers.load(made(tmp_path, gzip.compress(b""), "h.csv.gz"))


def test_decimal_commas_are_read_when_said(tmp_path):
    path = made(tmp_path, "speed;load;reward\n1,5;2;7\n3,25;4;8\n5;6,5;9\n")
    message = (
        r"f.csv: column 'speed' holds numbers with a comma, such as '1,5' in line 2 of the file\. "
        r'.*csv=bers.CSV\(decimal=","\); if it marks thousands'
    )
    with pytest.raises(FileError, match=message):
        bers.load(path)
    with pytest.raises(FileError, match=message):
        bers.as_sources([path])
    as_expected(bers.load(path, csv=CSV(decimal=",")))
    (found,), _ = bers.as_sources([path], csv=CSV(decimal=","))
    as_expected(found)
    quoted = 'speed,load,reward\n"1,5",2,7\n"3,25",4,8\n"5","6,5",9\n'
    as_expected(bers.load(made(tmp_path, quoted), csv=CSV(decimal=",")))


def test_numbers_with_commas_are_no_row_of_units(tmp_path, recwarn):
    path = made(tmp_path, "speed;load;reward\n" + "1,5;2,25;7,5\n3,25;4,5;8,5\n" * 5)
    with pytest.raises(
        FileError, match=r"such as '1,5' in line 2 of the file\. If that is the decimal mark"
    ):
        bers.load(path)
    assert bers.load(path, csv=CSV(decimal=",")).x[0].tolist() == [1.5, 2.25]
    assert not recwarn.list


def test_decimal_points_where_commas_were_said(tmp_path):
    path = made(tmp_path, PLAIN.replace(",", ";"))
    with pytest.raises(
        FileError, match=r"column 'speed' holds numbers with a point, such as '1.5'"
    ):
        bers.load(path, csv=CSV(decimal=","))


def test_decimal_commas_between_commas_are_named(tmp_path):
    path = made(tmp_path, "a,b,y\n1,2,3\n1,5,2,5,3\n")
    message = r"f.csv: .*: line 3 has 5 cells where .*'1,5,2,5,3'.*If commas are decimal marks"
    with pytest.raises(FileError, match=message):
        bers.load(path)


def test_encodings(tmp_path):
    text = "größe,maß,reward\n1.5,2,7\n3.25,4,8\n5,6.5,9\n"
    path = made(tmp_path, text.encode("latin-1"))
    with pytest.raises(FileError, match=r'f.csv: is not text in UTF-8.*encoding="latin-1"'):
        bers.load(path)
    d = bers.load(path, csv=CSV(encoding="latin-1"))
    assert d.x_names == ("größe", "maß")
    assert d.x.tolist() == ROWS
    cells = made(tmp_path, "who,a,y\nJos\u00e9,1,2\n".encode("latin-1"))
    with pytest.raises(FileError, match=r"f.csv: is not text in UTF-8"):
        bers.load(cells)
    assert bers.load(made(tmp_path, text.encode("utf-16"))).x_names == ("größe", "maß")
    assert bers.load(made(tmp_path, text.encode("utf-8-sig"))).x_names == ("größe", "maß")


def test_a_row_of_units_is_left_out_and_said(tmp_path):
    text = "speed,who,load,reward\nm/s,,kg,\n1.5,a,2,7\n3.25,b,4,8\n5,c,6.5,9\n"
    with pytest.warns(DataWarning, match=r"f.csv: the row under the header .* units: m/s, kg"):
        (found,), _ = bers.as_sources([made(tmp_path, text)], x=["speed", "load"])
    as_expected(found)
    # a first row that has a number is a row like others
    text = "speed,load,reward\nERR,1,7\n" + "1,2,3\n" * 20
    with pytest.raises(DataError, match=r"'speed' .* the first in line 2 of the file: 'ERR'"):
        bers.load(made(tmp_path, text))


def test_words_for_what_is_missing(tmp_path):
    path = made(tmp_path, "speed,load,reward\n" + "1,2,3\n" * 9 + "ERR,2,3\n")
    with pytest.raises(
        DataError, match=r"line 11 of .*: 'ERR'.*csv=bers.CSV\(missing=\"ERR\"\) and drop"
    ):
        bers.load(path)
    with pytest.raises(DataError, match=r"line 11 of the file: 'ERR'"):
        bers.load(path, x=["speed"])  # named, it is as bad
    with pytest.warns(DataWarning, match=r"dropped 1 of 10 rows"):
        d = bers.load(path, csv=CSV(missing=("ERR",)), drop_nonfinite=True)
    assert d.n == 9


@pytest.mark.parametrize("cell", ["ERR", "n.a.", "0x10", "1_000"])
def test_one_odd_cell_never_removes_its_column(tmp_path, cell):
    path = made(tmp_path, "speed,load,reward\n" + "1.5,2,3\n" * 9 + f"{cell},2,3\n")
    for read in (bers.load, lambda p: bers.as_sources([p])):
        with pytest.raises(DataError, match=rf"column 'speed' .* line 11 of the file: '{cell}'"):
            read(path)


@pytest.mark.parametrize(
    ("cells", "sign", "read"),
    [
        (["45.3%", "1 %", " -7% ", "1e2%"], "%", [45.3, 1, -7, 100]),
        (["$5", "-$7.5", "$ 1", ""], "$", [5, -7.5, 1, None]),
        (["1,5 €", "2 €", "+3€", "NA"], "€", [1.5, 2, 3, None]),
    ],
)
def test_numbers_with_a_sign_are_refused_or_read(tmp_path, cells, sign, read):
    path = made(tmp_path, "speed;load;reward\n" + "".join(f"{c};2;3\n" for c in cells))
    for take in (bers.load, lambda p: bers.as_sources([p])):
        with pytest.raises(
            DataError, match=rf"f.csv: column 'speed' .* line 2 of the file. .*units=\"\{sign}\""
        ):
            take(path)
    style = CSV(units=sign, decimal="," if sign == "€" else ".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # rows that are dropped
        d = bers.load(path, csv=style, drop_nonfinite=True)
    assert d.x[:, 0].tolist() == [value for value in read if value is not None]


def test_words_that_are_units(tmp_path):
    path = made(
        tmp_path, "way,gear,reward\n" + "".join(f"{j}.5 km,gear {j},{j}\n" for j in range(9))
    )
    d = bers.load(path, x="way", csv=CSV(units=("km/h", "km")))
    assert d.x[:, 0].tolist() == [j + 0.5 for j in range(9)]
    with pytest.warns(DataWarning, match=r"columns 'gear' \(text\)"):
        assert bers.load(path, csv=CSV(units="km")).x_names == ("way",)
    with path.open("a") as file:
        file.write("far,gear 9,1\n")
    with pytest.raises(DataError, match=r"'way' holds numbers but for 1 .* line 11 of .*: 'far'"):
        bers.load(path, x="way", csv=CSV(units="km"))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv"])
def test_the_line_of_a_file_is_named_whatever_lies_above(tmp_path, ending):
    # a row of units, a blank line, a text of two lines: the slip is row 12 and line 17
    mark = "\t" if ending == ".tsv" else ","
    above = ["who,speed,reward", ",m/s,", "", '"an\nn",1,2', *["bob,1,3"] * 11]
    text = "\n".join([*above, "cy,{},4", *["bob,1,3"] * 9]).replace(",", mark) + "\n"
    path = tmp_path / f"f{ending}"

    def write(cell, units=True):
        data = text.replace("{}", cell).replace("m/s", "m/s" if units else "7").encode()
        path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)

    def refused(message, take):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            with pytest.raises(DataError, match=message):
                take(path)

    for take in (bers.load, lambda p: bers.as_sources([p])):
        write("n.a.", units=False)
        refused(r"the first in line 17 of the file: 'n.a.'", take)
        write("1e200")
        refused(r"beyond .*, the first in line 17 of the file\. Rescale", take)
        write(f"1{mark}1")
        refused(r"line 17 has 4 cells where the header has 3", take)
    # two rows that are alike, the first of them is named; in quotes, marks are text
    path.write_text('a,y\n1,2\n"1,1",2\n1,1,2\n1,1,2\n'.replace(",", mark))
    if not ending.endswith("gz"):
        refused(r"line 4 has 3 cells", bers.load)


def test_where_lines_cannot_be_told_the_row_is(tmp_path, monkeypatch):
    path = made(tmp_path, "speed,reward\n" + "1,3\n" * 9 + "ERR,3\n")
    monkeypatch.setattr("bers.data.formats.delimited._SCANNED", 10)
    with pytest.raises(DataError, match=r"the first in row 9: 'ERR'"):
        bers.load(path)
    (path).write_text("speed,reward\n1,3\n1,3,3\n")
    with pytest.raises(FileError, match=r"cannot be read: a line has 3 cells"):
        bers.load(path)


def test_a_column_that_is_left_out_may_have_odd_cells(tmp_path):
    path = made(tmp_path, "speed,load,reward\n" + "1,2,3\n" * 9 + "ERR,2,3\n")
    assert bers.load(path, x="load").x_names == ("load",)


def test_very_many_columns(tmp_path):
    names = ",".join(f"column{j}" for j in range(5_000))
    numbers = ",".join(["0." + "123456789" * 27] * 5_000)
    path = made(tmp_path, f"{names},reward\n" + f"{numbers},1\n" * 4)
    d = bers.load(path)
    assert d.x.shape == (4, 5_000)
    path = made(tmp_path, ",".join(f"c{j}" for j in range(1_000_000)) + ",y\n")
    with pytest.raises(FileError, match=r"f.csv: its first line has 1,000,001 columns.*swapped"):
        bers.load(path)


def test_all_text_as_categories_by_one_word(tmp_path):
    one = made(tmp_path, "gear,speed,reward\nlow,1,2\nhigh,2,3\n", "a.csv")
    other = made(tmp_path, "speed,reward,gear\n1,2,off\n", "b.csv")
    (a, b), _ = bers.as_sources([one, other], categories=True)
    assert a.x_names == b.x_names == ("gear=high", "gear=low", "gear=off", "speed")
    assert b.x.tolist() == [[0, 0, 1, 1]]
    with pytest.warns(DataWarning, match=r"'gear' \(text\).*categories=True"):
        (a, b), _ = bers.as_sources([one, other])
    assert a.x_names == ("speed",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sep": ";;"}, "one character"),
        ({"sep": 3}, "one character"),
        ({"sep": '"'}, "one character"),
        ({"decimal": "'"}, "must be"),
        ({"encoding": "latin-0"}, "must name an encoding"),
        ({"encoding": "rot13"}, "must name an encoding"),
        ({"encoding": 7}, "must name an encoding"),
        ({"missing": 7}, "must be words"),
        ({"units": 7}, "units=.* must be words, such as .'%',.; got 7".replace("'", '"')),
        ({"units": ("km", "")}, "must not have an empty word"),
    ],
)
def test_styles_that_cannot_be(settings, message):
    with pytest.raises(ConfigError, match=message):
        CSV(**settings)


def test_a_style_is_for_text_only(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "y": [2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match=r"csv=... is for tables of text"):
        bers.load(tmp_path / "a.parquet", csv=CSV(sep=";"))
    with pytest.raises(ConfigError, match=r"csv must be a bers.CSV, .*; got str"):
        bers.load(made(tmp_path, PLAIN), csv=";")
    # beside a table of text, another format is read as it is
    both = [tmp_path / "a.parquet", made(tmp_path, "a;y\n1,5;2\n")]
    (_, text), _ = bers.as_sources(both, csv=CSV(decimal=","))
    assert text.x.tolist() == [[1.5]]


def test_advice_after_a_missing_value_names_a_word_that_the_function_takes(tmp_path):
    nan = float("nan")
    with pytest.raises(DataError, match=r"bers.Demonstrations.build\(..., drop_nonfinite=True\)"):
        bers.Demonstrations([1.0, nan], [1.0, 2.0], "a")
    with pytest.raises(DataError, match=r"drop them: drop_nonfinite=True"):
        bers.Demonstrations.build([1.0, nan], [1.0, 2.0], "a")
    for given in ([1.0, nan], [1.0, 2.0]), (np.array([1.0, nan]), np.ones(2)):
        with pytest.raises(DataError, match=r"bers.as_sources\(..., drop_nonfinite=True\)"):
            bers.as_sources([given])
    path = made(tmp_path, "a,y\n1,2\n,3\n")
    with pytest.raises(DataError, match=r"drop them: drop_nonfinite=True"):
        bers.load(path)
    steps = bers.Demonstrations([1.0, 2.0], [-5.0, 2.0], "a")
    with pytest.raises(DataError, match="log1p needs labels above -1") as caught:
        steps.transformed(bers.transforms.Log1p())
    assert "drop_nonfinite" not in str(caught.value)
