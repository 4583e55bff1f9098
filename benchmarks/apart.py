"""Contenders in processes of their own, so that the threads of one never slow the other.

Enters: a function per contender that sets it up and returns what is to be timed; it must live in
a module. Leaves: turns. A contender that waits for its turn sleeps; its clock is its own.
"""

import multiprocessing as mp
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection

from timing import Turn, here, say

Maker = Callable[[], Callable[[], object]]


@contextmanager
def apart(label: str, makers: Mapping[str, Maker]) -> Iterator[dict[str, Turn]]:
    """A turn for each contender, warmed up; the processes end with the block."""
    with ExitStack() as stack:
        turns = {}
        for name, make in makers.items():
            say(f"{label}: setting up {name}")
            turns[name] = stack.enter_context(_process(name, make))
        yield turns


@contextmanager
def _process(name: str, make: Maker) -> Iterator[Turn]:
    context = mp.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, make), daemon=True)
    process.start()
    theirs.close()

    def turn(calls: int) -> list[float]:
        try:
            ours.send(calls)
            return ours.recv()
        except (EOFError, OSError):
            raise RuntimeError(f"{name} stopped; its error is printed above.") from None

    try:
        turn(1)
        yield turn
    finally:
        ours.close()
        process.join(timeout=10)
        process.terminate()


def _serve(pipe: Connection, make: Maker) -> None:
    """Set up, then run as many calls as asked for until nobody asks any more."""
    turn = here(make())
    while True:
        try:
            calls = pipe.recv()
        except EOFError:
            return
        pipe.send(turn(calls))
