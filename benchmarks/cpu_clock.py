"""CPU seconds of a call: the honest number on a machine that others use too.

Enters: calls by size. Leaves: (size, CPU seconds of one call), medians; sizes take turns. Time that
the machine gave to others is not counted; what sharing caches costs is.
"""

import os
import time
from collections.abc import Callable, Mapping

from timing import Turn, take_turns

Points = list[tuple[float, float]]
_LONG = 4.0  # seconds of a first call that is enough
_SHORT = 0.02  # shorter calls are timed many at a time


def cpu_seconds(call: Callable[[], object], times: int = 1) -> float:
    """Of one call, all threads of the process together."""
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def system_share(call: Callable[[], object]) -> float:
    """Of a call's CPU time, what the system took, for memory above all."""
    before = os.times()
    call()
    after = os.times()
    system, user = after.system - before.system, after.user - before.user
    return system / max(system + user, 1e-9)


def measured(
    label: str,
    calls: Mapping[float, Callable[[], object]],
    *,
    rounds: int = 5,
    long: float = _LONG,
) -> Points:
    """Each call once to warm up, then in turns, but for those that took long already."""
    first = {size: cpu_seconds(call) for size, call in calls.items()}
    turns = {str(size): _turn(calls[size]) for size, took in first.items() if took < long}
    seconds = take_turns(label, turns, rounds=rounds) if turns else {}
    return [(size, seconds.get(str(size), first[size])) for size in calls]


def _turn(call: Callable[[], object]) -> Turn:
    times = max(1, round(_SHORT / max(cpu_seconds(call), 1e-7)))
    return lambda calls: [cpu_seconds(call, times) for _ in range(calls)]
