"""The command line as a person uses it: some in a process of its own, the rest in this one."""

import io
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import bers
from bers.cli import main
from bers.cli.demo import _growing_table
from bers.progress import progress_bar


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", "from bers.cli import main; main()", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, check=False, env={**os.environ, "COLUMNS": "120"},
    )  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The same within this process, since a new one takes seconds to load everything."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setattr(sys, "argv", ["bers", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
        with pytest.raises(SystemExit, match=r"\d") as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def files(tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (400, 2))
    bers.save(bers.Demonstrations(x, x[:, 0], "alice"), tmp_path / "a.parquet")
    rows = "\n".join(f"{a!r},{b!r},{a - b!r}" for a, b in x.tolist())
    (tmp_path / "b.csv").write_text(f"speed,load,reward\n{rows}\n")
    return tmp_path


def test_help_and_version_are_quick_to_find(tmp_path):
    shown = run("--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert all(command in shown.stdout for command in ("demo", "rank", "fit", "info"))
    assert run("--version", cwd=tmp_path).stdout.strip() == bers.__version__


def test_info_says_what_is_in_files(files, here):
    shown = here("info", "a.parquet", "b.csv")
    assert shown[0] == 0, shown[2]
    lines = shown[1].splitlines()
    assert lines[1].split()[:5] == ["alice", "400", "x0,", "x1", "y"]
    assert lines[2].split()[:5] == ["b", "400", "speed,", "load", "reward"]
    low, to, high, transforms = lines[1].split()[5:]
    assert -1 <= float(low) < -0.9 < 0.9 < float(high) <= 1
    assert (to, transforms) == ("to", "none")


def test_info_flags_a_single_huge_outlier(tmp_path, here):
    y = np.random.default_rng(0).standard_normal(50)
    y[17] = 1e6
    bers.save(bers.Demonstrations(np.zeros((50, 1)), y, "odd"), tmp_path / "odd.npz")
    shown = here("info", "odd.npz")[1]
    assert "odd: 1 of 50 labels lie far from the rest, the first in row 17 (1e+06)" in shown


def test_fit_scores_each_source_and_saves_the_model(files):
    shown = run("fit", "a.parquet", "b.csv", "--batches", 200, "--learning-rate", "3e-3",
                "--model", "m.bers", "--no-progress", cwd=files)  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    alice = next(line.split() for line in shown.stdout.splitlines() if line.startswith("alice"))
    assert alice[1:3] == ["360", "40"]
    assert float(alice[3]) > 0.95
    model = bers.load_model(files / "m.bers")
    assert model.names == ("alice", "b")
    assert model.rows.tolist() == [400, 400]  # the saved posteriors know all rows


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo prints and where; it is run once, since it takes some seconds."""
    folder = tmp_path_factory.mktemp("demo")
    shown = run("demo", "--out", "here", "--no-progress", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    records = json.loads((folder / "here" / "results.json").read_text())
    return shown.stdout, records, folder / "here"


def test_the_demo_shows_three_past_runs(demo):
    text, records, _ = demo
    found = re.findall(r"^  (\w+): ([\d,]+) evaluations, best value ([\d.]+)$", text, re.MULTILINE)
    assert [name for name, _, _ in found] == ["Rosenbrock", "Ackley", "Sphere"]
    assert all(float(best) <= 0.15 for _, _, best in found)
    assert all(int(n.replace(",", "")) > 1000 for _, n, _ in found)
    assert records[0]["sources"] == [name for name, _, _ in found]


def test_the_demos_table_grows_line_by_line(demo):
    text, records, _ = demo
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("evaluations "))
    heads = re.split(r"\s{2,}", lines[start])
    assert heads == ["evaluations", "best value", "weight: Rosenbrock",
                     "weight: Ackley", "weight: Sphere", "weight: nobody"]  # fmt: skip
    end = lines.index("Once more without past runs ...")
    rows = [[float(cell) for cell in line.split()] for line in lines[start + 1 : end]]
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert len(rows) >= 8
    assert {len(line) for line in lines[start:end]} == {len(lines[start])}
    for evaluations, best, *weights in rows:
        assert best == pytest.approx(records[0]["best"][int(evaluations) - 1], rel=0.01)
        now = records[0]["weights"][records[0]["weights_at"].index(evaluations)]
        assert weights[:3] == pytest.approx(now, abs=0.006)
        assert sum(weights) == pytest.approx(1, abs=0.03)


def test_the_demo_compares_a_search_with_and_without_past_runs(demo):
    text, (with_runs, without), _ = demo
    assert (with_runs["method"], without["method"]) == ("with past runs", "without")
    for record in (with_runs, without):
        assert len(record["best"]) == 1000
        assert record["best"] == sorted(record["best"], reverse=True)
        assert record["fun"] == pytest.approx(record["best"][-1], rel=1e-4)
        row = next(line for line in text.splitlines() if line.startswith(record["method"]))
        cells = row.removeprefix(record["method"]).split()
        assert cells[:4] == [f"{record['best'][m - 1]:.3g}" for m in (20, 100, 300, 1000)]
        needed = record["evaluations"]
        assert cells[4] == ("never" if needed is None else f"{needed:,}")
    assert 10 * with_runs["fun"] <= without["fun"]
    assert np.array(with_runs["weights"]).shape == (len(with_runs["weights_at"]), 3)
    assert with_runs["weights"][-1][2] > 0.75  # Sphere's lowest valley is Rastrigin's
    assert "used a point of a past run: 1 of Rosenbrock, 1 of Ackley, 1 of Sphere." in text


def test_the_demo_draws_a_picture(demo):
    text, _, folder = demo
    assert sorted(path.name for path in folder.iterdir()) == ["demo.png", "results.json"]
    picture = (folder / "demo.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1000, 420)
    assert len(picture) > 20_000
    assert text.splitlines()[-1] == "Picture: here/demo.png"


class Terminal(io.StringIO):
    def isatty(self):
        return True


ROWS = [["64", "2.4428", "0.75", "0.25"], ["96", "2.4427", "0.50", "0.50"]]


def test_the_demos_table_reaches_a_file_while_a_terminal_shows_bars(monkeypatch):
    file = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", Terminal())
    show = _growing_table(["Sphere", "nobody"])
    with progress_bar("x", 2, show=True):
        for row in ROWS:
            show(row)
    assert [line.split() for line in file.getvalue().splitlines()][1:] == ROWS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.csv"], "nowhere.csv"),
        (["info", "b.csv", "--y", "rewrad"], "rewrad"),
        (["fit", "a.parquet", "--batches", "-1"], "batches"),
        (["info", "b.csv", "--x", ","], "--x names no column"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(files, arguments, message, here):
    shown = here(*arguments)
    assert shown[0] == 2
    assert shown[1] == ""
    assert message in shown[2]
    assert "Traceback" not in shown[2]


def test_a_damaged_file_is_named_and_others_are_not_touched(files, here):
    whole = (files / "a.parquet").read_bytes()
    (files / "a.parquet").write_bytes(whole[: len(whole) // 2])
    shown = here("fit", "b.csv", "a.parquet")
    assert shown[0] == 2
    assert "a.parquet" in shown[2]
    assert len(shown[2].strip().splitlines()) == 1


def test_tiny_sources_are_fitted_too(files, here):
    (files / "one.csv").write_text("speed,load,reward\n0.1,0.2,0.3\n")
    (files / "none.csv").write_text("speed,load,reward\n")
    shown = here("fit", "b.csv", "one.csv", "none.csv", "--batches", 5, "-m", "m.bers",
                "--x", "speed,load", "--y", "reward")  # fmt: skip
    assert shown[0] == 0, shown[2]
    lines = {line.split()[0]: line.split() for line in shown[1].splitlines()}
    assert lines["one"][1:4] == ["1", "0", "nan"]
    assert lines["none"][1:4] == ["0", "0", "nan"]
    assert bers.load_model(files / "m.bers").x_names == ("speed", "load")


def test_what_cannot_be_written_is_said_before_the_work(files, here):
    for arguments in (
        ["fit", "b.csv", "-m", "no/such/m.bers"],
        ["fit", "b.csv", "-m", "."],
        ["demo", "-o", "b.csv"],
    ):
        shown = here(*arguments)
        assert shown[0] == 2
        assert shown[1] == ""
        assert "must be a file in a folder" in shown[2] or "cannot make" in shown[2]


def test_columns_in_another_order_are_found_by_name(files, here):
    (files / "swap.csv").write_text("load,speed,reward\n" + "1,2,3\n2,1,4\n" * 20)
    (files / "same.csv").write_text("speed,load,reward\n" + "2,1,3\n1,2,4\n" * 20)
    swap = here("fit", "b.csv", "swap.csv", "--batches", 5)
    same = here("fit", "b.csv", "same.csv", "--batches", 5)
    assert swap[0] == 0, swap[2]
    assert swap[1].replace("swap", "same") == same[1]


def test_hostile_names_stay_text(tmp_path, here):
    x = np.random.default_rng(0).uniform(-1, 1, (30, 1))
    name = "[red]evil\x1b[2J\n" + "x" * 5000
    bers.save(bers.Demonstrations(x, x[:, 0], name), tmp_path / "a.npz")
    shown = here("info", "a.npz")
    assert shown[0] == 0, shown[2]
    assert "\x1b[2J" not in shown[1]
    assert "[red]evil" in shown[1]


# ---- rank ----------------------------------------------------------------------------------------

QUICK = ("--batches", 300, "--learning-rate", "1e-2", "--draws", 50, "--no-progress")


@pytest.fixture
def runs(tmp_path):
    """Three people with a goal each, and a new task in other units that is like bob's."""
    rng = np.random.default_rng(0)
    for name, goal, n in (("alice", 0, 300), ("bob", 1, 300), ("new", 1, 80)):
        x = rng.uniform(-1, 1, (n, 2))
        y = np.sin(2 * x[:, goal]) + 0.05 * rng.standard_normal(n)
        y = 3 * y + 7 if name == "new" else y
        table = np.column_stack([x, y])
        np.savetxt(
            tmp_path / f"{name}.csv", table, delimiter=",", header="speed,load,reward", comments=""
        )
    return tmp_path


def test_rank_says_whom_to_trust(runs):
    shown = run("rank", "alice.csv", "bob.csv", "--target", "new.csv", *QUICK, cwd=runs)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "Sources for 'new', 80 rows, by odds"
    assert lines[1].split()[:2] == ["source", "weight"]
    assert [line.split()[0] for line in lines[2:5]] == ["bob", "alice", "nobody"]
    assert float(lines[2].split()[1]) > 0.9
    assert float(lines[3].split()[1]) < 0.1
    text = " ".join(shown.stdout.split())
    assert "Inputs: speed, load; label: reward (guessed; choose with --x and --y)." in text
    assert "Weights say how alike the goals are" in text


def test_rank_with_columns_and_a_rule_named(runs, here):
    code, out, _ = here("rank", "alice.csv", "bob.csv", "-t", "new.csv", "--x", "speed,load",
                        "--y", "reward", "--rule", "shape", *QUICK)  # fmt: skip
    assert code == 0
    assert "Inputs: speed, load; label: reward." in out
    assert "by shape" in out


def test_rank_prints_only_json_when_asked_and_writes_files(runs, here):
    code, out, err = here("rank", "alice.csv", "bob.csv", "-t", "new.csv", "--json", "--plot",
                          "w.png", "--html", "w.html", "--export", "robomimic", "--export-to",
                          "weights.json", *QUICK)  # fmt: skip
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert {"weights", "nobody", "intervals", "warnings"} <= set(found)
    assert found["weights"]["bob"] > 0.9
    assert found["warnings"] == []
    assert (runs / "w.png").read_bytes()[:4] == b"\x89PNG"
    assert "Content-Security-Policy" in (runs / "w.html").read_text(encoding="utf-8")
    data = json.loads((runs / "weights.json").read_text())["train"]["data"]
    assert [one["path"] for one in data] == ["alice.csv", "bob.csv"]
    assert [one["weight"] for one in data] == list(found["weights"].values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "nowhere.csv"], "nowhere.csv"),
        (["-t", "new.csv", "--rule", "best"], "there is no rule 'best'. Known: odds, "),
        (["-t", "new.csv", "--export", "lerobot"], "--export lerobot is not known"),
        (["-t", "new.csv", "--y", "rewrad"], "rewrad"),
        (["-t", "new.csv", "--x", "speed,weight"], "weight"),
        (["-t", "new.csv", "--plot", "no/such/w.png"], "must be a file in a folder"),
        (["-t", "new.csv", "--html", "."], "must be a file in a folder"),
        (["-t", "other.csv"], "speed"),
        (["-t", "new.csv", "--draws", "0"], "draws"),
        (["-t", "new.csv", "--backend", "spark"], "threads, processes, ray; got 'spark'"),
        (["-t", "new.csv", "--address", "head:6379"], "give --backend ray with it"),
    ],
)
def test_rank_refuses_bad_input_in_one_sentence(runs, here, arguments, message):
    (runs / "other.csv").write_text("load,tilt,reward\n" + "1,2,3\n2,1,4\n" * 20)
    code, out, err = here("rank", "alice.csv", "bob.csv", "--batches", 5, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not list(runs.glob("*.png"))


def test_rank_needs_a_target(runs, here):
    code, out, err = here("rank", "alice.csv", "bob.csv")
    assert (code, out) == (2, "")
    assert "--target" in err


def test_rank_of_hostile_names_stays_text(tmp_path, here):
    x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    name = "[red]evil\x1b[2J\n" + "x" * 10_000
    for path, j in (("a.npz", 0), ("b.npz", 1), ("t.npz", 1)):
        bers.save(bers.Demonstrations(x, x[:, j], name), tmp_path / path)
    code, out, _ = here("rank", "a.npz", "b.npz", "-t", "t.npz", *QUICK)
    assert code == 0
    assert "\x1b[2J" not in out
    assert "[red]evil" in out
    assert len(out) < 4000
