"""What is claimed of the certainty of weights; the paper does not measure this.

Enters: the records of the study. Leaves: claims, about problems that nothing was chosen with.
"""

from collections.abc import Iterator

from bers_studies.reliability.tables import calibration_error, right_between, seen
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_ERROR, _SURE, _NEARLY, _ON_TOP = 0.05, 0.98, 0.90, 0.93


def claims(runs: Runs) -> Iterator[Claim]:
    """Calibration, what is said to be nearly sure, the right source on top."""
    targets = [r for r in runs.records if "right" in r]
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
