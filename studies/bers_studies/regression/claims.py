"""Claims about real groups; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.regression.tables import ratios
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_GOAL = 37.5
_WORSE = 1.01


def claims(runs: Runs) -> Iterator[Claim]:
    """Schools learn from each other, and no group is the worse for the others."""
    for problem in runs.values("problem"):
        records = runs.pick(problem=problem)
        if problem == "school":
            found = [100 * r["explained"] for r in records if r["method"] == "together"]
            yield claim_of(
                runs,
                "regression-school",
                f"of the variance of held-out pupils' scores in 139 schools, {_GOAL}% or more is "
                "explained",
                "BERS",
                f"{np.mean(found):.1f}%",
                np.mean(found) >= _GOAL,
                found,
            )
            continue
        shares = sorted({r["share"] for r in records})
        every = np.concatenate([ratios(records, "adapted", share) for share in shares])
        yield claim_of(
            runs,
            f"regression-{problem}",
            f"{problem}: a new group with few rows is nowhere foretold more than 1% worse than "
            "from its own rows alone",
            "BERS",
            f"mean ratio of errors {every.mean():.2f}; worse in {(every > _WORSE).sum()} of "
            f"{len(every)}, at most {every.max():.2f}",
            every.max() <= _WORSE,
            every,
        )
