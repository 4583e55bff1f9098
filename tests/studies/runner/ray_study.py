"""Trials that the workers of a Ray cluster can import.

As a program, it is a cluster; with a folder, one for marks and an address, it is a study on Ray.
"""

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bers_studies.runner.run import Experiment, run

from bers.cluster import cluster
from bers.errors import BersError

SEEDS = range(6)


@dataclass(frozen=True)
class Config:
    steps: int = 3
    pause: float = 0.0
    marks: str = ""
    """A folder where trials say what befell them."""


def walk(config, seed):
    if config.marks:
        Path(config.marks, f"{seed}-{os.getpid()}").touch()
    rng, best = random.Random(seed), float("inf")
    for step in range(config.steps):
        yield {"step": step, "best": best}
        best = min(best, rng.random())
        time.sleep(config.pause)


def fragile(config, seed):
    """Seeds 0 and 1 need two workers; seed 2 waits to be killed, the first time; seed 4 fails."""
    for record in walk(config, seed):
        yield record
        while seed < 2 and not list(Path(config.marks).glob(f"{1 - seed}-*")):
            time.sleep(0.01)
        if seed == 4 and record["step"] == 1:
            raise ValueError("no luck with 4")
        if seed == 2 and record["step"] == 1 and not Path(config.marks, "killed").exists():
            Path(config.marks, "waits").write_text(str(os.getpid()))
            time.sleep(60)


def hopeless(config, seed):
    if seed == 1:
        Path(config.marks, f"died-{os.getpid()}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield {"limits": [os.environ[name] for name in ("NPROC", "OPENBLAS_NUM_THREADS")]}


def abs_unless_killed(marks, number):
    """For parts of a ranking: the worker of number -3 dies, the first time."""
    if number == -3 and not Path(marks, "died").exists():
        Path(marks, "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return abs(number)


def slow(marks):
    return Experiment("walk", Config(pause=0.2, marks=str(marks)), walk)


def keep_a_cluster():
    """Start one for the purpose, say where it is, and end it with standard input."""
    before = dict(os.environ), signal.getsignal(signal.SIGTERM)
    with cluster(cores=3) as there:
        assert before == (dict(os.environ), signal.getsignal(signal.SIGTERM))
        print(there.address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    try:
        if len(sys.argv) == 1:
            keep_a_cluster()
        else:
            folder, marks, address = sys.argv[1:]
            run(slow(marks), SEEDS, folder, jobs=2, backend="ray", address=address or None)
    except BersError as error:
        print(f"bers: {error}", file=sys.stderr)
        sys.exit(2)
