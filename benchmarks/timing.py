"""Fair timing on a machine that others use too: contenders take turns, the median counts."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
Turn = Callable[[int], list[float]]
"""Seconds of each of so many calls."""

_REST = 0.03
_STARTED = time.perf_counter()


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"[{time.perf_counter() - _STARTED:5.0f} s] {text}", file=sys.stderr, flush=True)


def here(call: Callable[[], object]) -> Turn:
    """A turn in this process."""
    return lambda calls: [timed(call) for _ in range(calls)]


def take_turns(
    label: str, contenders: Mapping[str, Turn], *, rounds: int, calls: int = 1
) -> dict[str, float]:
    """Median seconds of one call of each contender.

    In every round each contender has its turn, so whatever else the machine is busy with slows
    all of them alike. Before each turn there is a rest, since the threads of some libraries go on
    spinning for a while. Where calls are short, the first of a turn does not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    idle = 1 if calls > 1 else 0
    for i in range(rounds):
        say(f"{label}: round {i + 1} of {rounds}")
        for name, turn in contenders.items():
            time.sleep(_REST)
            seconds[name] += turn(idle + calls)[idle:]
    return {name: median(values) for name, values in seconds.items()}


def timed(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def script(name: str, *arguments: object, timeout: float = 1200) -> str:
    """Standard output of a program beside this file, in a fresh interpreter."""
    return program([sys.executable, str(HERE / name), *map(str, arguments)], timeout=timeout)


def program(command: Sequence[str], timeout: float = 120) -> str:
    """Standard output of a program; its standard error is shown if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout
