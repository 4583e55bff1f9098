"""Claims about sources that cannot help; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_RULE = "odds"


def claims(runs: Runs) -> Iterator[Claim]:
    """Where no source can help, nobody is trusted."""
    for kind in runs.values("kind"):
        share = np.array([r["nobody"] for r in runs.pick(kind=kind, rule=_RULE)])
        yield claim_of(
            runs,
            f"nobody-{kind.replace(' ', '-')}",
            f"with sources that cannot help ({kind}), nobody is trusted: 0.9 or more of the weight",
            "BERS",
            f"mean share of nobody {share.mean():.3f}, least {share.min():.3f}",
            share.mean() >= 0.9,
            share,
        )
