"""What a study is: a folder with a record and a trial, and nothing else in the tree names it."""

import json
import re
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import pytest
from bers_studies.runner.journal import read_journals
from bers_studies.study import Study, studies, study_named

from bers.errors import ConfigError

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "studies" / "bers_studies"
STUDIES = studies()
STORED = [path for path in sorted((ROOT / "reproductions").iterdir()) if path.is_dir()]


def test_every_folder_with_a_trial_is_a_study():
    folders = {path.parent.name for path in SOURCE.glob("*/study.py")}
    assert {study.package for study in STUDIES.values()} == {f"bers_studies.{f}" for f in folders}
    orders = [study.order for study in STUDIES.values()]
    assert orders == sorted(set(orders))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_all_that_it_promises(name):
    study = STUDIES[name]
    assert study.about
    assert study.trials >= 1
    assert study.missing == []
    assert callable(study.trial)
    assert study.trial.__module__ == f"{study.package}.study"
    assert is_dataclass(study.config)
    assert type(study.config) is type(study.quick)
    assert study.config != study.quick
    assert getattr(sys.modules[study.trial.__module__], "PARTS", study.parts) == study.parts
    assert study.tables is not None or study.figures
    assert all(re.fullmatch(r"[a-z-]+\.(png|svg)", picture) for picture in study.figures)
    if study.claims is not None:
        assert study.page or study.places
    else:
        assert (study.page, study.places, study.head) == ("", {}, ())


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
def test_what_is_stored_is_what_the_record_says(folder):
    study = STUDIES[folder.name]
    journals = read_journals(folder)
    assert {journal.header["name"] for journal in journals} == {study.name}
    assert 0 < len(journals) <= study.trials * study.parts
    # the first parts, without a gap: the last trial may be unfinished
    assert sorted(journal.header["seed"] for journal in journals) == list(range(len(journals)))
    assert (folder / "tables.md").exists() is (study.tables is not None)
    assert {path.name for path in folder.iterdir() if path.suffix in (".png", ".svg")} == set(
        study.figures
    )
    page = (ROOT / "reproductions" / "README.md").read_text()
    assert f"| [{study.name}]({study.name}) | {study.about} |" in page


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
def test_tables_are_made_anew_as_they_are_stored(folder):
    make = STUDIES[folder.name].tables
    if make is not None:
        assert make(folder) == (folder / "tables.md").read_text()


def test_no_code_names_a_study_that_it_does_not_need():
    """The machinery knows of studies by their records alone."""
    machinery = [SOURCE / "study.py"]
    for folder in ("report", "runner", "envs", "rl", "rivals"):
        machinery += (SOURCE / folder).glob("*.py")
    packages = "|".join(study.package.replace(".", r"\.") for study in STUDIES.values())
    imported = re.compile(rf"^ *(?:from|import) ({packages})\b", re.M)
    for path in machinery:
        assert imported.findall(path.read_text()) == [], path


def test_records_are_light():
    program = """
import sys
from bers_studies.study import studies
assert len(studies()) > 10
heavy = {"jax", "numpy", "scipy", "matplotlib", "gymnasium", "torch", "optuna", "pyarrow"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert not [name for name in sys.modules if name.endswith(".study") and name.count(".") == 2]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_longest_beginning_decides_the_place():
    study = study_named("supply")
    assert study.place("supply-finds-1-paper", "paper") == "paper, figure 5"
    assert study.place("supply-best-expert-1-paper", "paper") == "paper, section 4.3"
    assert study.place("supply-safe-1", "BERS") == "docs/supply.md"
    nowhere = Study("bers_studies.a", "a", trials=1)
    assert (nowhere.place("a", "paper"), nowhere.place("a", "BERS")) == ("paper", "BERS")


def test_a_study_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="there is no experiment 'heds'. Known: static, "):
        study_named("heds")


FOLDER = {
    "__init__.py": """
from bers_studies.study import Study

STUDY = Study(__name__, about="how often six eyes are thrown", trials=3, page="docs/dice.md",
              head=("dice-fair",))
""",
    "study.py": """
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    throws: int = 60

def trial(config, seed):
    yield {"method": "dice", "sixes": config.throws // 6 + seed - 1}

CONFIG, QUICK = Config(), Config(6)
""",
    "tables.py": """
from bers_studies.report.curves import read_runs

def tables(folder):
    return f"{sum(r['sixes'] for r in read_runs(folder).records)} sixes\\n"
""",
    "claims.py": """
from bers_studies.report.claim import claim_of

def claims(runs):
    mean = runs.array("sixes", method="dice").mean()
    yield claim_of(runs, "dice-fair", "the dice is fair", "BERS", f"{mean:g}", mean == 10)
""",
    "figures.py": """
def draw(folder, picture):
    picture.write_bytes(b"PNG of " + folder.name.encode())

FIGURES = {"dice.png": draw}
""",
    "view.py": """
from bers_studies.report.panel import Panel

def panels(runs):
    return [Panel("Faces", [("one", "<svg><title>a face</title></svg>")])]
""",
}


def test_adding_a_study_is_adding_a_folder(tmp_path):
    folder = tmp_path / "more" / "loaded_dice"
    folder.mkdir(parents=True)
    for name, text in FOLDER.items():
        (folder / name).write_text(text)
    program = """
import sys
import bers_studies
bers_studies.__path__.append("more")
from bers_studies.cli import main
main()
"""

    def call(*arguments):
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "loaded-dice" in call("reproduce", "--help")
    made = call("reproduce", "loaded-dice", "--backend", "here", "--no-progress")
    assert made == "Picture: runs/loaded-dice/dice.png\n30 sixes\n"
    (tmp_path / "page.md").write_text("<!-- claims: head -->\n<!-- end of claims -->\n")
    call("claims", "runs", "-w", "page.md")
    assert "| yes | the dice is fair | BERS | 10 |  | 3 |" in (tmp_path / "page.md").read_text()
    assert json.loads(call("claims", "runs", "--json"))[0]["where"] == "docs/dice.md"
    (tmp_path / "runs" / "loaded-dice" / "dice.png").unlink()
    call("report", "runs")
    page = (tmp_path / "report.html").read_text()
    assert "How often six eyes are thrown." in page
    assert "<h3>Faces</h3>" in page
    assert "a face" in page
