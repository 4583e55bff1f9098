"""Simulators of twelve variables, and five past runs of which most are of no use.

Enters: a simulator's name and a seed. Leaves: a target over rows of the unit cube, and past runs as
pairs (X, y), of 200 evaluations each:

- "near": the same simulator, its parameters a little changed, searched by CMA-ES;
- "middling": the same, much changed, searched by Differential Evolution;
- "random": near again, but at points drawn at random;
- "unrelated": another simulator, searched by CMA-ES;
- "noise": random points with random values.

Values of every past run are rescaled and shifted. In the first six simulators what changes is where
the minimum is; in the last two, goals, masses and lengths.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bers.learners.differential_evolution import DE
from bers_studies.rivals.cma import cma_es

DIMENSION = 12
KINDS = ("near", "middling", "random", "unrelated", "noise")
_CHANGED = {"near": 0.03, "random": 0.03, "middling": 0.12}
_EVALUATIONS = 200
_STEPS = 4  # of the pendulum, for each of its twelve torques

Fun = Callable[[np.ndarray], np.ndarray]
"""From rows of the unit cube to values, less is better."""


@dataclass(frozen=True)
class Instance:
    """What sets a simulator: where its minimum is, how it is turned, and what it weighs."""

    place: np.ndarray
    """In the middle of the unit cube, D numbers."""
    turn: np.ndarray
    """A rotation, (D, D)."""

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Instance":
        """One of them."""
        D = DIMENSION
        turn = np.linalg.qr(rng.normal(size=(D, D)))[0]
        return cls(rng.uniform(0.2, 0.8, D), turn)

    def changed(self, rng: np.random.Generator, by: float) -> "Instance":
        """Moved by so much, root mean square of the coordinates."""
        step = rng.normal(size=DIMENSION)
        step *= by / np.sqrt(np.mean(step**2))
        return Instance(np.clip(self.place + step, 0, 1), self.turn)


def _bowl(at: Instance, x: np.ndarray) -> np.ndarray:
    z = (x - at.place) @ at.turn
    return np.sum(np.geomspace(1, 100, DIMENSION) * z**2, axis=1)


def _valley(at: Instance, x: np.ndarray) -> np.ndarray:
    z = 1 + 4 * (x - at.place)
    return np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1 - z[:, :-1]) ** 2, axis=1)


def _ridge(at: Instance, x: np.ndarray) -> np.ndarray:
    z = (x - at.place) @ at.turn
    return z[:, 0] ** 2 + 10 * np.sqrt(np.sum(z[:, 1:] ** 2, axis=1))


def _ripples(at: Instance, x: np.ndarray) -> np.ndarray:
    z = x - at.place
    return np.sum(z**2 + 0.02 * (1 - np.cos(8 * np.pi * z)), axis=1)


def _plateau(at: Instance, x: np.ndarray) -> np.ndarray:
    z = 8 * (x - at.place)
    far = -20 * np.exp(-0.2 * np.sqrt(np.mean(z**2, axis=1)))
    return far - np.exp(np.mean(np.cos(2 * np.pi * z), axis=1)) + 20 + np.e


def _yield(at: Instance, x: np.ndarray) -> np.ndarray:
    """Six stages in a row of two settings each; what each lets through is multiplied."""
    z = (x - at.place).reshape(len(x), -1, 2)
    skewed = z[..., 0] + 0.8 * z[..., 1], z[..., 1] - 0.3 * z[..., 0] + z[..., 0] ** 2
    lost = 6 * skewed[0] ** 2 + 2 * skewed[1] ** 2
    return 1 - np.prod(np.exp(-lost) + 0.1 * lost / (1 + lost), axis=1)


def _arm(at: Instance, x: np.ndarray) -> np.ndarray:
    """An arm of twelve joints: its hand at a goal, past a post, without sharp bends."""
    bends = 1.2 * (2 * x - 1)
    angles = np.cumsum(bends, axis=1)
    lengths = (0.5 + at.place) / DIMENSION
    steps = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=2)
    joints = np.cumsum(steps, axis=1)
    goal = np.array([0.2 + 0.6 * at.place[0], 0.2 + 0.6 * at.place[1]])
    post = np.array([0.3 * at.place[2], 0.1 + 0.3 * at.place[3]])
    miss = np.linalg.norm(joints[:, -1] - goal, axis=1)
    close = np.linalg.norm(joints - post, axis=2)
    pushed = np.sum(np.maximum(0, 0.15 - close), axis=1)
    return miss + 5 * pushed + 0.02 * np.sum(np.diff(bends, axis=1) ** 2, axis=1)


def _pendulum(at: Instance, x: np.ndarray) -> np.ndarray:
    """Twelve torques that swing a pendulum up, hold it there, and cost energy."""
    mass, length, drag = 0.8 + 0.4 * at.place[0], 0.8 + 0.4 * at.place[1], 0.1 + 0.2 * at.place[2]
    goal = np.pi * (0.8 + 0.2 * at.place[3])
    angle = np.full(len(x), 0.5 * (at.place[4] - 0.5))
    speed = np.zeros(len(x))
    cost, dt = np.zeros(len(x)), 0.06
    for torque in (8.0 * (2 * x - 1)).T:
        for _ in range(_STEPS):
            pull = torque / (mass * length**2) - 9.81 / length * np.sin(angle) - drag * speed
            speed = speed + dt * pull
            angle = angle + dt * speed
        cost += 1e-3 * torque**2
    return cost + 10 * (1 - np.cos(angle - goal)) + 0.5 * speed**2


SIMULATORS: dict[str, Callable[[Instance, np.ndarray], np.ndarray]] = {
    "bowl": _bowl,
    "valley": _valley,
    "ridge": _ridge,
    "ripples": _ripples,
    "plateau": _plateau,
    "yield": _yield,
    "arm": _arm,
    "pendulum": _pendulum,
}


@dataclass(frozen=True)
class Problem:
    """A target, and past runs by kind."""

    fun: Fun
    sources: dict[str, tuple[np.ndarray, np.ndarray]]


def problem(name: str, seed: int) -> Problem:
    """One of them.

    >>> made = problem("bowl", 0)
    >>> {kind: len(y) for kind, (x, y) in made.sources.items()}
    {'near': 200, 'middling': 200, 'random': 200, 'unrelated': 200, 'noise': 200}
    """
    names = list(SIMULATORS)
    rng = np.random.default_rng([seed, names.index(name)])
    target = Instance.drawn(rng)
    runs = {}
    for kind in KINDS:
        if kind == "unrelated":
            other = names[(names.index(name) + 1 + int(rng.integers(len(names) - 1))) % len(names)]
            fun = partial(SIMULATORS[other], Instance.drawn(rng))
        elif kind == "noise":
            fun = _noise(rng)
        else:
            fun = partial(SIMULATORS[name], target.changed(rng, _CHANGED[kind]))
        x = _rows(rng, fun, kind)
        y = fun(x)
        y = (y - np.mean(y)) / np.std(y)
        runs[kind] = (x, rng.normal(0, 100) + np.exp(rng.normal(0, 2)) * y)
    return Problem(partial(SIMULATORS[name], target), runs)


def _noise(rng: np.random.Generator) -> Fun:
    return lambda x: rng.normal(size=len(x))


def _rows(rng: np.random.Generator, fun: Fun, kind: str) -> np.ndarray:
    """The points of a past run, in order."""
    D, seen = DIMENSION, []
    if kind in ("random", "noise"):
        return rng.random((_EVALUATIONS, D))
    if kind == "middling":
        search = DE().on(fun, np.zeros(D), np.ones(D))
        agents = search.start(rng)
        seen.append(agents.x)
        while sum(map(len, seen)) < _EVALUATIONS:
            agents, saw = search.iterate(rng, agents)
            seen.append(saw.x)
    else:
        for generation in cma_es(rng, fun, D):
            seen.append(generation.x)
            if sum(map(len, seen)) >= _EVALUATIONS:
                break
    return np.concatenate(seen)[:_EVALUATIONS]
