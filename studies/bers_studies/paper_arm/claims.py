"""What the authors say of the arm, in the reading that is reported.

Enters: the runs of the study. Leaves: claims of the study `reacher`, with the reading's name.
Trials by which the reading was chosen do not count.
"""

from collections.abc import Iterator
from dataclasses import replace

from bers_studies.reacher.claims import paper_claims
from bers_studies.report.claim import Claim
from bers_studies.report.curves import Runs


def claims(runs: Runs) -> Iterator[Claim]:
    """All of them."""
    told = reported(runs)
    for reading in told.values("reading"):
        for claim in paper_claims(told):
            yield replace(claim, reading=reading)


def reported(runs: Runs) -> Runs:
    """The trials in which the reading was not chosen: those with rivals."""
    trials = {r["trial"] for r in runs.records if "reading" not in r}
    records = tuple(r for r in runs.records if r["trial"] in trials)
    return replace(runs, records=records, trials=len(trials))
