"""What is claimed of the certainty of weights; the paper does not measure this.

Enters: the records of the study. Leaves: claims, about problems that nothing was chosen with.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.reliability.tables import (
    ORDERS,
    calibration_error,
    correlations,
    right_between,
    seen,
)
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_ERROR, _SURE, _NEARLY, _ON_TOP = 0.05, 0.98, 0.90, 0.93


def claims(runs: Runs) -> Iterator[Claim]:
    """Calibration, what is said to be nearly sure, the right source on top, orders of settings."""
    records = list(runs.records)
    targets = [r for r in records if r["kind"] != ORDERS]
    if targets:
        every = seen(targets)
        error = calibration_error(every)
        yield claim_of(
            runs,
            "reliability-calibration",
            f"on {len(targets)} targets of four kinds, a third with misleading sources only, "
            f"the expected calibration error of the largest weight is at most {_ERROR}",
            "BERS",
            f"{error:.3f}",
            error <= _ERROR,
        )
        for name, low, high, goal in (
            ("sure", 0.99, 1.0, _SURE),
            ("nearly-sure", 0.9, 0.99, _NEARLY),
        ):
            share, count = right_between(every, low, high)
            yield claim_of(
                runs,
                f"reliability-{name}",
                f"a source with a weight above {low}"
                + (f", up to {high}," if high < 1 else "")
                + f" is right in {goal:.0%} or more",
                "BERS",
                f"{share:.1%} of {count}",
                share >= goal,
            )
        five = every.some((every.rows == "5 generations") & ~every.misleading)
        if len(five.right):
            yield claim_of(
                runs,
                "reliability-generations",
                "after five generations on displaced functions of BBOB the right one of four past "
                f"runs is on top in {_ON_TOP:.0%} or more",
                "BERS",
                f"{five.right.mean():.1%} of {len(five.right)}",
                five.right.mean() >= _ON_TOP,
            )
    orders = [r for r in records if r["kind"] == ORDERS]
    for rival in dict.fromkeys(r["rule"] for r in orders if r["rule"] != "odds"):
        rows = sorted({r["rows"] for r in orders})
        ours, theirs = (
            [float(np.mean(correlations(orders, rule, n))) for n in rows]
            for rule in ("odds", rival)
        )
        yield claim_of(
            runs,
            f"reliability-order-{rival.lower().replace(' ', '-')}",
            "the order of settings on a new data set is foretold better by 33 others with weights "
            f"by odds than by {rival}, after {', '.join(map(str, rows))} rows",
            "BERS",
            f"{', '.join(f'{v:.2f}' for v in ours)} against "
            f"{', '.join(f'{v:.2f}' for v in theirs)}",
            all(a > b for a, b in zip(ours, theirs, strict=True)),
        )
