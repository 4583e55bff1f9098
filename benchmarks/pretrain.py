"""Pre-training: mini-batches per second on the paper's three sources, against PyTorch."""

import numpy as np
import torch
from row import Row, faster
from timing import say, take_turns
from torch_model import TorchModel
from torch_threads import faster_of, variants

from bers import ModelConfig, fit, refine
from bers.experiments.static import demonstrate
from bers.problems.functions import SOURCES

_BATCHES, _PEER_BATCHES = 2000, 400


def rows() -> list[Row]:
    """One row. Ours includes the refresh of the posteriors at the end; compiling is excluded."""
    say("pretrain: demonstrations by Differential Evolution")
    sources = [demonstrate(np.random.default_rng(i), f) for i, f in enumerate(SOURCES)]
    model = fit(sources, config=ModelConfig(batches=200))
    torch.manual_seed(0)
    loop, batched = TorchModel(model, sources), TorchModel(model, sources, batched=True)
    seconds = take_turns(
        "pretrain",
        {
            "ours": lambda: refine(model, sources, batches=_BATCHES),
            **variants("torch", lambda: loop.train(_PEER_BATCHES)),
            **variants("torch batched", lambda: batched.train(_PEER_BATCHES)),
        },
        rounds=5,
    )
    peer_name, peer = faster_of("torch", seconds)
    careful_name, careful = faster_of("torch batched", seconds)
    ours = _BATCHES / seconds["ours"]
    note = (
        f"{len(sources)} heads, 64 rows each; {_BATCHES} batches and the posteriors after them. "
        f"PyTorch with the heads stacked as well ({careful_name}): "
        f"{_PEER_BATCHES / careful:.0f} per second, ratio {ours * careful / _PEER_BATCHES:.2f}."
    )
    return [
        faster(
            "pretrain",
            ours,
            _PEER_BATCHES / peer,
            peer_name=peer_name,
            goal=3,
            unit="mini-batches per second",
            note=note,
        )
    ]
