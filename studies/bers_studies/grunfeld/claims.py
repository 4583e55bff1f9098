"""Claims about real sources; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_RULE = "odds"


def claims(runs: Runs) -> Iterator[Claim]:
    """Ranked firms predict another firm better than all firms alike do, for most of them."""
    for years in runs.values("years"):
        chosen = runs.pick(years=years, rule=_RULE)
        won = sum(r["error"] < r["equal"] for r in chosen)
        yield claim_of(
            runs,
            f"grunfeld-{years.replace(' ', '-')}",
            f"of eleven real firms ({years} years seen), 8 or more are predicted better by the "
            "ranked others than by all others alike",
            "BERS",
            f"{won} of {len(chosen)}",
            won >= 8,
        )
