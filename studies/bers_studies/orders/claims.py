"""What is claimed of orders that are foretold; the paper does not measure this.

Enters: the records of the study. Leaves: claims, about data sets that nothing was chosen with.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.orders.study import OURS
from bers_studies.orders.tables import correlations
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs


def claims(runs: Runs) -> Iterator[Claim]:
    """The target's head against each way to weigh the others."""
    records = list(runs.records)
    rows = sorted({r["rows"] for r in records})

    def means(rule: str) -> list[float]:
        return [float(np.mean(correlations(records, rule, n))) for n in rows]

    ours = means(OURS)
    for rival in dict.fromkeys(r["rule"] for r in records if r["rule"] != OURS):
        theirs = means(rival)
        yield claim_of(
            runs,
            f"orders-{rival.lower().replace(' ', '-')}",
            "the order of settings on a new data set is foretold better by the target's head than "
            f"by 33 others weighed by {rival}, after {', '.join(map(str, rows))} rows",
            "BERS",
            f"{', '.join(f'{v:.3f}' for v in ours)} against "
            f"{', '.join(f'{v:.3f}' for v in theirs)}",
            all(a > b for a, b in zip(ours, theirs, strict=True)),
        )
