"""One refinement whose posteriors are refreshed from 512 rows per head.

`refine_subset` races PyTorch on all rows, which is what a plain user would write;
`refine_subset_both` races PyTorch on as many rows as we use.
"""

from functools import partial

from refine_heads import heads
from row import Row, faster
from timing import say, take_turns
from torch_threads import faster_of, variants

from bers import refine
from bers.model.neural_linear import subset_error

_SUBSET = 512


def rows() -> list[Row]:
    """Two rows, one per peer, and what the subset costs in precision."""
    model, sources, peer_model = heads()
    say("refine_subset: error of the subset")
    error = subset_error(model, sources, _SUBSET).max()
    seconds = take_turns(
        "refine_subset",
        {
            "ours": lambda: refine(model, sources, batches=1, subset=_SUBSET),
            **variants("torch on all rows", peer_model.refine),
            **variants("torch on 512 rows", partial(peer_model.refine, _SUBSET)),
        },
        rounds=5,
        calls=8,
    )
    note = (
        f"4 heads of 6,000 rows; ours refreshes from {_SUBSET} per head. subset_error: at most "
        f"{error:.3f} of the labels' explained spread over the heads."
    )
    made = []
    for name, peer in (
        ("refine_subset", "torch on all rows"),
        ("refine_subset_both", "torch on 512 rows"),
    ):
        peer_name, peer_seconds = faster_of(peer, seconds)
        row = faster(
            name,
            1e3 * seconds["ours"],
            1e3 * peer_seconds,
            peer_name=peer_name,
            goal=5,
            unit="ms (less is better)",
            note=note,
            less_is_better=True,
        )
        made.append(row)
    return made
