"""Where results come from."""

import json
import platform
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import jax
import numpy as np
import pytest
from bers_studies.runner import provenance as module
from bers_studies.runner.provenance import (
    closure,
    code_digest,
    git_state,
    machine,
    provenance,
    trial_code,
)

import bers
from bers.integrity import file_digest


def test_everything_is_there():
    found = provenance()
    assert json.loads(json.dumps(found)) == found
    assert found["bers"] == bers.__version__
    assert found["python"] == platform.python_version()
    assert found["jax"] == jax.__version__
    assert found["numpy"] == np.__version__
    assert found["command"] == [Path(sys.argv[0]).name, *sys.argv[1:]]
    assert "/" not in found["command"][0]  # where the program lies is nobody's business
    assert found["cpu"]
    assert found["threads"] >= 1
    lock = Path(bers.__file__).parent.parent / "constraints.txt"
    assert found["constraints"] == (file_digest(lock) if lock.exists() else None)
    age = datetime.now(UTC) - datetime.fromisoformat(found["time"])
    assert age.total_seconds() < 60


def test_threads_are_those_of_a_worker(monkeypatch):
    monkeypatch.setenv("NPROC", "1")
    assert machine()["threads"] == 1


@pytest.fixture
def repository(tmp_path):
    def git(*command):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "bers").mkdir()
    (tmp_path / "bers" / "a.py").write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    return tmp_path


def test_commit_and_dirty_flag(repository):
    state = git_state(repository / "bers")
    assert re.fullmatch("[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (repository / "results.json").write_text("{}")  # is not code
    assert git_state(repository / "bers") == state
    (repository / "bers" / "b.py").write_text("2")
    assert git_state(repository / "bers") == {**state, "dirty": True}


def test_outside_of_git_there_is_no_commit(repository, tmp_path_factory, monkeypatch):
    nothing = {"commit": None, "dirty": None}
    elsewhere = tmp_path_factory.mktemp("plain")
    assert git_state(elsewhere / "bers") == nothing
    inner = repository / "venv" / "bers"  # installed inside somebody's repository
    inner.mkdir(parents=True)
    assert git_state(inner) == nothing
    monkeypatch.setenv("PATH", "")
    assert git_state(repository / "bers") == nothing


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """Both packages elsewhere, where they may be changed; what was found before is forgotten."""
    places = {}
    for name, (place, *_) in module.PACKAGES.items():
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        places[name] = [str(shutil.copytree(place, tmp_path / name, ignore=ignored))]
    monkeypatch.setattr(module, "PACKAGES", places)
    yield tmp_path
    forget()


def forget():
    code_digest.cache_clear()
    module._code.cache_clear()


def digest(name):
    forget()
    return code_digest(name)


GROWTH = "bers_studies.growth.study"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("bers_studies/growth/study.py", ("generations: int = 60", "generations: int = 61")),
        ("bers_studies/safety/study.py", ("rng.uniform(1.0, 2.5", "rng.uniform(1.0, 2.6")),
        ("bers_studies/static/functions.py", ("-20 * np.exp", "-21 * np.exp")),
        ("bers/algorithm.py", ("", "another = 1\n")),
        ("bers/**/simplex.c", ("", " ")),
        ("bers/**/newton.h", ("", " ")),
    ],
)
def test_what_a_study_runs_changes_its_digest(copied, file, change):
    before = digest(GROWTH)
    edit(*copied.glob(file), *change)
    assert digest(GROWTH) != before


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("bers_studies/growth/study.py", ("", "# a comment\n")),
        ("bers_studies/growth/study.py", ('"""All numbers of one seed."""', '"""Other words."""')),
        ("bers_studies/static/functions.py", ("import numpy", "\n\nimport numpy")),
        ("bers_studies/growth/tables.py", ("", "another = 1\n")),  # made from journals
        ("bers_studies/growth/__init__.py", ("seconds=150", "seconds=15")),  # only told
        ("bers_studies/supply/study.py", ("", "another = 1\n")),
        ("bers_studies/runner/run.py", ("", "another = 1\n")),
        ("bers/cli/demo.py", ("", "another = 1\n")),
        ("bers/integrations/optuna/sampler.py", ("", "another = 1\n")),
    ],
)
def test_nothing_else_does(copied, file, change):
    before = digest(GROWTH)
    edit(*copied.glob(file), *change)
    assert digest(GROWTH) == before


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else new + text)


def test_a_module_that_is_renamed_changes_the_digest(copied):
    before = digest("bers_studies.heads.study")
    studies = copied / "bers_studies"
    (studies / "static" / "functions.py").rename(studies / "static" / "function.py")
    for path in studies.rglob("*.py"):
        path.write_text(path.read_text().replace("static.functions", "static.function"))
    assert digest("bers_studies.heads.study") != before


def test_a_closure_follows_imports_wherever_they_stand():
    agents, tuning = (closure(f"bers_studies.{name}.study") for name in ("agents", "tuning"))
    assert {"bers.integrations.sb3", "bers_studies.envs.goals"} <= agents  # inside of a function
    assert "bers.integrations.optuna" in tuning
    assert "bers.integrations.optuna" not in agents | closure(GROWTH)
    assert {"bers_studies.growth.study", "bers_studies.safety.study"} <= closure(GROWTH)
    assert not {"bers_studies.growth", "bers_studies.study"} & closure(GROWTH)
    assert closure(source="import numpy") == set()
    found = closure(source="import bers\nbers.rank([], None)")  # a public name
    assert {"bers.trust.rules", "bers.model.nig"} <= found
    assert found == closure(source="def f():\n    from bers import rank")


def test_a_text_of_ones_own_has_a_digest():
    one = code_digest(source="from bers import fit\nx = 1")
    assert one == code_digest(source='"""Words."""\nfrom bers import fit  # why\n\nx = 1\n')
    assert one != code_digest(source="from bers import fit\nx = 2")
    assert one != code_digest(source="from bers import rank\nx = 1")


def test_a_trial_has_the_code_of_its_module(tmp_path):
    from bers_studies.growth.study import trial

    assert trial_code(trial) == code_digest(GROWTH)
    assert trial_code(here) == code_digest(source=Path(__file__).read_text())
    assert trial_code(None) == code_digest()
    typed = eval("lambda config, seed: []", {"__name__": "__main__"})
    assert trial_code(typed) == code_digest()


def here(config, seed):
    """A trial of somebody else."""


def test_the_code_digest_is_found_once():
    assert re.fullmatch("[0-9a-f]{64}", code_digest())
    assert code_digest() is code_digest()
