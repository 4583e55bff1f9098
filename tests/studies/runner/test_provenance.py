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
    code_digest,
    files_digest,
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
    lock = module.PACKAGE.parent / "constraints.txt"
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


def test_the_code_digest_sees_what_changes_results(tmp_path):
    package = tmp_path / "bers"
    shutil.copytree(module.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    first = files_digest(package)
    for same in ("cli.py", "commands/rank.py", "report/tables.py", "trust/notes.txt"):
        (package / same).write_text("# other")
        assert files_digest(package) == first, same
    for other in ("algorithm.py", "trust/simplex.c", "trust/newton.h", "experiments/heads.py"):
        with open(package / other, "a") as stream:
            stream.write(" ")
        assert files_digest(package) != first, other
        first = files_digest(package)
    (package / "files.py").rename(package / "file.py")
    assert files_digest(package) != first


def test_studies_that_run_through_an_integration_know_its_code(tmp_path):
    from bers_studies.agents import study as agents
    from bers_studies.heads import study as heads
    from bers_studies.tuning import study as tuning

    package = tmp_path / "bers"
    shutil.copytree(module.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    plain, through = files_digest(package), files_digest(package, ("integrations",))
    (package / "integrations" / "optuna.py").write_text("# other")
    assert files_digest(package) == plain
    assert files_digest(package, ("integrations",)) != through
    assert trial_code(heads.trial) == code_digest()
    assert trial_code(agents.trial) == trial_code(tuning.trial) == code_digest("integrations")
    assert code_digest("integrations") != code_digest()


def test_the_code_digest_is_found_once():
    assert re.fullmatch("[0-9a-f]{64}", code_digest())
    assert code_digest() is code_digest()
