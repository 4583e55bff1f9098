"""What is claimed of the supply chain by today's defaults.

Enters: the runs of the study. Leaves: claims. The other methods are those of the study `supply`,
which would give the same bits again; their figures there are what BERS is compared with.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_SINGLE = {"1": 2221, "2": 2269, "3": 2283, "target": 1758}
"""Profit over all episodes of the best single source used alone, in the study `supply`."""
_BOTH = 0.85


def claims(runs: Runs) -> Iterator[Claim]:
    """It reaches the best single source, and weighs the right ones."""
    for truth in runs.values("truth"):
        name = "the target" if truth == "target" else f"scenario {truth}"
        over = runs.array("profit", truth=truth).mean(axis=1)
        yield claim_of(
            runs,
            f"again-best-expert-{truth}",
            f"by today's defaults, BERS reaches 95% of the best single source on {name} of the "
            "supply chain, over all episodes",
            "BERS",
            f"{over.mean():.0f} against {_SINGLE[truth]}",
            over.mean() >= 0.95 * _SINGLE[truth],
            over,
        )
        a = np.array([r["weights"] for r in runs.pick(truth=truth)])
        if truth == "target":
            share = float(a.mean(axis=(0, 1))[:2].sum())
            said = f"scenarios 1 and 2 together have {_BOTH} or more of the weight"
        else:
            later = a[:, 2:]
            right = (later.argmax(axis=2) == int(truth) - 1) & (later.max(axis=2) > 0)
            share = float(right.all(axis=1).mean())
            said = "its own source leads from episode 3 on in 90% of the trials"
        yield claim_of(
            runs,
            f"again-weights-{truth}",
            f"by today's defaults, on {name} of the supply chain {said}",
            "BERS",
            f"{share:.2f}",
            share >= (_BOTH if truth == "target" else 0.9),
        )
