"""Claims about what each demonstrator wanted; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_SETTING = "BERS"


def claims(runs: Runs) -> Iterator[Claim]:
    """What each demonstrator wanted is learned."""
    r2 = np.array([r["r2"] for r in runs.pick(kind="source", setting=_SETTING)])
    yield claim_of(
        runs,
        "heads-explain",
        "by default, every source's head explains 98% or more of the labels of rows that it has "
        "not seen, in every trial",
        "BERS",
        f"least {r2.min():.3f}, mean {r2.mean():.3f}",
        r2.min() >= 0.98,
    )
