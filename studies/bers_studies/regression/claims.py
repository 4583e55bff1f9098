"""Claims about real groups; the paper does not measure this.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bers_studies.regression.tables import ratios
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_GOAL = 37.5
_WORSE = 1.01
_POOLED = "pooled ridge"
_ALONE = ("ridge alone", "boosting alone")  # of schools; the other problems have `alone` itself
_MOST = 4


def claims(runs: Runs) -> Iterator[Claim]:
    """Schools learn from each other, and no group is the worse for the others."""
    for problem in runs.values("problem"):
        records = runs.pick(problem=problem)
        if problem == "school":
            found = [100 * r["explained"] for r in records if r["method"] == "together"]
            yield claim_of(
                runs,
                "regression-school",
                f"of the variance of held-out pupils' scores in 139 schools, {_GOAL}% or more is "
                "explained",
                "BERS",
                f"{np.mean(found):.1f}%",
                np.mean(found) >= _GOAL,
                found,
            )
            continue
        shares = sorted({r["share"] for r in records})
        every = np.concatenate([ratios(records, "adapted", share) for share in shares])
        yield claim_of(
            runs,
            f"regression-{problem}",
            f"{problem}: a new group with few rows is nowhere foretold more than 1% worse than "
            "from its own rows alone",
            "BERS",
            f"mean ratio of errors {every.mean():.2f}; worse in {(every > _WORSE).sum()} of "
            f"{len(every)}, at most {every.max():.2f}",
            every.max() <= _WORSE,
            every,
        )
    better = {p: _better(runs.pick(problem=p), p) for p in runs.values("problem")}
    behind = ", ".join(p for p, ahead in better.items() if not ahead)
    yield claim_of(
        runs,
        "regression-both",
        "groups that learn from each other are foretold better than by one line for all, and "
        "better than each alone, on average on at least four problems of five",
        "BERS",
        f"on {sum(better.values())} of {len(better)}" + (f"; not on {behind}" if behind else ""),
        sum(better.values()) >= _MOST,
    )


def _better(records: Sequence[dict[str, Any]], problem: str) -> bool:
    """Than one for all, and than each alone."""
    if problem == "school":
        rivals = (_POOLED, *_ALONE)
        told = {
            m: np.mean([r["explained"] for r in records if r["method"] == m])
            for m in dict.fromkeys(r["method"] for r in records)
        }
        return all(told["together"] > told[m] for m in rivals if m in told)
    shares = sorted({r["share"] for r in records})
    ours, pooled = (
        np.concatenate([ratios(records, m, share) for share in shares]).mean()
        for m in ("adapted", _POOLED)
    )
    return bool(ours < min(1.0, pooled))
