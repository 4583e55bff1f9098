"""Claims about tables whose true answer is known; the paper does not measure this.

Enters: the records of the study. Leaves: claims, about the cases that nothing was developed with.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bers_studies.known_truth.tables import coverage, share
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_RIGHT, _SURE, _HELD = 0.95, 0.01, (0.80, 0.97)


def claims(runs: Runs) -> Iterator[Claim]:
    """The answer is right or undecided, seldom sure and wrong, and intervals are honest."""
    reported = runs.pick(what="ranking", half="report")
    number = len({r["case"] for r in reported})
    good = share(reported, "right", "undecided")
    yield claim_of(
        runs,
        "known-truth-right",
        f"on {number} kinds of tables whose true answer is known, the answer is right, or "
        f"undecided, in {_RIGHT:.0%} or more",
        "BERS",
        f"{good:.1%}: {share(reported, 'right'):.1%} right, "
        f"{share(reported, 'undecided'):.1%} undecided",
        good >= _RIGHT,
        _by_seed(reported, lambda r: r["outcome"] != "wrong"),
    )
    sure = np.mean([r["confidently_wrong"] for r in reported])
    yield claim_of(
        runs,
        "known-truth-confident",
        "on the same tables, a wrong source has more than half of the weight in "
        f"{_SURE:.0%} or less",
        "BERS",
        f"{sure:.1%}",
        sure <= _SURE,
        _by_seed(reported, lambda r: r["confidently_wrong"]),
    )
    checked = [r for r in reported if r.get("covered")]
    if checked:
        held = coverage(checked).mean()
        yield claim_of(
            runs,
            "known-truth-intervals",
            f"90% intervals hold the median weight over fresh targets in {_HELD[0]:.0%} to "
            f"{_HELD[1]:.0%}",
            "BERS",
            f"{held:.1%}",
            _HELD[0] <= held <= _HELD[1],
            _by_seed(checked, lambda r: np.mean(r["covered"])),
        )


def _by_seed(records: list[dict[str, Any]], value: Callable[[dict[str, Any]], Any]) -> np.ndarray:
    """The mean of a value over the cases of each seed."""
    seeds = dict.fromkeys(r["seed"] for r in records)
    return np.array([np.mean([value(r) for r in records if r["seed"] == s]) for s in seeds])
