"""What we say about reactions beside BayBE, and what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.baybe.tables import ALONE, OURS, WITH, counts, share
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_GOALS = ((ALONE, 0.5, "half of BayBE's without transfer"), (WITH, 1.0, "BayBE's with transfer"))


def claims(runs: Runs) -> Iterator[Claim]:
    """Experiments until the top 1%, all scenarios together."""
    for other, goal, words in _GOALS:
        ours, theirs = counts(runs, OURS).mean(), counts(runs, other).mean()
        yield claim_of(
            runs,
            "baybe-alone" if other == ALONE else "baybe-transfer",
            f"reactions: experiments until a yield of the top 1% at most {words}",
            OURS,
            f"{ours:.1f} against {theirs:.1f}",
            share(runs, other) <= goal,
        )
