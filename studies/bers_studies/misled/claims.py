"""Claims about the cost of sources that mislead; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.misled.tables import ratios
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_COST, _NOBODY = 1.05, 0.9


def claims(runs: Runs) -> Iterator[Claim]:
    """The head is nowhere much worse for them, and nobody is trusted."""
    few, many = min(runs.values("sources")), max(runs.values("sources"))
    first = min(runs.values("rows"))
    for kind in runs.values("kind"):
        records = runs.pick(kind=kind)
        for rival, about in (
            ("neutral", "that of a head that does not begin at the sources'"),
            ("alone", "that of a model of its own"),
        ):
            groups = {(r["sources"], r["rows"]) for r in records}
            found = {
                g: float(
                    ratios([r for r in records if (r["sources"], r["rows"]) == g], rival).mean()
                )
                for g in sorted(groups)
            }
            worst = max(found, key=lambda g: found[g])
            yield claim_of(
                runs,
                f"misled-{kind}-{rival}",
                f"with {few} to {many} sources that mislead ({kind}), the error of the target's "
                f"head is at most 5% above {about}, from {first} rows on",
                "BERS",
                f"on average {np.mean(list(found.values())):.2f} of it; at worst "
                f"{found[worst]:.2f}, with {worst[0]} sources and {worst[1]} rows",
                found[worst] <= _COST,
            )
        nobody = np.array([r["nobody"] for r in records])
        yield claim_of(
            runs,
            f"misled-{kind}-nobody",
            f"with {few} to {many} sources that mislead ({kind}), nobody is trusted from {first} "
            "rows on: 0.9 or more of the weight on average",
            "BERS",
            f"mean {nobody.mean():.3f}, least {nobody.min():.3f}",
            nobody.mean() >= _NOBODY,
            nobody,
        )
