"""What the paper says of the supply chain, in the readings that were chosen by other trials.

Enters: settings and a number, which stands for a trial and one of four ground truths. Leaves:
records of the paper's recipe in each reading, and of its rivals by the same learner.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from bers_studies.envs.supply_chain import Scenario
from bers_studies.paper_readings.bench import OURS, ReadBench
from bers_studies.paper_readings.demonstrations import shown_in
from bers_studies.paper_readings.readings import READINGS, Reading
from bers_studies.supply.study import QUICK as SHORT
from bers_studies.supply.study import TRUTHS, SupplyConfig

BEST: tuple[Reading, ...] = tuple(
    READINGS[name]
    for name in (
        "rewards times 0.01, beside, skip, untrimmed",
        "rewards times 0.01, beside, skip",
    )
)
"""The readings that are reported, the best one first. They share a learner, and so the rivals."""
FIRST = 6
"""The first trial: those before it were looked at while choosing, or measure what is printed."""

_SINGLE: dict[Scenario, tuple[str, ...]] = {
    1: ("S1",),
    2: ("S2",),
    3: ("S3",),
    "target": ("S1", "S2", "S3", "PER"),
}
"""Rivals that the claims are about; on a known truth no other source comes near its own."""
UNITS: tuple[tuple[Scenario, str], ...] = (
    *((truth, "first") for truth in TRUTHS),
    *((truth, "second") for truth in TRUTHS),
    *((truth, "PER") for truth in TRUTHS if truth != "target"),
)
"""A trial is run in so many parts: a truth, and whose turn it is."""
PARTS = len(UNITS)


@dataclass(frozen=True)
class PaperBestConfig:
    """One study."""

    study: SupplyConfig = field(default_factory=lambda: SupplyConfig(episodes=60))
    followed: int = 10
    """Episodes of policy reuse: what is said of it is said of the first ten."""


def trial(config: PaperBestConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One part of a trial."""
    part, which = divmod(seed, PARTS)
    number, (truth, turn) = FIRST + part, UNITS[which]
    reading = BEST[turn == "second"]
    given = shown_in(reading, number, config.study.shown)
    about = {"truth": str(truth), "trial": number, "sources": given.profit}

    def bench(study: SupplyConfig) -> ReadBench:
        return ReadBench(reading, truth, given, number, study, {})

    whole = bench(config.study)
    if turn == "PER":
        yield about | {"method": "PER"} | whole.run("PER")
        return
    yield about | {"reading": reading.name, "method": OURS} | whole.run(OURS)
    if turn == "second":
        return
    for method in _SINGLE[truth]:
        yield about | {"method": method} | whole.run(method)
    if truth != "target":
        few = bench(replace(config.study, episodes=config.followed))
        yield about | {"method": "PPR"} | few.run("PPR")


CONFIG = PaperBestConfig()
QUICK = PaperBestConfig(replace(SHORT, batches=200), followed=3)
