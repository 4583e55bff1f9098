"""PyTorch with all cores, and with one: small steps are often faster on one."""

from collections.abc import Callable

import torch

ALL = torch.get_num_threads()


def on_threads(threads: int, call: Callable[[], object]) -> Callable[[], object]:
    """The same call on so many threads."""

    def run() -> object:
        torch.set_num_threads(threads)
        return call()

    return run


def variants(name: str, call: Callable[[], object]) -> dict[str, Callable[[], object]]:
    """The call on all threads and on one, by name."""
    made = {f"{name}, 1 thread": on_threads(1, call)}
    if ALL > 1:
        made[f"{name}, {ALL} threads"] = on_threads(ALL, call)
    return made


def faster_of(name: str, seconds: dict[str, float]) -> tuple[str, float]:
    """The better of the variants of one name."""
    mine = {key: value for key, value in seconds.items() if key.startswith(f"{name}, ")}
    best = min(mine, key=mine.__getitem__)
    return best, mine[best]
