"""Claims about whom to trust, and how soon; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_RULE = "odds"
_SOON = 5  # generations


def claims(runs: Runs) -> Iterator[Claim]:
    """The right source has nearly all of the weight within the first moments."""
    for target in runs.values("target"):
        chosen = runs.pick(target=target, rule=_RULE)
        soon = np.array(chosen[0]["generations"]) >= _SOON
        later = np.array([np.array(r["weights"])[soon, r["right"]].mean() for r in chosen])
        yield claim_of(
            runs,
            f"trust-{target.lower()}",
            f"whom to trust is known within the first moments: from generation {_SOON} on, the "
            f"right source for {target} has a mean weight of 0.9 or more",
            "BERS",
            f"mean weight {later.mean():.3f}",
            later.mean() >= 0.9,
            later,
        )
