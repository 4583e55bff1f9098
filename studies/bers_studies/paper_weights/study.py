"""Whom the paper's metric trusts in the supply chain, by what the model is shown and told.

Enters: settings and a number, which stands for a trial and a reading. Leaves: for each ground truth
the weights after each episode. All readings see the same episodes: those of a learner that is given
the right source, or both halves of the target. So only the model differs, and a trial is cheap.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from bers.data.transitions import Inputs
from bers.model.neural_linear import fit
from bers.reuse.transitions import BatchGuide
from bers.trust.trust import Trust
from bers_studies.envs.supply_chain import Scenario
from bers_studies.envs.supply_task import SupplyTask
from bers_studies.paper_readings.demonstrations import network_of, shown_in
from bers_studies.paper_readings.inputs import inputs_named
from bers_studies.paper_readings.readings import AS_PRINTED, READINGS, Reading
from bers_studies.rl.handed import handed_by, key_of
from bers_studies.rl.methods import FADING, kept
from bers_studies.rl.replay import Transitions
from bers_studies.supply.demonstrations import DemonstrationConfig
from bers_studies.supply.study import TRUTHS

_RIGHT: dict[Scenario, tuple[float, float, float]] = {
    1: (1.0, 0.0, 0.0),
    2: (0.0, 1.0, 0.0),
    3: (0.0, 0.0, 1.0),
    "target": (0.5, 0.5, 0.0),
}
"""What the learner is given whose episodes are seen."""
_LEARNER = READINGS["rewards times 0.01, beside"]


def _model(name: str, says: str, **changes: Any) -> Reading:
    return replace(AS_PRINTED, name=name, says=says, **changes)


MODELS: dict[str, Reading] = {
    one.name: one
    for one in (
        AS_PRINTED,
        *(
            READINGS[name]
            for name in ("trucks, skip", "units", "units, skip", "stocks", "stocks, skip")
        ),
        *(READINGS[name] for name in ("one-hot", "one-hot, skip", "standardised")),
        READINGS["100 batches"],
        READINGS["target untrimmed"],
        _model("skip, standardised", "trucks, which heads see too; standardised", skip=True,
               labels="standardised"),
        _model("skip, untrimmed", "trucks, which heads see too; all rows of the target", skip=True,
               trims_target=False),
        _model("skip, encoder as it was", "trucks, which heads see too; no training on the target",
               skip=True, batches=0),
    )
}  # fmt: skip
"""Readings of what the model sees and how it is trained."""
PARTS = len(MODELS)


@dataclass(frozen=True)
class PaperWeightsConfig:
    """One study."""

    episodes: int = 12
    shown: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    batches: int | None = None
    """Of the model's first training; None: as the paper has it."""


def trial(config: PaperWeightsConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One reading on four truths."""
    number, which = divmod(seed, PARTS)
    reading = list(MODELS.values())[which]
    given = shown_in(reading, number, config.shown)
    settings = reading.method().model
    if config.batches is not None:
        settings = replace(settings, batches=config.batches)
    model = fit(given.sources, config=settings, rng=number, progress=False)
    see = inputs_named(reading.shows)
    for truth in TRUTHS:
        trust = Trust(
            given.sources,
            rule="weights",
            model=model,
            batches=reading.batches,
            frozen=False,
            robust=False,
            keep=given.keep if reading.trims_target else (-np.inf, np.inf),
            predicts=False,
            rng=np.random.default_rng([number, 2]),
            progress=False,
        )
        weights = []
        for x, y in _seen(number, truth, config, see):
            trust = trust.observe(x, y)
            weights.append(trust.weights.round(3).tolist())
        about = {"truth": str(truth), "trial": number, "reading": reading.name}
        yield about | {"weights": weights, "rows": trust.target.n}


def _seen(
    number: int, truth: Scenario, config: PaperWeightsConfig, see: Inputs
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Episode by episode what is seen of a truth, as the model sees it."""
    key = f"{config} {number} {truth}"
    rows = kept("readings-seen", key, lambda: _episodes(number, truth, config))
    steps = len(rows) // config.episodes
    for m in range(config.episodes):
        one = rows[m * steps : (m + 1) * steps]
        yield np.asarray(see(one.s_tm1, one.a_tm1, one.s_t), float), np.asarray(one.r_t, float)


def _episodes(number: int, truth: Scenario, config: PaperWeightsConfig) -> Transitions:
    """Episodes of a learner that is given the right rows."""
    given = shown_in(AS_PRINTED, number, config.shown)
    learner = _LEARNER.learner(SupplyTask(network_of(truth, AS_PRINTED)), given)
    rng, own = (np.random.default_rng([number, i]) for i in (1, 2))
    state, seen = learner.start(rng), []
    for m in range(1, config.episodes + 1):
        a, rewards = np.array(_RIGHT[truth]), given.pool.r_t.take
        guide = BatchGuide(own, a, FADING(m), given.counts, rewards=rewards)
        handed = handed_by(guide, learner.none, pool=True)
        state, rows = learner.played(key_of(rng), state, handed)
        seen.append(jax.tree.map(np.asarray, rows))
    return jax.tree.map(lambda *columns: np.concatenate(columns), *seen)


CONFIG = PaperWeightsConfig()
QUICK = PaperWeightsConfig(3, DemonstrationConfig(steps=2000, rows=1500), batches=200)
