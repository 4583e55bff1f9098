"""What the paper leaves unsaid about the supply chain, one thing changed at a time.

Enters: settings and a number, which stands for a trial and a reading. Leaves: records of the
paper's recipe on two ground truths, and of single sources where the reading changes the learner.
What is chosen here is reported by the study `paper-best`, with other seeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from bers.model.config import ModelConfig
from bers.model.neural_linear import Model
from bers_studies.envs.supply_chain import Scenario
from bers_studies.paper_readings.bench import OURS, ReadBench
from bers_studies.paper_readings.demonstrations import shown_in
from bers_studies.paper_readings.readings import AS_PRINTED, READINGS, Reading
from bers_studies.supply.study import QUICK as SHORT
from bers_studies.supply.study import SupplyConfig

TRUTHS: tuple[Scenario, ...] = (2, "target")
"""One that a source matches, and one that no source matches alone."""
_SINGLE: dict[Scenario, tuple[str, ...]] = {2: ("S2",), "target": ("S1", "S2")}
PARTS = len(READINGS)


@dataclass(frozen=True)
class PaperReadingsConfig:
    """One study."""

    study: SupplyConfig = field(default_factory=lambda: SupplyConfig(episodes=30, tests=5))


def trial(config: PaperReadingsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One trial of one reading."""
    number, which = divmod(seed, PARTS)
    reading = list(READINGS.values())[which]
    given = shown_in(reading, number, config.study.shown)
    models: dict[ModelConfig, Model] = {}
    for truth in TRUTHS:
        bench = ReadBench(reading, truth, given, number, config.study, models)
        about = {"truth": str(truth), "trial": number, "reading": reading.name}
        for method in (OURS, *(_SINGLE[truth] if _runs_alone(reading) else ())):
            yield about | {"method": method, "sources": given.profit} | bench.run(method)


def _runs_alone(reading: Reading) -> bool:
    """Whether single sources are run: once for each learner, and for each kind of rows."""
    same = [one for one in READINGS.values() if _learner(one) == _learner(reading)]
    return reading == same[0] or reading == AS_PRINTED


def _learner(reading: Reading) -> Reading:
    """The reading as far as single sources depend on it."""
    kept = (
        "reward_scale",
        "target_rate",
        "updates",
        "beside",
        "drawn_from",
        "world",
        "per_episode",
    )
    return replace(AS_PRINTED, **{name: getattr(reading, name) for name in kept})


CONFIG = PaperReadingsConfig()
QUICK = PaperReadingsConfig(replace(SHORT, episodes=2, batches=200))
