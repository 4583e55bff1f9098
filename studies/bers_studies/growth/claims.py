"""The claim about many past runs: their number matters little.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs, number
from bers_studies.report.statistics import interquartile_mean


def claims(runs: Runs) -> Iterator[Claim]:
    """That evaluations grow little."""
    numbers = runs.values("number")
    needed = [interquartile_mean(runs.evaluations("Rastrigin", number=n)) for n in numbers]
    ratio = needed[-1] / needed[0]
    yield claim_of(
        runs,
        "growth",
        f"evaluations until 1.0 on Rastrigin grow by less than 30% from {numbers[0]} to "
        f"{numbers[-1]} past runs, of which one is right",
        "BERS",
        " / ".join(number(n, "{:.0f}") for n in needed)
        + " evaluations"
        + (f", {ratio - 1:+.0%}" if np.isfinite(ratio) else ""),
        ratio < 1.3,
    )
