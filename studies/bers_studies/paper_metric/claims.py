"""What the paper says of its metric and of its demonstrations.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs, every_generation


def claims(runs: Runs) -> Iterator[Claim]:
    """Whom it favours, and how long demonstrations are."""
    shares = {}
    for method in runs.values("method"):
        weights = every_generation(*runs.weights(panel="Rastrigin", method=method))
        shares[method] = float(weights.mean((0, 1))[2])
    best = max(shares, key=lambda m: shares[m])
    yield claim_of(
        runs,
        "favours-sphere-tried",
        "some reading of the paper's settings makes its metric favour Sphere on Rastrigin, over "
        "100 generations",
        "paper",
        f"largest mean weight on Sphere {shares[best]:.2f} ({best}), of {len(shares)} variants",
        shares[best] > 0.5,
    )
    rows = np.mean([r["rows"] for r in runs.pick(method="as printed")], axis=0)
    printed = np.array([17693, 6452, 5853])
    yield claim_of(
        runs,
        "demonstration-sizes",
        "Differential Evolution as specified needs 17,693, 6,452 and 5,853 evaluations until 0.15 "
        "(within 20%)",
        "paper",
        ", ".join(f"{n:,.0f}" for n in rows),
        np.all(np.abs(rows / printed - 1) < 0.2),
    )
