"""Claims about reactions in up to 100 experiments.

Enters: the records of the study. Leaves: claims. A source helps if it is alike by its yields, which
is known of these tables beforehand, and if there are some rows of it.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.reactions.study import OWN
from bers_studies.reactions.tables import ratio, scenarios
from bers_studies.report.claim import Claim, claim_of
from bers_studies.report.curves import Runs

_ALIKE, _ROWS = 0.5, 10
_HALF, _MORE = 0.5, 1.1


def claims(runs: Runs) -> Iterator[Claim]:
    """Half of the experiments where a source helps; nowhere more than a tenth more."""
    every = {name: ratio(runs, name) for name in scenarios(runs)}
    about = {name: runs.pick(method=OWN, scenario=name)[0] for name in every}
    helped = [n for n in every if about[n]["alike"] >= _ALIKE and about[n]["rows"] >= _ROWS]
    ratios = np.array([every[name] for name in helped])
    if len(helped):
        yield claim_of(
            runs,
            "reactions-half",
            f"where a source is alike (rank correlation {_ALIKE} or more, {_ROWS} rows or more), "
            "the top 1% of a reaction's conditions is found in at most half of the experiments of "
            "the same method without sources",
            "BERS",
            f"mean share {ratios.mean():.2f}; at most half in {int(np.sum(ratios <= _HALF))} of "
            f"{len(ratios)} scenarios, at most {ratios.max():.2f}",
            ratios.max() <= _HALF,
            ratios,
        )
    worst = max(every, key=lambda name: every[name])
    yield claim_of(
        runs,
        "reactions-never-worse",
        "no sources, not even turned ones, make it take more than a tenth more experiments",
        "BERS",
        f"at most {every[worst]:.2f} of those without ({worst})",
        every[worst] <= _MORE,
    )
