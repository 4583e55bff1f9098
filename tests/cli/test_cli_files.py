"""The command line on files as people have them."""

import gzip
import sys
import warnings

import numpy as np
import pytest

import bers
from bers.cli import main
from bers.cli.common import as_options, column_names
from bers.cli.rank import _columns_taken
from bers.errors import ConfigError

STOP = "this was read."
QUICK = ("--batches", 30, "--learning-rate", "1e-2", "--draws", 20, "--no-progress")


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["bers", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        # as in a process of its own, where warnings are no errors
        monkeypatch.setattr(warnings, "filters", [("default", None, Warning, None, 0)])
        with pytest.raises(SystemExit, match=r"\d") as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def ranked(here, monkeypatch):
    """What `bers rank` reads, without the ranking, which takes seconds."""
    seen = []

    def stop(sources, target, **_):
        seen[:] = [*sources, target]
        raise ConfigError(STOP)

    monkeypatch.setattr("bers.trust.trust.rank", stop)

    def call(*arguments):
        code, _, err = here("rank", *arguments)
        assert code == 2
        assert STOP in err, err
        return (*seen, err)

    return call


@pytest.fixture
def rows(tmp_path):
    """Numbers of two people, written by `table` in whatever style."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 2)).round(4)

    def table(name, goal=0, header="speed,load,reward", sep=",", decimal="."):
        lines = [header.replace(",", sep)]
        for row in np.column_stack([x, x[:, goal]]).tolist():
            lines.append(sep.join(f"{v}".replace(".", decimal) for v in row))
        text = "\n".join(lines) + "\n"
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        return name

    return table


def test_separators_decimals_and_packed_files_are_ranked(rows, here, ranked):
    names = [
        rows("a.csv", sep=";", decimal=","),
        rows("b.tsv", goal=1, sep="\t", decimal=","),
    ]
    new = rows("new.csv.gz", sep="|", decimal=",")
    code, _, err = here("rank", *names, "-t", new)
    assert code == 2
    assert "a.csv: column 'speed' holds numbers with a comma" in err
    assert "--decimal ','" in err
    assert "bers.CSV" not in err
    a, b, target, _ = ranked(*names, "-t", new, "--decimal", ",")
    assert [one.name for one in (a, b, target)] == ["a", "b", "new"]
    assert a.x_names == b.x_names == target.x_names == ("speed", "load")
    assert np.array_equal(a.x, b.x)
    assert np.array_equal(a.x, target.x)
    assert np.array_equal(b.y, b.x[:, 1])


def test_a_separator_by_option(rows, here):
    name = rows("a.csv", sep=":")
    code, _, err = here("info", name)
    assert code == 2
    assert "--sep ':'" in err
    code, out, _ = here("info", name, "--sep", ":")
    assert code == 0
    assert "speed, load" in out
    code, _, err = here("info", rows("a.csv", sep="\t"), "--sep", "\\t")
    assert (code, err) == (0, "")


def test_encoding_and_missing_by_option(tmp_path, here):
    (tmp_path / "a.csv").write_bytes("größe,y\n1,2\nERR,3\n4,5\n6,7\n8,9\n1,1\n".encode("latin-1"))
    code, _, err = here("info", "a.csv")
    assert (code, "--encoding 'latin-1'" in err) == (2, True)
    code, _, err = here("info", "a.csv", "--encoding", "latin-1")
    assert code == 2
    assert "line 3 of the file: 'ERR'" in err
    assert "--missing 'ERR' --drop-nonfinite" in err
    code, out, err = here(
        "info", "a.csv", "--encoding", "latin-1", "--missing", "ERR", "--drop-nonfinite"
    )
    assert code == 0, err
    assert "dropped 1 of 6 rows" in err
    assert out.splitlines()[1].split()[:3] == ["a", "5", "größe"]


def test_columns_with_a_comma_can_be_named(rows, ranked):
    header = '"speed, max",load,reward'
    names = [rows("a.csv", header=header), rows("b.csv", goal=1, header=header)]
    new = rows("new.csv", header=header)
    a, _, target, _ = ranked(*names, "-t", new, "--x", 'load,"speed, max"')
    assert a.x_names == target.x_names == ("load", "speed, max")
    assert column_names('"speed, max",load') == ["speed, max", "load"]


def test_a_label_for_each_file(rows, here, ranked):
    a = rows("a.csv", header="speed,load,pay")
    b = rows("b.csv", goal=1, header="speed,load,gain")
    new = rows("new.csv", header="speed,load,pay")
    code, _, err = here("fit", a, b, "--y", "pay", "--batches", 5)
    assert (code, "'pay'" in err) == (2, True)
    for more, wanted in (((), ("speed", "load")), (("--x", "load,speed"), ("load", "speed"))):
        *read, _ = ranked(a, b, "-t", new, "--y", "b.csv=gain", "--y", "pay", *more)
        assert [one.y_name for one in read] == ["pay", "gain", "pay"]
        assert [one.x_names for one in read] == [wanted] * 3
    code, _, err = here("fit", a, b, "--y", "pay", "--y", "gain")
    assert code == 2
    assert "--y names 'pay' and 'gain' for all files" in err


def test_columns_in_another_order(tmp_path, rows, ranked):
    a = rows("a.csv")
    (tmp_path / "b.csv").write_text("reward,load,speed\n" + "1,2,3\n2,1,4\n")
    _, b, _, _ = ranked(a, "b.csv", "-t", "a.csv")
    assert b.x.tolist() == [[3, 2], [4, 1]]


def test_categories_by_one_word(tmp_path, ranked):
    for name, gear in (("a", "low"), ("b", "high"), ("new", "off")):
        lines = f"gear,speed,reward\n{gear},1,2\nlow,2,3\n"
        (tmp_path / f"{name}.csv").write_text(lines)
    files = ("a.csv", "b.csv", "-t", "new.csv")
    a, *_, err = ranked(*files)
    assert "columns 'gear' (text)" in err
    assert "--categories" in err
    assert a.x_names == ("speed",)
    a, b, _, err = ranked(*files, "--categories")
    assert a.x_names == ("gear=high", "gear=low", "gear=off", "speed")
    assert b.x.tolist() == [[1, 0, 0, 1], [0, 1, 0, 2]]
    assert "left out" not in err


def test_info_before_the_label_is_known(tmp_path, rows, here):
    (tmp_path / "odd.csv").write_text("speed,gear,day,pay\n1.5,low,2020-01-02,7\n,high,,9\n")
    labelled = rows("a.csv")
    code, out, err = here("info", "odd.csv", labelled)
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert ["odd.csv:", "2", "rows"] in lines
    assert ["speed", "numbers", "1.5", "to", "1.5", "1"] in lines
    assert ["gear", "text", "high,", "low", "0"] in lines
    assert ["day", "dates", "1"] in lines
    assert ["pay", "numbers", "7", "to", "9", "0"] in lines
    assert "odd.csv: cannot tell which column is the label." in out
    assert "Name the label with --y" in out
    assert "a" in [line[0] for line in lines if line]
    code, out, _ = here("info", "odd.csv", "--y", "pay", "--x", "speed", "--drop-nonfinite")
    assert code == 0
    assert "pay" in out.splitlines()[1]


def test_two_usual_names_of_labels_are_no_label(rows, here, ranked):
    sources, new = [rows("a.csv"), rows("b.csv", goal=1)], rows("new.csv", header="y,load,reward")
    code, out, err = here("info", new)
    assert (code, err) == (0, "")
    assert "each of the columns y, reward may be the label. Name it with --y, and" in out
    code, _, err = here("rank", *sources, "-t", new)
    assert code == 2
    assert "new.csv: each of the columns y, reward may be the label. Name it with --y" in err
    a, _, target, _ = ranked(*sources, "-t", new, "--y", "reward", "--x", "load")
    assert (a.x_names, target.x_names, target.y_name) == (("load",), ("load",), "reward")


def test_units_by_option(tmp_path, here):
    lines = [f"{j}.5%,$ {j},{j}" for j in range(5)]
    (tmp_path / "a.csv").write_text("share,price,reward\n" + "\n".join(lines) + "\n")
    code, _, err = here("info", "a.csv")
    assert code == 2
    assert "'0.5%' in line 2 of the file. Take the sign off; or, to read this as 0.5" in err
    assert "as 0.5, pass --units '%'." in err
    code, out, err = here("info", "a.csv", "--units", "%,$")
    assert (code, err) == (0, "")
    assert "share, price" in out


def test_rank_takes_what_fit_wrote(rows, here):
    names = [rows("a.csv"), rows("b.csv", goal=1)]
    new = rows("new.csv", goal=1)
    code, _, err = here("fit", *names, "-m", "m.bers", *QUICK[:4])
    assert code == 0, err
    code, out, err = here("rank", *names, "-t", new, "--model", "m.bers", "--json", "--draws", 20)
    assert code == 0, err
    ours = bers.rank(names, new, model=bers.load_model("m.bers"), draws=20)
    assert f'"b": {float(ours.weights[1])!r}' in out
    code, _, err = here("rank", *names[::-1], "-t", new, "--model", "m.bers")
    assert code == 2
    assert "was fitted on a, b; the sources are b, a. Give the same files in the same order" in err
    code, _, err = here("rank", *names, "-t", new, "--model", "m.bers", "--batches", 5)
    assert (code, "--model is trained already" in err) == (2, True)
    code, _, err = here("rank", *names, "-t", new, "--model", "a.csv")
    assert code == 2
    assert "a.csv is damaged or not a BERS model" in err


def test_a_log_without_rewards_is_told_of_what_a_command_can_take(tmp_path, here):
    with pytest.importorskip("h5py").File(tmp_path / "ann.hdf5", "w") as file:
        file["data/demo_0/obs/state"] = [[0.0], [1.0], [2.0]]
        file["data/demo_0/actions"] = [[1.0], [1.0], [0.0]]
    code, _, err = here("info", "ann.hdf5")
    assert code == 2
    assert "Name a column that tells it with --y; or load it in Python, with bers.load(" in err
    assert "or pass rewards" not in err


def test_a_target_without_rows_gives_equal_weights_and_one_warning(tmp_path, rows, here):
    (tmp_path / "head.csv").write_text("speed,load,reward\n")
    names = [rows("a.csv"), rows("b.csv", goal=1)]
    code, out, err = here("rank", *names, "-t", "head.csv", *QUICK)
    assert (code, err) == (0, "")
    cells = dict(line.split()[:2] for line in out.splitlines() if len(line.split()) > 1)
    assert {name: cells[name] for name in ("a", "b", "nobody")} == {
        "a": "0.500",
        "b": "0.500",
        "nobody": "0.000",
    }
    (note,) = (line for line in out.splitlines() if line.startswith("Note:"))
    assert "the target has no rows" in note
    assert "whether nobody is like the target cannot be told" in " ".join(out.split())


@pytest.mark.parametrize(("ending", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_pictures_by_their_ending(tmp_path, rows, here, ending, start):
    names = [rows("a.csv"), rows("b.csv", goal=1)]
    code, _, err = here(
        "rank", *names, "-t", "a.csv", "--plot", f"w.{ending}", "--rule", "equal", *QUICK
    )
    assert code == 0, err
    assert (tmp_path / f"w.{ending}").read_bytes().startswith(start)
    code, _, err = here("rank", *names, "-t", "a.csv", "--plot", "w.gif")
    assert (code, "must end in .png, .pdf or .svg" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["info", "bad.csv"], "--drop-nonfinite"),
        (["fit", "odd.csv"], "--y"),
        (["fit", "word.csv"], "--x"),
        (["rank", "a.csv", "other.csv", "-t", "a.csv"], "--x"),
        (["rank", "a.csv", "-t", "a.csv", "--draws", "0"], "--draws"),
        (["info", "a.csv", "--sep", "ab"], "--sep"),
    ],
)
def test_messages_speak_of_options(tmp_path, rows, here, arguments, option):
    rows("a.csv")
    rows("odd.csv", header="a,b,c")
    rows("other.csv", header="speed,tilt,reward")
    (tmp_path / "bad.csv").write_text("a,y\n1,2\n,3\n")
    (tmp_path / "word.csv").write_text("a,y\nlow,2\nhigh,3\n")
    code, out, err = here(*arguments)
    assert (code, out) == (2, "")
    assert option in err
    for word in ("x=", "y=", "drop_nonfinite=", "as_sources", "CSV(", "draws="):
        assert word not in err


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Choose them with x=[...] when loading, or --x.", "Choose them with --x."),
        ("or leave it out: bers.as_sources(..., x=[...]).", "or leave it out: --x."),
        ("by x=[...] when loading.", "by --x."),
        ("drop them: bers.load(..., drop_nonfinite=True).", "drop them: --drop-nonfinite."),
        ("drop them: drop_nonfinite=True.", "drop them: --drop-nonfinite."),
        ("max=3 of box=... stays", "max=3 of box=... stays"),
    ],
)
def test_keywords_become_options(said, wanted):
    assert as_options(said) == wanted


@pytest.mark.parametrize(
    ("named", "said"),
    [(False, "(guessed; choose with --x and --y)."), (True, "(inputs guessed; choose with --x).")],
)
def test_what_was_guessed_is_said_of_what_was_not_named(rows, tmp_path, named, said):
    rows("a.csv")
    source = bers.load(tmp_path / "a.csv", y="reward" if named else None)
    shown = _columns_taken("a.csv", source, named)
    assert shown == f"Inputs: speed, load; label: reward {said}"
