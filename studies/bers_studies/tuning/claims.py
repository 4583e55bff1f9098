"""What we say about tuning with Optuna, beside what was measured.

Enters: the records of the study. Leaves: claims.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, ends
from bers_studies.report.curves import Runs
from bers_studies.report.statistics import interval
from bers_studies.tuning.tables import gaps, misled, share

_OURS, _SHARE = "BERS", 0.6


def claims(runs: Runs) -> Iterator[Claim]:
    """Whether earlier studies save trials, and whether misleading ones cost anything."""
    for panel in runs.values("panel"):
        short = panel.replace(",", "").replace(" ", "-")
        value, pair = share(runs, panel, _OURS)
        yield Claim(
            f"tuning-saved-{short}",
            f"tuning, {panel}: with earlier studies, TPE's usual value takes {_SHARE:.0%} of "
            "TPE's trials or fewer",
            _OURS,
            f"{value:.0%}",
            ends(pair),
            runs.trials,
            value <= _SHARE,
            runs.folder,
        )
        for kind, method in misled(runs).items():
            worse = gaps(runs, panel, method)
            low, _ = pair = interval(worse, np.mean)
            yield Claim(
                f"tuning-safe-{kind}-{short}",
                f"tuning, {panel}: with misleading studies only ({kind}), the best value after as "
                "many trials is not measurably worse than TPE's (in percent)",
                _OURS,
                f"{worse.mean():+.1f}%",
                ends(pair),
                runs.trials,
                low <= 0,
                runs.folder,
            )
