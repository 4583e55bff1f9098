"""Claims about BBOB's functions with past runs.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.bbob.study import AT
from bers_studies.bbob.tables import gaps
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_AHEAD = 0.3
_BEHIND = 0.05
_OWN = ("BERS", "BERS alone")


def claims(runs: Runs) -> Iterator[Claim]:
    """Ahead of the best rival where past runs are related; not behind CMA-ES where they mislead."""
    for family in ("displaced 2%", "displaced 10%"):
        if family not in runs.values("family"):
            continue
        rivals = [m for m in runs.values("method") if m not in _OWN]
        for k, evaluations in enumerate(AT[:2]):
            ours = gaps(runs, "BERS", family=family)
            theirs = [gaps(runs, m, family=family) for m in rivals]
            if ours.shape[1] <= k:
                continue
            best = min((one[:, k] for one in theirs if one.shape[1] > k), key=np.mean)
            ahead = best - ours[:, k]
            yield claim_of(
                runs,
                f"bbob-{family.replace(' ', '-').rstrip('%')}-{evaluations}",
                f"{family}: after {evaluations} evaluations at least {_AHEAD} (log10 of the gap) "
                "ahead of the best rival",
                "BERS",
                f"{ahead.mean():+.2f}",
                ahead.mean() >= _AHEAD,
                ahead,
            )
    if "misleading" in runs.values("family"):
        ours, none = (gaps(runs, m, family="misleading") for m in ("BERS", "CMA-ES"))
        behind = (ours - none).mean(axis=0)
        yield claim_of(
            runs,
            "bbob-misleading",
            f"with misleading past runs at most {_BEHIND} behind CMA-ES alone, at all budgets",
            "BERS",
            " / ".join(f"{b:+.2f}" for b in behind),
            behind.max() <= _BEHIND,
            (ours - none).mean(axis=1),
        )
