"""What runs share lies in a folder that only this user can use, and nothing is left in it."""

import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
from bers_studies.rl.methods import kept
from bers_studies.rl.replay import Transitions
from bers_studies.runner.own_folder import own_folder, passing_folder

from bers.errors import FileError


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_that_others_can_use_is_refused(temporary):
    folder = own_folder()
    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(
        FileError, match=r"is not a folder that only you can use.*Remove it, or set"
    ):
        own_folder()
    folder.rmdir()
    (temporary / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(temporary / "elsewhere")
    with pytest.raises(FileError, match=r"is not a folder that only you can use"):
        own_folder()


def test_a_folder_of_somebody_else_is_refused(monkeypatch):
    folder, real = own_folder(), os.lstat

    def foreign(path):
        found = real(path)
        return SimpleNamespace(st_mode=found.st_mode, st_uid=found.st_uid + 1)

    monkeypatch.setattr("bers_studies.runner.own_folder.os.lstat", foreign)
    with pytest.raises(FileError, match=str(folder)):
        own_folder()


def test_what_a_killed_process_left_is_removed(temporary):
    program = (
        "import os, tempfile; tempfile.tempdir = {!r}\n"
        "from bers_studies.runner.own_folder import passing_folder\n"
        "with passing_folder('compiled-') as folder:\n"
        "    (folder / 'code').write_text('x'); print(folder, flush=True); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program.format(str(temporary))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -9
    left = own_folder() / ended.stdout.strip().rsplit("/", 1)[1]
    assert (left / "code").exists()
    with passing_folder("compiled-") as first:
        assert not left.exists()
        with passing_folder("compiled-") as second:
            assert first.exists()  # its process is alive
            assert second.exists()
    assert not first.exists()
    assert not second.exists()


ROWS = Transitions(np.ones((3, 2)), np.zeros((3, 1)), np.arange(3.0), np.zeros((3, 2)))


def test_shared_demonstrations_are_read_back_and_made_again_when_damaged(monkeypatch):
    monkeypatch.setattr("bers_studies.rl.methods.code_digest", lambda module: "abc")
    made = []

    def make():
        made.append(1)
        return ROWS

    first, again = kept("x", "key", make), kept("x", "key", make)
    assert len(made) == 1
    assert np.array_equal(first.r_t, again.r_t)
    (path,) = own_folder().glob("x-*.bers")
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    assert kept("x", "key", make).r_t.tolist() == [0, 1, 2]
    assert len(made) == 2
    with path.open("wb") as file:
        np.savez(file, s_tm1=np.array([None], dtype=object))  # never unpickled
    assert kept("x", "key", make).r_t.tolist() == [0, 1, 2]
    assert len(made) == 3
