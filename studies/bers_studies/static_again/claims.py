"""Claims about the paper's four functions by today's default search.

Enters: the records of the study. Leaves: claims. The rivals are those of the study `static`, with
the same past runs; their figures there are what BERS is compared with.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs
from bers_studies.static_again.study import OTHER_BOX
from bers_studies.static_again.tables import RIVALS, THRESHOLD, reached


def claims(runs: Runs) -> Iterator[Claim]:
    """Fewer evaluations than AMTEA and WS-CMA-ES, and lower values, on all four."""
    for panel in runs.values("panel"):
        name = panel.split(",")[0]
        box = " over a box whose middle is not its minimum" if panel == OTHER_BOX else ""
        amtea, warm, low_amtea, low_warm = RIVALS[name]
        to, least = reached(runs, panel), runs.array("least", panel=panel)
        id = panel.lower().replace(",", "").replace(" ", "-")
        middle = np.median(to)
        yield claim_of(
            runs,
            f"static-again-{id}-evaluations",
            f"by the default search, {name}{box} falls to {THRESHOLD.get(panel, '0.01')} in fewer "
            "evaluations than by AMTEA and WS-CMA-ES (median)",
            "BERS",
            f"{'never' if np.isinf(middle) else f'{middle:,.0f}'} against {min(amtea, warm):,}",
            middle < min(amtea, warm),
        )
        yield claim_of(
            runs,
            f"static-again-{id}-value",
            f"by the default search, {name}{box} ends lower after 3,200 evaluations than by AMTEA "
            "and WS-CMA-ES (mean)",
            "BERS",
            f"{least.mean():.2g} against {min(low_amtea, low_warm):.2g}",
            least.mean() < min(low_amtea, low_warm),
            least,
        )
