"""What is claimed of the arm by today's defaults.

Enters: the runs of the study. Leaves: claims. The other methods are those of the study `reacher`,
which would give the same bits again; their figures there are what BERS is compared with.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_OTHERS = {
    "upper right": {"plain DQN": 324, "policy reuse": 338},
    "lower left": {"plain DQN": 321, "policy reuse": 336},
}
"""Return over all episodes, in the study `reacher`."""
_NEAR = {"upper right": (("top",), 0.5), "lower left": (("left", "bottom"), 0.75)}
"""Sources near a goal, and the weight that they should have together."""


def claims(runs: Runs) -> Iterator[Claim]:
    """It is ahead of who learns alone and of policy reuse, and weighs the right sources."""
    for goal in runs.values("panel"):
        over = runs.array("returns", panel=goal).mean(axis=1)
        for rival, theirs in _OTHERS[goal].items():
            yield claim_of(
                runs,
                f"arm-again-{rival.split()[0]}-{goal.replace(' ', '-')}",
                f"by today's defaults, on the arm's {goal} goal BERS is ahead of {rival} over all "
                "episodes",
                "BERS",
                f"{over.mean():.0f} against {theirs}",
                over.mean() > theirs,
                over,
            )
        names, least = _NEAR[goal]
        some = runs.pick(panel=goal)
        last = np.mean([record["weights"][-1] for record in some], axis=0)
        share = sum(a for name, a in zip(some[0]["names"], last, strict=True) if name in names)
        yield claim_of(
            runs,
            f"arm-again-weights-{goal.replace(' ', '-')}",
            f"by today's defaults, on the arm's {goal} goal {' and '.join(names)} have {least} or "
            "more of the weight in the last episode",
            "BERS",
            f"{share:.2f}",
            share >= least,
        )
