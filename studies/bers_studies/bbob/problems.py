"""Families of problems made of BBOB's functions: a target whose optimum is known, and past runs.

Enters: a function, a dimension, a family and a seed. Leaves: the target as a function of rows of
the unit cube that gives the gap to its optimum, and the past runs as pairs (X, y). What differs
between the families is what the past runs are about:

- "displaced 2%", "displaced 10%": one source is the same function with its optimum moved, by so
  much of the box per coordinate (root mean square); three are other functions;
- "mixture": the target is the sum of two functions with one optimum; two sources are one each,
  moved by 5%, and two are other functions;
- "misleading": four other functions;
- "30 sources": one as in "displaced 2%", and 29 times another function.

Values of every source are rescaled and shifted. Half of the past runs were made by Differential
Evolution, half by CMA-ES.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.learners.differential_evolution import DE

DEVELOPED_ON = (1, 3, 6, 8, 10, 13, 14, 15, 17, 20, 21, 24)
REPORTED = (2, 4, 5, 7, 9, 11, 12, 16, 18, 19, 22, 23)
FAMILIES = ("displaced 2%", "displaced 10%", "mixture", "misleading")
MANY = "30 sources"
_LOW, _WIDTH = -5.0, 10.0
_MOVED = {"displaced 2%": 0.02, "displaced 10%": 0.1, "mixture": 0.05, MANY: 0.02}
_OTHERS = {"displaced 2%": 3, "displaced 10%": 3, "mixture": 2, "misleading": 4, MANY: 29}

Fun = Callable[[np.ndarray], np.ndarray]
"""From rows of points to values."""


@dataclass(frozen=True)
class Problem:
    """A target over the unit cube, and past runs."""

    gap: Fun
    """Values above the optimum; the least is 0."""
    optimum: np.ndarray
    sources: list[tuple[np.ndarray, np.ndarray]]
    related: int
    """How many of the sources, the first ones, are like the target."""


@dataclass(frozen=True)
class _Function:
    """A function of BBOB over the unit cube, moved."""

    problem: Any
    by: np.ndarray

    @property
    def optimum(self) -> np.ndarray:
        return (self.problem.optimum.x - _LOW) / _WIDTH + self.by

    def gap(self, x: np.ndarray) -> np.ndarray:
        """Of rows."""
        rows = _LOW + _WIDTH * (np.atleast_2d(x) - self.by)
        values = np.array([self.problem(row) for row in rows])
        return np.maximum(values - self.problem.optimum.y, 0.0)


def problem(function: int, D: int, family: str, seed: int, *, among: tuple[int, ...]) -> Problem:
    """One of them; other functions come from `among`.

    >>> made = problem(1, 2, "displaced 10%", 0, among=(1, 3, 6, 8))
    >>> float(made.gap(made.optimum[None])[0]), len(made.sources), made.related
    (0.0, 4, 1)
    >>> best = made.sources[0][0][np.argmin(made.sources[0][1])]
    >>> round(float(np.sqrt(np.mean((best - made.optimum) ** 2))), 3)
    0.1
    """
    rng = np.random.default_rng([seed, function, D, (*FAMILIES, MANY).index(family)])
    instance = int(rng.integers(1, 100))
    own = _Function(_bbob(function, instance, D), np.zeros(D))
    others = [f for f in among if f != function]
    parts, gap = [own], own.gap
    if family == "mixture":
        partner = _Function(
            _bbob(int(rng.choice(others)), int(rng.integers(1, 100)), D), np.zeros(D)
        )
        partner = _Function(partner.problem, own.optimum - partner.optimum)
        others = [f for f in others if f != partner.problem.meta_data.problem_id]
        parts.append(partner)
        anywhere = rng.random((200, D))
        share = np.median(own.gap(anywhere)) / np.median(partner.gap(anywhere))

        def gap(x: np.ndarray) -> np.ndarray:
            return own.gap(x) + share * partner.gap(x)

    moved = parts if family in _MOVED else []
    away = [_Function(f.problem, f.by + _step(rng, f.optimum, _MOVED[family])) for f in moved]
    chosen = rng.choice(others, _OTHERS[family], replace=_OTHERS[family] > len(others))
    away += [_Function(_bbob(int(f), int(rng.integers(1, 100)), D), np.zeros(D)) for f in chosen]
    evolved = rng.permutation(np.arange(len(away)) % 2).astype(bool)
    runs = []
    for source, by_de in zip(away, evolved, strict=True):
        x = _run(rng, source.gap, D, by_de=bool(by_de))
        scale, shift = np.exp(rng.normal(0, 2)), rng.normal(0, 100)
        runs.append((x, shift + scale * source.gap(x)))
    return Problem(gap, own.optimum, runs, len(moved))


def _bbob(function: int, instance: int, D: int) -> Any:
    import ioh

    return ioh.get_problem(function, instance, D, ioh.ProblemClass.BBOB)


def _step(rng: np.random.Generator, optimum: np.ndarray, rms: float) -> np.ndarray:
    """So far in a random direction, with the optimum still in the box."""
    step = np.zeros(len(optimum))
    for _ in range(10_000):
        step = rng.normal(size=len(optimum))
        step *= rms / np.sqrt(np.mean(step**2))
        if np.all((optimum + step >= 0) & (optimum + step <= 1)):
            break
    else:
        step = np.clip(optimum + step, 0, 1) - optimum
    return step


def _run(rng: np.random.Generator, fun: Fun, D: int, *, by_de: bool) -> np.ndarray:
    """The points of a past run, in order."""
    evaluations = 1000 if D < 20 else 2000
    seen: list[np.ndarray] = []
    if by_de:
        search = DE().on(fun, np.zeros(D), np.ones(D))
        agents = search.start(rng)
        seen.append(agents.x)
        while sum(map(len, seen)) < evaluations:
            agents, saw = search.iterate(rng, agents)
            seen.append(saw.x)
    else:
        from bers_studies.rivals.cma import cma_es

        for generation in cma_es(rng, fun, D):
            seen.append(generation.x)
            if sum(map(len, seen)) >= evaluations:
                break
    return np.concatenate(seen)[:evaluations]
