"""What is claimed of worth; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs
from bers_studies.worth.tables import best_found, correlation, error, held

_LATER = 3
"""Episodes from which sources that mislead must not hurt."""


def claims(runs: Runs) -> Iterator[Claim]:
    """Errors, order and intervals with all sources; no harm with some of them, or turned."""
    few = min(runs.values("episodes"))
    ours, neutral = (
        runs.pick(sources="all", method=method, episodes=few) for method in ("BERS", "neutral")
    )
    errors = [np.mean([error(r) for r in part]) for part in (ours, neutral)]
    yield claim_of(
        runs,
        "worth-error",
        f"after {few} episode, the error of nine demonstrators' worth is at most a fifth of that "
        "of a head that knows nothing of them",
        "BERS",
        f"{errors[0]:.0f} against {errors[1]:.0f}",
        errors[0] <= 0.2 * errors[1],
    )
    every = runs.pick(sources="all", method="BERS")
    found = [correlation(r) for r in every]
    yield claim_of(
        runs,
        "worth-correlation",
        "the worth of nine demonstrators correlates with the truth by 0.98 or more",
        "BERS",
        f"{np.mean(found):.3f}, least {np.min(found):.3f}",
        np.mean(found) >= 0.98,
    )
    share = np.mean([best_found(r) for r in every])
    yield claim_of(
        runs,
        "worth-best",
        "the best of nine demonstrators is found in 95% or more",
        "BERS",
        f"{share:.0%}",
        share >= 0.95,
    )
    inside = np.mean([held(r) for r in every])
    yield claim_of(
        runs,
        "worth-intervals",
        "90% intervals of worth hold what is true in 80% to 97%",
        "BERS",
        f"{inside:.0%}",
        0.8 <= inside <= 0.97,
    )
    for name in runs.values("sources"):
        if name == "all":
            continue
        later = [r for r in runs.pick(sources=name) if r["episodes"] >= _LATER]
        both = [[error(r) for r in later if r["method"] == m] for m in ("BERS", "neutral")]
        if later:
            yield claim_of(
                runs,
                f"worth-safe-{name.replace(' ', '-').replace(',', '')}",
                f"sources {name}: from {_LATER} episodes on the error of worth is not above that "
                "of a head that knows nothing of them",
                "BERS",
                f"{np.mean(both[0]):.0f} against {np.mean(both[1]):.0f}",
                np.mean(both[0]) <= np.mean(both[1]),
                np.subtract(*both),
            )
