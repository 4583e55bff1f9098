"""Claims about past runs that mislead: they cost little.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs, log10_mean


def claims(runs: Runs) -> Iterator[Claim]:
    """For every kind and target."""
    for kind in runs.values("kind"):
        for panel in runs.values("panel"):
            ours = log10_mean(runs.best(panel=panel, kind=kind, method="BERS"))
            none = log10_mean(runs.best(panel=panel, kind=kind, method="None"))
            more = float((ours - none).mean())
            yield claim_of(
                runs,
                f"safe-{kind.replace(' ', '-')}-{panel.lower()}",
                f"with only misleading past runs ({kind}), {panel} is at most 0.1 worse than "
                "without any (mean log10 of the best value over 100 generations)",
                "BERS",
                f"{more:+.3f}",
                more <= 0.1,
                ours - none,
            )
