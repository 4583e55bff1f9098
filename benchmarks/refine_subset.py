"""One refinement whose posteriors are refreshed from 512 rows per head.

`refine_subset` races PyTorch on all rows, which is what a plain user would write;
`refine_subset_both` races PyTorch on as many rows as we use.
"""

from functools import partial

from apart import apart
from encoder_products import products
from refine_heads import CALLS, INPUTS, ROUNDS, heads, ours, peer
from row import Row, faster
from timing import say, take_turns
from torch_threads import faster_of, variants

from bers.model.neural_linear import subset_error

_SUBSET = 512
_PEERS = {"refine_subset": "torch on all rows", "refine_subset_both": "torch on 512 rows"}


def rows() -> list[Row]:
    """Two rows, one per peer, and what the subset costs in precision."""
    say("refine_subset: error of the subset")
    error = subset_error(*heads(), _SUBSET).max()
    makers = {
        "ours": partial(ours, _SUBSET),
        "floor": partial(products, 4 * _SUBSET, INPUTS),
        **variants(_PEERS["refine_subset"], peer),
        **variants(_PEERS["refine_subset_both"], partial(peer, _SUBSET)),
    }
    with apart("refine_subset", makers) as turns:
        seconds = take_turns("refine_subset", turns, rounds=ROUNDS, calls=CALLS)
    note = (
        f"4 heads of 6,000 rows; ours refreshes from {_SUBSET} per head. subset_error, largest of "
        f"the heads: {error:.3f} of the spread of the posterior mean."
    )
    return [_row(name, seconds, note) for name in _PEERS]


def _row(name: str, seconds: dict[str, float], note: str) -> Row:
    peer_name, peer_seconds = faster_of(_PEERS[name], seconds)
    return faster(
        name,
        1e3 * seconds["ours"],
        1e3 * peer_seconds,
        peer_name=peer_name,
        goal=5,
        unit="ms (less is better)",
        note=note,
        less_is_better=True,
    ).above(1e3 * seconds["floor"], "the encoder's matrix products on those rows and a mini-batch")
