"""kill -9 of a study, at 20 instants chosen by chance: the tables are the same bytes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import study_to_kill

KILLS = 20


class Runner:
    """Starts the command in a folder, kills it, or waits for its end."""

    def __init__(self, program):
        self.program = program

    def start(self, folder):
        folder.mkdir(exist_ok=True)
        print(folder, file=self.program.stdin, flush=True)
        return int(self.program.stdout.readline())

    def ended(self):
        return int(self.program.stdout.readline())


@pytest.fixture
def runner(tmp_path):
    with (
        (tmp_path / "errors.txt").open("w") as errors,
        subprocess.Popen(
            [sys.executable, study_to_kill.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as program,
    ):
        yield Runner(program)
    print((tmp_path / "errors.txt").read_text())  # shown if the test fails


def journals(folder):
    return sorted(folder.glob("trial-*.jsonl"))


def found(folder):
    """The table, and the bytes of all lines but headers and those that depend on them."""
    records = [path.read_bytes().split(b"\n")[1:-2] for path in journals(folder)]
    return (folder / "tables.md").read_bytes(), records


def wait_for(folder, trials, process, seconds=60):
    end = time.monotonic() + seconds
    while len(journals(folder)) < trials and Path(f"/proc/{process}").exists():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.001)


def test_kill_9_at_twenty_instants_gives_the_same_tables(tmp_path, runner):
    whole = tmp_path / "whole"
    runner.start(whole)
    assert runner.ended() == 0
    undisturbed = found(whole)
    assert undisturbed[0].count(b"\n") == 4 * study_to_kill.TRIALS

    rng, folder, killed = np.random.default_rng(0), tmp_path / "0", []
    while len(killed) < KILLS:
        before = len(journals(folder))
        process = runner.start(folder)
        # some instants lie in the start, where workers come up, the others among the writing
        if rng.uniform() < 0.75:
            wait_for(folder, before + rng.integers(1, 5), process)
            time.sleep(rng.uniform(0, 0.03))
        else:
            time.sleep(rng.uniform(0, 0.5))
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        code = runner.ended()
        if code == 0:  # it was faster
            assert found(folder) == undisturbed
            folder = tmp_path / str(len(killed))
        else:
            assert code == -signal.SIGKILL
            killed.append((folder, len(journals(folder))))
    assert len(set(killed)) > KILLS / 2  # at different places of the work
    for one in {folder for folder, _ in killed}:
        runner.start(one)
        assert runner.ended() == 0
        assert found(one) == undisturbed
        assert not list(one.glob(".*.tmp"))
