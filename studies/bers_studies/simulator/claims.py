"""Claims about simulators with few evaluations.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs
from bers_studies.simulator.methods import TOLD
from bers_studies.simulator.study import AT
from bers_studies.simulator.tables import ranks


def claims(runs: Runs) -> Iterator[Claim]:
    """The best mean rank of all methods that are not told which run is right."""
    over = ranks(runs)
    rivals = [m for m in over if m not in ("BERS", TOLD)]
    for k, evaluations in enumerate(AT):
        if over["BERS"].shape[1] <= k or evaluations < 50:
            continue
        best = min(rivals, key=lambda m: over[m][:, k].mean())
        ours, theirs = over["BERS"][:, k], over[best][:, k]
        yield claim_of(
            runs,
            f"simulator-{evaluations}",
            f"after {evaluations} evaluations of a simulator with five past runs, the best mean "
            "rank of all methods that are not told which run is right",
            "BERS",
            f"{ours.mean():.1f} against {theirs.mean():.1f} of {best}",
            ours.mean() < theirs.mean(),
            theirs - ours,
        )
