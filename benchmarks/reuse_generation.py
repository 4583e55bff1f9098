"""What reuse adds to a generation: a mini-batch, fresh posteriors, new weights. Against PyTorch.

A run in the paper's setting is recorded; its generations are then played back, so that the clock
sees `bers.algorithm.after` alone, with the rows of a target that grows. When a run is over, it
starts again. The peer, PyTorch and cvxopt, is given the same rows. One thread each.
"""

from collections.abc import Callable
from functools import partial

import torch
from apart import apart
from bers_studies.static.demonstrations import DIMENSION
from encoder_products import products
from one_thread import one_thread
from reuse_data import GENERATIONS, TRANSFORM, past_runs, recorded
from row import Row, at_most, faster
from timing import take_turns
from torch_reuse import TorchReuse

from bers import Demonstrations
from bers.algorithm import ReuseConfig, after
from bers.learners.base import Experience

ROUNDS, CALLS = 10, 49  # with the call that does not count, half a run
_SUBSET = ReuseConfig().subset
_PAPER = {"subset": None, "rule": "weights"}
_UNIT = "ms (less is better)"
_FLOOR = "the encoder's matrix products on those rows and a mini-batch"


def rows() -> list[Row]:
    """A limit, a race with our settings, and one with the paper's."""
    makers = {
        "ours": ours,
        "ours, paper": partial(ours, **_PAPER),
        "torch": peer,
        "torch, subset": partial(peer, subset=_SUBSET),
        "products": partial(products, 4 * _SUBSET, DIMENSION),
        "products, paper": partial(products, _rows_of_a_generation(), DIMENSION),
    }
    with one_thread(), apart("reuse_generation", makers) as turns:
        seconds = take_turns("reuse_generation", turns, rounds=ROUNDS, calls=CALLS)
    ms = {name: 1e3 * value for name, value in seconds.items()}
    counts = " + ".join(f"{source.n:,}" for source in past_runs())
    setting = f"Sources of {counts} rows; the target grows to {32 * (GENERATIONS + 1):,}."
    race = partial(
        faster,
        peer=ms["torch"],
        peer_name="torch and cvxopt on all rows",
        goal=5,
        unit=_UNIT,
        less_is_better=True,
    )
    return [
        at_most(
            "reuse_generation",
            ms["ours"],
            10.0,
            unit="ms (less is better; ratio = limit / ours)",
            note=f"Median over the generations of a run, one thread. {setting}",
        ),
        race(
            "reuse_generation_peer",
            ms["ours"],
            note=f"The library's rule; posteriors from {_SUBSET} rows per head. PyTorch on as many "
            f"rows takes {ms['torch, subset']:.3g} ms, ratio "
            f"{ms['torch, subset'] / ms['ours']:.2f}.",
        ).above(ms["products"], _FLOOR),
        race(
            "reuse_generation_paper",
            ms["ours, paper"],
            note="The paper's rule and all rows on both sides, which pass the encoder each time.",
        ).above(ms["products, paper"], _FLOOR),
    ]


def _rows_of_a_generation() -> int:
    """Of all sources, and of the target halfway."""
    return sum(source.n for source in past_runs()) + 32 * (GENERATIONS + 1) // 2


def ours(**how: object) -> Callable[[], object]:
    """One generation at a call; all shapes were compiled while the run was recorded."""
    run = recorded(**how)
    reuse, left = run.start, iter(run.seen)

    def call() -> None:
        nonlocal reuse, left
        news = next(left, None)
        if news is None:
            reuse, left = run.start, iter(run.seen)
            news = next(left)
        reuse = after(reuse, news, start=not len(reuse.trust.y))

    return call


def peer(subset: int | None = None) -> Callable[[], object]:
    """The same rows for the peer; it starts with the first ones."""
    torch.manual_seed(0)
    run = recorded()
    first, *rest = (_labelled(seen) for seen in run.seen)
    trust = run.start.trust
    twin, left = TorchReuse(trust.model, trust.sources, first, subset), iter(rest)

    def call() -> None:
        nonlocal twin, left
        news = next(left, None)
        if news is None:
            twin.restart(first)
            left = iter(rest)
            news = next(left)
        twin.after(news.x, news.y)

    return call


def _labelled(seen: Experience) -> Demonstrations:
    """A generation's rows, with labels as they are modelled."""
    return Demonstrations(seen.x, seen.y, "target").transformed(TRANSFORM)
