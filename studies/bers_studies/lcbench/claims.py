"""What we say about tuning with many earlier studies, beside what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.lcbench.tables import (
    AT,
    BASE,
    OURS,
    RANKED,
    after,
    behind,
    methods,
    misled,
    needed,
    ranks,
)
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs
from bers_studies.report.statistics import interval

_SHARE, _COST = 0.35, 0.01


def claims(runs: Runs) -> Iterator[Claim]:
    """Ahead of the best rival at each budget; what misleading studies cost."""
    for panel in runs.values("panel"):
        rivals = [m for m in methods(runs) if m != OURS]
        for n in AT:
            ours = after(runs, panel, OURS, n)
            best = min(rivals, key=lambda m, n=n: after(runs, panel, m, n).mean())
            theirs = after(runs, panel, best, n)
            yield claim_of(
                runs,
                f"lcbench-regret-{n}-{panel.lower()}",
                f"LCBench, studies of {panel} trials: regret after {n} trials at most that of the "
                "best rival",
                OURS,
                f"{ours.mean():.3f} against {theirs.mean():.3f} of {best}",
                ours.mean() <= theirs.mean(),
                ours - theirs,
            )
        for n in RANKED:
            found = ranks(runs, panel, n)
            best = min(rivals, key=found.__getitem__)
            yield claim_of(
                runs,
                f"lcbench-rank-{n}-{panel.lower()}",
                f"LCBench, studies of {panel} trials: best mean rank after {n} trials",
                OURS,
                f"{found[OURS]:.1f} against {found[best]:.1f} of {best}",
                found[OURS] <= found[best],
            )
        ours, theirs = needed(runs, panel, OURS), needed(runs, panel, BASE)
        share = float(ours.sum() / theirs.sum())
        yield claim_of(
            runs,
            f"lcbench-trials-{panel.lower()}",
            f"LCBench, studies of {panel} trials: TPE's usual value after 50 trials takes "
            f"{_SHARE:.0%} of TPE's trials or fewer",
            OURS,
            f"{share:.0%}",
            share <= _SHARE,
        )
    for name in misled(runs):
        short = name.removeprefix(f"{OURS}, ").replace(" ", "-")
        for n in (20, 50):
            worse = behind(runs, name, n)
            ends = interval(worse, np.mean)
            low, high = (float(worse.mean()) if np.isnan(end) else end for end in ends)
            yield claim_of(
                runs,
                f"lcbench-safe-{short}-{n}",
                f"LCBench, {name.removeprefix(f'{OURS}, ')} studies only: regret after {n} trials "
                f"is not measurably above TPE's, and at most {_COST} above it with 95% confidence",
                OURS,
                f"{worse.mean():+.3f}",
                low <= 0 and high <= _COST,
                worse,
            )
