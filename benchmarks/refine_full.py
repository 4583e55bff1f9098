"""One refinement: a mini-batch, then the posteriors of four heads on all their rows."""

from refine_heads import heads
from row import Row, faster
from timing import take_turns
from torch_threads import faster_of, variants

from bers import refine


def rows() -> list[Row]:
    """One row: milliseconds of a refinement, ours and PyTorch's."""
    model, sources, peer_model = heads()
    seconds = take_turns(
        "refine_full",
        {
            "ours": lambda: refine(model, sources, batches=1),
            **variants("torch", peer_model.refine),
        },
        rounds=5,
        calls=8,
    )
    peer_name, peer = faster_of("torch", seconds)
    note = "4 heads of 6,000 rows, 10 inputs; all rows go through the encoder on both sides."
    return [
        faster(
            "refine_full",
            1e3 * seconds["ours"],
            1e3 * peer,
            peer_name=peer_name,
            goal=5,
            unit="ms (less is better)",
            note=note,
            less_is_better=True,
        )
    ]
