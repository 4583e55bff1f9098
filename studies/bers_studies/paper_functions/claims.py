"""What the paper says of its functions, in the reading that is reported.

Enters: the records of the study. Leaves: claims of the studies `static` and `paper-metric`, with
the reading's name. Trials by which the reading was chosen count for the sizes alone.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs, every_generation
from bers_studies.static.claims import paper_claims

_PRINTED = np.array([17693, 6452, 5853])
_LONG = "100 agents; Rosenbrock's 0.15 before its division by 10"


def claims(runs: Runs) -> Iterator[Claim]:
    """All of them."""
    yield replace(_sizes(runs), reading=_LONG)
    told = reported(runs)
    if not told.trials:
        return
    (reading,) = told.values("reading")
    for claim in paper_claims(told):
        yield replace(claim, reading=reading)
    yield replace(_favours(told, reading), reading=reading)


def reported(runs: Runs) -> Runs:
    """The trials in which the reading was not chosen: those that solve more than Rastrigin."""
    trials = {r["trial"] for r in runs.records if r.get("method") == "UCB"}
    records = tuple(r for r in runs.records if r["trial"] in trials)
    return replace(runs, records=records, trials=len(trials))


def _favours(runs: Runs, reading: str) -> Claim:
    g, a = runs.weights(panel="Rastrigin", reading=reading)
    share = float(every_generation(g, a).mean((0, 1))[2])
    return claim_of(
        runs,
        "favours-sphere-tried",
        "some reading of the paper's settings makes its metric favour Sphere on Rastrigin, over "
        "100 generations",
        "paper",
        f"mean weight on Sphere {share:.2f}",
        share > 0.5,
    )


def _sizes(runs: Runs) -> Claim:
    """Of all trials: none of them chose how long demonstrations are made."""
    rows = np.mean([r["sizes"] for r in runs.records if "sizes" in r], axis=0)
    return claim_of(
        runs,
        "demonstration-sizes",
        "Differential Evolution as specified needs 17,693, 6,452 and 5,853 evaluations until 0.15 "
        "(within 20%)",
        "paper",
        ", ".join(f"{n:,.0f}" for n in rows),
        np.all(np.abs(rows / _PRINTED - 1) < 0.2),
    )
