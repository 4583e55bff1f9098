"""The command line as a person uses it: in a process of its own."""

import io
import json
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from bers_studies.cli.reproduce import _NAMES
from bers_studies.runner.journal import read_journals, write_journal
from bers_studies.study import STUDIES, Study

import bers
from bers.cli import main
from bers.cli.demo import _growing_table
from bers.progress import progress_bar


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", "from bers.cli import main; main()", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, check=False, env=None,
    )  # fmt: skip


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
    assert all(
        command in shown.stdout
        for command in ("demo", "rank", "fit", "info", "reproduce", "claims")
    )
    assert run("--version", cwd=tmp_path).stdout.strip() == bers.__version__


def test_info_says_what_is_in_files(files):
    shown = run("info", "a.parquet", "b.csv", cwd=files)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[1].split()[:5] == ["alice", "400", "x0,", "x1", "y"]
    assert lines[2].split()[:5] == ["b", "400", "speed,", "load", "reward"]
    low, to, high, transforms = lines[1].split()[5:]
    assert -1 <= float(low) < -0.9 < 0.9 < float(high) <= 1
    assert (to, transforms) == ("to", "none")


def test_info_flags_a_single_huge_outlier(tmp_path):
    y = np.random.default_rng(0).standard_normal(50)
    y[17] = 1e6
    bers.save(bers.Demonstrations(np.zeros((50, 1)), y, "odd"), tmp_path / "odd.npz")
    shown = run("info", "odd.npz", cwd=tmp_path).stdout
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
    """What the demo prints and where; it is run once, since it takes half a minute."""
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
    start = next(i for i, line in enumerate(lines) if line.startswith("generation "))
    heads = re.split(r"\s{2,}", lines[start])
    assert heads == ["generation", "evaluations", "best value", "weight: Rosenbrock",
                     "weight: Ackley", "weight: Sphere", "weight: nobody"]  # fmt: skip
    rows = [[float(cell) for cell in line.split()] for line in lines[start + 1 : start + 11]]
    assert [row[0] for row in rows] == [1, 2, 3, 5, 10, 20, 30, 50, 70, 100]
    assert {len(line) for line in lines[start : start + 11]} == {len(lines[start])}
    for generation, evaluations, best, *weights in rows:
        assert evaluations == 32 * (generation + 1)
        assert best == pytest.approx(records[0]["best"][int(generation)], abs=1e-3)
        assert weights[:3] == pytest.approx(records[0]["weights"][int(generation) - 1], abs=0.006)
        assert sum(weights) == pytest.approx(1, abs=0.03)
    assert lines[start + 11] == "Once more without past runs ..."


def test_the_demo_compares_a_search_with_and_without_past_runs(demo):
    text, (with_runs, without), _ = demo
    assert (with_runs["method"], without["method"]) == ("with past runs", "without")
    for record in (with_runs, without):
        assert len(record["best"]) == 101
        assert record["best"] == sorted(record["best"], reverse=True)
        assert record["fun"] == pytest.approx(record["best"][-1], rel=1e-4)
        row = next(line for line in text.splitlines() if line.startswith(record["method"]))
        cells = row.removeprefix(record["method"]).split()
        assert cells[:3] == [f"{record['best'][m]:.4f}" for m in (10, 50, 100)]
        needed = record["evaluations_to"]["1.0"]
        assert cells[3] == ("never" if needed is None else f"{needed:,}")
    assert with_runs["best"][0] == pytest.approx(without["best"][0])  # the same start
    assert 10 * with_runs["fun"] <= without["fun"]
    assert np.array(with_runs["weights"]).shape == (100, 3)
    assert with_runs["weights"][-1][2] > 0.9  # Sphere's lowest valley is Rastrigin's
    used = re.search(r"used a point of a past run: .*?(\d+) of Sphere", text)
    assert used is not None
    assert int(used[1]) > 10


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


