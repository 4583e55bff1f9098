"""Pre-training: mini-batches per second on the paper's three sources, against PyTorch."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from apart import apart
from bers_studies.static.demonstrations import demonstrate
from bers_studies.static.functions import SOURCES
from row import Row, faster
from timing import take_turns
from torch_model import TorchModel
from torch_threads import faster_of, variants

from bers import Demonstrations, Model, ModelConfig, fit, refine

_BATCHES, _PEER_BATCHES = 2000, 400


def rows() -> list[Row]:
    """One row. Ours includes the refresh of the posteriors at the end; compiling is excluded."""
    makers = {
        "ours": ours,
        **variants("torch", partial(peer, batched=False)),
        **variants("torch, heads stacked", partial(peer, batched=True)),
    }
    with apart("pretrain", makers) as turns:
        seconds = take_turns("pretrain", turns, rounds=7)
    names = [name for name in seconds if "stacked" not in name]
    peer_name, slow = faster_of("torch", {name: seconds[name] for name in names})
    careful_name, careful = faster_of("torch, heads stacked", seconds)
    rate = _BATCHES / seconds["ours"]
    note = (
        f"{len(SOURCES)} heads, 64 rows each; {_BATCHES} batches and the posteriors after them. "
        f"A careful user's PyTorch ({careful_name}) does {_PEER_BATCHES / careful:.0f} per second, "
        f"ratio {rate * careful / _PEER_BATCHES:.2f}."
    )
    return [
        faster(
            "pretrain",
            rate,
            _PEER_BATCHES / slow,
            peer_name=peer_name,
            goal=3,
            unit="mini-batches per second",
            note=note,
        )
    ]


def ours() -> Callable[[], object]:
    """Train on for many batches."""
    model, sources = _start()
    return lambda: refine(model, sources, batches=_BATCHES)


def peer(*, batched: bool) -> Callable[[], object]:
    """The same in PyTorch; batches cost the same each, so fewer will do."""
    model, sources = _start()
    torch.manual_seed(0)
    twin = TorchModel(model, sources, batched=batched)
    return lambda: twin.train(_PEER_BATCHES)


def _start() -> tuple[Model, list[Demonstrations]]:
    sources = [demonstrate(np.random.default_rng(i), f) for i, f in enumerate(SOURCES)]
    return fit(sources, config=ModelConfig(hidden=(200, 200), batches=0)), sources
