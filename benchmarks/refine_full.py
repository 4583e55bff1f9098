"""One refinement: a mini-batch, then the posteriors of four heads on all their rows."""

from functools import partial

from apart import apart
from encoder_products import products
from refine_heads import CALLS, INPUTS, ROUNDS, N, ours, peer
from row import Row, faster
from timing import take_turns
from torch_threads import faster_of, variants


def rows() -> list[Row]:
    """One row: milliseconds of a refinement, ours and PyTorch's."""
    with apart(
        "refine_full",
        {"ours": ours, "floor": partial(products, 4 * N, INPUTS), **variants("torch", peer)},
    ) as turns:
        seconds = take_turns("refine_full", turns, rounds=ROUNDS, calls=CALLS)
    floor = seconds.pop("floor")
    peer_name, peer_seconds = faster_of("torch", seconds)
    return [
        faster(
            "refine_full",
            1e3 * seconds["ours"],
            1e3 * peer_seconds,
            peer_name=peer_name,
            goal=5,
            unit="ms (less is better)",
            note="4 heads of 6,000 rows, 10 inputs; all rows pass the encoder on both sides.",
            less_is_better=True,
        ).above(1e3 * floor, "the encoder's matrix products on all rows and on a mini-batch")
    ]
