"""The commands of the studies, within this process: a new one takes seconds to load everything."""

import json
import runpy
import sys
import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from bers_studies.cli import main
from bers_studies.runner.journal import read_journals, write_journal
from bers_studies.study import studies

reproducing = import_module("bers_studies.cli.reproduce")


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Calls a command in an empty folder: how it ended, and what it said."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "160")  # whoever runs the tests has a width of their own
        monkeypatch.setattr(sys, "argv", ["bers-studies", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards
        with pytest.raises(SystemExit, match=r"\d") as left:
            main()
        return left.value.code, *capsys.readouterr()

    return call


def test_help_names_the_commands(here):
    code, out, err = here("--help")
    assert (code, err) == (0, "")
    commands = ("reproduce", "claims", "report", "watch", "compare", "demonstrations")
    assert all(command in out for command in commands)
    words = " ".join(here("reproduce", "--help")[1].replace("│", " ").split())
    assert ", ".join(studies()) in words


@pytest.mark.parametrize(("module", "word"), [("bers.cli", "rank"), ("bers_studies.cli", "watch")])
def test_the_commands_as_modules(module, word, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module(module, run_name="__main__")
    assert word in capsys.readouterr().out


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
        monkeypatch.setitem(sys.modules, "bers_studies.growth.study", module)

    use(Tiny())
    latent = SimpleNamespace(CONFIG=Tiny(), QUICK=Tiny(9), trial=tiny_latent)
    monkeypatch.setitem(sys.modules, "bers_studies.latent.study", latent)
    for name in ("growth", "latent"):
        known_as(monkeypatch, name, trials=3, seconds=60.0)
    monkeypatch.setattr(sys.modules[__name__], "BROKEN", set())
    return use


def known_as(monkeypatch, name, **changes):
    """Another record of a study."""
    folder = import_module(f"bers_studies.{name}")
    monkeypatch.setattr(folder, "STUDY", replace(folder.STUDY, **changes))


@pytest.fixture
def only_these(tiny, monkeypatch):
    """As if there were no other studies."""

    def two():
        known = studies()
        return {name: known[name] for name in ("growth", "latent")}

    monkeypatch.setattr(reproducing, "studies", two)


HERE = ("--backend", "here", "--no-progress")


def test_reproduce_writes_journals_and_their_tables(tiny, here, tmp_path):
    code, out, err = here("reproduce", "growth", *HERE)
    assert (code, err) == (0, "")
    folder = tmp_path / "runs" / "growth"
    assert [journal.header["seed"] for journal in read_journals(folder)] == [0, 1, 2]
    table = (folder / "tables.md").read_text()
    assert table.startswith("3 trials.\n")
    assert "| 64 | 120 | 110 to 130 | 3 of 3 | 1.09 | 0.50 |" in table
    words = [word for word in table.split() if word != "|" and not word.startswith("|--")]
    assert out.split() == words  # a table, not its marks
    assert "|" not in out


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
    assert "| 64 | 120 | not available | 2 of 2 |" in (tmp_path / "g" / "tables.md").read_text()
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
        (["everything"], "there is no experiment 'everything'. Known: static, paper-metric, "),
        (["growth", "--backend", "spark"], "spark"),
        (["growth", "--trials", "0"], "--trials"),
        (["grunfeld", "--trials", "2"], "grunfeld has one trial per firm"),
        (["growth", "--out", "a.txt"], "cannot make the folder a.txt"),
    ],
)
def test_reproduce_refuses_what_it_does_not_know(tiny, here, tmp_path, arguments, message):
    (tmp_path / "a.txt").touch()
    code, out, err = here("reproduce", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_study_without_its_packages_is_left_out_or_refused(only_these, here, monkeypatch):
    known_as(monkeypatch, "latent", needs=("numpy", "no_such_package"))
    code, out, err = here("reproduce", "latent", *HERE)
    assert (code, out) == (2, "")
    needed = "latent needs no_such_package. `make venv` installs what studies need."
    assert err == f"bers-studies: {needed}\n"
    assert "needs no_such_package: make venv" in here("reproduce", "--dry-run")[1]
    code, out, err = here("reproduce", *HERE)
    assert code == 1
    assert "growth (1 of 1)" in out
    assert "bers-studies: latent was left out: it needs no_such_package. Run `make venv`." in err


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


def test_without_a_name_all_are_run(only_these, here, tmp_path):
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


def test_claims_are_shown_with_what_was_measured(journals, here):
    code, out, err = here("claims")
    assert (code, err) == (0, "")
    text = " ".join(out.split())
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
        "reading": "",
        "best": None,
    }
    assert growth["measured"] == "105 / 1050 evaluations, +900%"
    assert (growth["said_by"], growth["holds"]) == ("BERS", False)


def test_claims_as_markdown_are_only_markdown(journals, here):
    code, out, err = here("claims", "--markdown")
    assert (code, err) == (0, "")
    assert out.startswith(
        "**1 of 1 claims of the paper, and 0 of 1 of ours hold.**\n\n## The paper's"
    )
    assert out.endswith("105 / 1050 evaluations, +900% |  | 2 | `reproductions/growth` |\n")
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
    assert (
        "bers-studies: other.md has no place for claims. Put the lines <!-- claims: head -->" in err
    )


def test_claims_without_journals_come_with_advice(tmp_path, here):
    code, out, err = here("claims", "nowhere")
    assert (code, out) == (2, "")
    assert err == (
        "bers-studies: nowhere holds no folder of a study with claims. Give the one that holds "
        "them: `bers-studies claims runs`, after `bers-studies reproduce`.\n"
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
