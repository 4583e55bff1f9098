"""The arm again: BERS alone, by the defaults as they are now.

Enters: settings and a number, which stands for a trial and one of two new goals. Leaves: one
record, as that of BERS in the study `reacher`. The other methods of that study do not depend on how
sources are judged: with the same numbers they would give the same bits, so they are not run again.
"""

from collections.abc import Iterator
from typing import Any

from bers_studies.reacher.study import (
    CONFIG,
    GOALS,
    PARTS,
    QUICK,
    SOURCES,
    ReacherBench,
    ReacherConfig,
    shown,
)

__all__ = ["CONFIG", "PARTS", "QUICK", "trial"]


def trial(config: ReacherConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One trial on one goal; numbers are those of the study `reacher`."""
    number, which = divmod(seed, PARTS)
    name = list(GOALS)[which]
    given = shown(number, config.shown)
    yield {"data_digests": {source.name: source.digest[:16] for source in given.sources}}
    run = ReacherBench(GOALS[name], given, number, config).run("BERS")
    yield {"panel": name, "trial": number, "method": "BERS", "names": list(SOURCES)} | run
