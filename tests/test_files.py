"""A reader sees the old file or the new one, whatever happens in between."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bers.errors import FileError
from bers.files import write_atomically


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="half way"), write_atomically(path) as temporary:
        temporary.write_text("new, but")
        raise RuntimeError("half way")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_temporary_file_is_in_the_same_folder_and_hidden(tmp_path):
    with write_atomically(tmp_path / "a.txt") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        temporary.write_text("new")
    assert (tmp_path / "a.txt").read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_killed_writer_leaves_the_old_file_and_its_leftover_is_cleaned(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    program = (
        "import sys, time\n"
        "from bers.files import write_atomically\n"
        "with write_atomically(sys.argv[1]) as t:\n"
        "    t.write_text('half')\n"
        "    time.sleep(60)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, str(path)])
    while not any(p.name.endswith(".tmp") and p.read_text() for p in tmp_path.iterdir()):
        time.sleep(0.02)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with write_atomically(path) as temporary:
        temporary.write_text("new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "new"


def test_a_missing_folder_says_what_to_do(tmp_path):
    with (
        pytest.raises(FileError, match=r"cannot write .*no.a\.txt: No such file.*folder exists"),
        write_atomically(tmp_path / "no" / "a.txt"),
    ):
        pass


def test_a_full_disk_says_what_to_do():
    # /dev/full is a device on which every write fails for lack of room
    with (
        pytest.raises(FileError, match="No space left on device.*has room"),
        write_atomically(os.path.join(os.sep, "dev", "shm", "bers-full-test")) as temporary,
        open(os.path.join(os.sep, "dev", "full"), "w") as full,
    ):
        temporary.write_text("x")
        full.write("x")
