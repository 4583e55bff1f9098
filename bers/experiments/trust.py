"""Which rule finds the right source, and how soon: weights on the test functions, by generation.

Enters: seeds and rules. Leaves: one file of records per trial and target, and all of them joined.
Differential Evolution runs on a target without any help; after each generation the model is
refined by one batch, and every rule weighs the sources by the same posteriors. UCB learns by
trying, so it has a run of its own, in which the source it picks is reused as in the paper. A trial
that is there already is not run again.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bers import __version__
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Log1p
from bers.experiments.static import DIMENSION, demonstrate
from bers.files import digest, write_atomically
from bers.learners import differential_evolution as de
from bers.model.neural_linear import fit, refine
from bers.problems.functions import HIGH, LOW, RASTRIGIN, SOURCES, Function
from bers.progress import progress_bar
from bers.trust.beliefs import beliefs
from bers.trust.rules import RULES, Past, ucb, weigh

RIGHT = {**{function.name: i for i, function in enumerate(SOURCES)}, RASTRIGIN.name: 2}
"""The position of the source that a target should learn from; for Rastrigin, Sphere."""


@dataclass(frozen=True)
class TrustConfig:
    """One study."""

    seeds: tuple[int, ...] = tuple(range(20))
    """One trial each (paper: 20)."""
    generations: int = 100
    """Of Differential Evolution on a target (paper: 100 are shown)."""
    rules: tuple[str, ...] = tuple(name for name in RULES if name != "ucb")
    """Rules that weigh by posteriors."""

    @property
    def digest(self) -> str:
        """Of what a trial depends on but its seed; trials of other settings are never mixed in."""
        return digest({"settings": f"{__version__} {self.generations} {self.rules}"})[:8]

    @property
    def recorded(self) -> list[int]:
        """Generations at which weights are kept: every one at first, every fourth later."""
        return [g for g in range(1, self.generations + 1) if g <= 12 or g % 4 == 0]


def study(
    config: TrustConfig, folder: Path, *, progress: bool | None = None
) -> list[dict[str, object]]:
    """All trials, each kept in a file of its own under `folder`."""
    targets = (*SOURCES, RASTRIGIN)
    records: list[dict[str, object]] = []
    with progress_bar("trials", len(config.seeds) * len(targets), show=progress) as advance:
        for seed in config.seeds:
            paths = [folder / f"{seed}-{target.name}-{config.digest}.json" for target in targets]
            if not all(path.exists() for path in paths):
                for path, found in zip(paths, _trials(seed, targets, config), strict=True):
                    with write_atomically(path) as temporary:
                        temporary.write_text(json.dumps(found) + "\n")
                    advance()
            else:
                advance(len(targets))
            records += [record for path in paths for record in json.loads(path.read_text())]
    return records


def _trials(
    seed: int, targets: tuple[Function, ...], config: TrustConfig
) -> Iterator[list[dict[str, object]]]:
    """One trial on each target, with the same sources and the same first model."""
    rng = np.random.default_rng(seed)
    sources = [demonstrate(rng, function) for function in SOURCES]
    model = fit(sources, rng=seed, progress=False)
    for target in targets:
        weights: dict[str, list[list[float]]] = {name: [] for name in config.rules}
        past = {name: Past.none(len(sources)) for name in config.rules}
        here, run = model, _run(rng, target, config.generations)
        for g, rows in enumerate(run, start=1):
            here = refine(here, [*sources, rows], batches=1, rng=seed, progress=False)
            if g not in config.recorded:
                continue
            known = beliefs(here, rows)
            for name in config.rules:
                a = weigh(known, name, past[name])
                past[name] = Past(past[name].pulls, past[name].gains, a)
                weights[name].append(a.round(3).tolist())
        weights["ucb"] = _ucb(rng, target, sources, config)
        common = {"seed": seed, "target": target.name, "right": RIGHT[target.name]}
        yield [
            {**common, "rule": name, "generations": config.recorded, "weights": rows}
            for name, rows in weights.items()
        ]


def _run(rng: np.random.Generator, target: Function, generations: int) -> Iterator[Demonstrations]:
    """All rows so far, after each generation of a run without sources."""
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    agents = de.start(rng, target, low, high, config=de.DEConfig())
    x, y = [agents.x], [agents.f]
    for _ in range(generations):
        points = Demonstrations(np.concatenate(x), np.concatenate(y), "target")
        yield points.transformed(Log1p())
        agents, tried = de.generation(rng, agents, target, low, high, config=de.DEConfig())
        x.append(tried.x)
        y.append(tried.f)


def _ucb(
    rng: np.random.Generator,
    target: Function,
    sources: list[Demonstrations],
    config: TrustConfig,
) -> list[list[float]]:
    """Share of UCB's picks so far, when its picks are reused; p_m = 0.99^m as in the paper."""
    low, high = np.full(DIMENSION, LOW), np.full(DIMENSION, HIGH)
    best = [source.x[np.argmin(source.y)].astype(np.float64) for source in sources]
    agents = de.start(rng, target, low, high, config=de.DEConfig())
    past, picks = Past.none(len(sources)), []
    for m in range(1, config.generations + 1):
        i, before = int(np.argmax(ucb(past))), float(agents.f.min())
        agents, _ = de.generation(
            rng, agents, target, low, high, config=de.DEConfig(), donor=best[i], p_m=0.99**m
        )
        past = past.after(i, before - float(agents.f.min()))
        if m in config.recorded:
            picks.append((past.pulls / m).round(3).tolist())
    return picks
