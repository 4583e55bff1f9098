"""PyTorch with all cores, and with one: small steps are often faster on one."""

import os
from collections.abc import Callable
from functools import partial

import torch
from apart import Maker

_COUNTS = sorted({1, os.cpu_count() or 1})


def variants(name: str, make: Maker) -> dict[str, Maker]:
    """The contender on one thread and on as many as there are cores, by name."""
    return {
        f"{name}, {n} thread{'s' if n > 1 else ''}": partial(_on_threads, n, make) for n in _COUNTS
    }


def faster_of(name: str, seconds: dict[str, float]) -> tuple[str, float]:
    """The better of the variants of one name."""
    mine = {key: value for key, value in seconds.items() if key.startswith(f"{name}, ")}
    best = min(mine, key=mine.__getitem__)
    return best, mine[best]


def _on_threads(n: int, make: Maker) -> Callable[[], object]:
    call = make()
    torch.set_num_threads(n)
    return call
