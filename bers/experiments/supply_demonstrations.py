"""Transitions of three controllers, each trained on its own scenario of the supply chain.

Enters: a seed. Leaves: for each scenario, transitions drawn from the whole training of DDPG, so
that early, clumsy ones are among them (paper), and what a model of the rewards is made from: rows
without the 2.5% of least and greatest reward. Trials that share a seed share the transitions, which
are kept in a temporary folder: making them again would take minutes, and give the same bits.
"""

import hashlib
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Int

from bers.data.demonstrations import Demonstrations
from bers.data.transitions import Inputs
from bers.data.trim import Trim
from bers.experiments.provenance import code_digest
from bers.files import write_atomically
from bers.learners.ddpg import DDPG, DDPGConfig, episode
from bers.learners.handed import nothing_handed
from bers.learners.replay import Transitions
from bers.problems.supply_chain import SupplyChain
from bers.problems.supply_inputs import trucks_and_stocks
from bers.problems.supply_task import SupplyTask

SCENARIOS = (1, 2, 3)


@dataclass(frozen=True)
class DemonstrationConfig:
    """How demonstrations come about (paper)."""

    steps: int = 30_000
    """Of training, on each scenario."""
    rows: int = 10_000
    """Drawn from all of them."""
    trimmed: float = 0.025
    """Share of the rows of least and of greatest reward that the model is not shown."""


@dataclass(frozen=True)
class Shown:
    """The demonstrations of one trial."""

    pool: Transitions
    """Of all scenarios, one behind the other."""
    counts: Int[np.ndarray, " N"]
    x: np.ndarray
    """The pool as the model of the rewards sees it."""
    sources: list[Demonstrations]
    """Rows for that model."""
    keep: tuple[float, float]
    """Least and greatest reward among them."""
    profit: list[float]
    """Mean reward of each source's rows, times the periods of an episode."""


def shown(seed: int, *, inputs: Inputs, config: DemonstrationConfig) -> Shown:
    """All three sources."""
    parts = [_demonstrations(seed, scenario, config) for scenario in SCENARIOS]
    pool = jax.tree.map(lambda *columns: np.concatenate(columns), *parts)
    sources, x = [], []
    for scenario, rows in zip(SCENARIOS, parts, strict=True):
        x.append(np.asarray(inputs(rows.s_tm1, rows.a_tm1, rows.s_t), np.float64))
        y = rows.r_t.astype(np.float64)
        fine = Trim(config.trimmed, 1 - config.trimmed).fit(y).keep(y)
        sources.append(Demonstrations(x[-1][fine], y[fine], f"scenario {scenario}"))
    return Shown(
        pool=pool,
        counts=np.array([len(part) for part in parts]),
        x=np.concatenate(x),
        sources=sources,
        keep=(min(s.y.min() for s in sources), max(s.y.max() for s in sources)),
        profit=[float(part.r_t.mean()) * SupplyChain(1).horizon for part in parts],
    )


def with_trucks() -> Inputs:
    """The inputs that suit the supply chain: stocks, action, and trucks per route."""
    return partial(trucks_and_stocks, config=SupplyChain(1))


def _demonstrations(seed: int, scenario: int, config: DemonstrationConfig) -> Transitions:
    key = f"{code_digest()} {config} {seed} {scenario}"
    name = hashlib.sha256(key.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"bers-supply-{name}.npz"
    if path.exists():
        with np.load(path) as kept:
            return Transitions(*(kept[column] for column in ("s_tm1", "a_tm1", "r_t", "s_t")))
    rows = _trained(seed, scenario, config)
    with write_atomically(path) as temporary, temporary.open("wb") as file:
        np.savez(file, s_tm1=rows.s_tm1, a_tm1=rows.a_tm1, r_t=rows.r_t, s_t=rows.s_t)
    return rows


def _trained(seed: int, scenario: int, config: DemonstrationConfig) -> Transitions:
    task = SupplyTask(SupplyChain(scenario))  # pyright: ignore[reportArgumentType]
    rng, settings = np.random.default_rng([seed, scenario]), DDPGConfig()
    learner = DDPG(task, with_trucks(), None, settings)
    state, none, seen = learner.start(rng), nothing_handed(task, settings), []
    for key in jax.random.split(
        jax.random.key(int(rng.integers(2**63))), config.steps // task.horizon
    ):
        state, news = episode(key, state, none, None, task=task, config=settings)
        seen.append(jax.tree.map(np.asarray, news.rows))
    every = jax.tree.map(lambda *columns: np.concatenate(columns), *seen)
    return every[np.sort(rng.choice(len(every), config.rows, replace=False))]
