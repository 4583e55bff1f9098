"""What the paper says of the supply chain, in each reading that is reported.

Enters: the runs of the study. Leaves: the claims of the study `supply`, with the reading's name.
Rivals have no reading in their records: they are the same for all that share a learner.
"""

from collections.abc import Iterator
from dataclasses import replace

from bers_studies.report.claim import Claim
from bers_studies.report.curves import Runs
from bers_studies.supply.claims import paper_claims


def claims(runs: Runs) -> Iterator[Claim]:
    """All of them, reading by reading; those for which there are no records yet are left out."""
    for reading in runs.values("reading"):
        for claim in paper_claims(in_reading(runs, reading)):
            yield replace(claim, reading=reading)


def in_reading(runs: Runs, reading: str) -> Runs:
    """The records of a reading and of its rivals, of the trials that it was run in."""
    trials = {r["trial"] for r in runs.pick(reading=reading)}
    chosen = (r for r in runs.records if r.get("reading", reading) == reading)
    records = tuple(r for r in chosen if r["trial"] in trials)
    truths = {r["truth"] for r in records if "reading" in r}
    return replace(
        runs, records=tuple(r for r in records if r["truth"] in truths), trials=len(trials)
    )