ROWS = [["1", "64", "2.4428", "0.75", "0.25"], ["2", "96", "2.4427", "0.50", "0.50"]]


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
        (["reproduce", "everything"], "there is no experiment 'everything'. Known: static, safety"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(files, arguments, message):
    shown = run(*arguments, cwd=files)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_damaged_file_is_named_and_others_are_not_touched(files):
    whole = (files / "a.parquet").read_bytes()
    (files / "a.parquet").write_bytes(whole[: len(whole) // 2])
    shown = run("fit", "b.csv", "a.parquet", cwd=files)
    assert shown.returncode == 2
    assert "a.parquet" in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_tiny_sources_are_fitted_too(files):
    (files / "one.csv").write_text("speed,load,reward\n0.1,0.2,0.3\n")
    (files / "none.csv").write_text("speed,load,reward\n")
    shown = run("fit", "b.csv", "one.csv", "none.csv", "--batches", 5, "-m", "m.bers",
                "--x", "speed,load", "--y", "reward", cwd=files)  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    lines = {line.split()[0]: line.split() for line in shown.stdout.splitlines()}
    assert lines["one"][1:4] == ["1", "0", "nan"]
    assert lines["none"][1:4] == ["0", "0", "nan"]
    assert bers.load_model(files / "m.bers").x_names == ("speed", "load")


def test_what_cannot_be_written_is_said_before_the_work(files):
    for arguments in (
        ["fit", "b.csv", "-m", "no/such/m.bers"],
        ["fit", "b.csv", "-m", "."],
        ["demo", "-o", "b.csv"],
        ["reproduce", "static", "-o", "b.csv"],
    ):
        shown = run(*arguments, cwd=files)
        assert shown.returncode == 2
        assert shown.stdout == ""
        assert "must be a file in a folder" in shown.stderr or "cannot make" in shown.stderr


def test_columns_in_another_order_are_refused_until_named(files):
    (files / "swap.csv").write_text("load,speed,reward\n" + "1,2,3\n2,1,4\n" * 20)
    shown = run("fit", "b.csv", "swap.csv", "--batches", 5, cwd=files)
    assert shown.returncode == 2
    assert "'b' has speed, load, 'swap' has load, speed" in shown.stderr
    named = run("fit", "b.csv", "swap.csv", "--batches", 5, "--x", "speed,load,", cwd=files)
    assert named.returncode == 0, named.stderr


def test_hostile_names_stay_text(tmp_path):
    x = np.random.default_rng(0).uniform(-1, 1, (30, 1))
    name = "[red]evil\x1b[2J\n" + "x" * 5000
    bers.save(bers.Demonstrations(x, x[:, 0], name), tmp_path / "a.npz")
    shown = run("info", "a.npz", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "\x1b[2J" not in shown.stdout
    assert "[red]evil" in shown.stdout


# ---- rank ----------------------------------------------------------------------------------------

QUICK = ("--batches", 300, "--learning-rate", "1e-2", "--draws", 50, "--no-progress")


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """The same within this process, since a new one takes seconds to load everything."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["bers", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
        with pytest.raises(SystemExit, match=r"\d") as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


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
        (["-t", "other.csv"], "speed, load"),
        (["-t", "new.csv", "--draws", "0"], "draws"),
        (["-t", "new.csv", "--backend", "spark"], "threads, processes, ray; got 'spark'"),
        (["-t", "new.csv", "--address", "head:6379"], "give --backend ray with it"),
    ],
)
def test_rank_refuses_bad_input_in_one_sentence(runs, here, arguments, message):
    (runs / "other.csv").write_text("load,speed,reward\n" + "1,2,3\n2,1,4\n" * 20)
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


# ---- reproduce -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tiny:
    """Settings of studies that take no time."""

    generations: int = 1


BROKEN: set[int] = set()
"""Seeds whose trials fail."""


def tiny_growth(config, seed):
    for number, needed in ((2, 100), (64, 110)):
        if seed in BROKEN and number == 64:
            raise ValueError(f"no luck with {seed}")
        yield {
            "panel": "Rastrigin", "method": "BERS", "number": number, "best": [9.0, 1.0],
            "evaluations_to": {"1.0": needed + 10 * seed}, "weights_at": [1, 2, 3, 5, 10],
            "weights": [[0.5, 0.5]] * 5,
        }  # fmt: skip


def tiny_latent(config, seed):
    for target, near in (("Rosenbrock", 0), ("Ackley", 1), ("Sphere", 2), ("Rastrigin", 2)):
        heads = np.eye(3)
        moved = [np.vstack([heads, heads[near] + 0.1 / g]) for g in range(1, 4)]
        yield {"panel": target, "means": moved}


@pytest.fixture
def tiny(monkeypatch):
    """Growth and latent with trials that take no time, three each."""

    def use(config):
        module = SimpleNamespace(CONFIG=config, QUICK=Tiny(9), trial=tiny_growth)
        monkeypatch.setitem(sys.modules, "bers.experiments.tiny_growth", module)

    use(Tiny())
    latent = SimpleNamespace(CONFIG=Tiny(), QUICK=Tiny(9), trial=tiny_latent)
    monkeypatch.setitem(sys.modules, "bers.experiments.tiny_latent", latent)
    for name in ("growth", "latent"):
        monkeypatch.setitem(STUDIES, name, Study(f"tiny_{name}", 3, 60.0))
    monkeypatch.setattr(sys.modules[__name__], "BROKEN", set())
    return use


HERE = ("--backend", "here", "--no-progress")


def test_reproduce_writes_journals_and_their_tables(tiny, here, tmp_path):
    code, out, err = here("reproduce", "growth", *HERE)
    assert (code, err) == (0, "")
    folder = tmp_path / "runs" / "growth"
    assert [journal.header["seed"] for journal in read_journals(folder)] == [0, 1, 2]
    table = (folder / "tables.md").read_text()
    assert table.startswith("3 trials.\n")
    assert "| 64 | 120 | 110 to 130 | 3 of 3 | 1.09 | 0.50 |" in table
    assert out.split() == table.split()


def test_reproduce_goes_on_where_it_stopped(tiny, here, tmp_path):
    assert here("reproduce", "growth", "-o", "g", "--trials", 1, *HERE)[0] == 0
    (first,) = (tmp_path / "g").glob("trial-0000-*.jsonl")
    before = first.read_bytes()
    assert here("reproduce", "growth", "-o", "g", "--trials", 2, *HERE)[0] == 0
    assert len(read_journals(tmp_path / "g")) == 2
    assert first.read_bytes() == before
    assert (tmp_path / "g" / "tables.md").read_text().startswith("2 trials.\n")


def test_reproduce_draws_what_there_is_to_draw(tiny, here, tmp_path):
    code, out, err = here("reproduce", "latent", "-o", "l", *HERE)
    assert (code, out, err) == (0, "Picture: l/latent.png\n", "")
    assert (tmp_path / "l" / "latent.png").read_bytes()[:4] == b"\x89PNG"
    assert not (tmp_path / "l" / "tables.md").exists()


def test_a_failed_trial_is_exit_code_1_and_is_tried_again(tiny, here, tmp_path):
    BROKEN.add(1)
    code, out, _ = here("reproduce", "growth", "-o", "g", *HERE)
    assert code == 1
    assert out.startswith("2 trials, 1 failed and left out.\n")
    assert "| 64 | 120 | 110 to 130 | 2 of 2 |" in (tmp_path / "g" / "tables.md").read_text()
    (failed,) = (journal for journal in read_journals(tmp_path / "g") if journal.failed)
    assert "ValueError: no luck with 1" in failed.traceback
    BROKEN.clear()
    code, out, _ = here("reproduce", "growth", "-o", "g", *HERE)
    assert code == 0
    assert out.startswith("3 trials.\n")


def test_if_all_trials_fail_the_reason_is_said(tiny, here):
    BROKEN.update((0, 1, 2))
    code, out, err = here("reproduce", "growth", "-o", "g", *HERE)
    assert (code, out) == (1, "")
    assert "3 of 3 trials failed" in err
    assert "ValueError: no luck with 0" in err


def test_a_second_configuration_is_refused_unless_fresh(tiny, here, tmp_path):
    assert here("reproduce", "growth", "-o", "g", *HERE)[0] == 0
    before = (tmp_path / "g" / "tables.md").read_text()
    tiny(Tiny(generations=2))
    code, out, err = here("reproduce", "growth", "-o", "g", "--trials", 1, *HERE)
    assert (code, out) == (2, "")
    assert "holds trials with another config: generations is 1 there and 2 here." in err
    assert "--fresh" in err
    assert (tmp_path / "g" / "tables.md").read_text() == before
    code, out, _ = here("reproduce", "growth", "-o", "g", "--trials", 1, "--fresh", *HERE)
    assert code == 0
    assert out.startswith("1 trials.\n")
    assert len(read_journals(tmp_path / "g")) == 1


def test_a_folder_of_another_experiment_is_refused(tiny, here):
    assert here("reproduce", "growth", "-o", "g", *HERE)[0] == 0
    code, out, err = here("reproduce", "latent", "-o", "g", "--fresh", *HERE)
    assert (code, out) == (2, "")
    assert "g holds the experiment 'growth', not 'latent'." in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["everything"], "there is no experiment 'everything'. Known: static, safety, growth, "),
        (["growth", "--backend", "spark"], "spark"),
        (["growth", "--trials", "0"], "--trials"),
        (["grunfeld", "--trials", "2"], "grunfeld has one trial per firm"),
    ],
)
def test_reproduce_refuses_what_it_does_not_know(tiny, here, arguments, message):
    code, out, err = here("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_every_experiment_is_there_with_its_settings():
    from importlib import import_module

    for name, study in STUDIES.items():
        found = import_module(f"bers.experiments.{study.module}")
        assert callable(found.trial)
        assert getattr(found, "PARTS", study.parts) == study.parts
        assert found.QUICK != found.CONFIG
        assert name in _NAMES.split(", ")
        settings = getattr(found.CONFIG, "study", found.CONFIG)  # options: a study, few episodes
        if name == "agents":
            assert settings.steps is None  # as many as each task says
            assert min(task.steps for task in found.TASKS.values()) >= 2000
        elif name == "tuning":
            assert settings.trials >= 50
            assert study.parts == len(settings.families)
        elif name == "supply-options":
            assert settings.episodes >= 40
        elif name == "supply-flows":  # a picture, not a comparison
            assert settings.episodes >= 30
        elif name == "reacher-map":
            assert settings.goals >= 100
        elif name == "nobody":
            assert settings.kinds == tuple(found.KINDS)
        elif name == "grunfeld":
            assert settings.years == ("every other", "first ten")
        else:
            assert getattr(settings, "generations", 0) or settings.episodes >= 50
        few = {"supply-flows": (1,), "reacher-map": (1,), "grunfeld": (11,)}
        assert study.trials in few.get(name, (5, 20))


def test_a_study_without_its_packages_is_left_out_or_refused(tiny, here, monkeypatch):
    for name in set(STUDIES) - {"growth", "latent"}:
        monkeypatch.delitem(STUDIES, name)
    lacking = replace(STUDIES["latent"], needs=("numpy", "no_such_package"))
    monkeypatch.setitem(STUDIES, "latent", lacking)
    code, out, err = here("reproduce", "latent", *HERE)
    assert (code, out) == (2, "")
    assert err == ("bers: latent needs no_such_package. `make venv` installs what studies need.\n")
    assert "needs no_such_package: make venv" in here("reproduce", "--dry-run")[1]
    code, out, err = here("reproduce", *HERE)
    assert code == 1
    assert "growth (1 of 1)" in out
    assert "bers: latent was left out: it needs no_such_package. Run `make venv`." in err


def test_a_dry_run_says_what_is_left_and_changes_nothing(tiny, here, tmp_path):
    assert here("reproduce", "growth", "--trials", 2, *HERE)[0] == 0
    before = sorted(path.name for path in tmp_path.rglob("*"))
    code, out, err = here("reproduce", "growth", "latent", "--dry-run", "--jobs", 2)
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert ["growth", "3", "2", "1", "60", "s"] in rows
    assert ["latent", "3", "0", "3", "2", "min"] in rows
    assert "About 2 min on 2 cores" in out
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert "A quick look at all studies takes" in here("reproduce", "--quick", "--dry-run")[1]
    tiny(Tiny(generations=2))
    assert "--fresh or --out" in here("reproduce", "growth", "--dry-run")[1]


def test_a_quick_look_is_short_marked_and_apart(tiny, here, tmp_path):
    code, out, _ = here("reproduce", "growth", "latent", "--quick", *HERE)
    assert code == 0
    assert out.index("growth (1 of 2)") < out.index("latent (2 of 2)")
    for name in ("growth", "latent"):
        folder = tmp_path / "quick" / name
        journals = read_journals(folder)
        assert [journal.header["config"] for journal in journals] == [{"generations": 9}] * 2
        assert (folder / "QUICK").exists()
    assert not (tmp_path / "runs").exists()


def test_without_a_name_all_are_run(monkeypatch, tiny, here, tmp_path):
    for name in set(STUDIES) - {"growth", "latent"}:
        monkeypatch.delitem(STUDIES, name)
    BROKEN.add(1)
    code, _, err = here("reproduce", *HERE)
    assert code == 1
    assert "1 of 3 trials failed" in err
    assert (tmp_path / "runs" / "latent" / "latent.png").exists()  # goes on
    assert here("reproduce", "-o", "x")[0] == 2


# ---- claims --------------------------------------------------------------------------------------


@pytest.fixture
def journals(tmp_path):
    """A latent study in which the paper is right, and one of growth in which we are not."""
    folders = (tmp_path / "reproductions" / name for name in ("latent", "growth"))
    for folder, trial in zip(folders, (tiny_latent, tiny_growth), strict=True):
        folder.mkdir(parents=True)
        for seed in (0, 1):
            records = list(trial(Tiny(), seed))
            if trial is tiny_growth:
                records[1]["evaluations_to"]["1.0"] = 1050
            write_journal(folder / f"{seed}.jsonl", {"seed": seed}, records)
    return tmp_path


def test_claims_are_shown_with_what_was_measured(journals):
    shown = run("claims", cwd=journals)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == ""
    text = " ".join(shown.stdout.split())
    paper, ours = text.split("What we say")
    assert paper.startswith("What the paper says claim measured trials holds with two features,")
    assert ours.startswith(" claim measured trials does not hold evaluations until 1.0 on")
    assert text.endswith("1 of 2 claims hold.")


def test_claims_as_json_are_only_json(journals, here):
    code, out, err = here("claims", "reproductions", "--json")
    assert (code, err) == (0, "")
    latent, growth = json.loads(out)
    assert latent == {
        "id": "latent-converges",
        "claim": "with two features, the target's mean ends nearest to that of the right source "
        "(share of trials, worst target)",
        "said_by": "paper",
        "measured": "Rosenbrock 1.00, Ackley 1.00, Sphere 1.00, Rastrigin 1.00",
        "interval": None,
        "trials": 2,
        "holds": True,
        "journal": "reproductions/latent",
        "where": "paper, figure 3",
    }
    assert growth["measured"] == "105 / 1050 evaluations, +900%"
    assert (growth["said_by"], growth["holds"]) == ("BERS", False)


def test_claims_as_markdown_are_only_markdown(journals, here):
    code, out, err = here("claims", "--markdown")
    assert (code, err) == (0, "")
    assert out.startswith(
        "**1 of 1 claims of the paper, and 0 of 1 of ours hold.**\n\n## The paper's"
    )
    assert out.endswith(
        "105 / 1050 evaluations, +900% |  | 2 | **no** | `reproductions/growth` |\n"
    )
    assert here("claims", "--markdown", "--json")[0] == 2


def test_claims_are_written_into_pages(journals, here):
    page = journals / "page.md"
    page.write_text("Before\n<!-- claims: all -->\nold\n<!-- end of claims -->\nAfter\n")
    assert here("claims", "-w", "page.md") == (0, "page.md: written.\n", "")
    made = page.read_text()
    assert made.startswith("Before\n<!-- claims: all -->\n\n**1 of 1 claims of the paper,")
    assert made.endswith("`reproductions/growth` |\n\n<!-- end of claims -->\nAfter\n")
    assert here("claims", "-w", "page.md") == (0, "page.md: was up to date.\n", "")
    (journals / "other.md").write_text("no place\n")
    code, out, err = here("claims", "-w", "page.md", "-w", "other.md")
    assert (code, out) == (2, "")
    assert "bers: other.md has no place for claims. Put the lines <!-- claims: head -->" in err


def test_claims_without_journals_come_with_advice(tmp_path, here):
    code, out, err = here("claims", "nowhere")
    assert (code, out) == (2, "")
    assert err == (
        "bers: nowhere holds no folder of a study with claims. Give the one that holds them: `bers "
        "claims runs`, after `bers-studies reproduce`.\n"
    )


# ---- report, watch -------------------------------------------------------------------------------


def test_report_writes_one_page_of_all_studies_in_a_folder(tiny, here, tmp_path):
    assert here("reproduce", "growth", "latent", *HERE)[0] == 0
    code, out, err = here("report", "runs", "--title", "Two <studies>")
    assert (code, err) == (0, "")
    assert out.startswith("report.html: ")
    page = (tmp_path / "report.html").read_text()
    assert "Two &lt;studies&gt;" in page
    assert page.count("<section id=") == 3  # claims and two studies
    assert here("report", "runs/growth", "-o", "one.html")[0] == 0
    assert (tmp_path / "one.html").read_text().count("<h2>") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere"], "there is no folder nowhere"),
        (["report", ".", "-o", "report.pdf"], "must end in .html"),
        (["watch", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_a_report_of_nothing_is_refused(here, arguments, message):
    code, out, err = here(*arguments)
    assert (code, out) == (2, "")
    assert message in err
