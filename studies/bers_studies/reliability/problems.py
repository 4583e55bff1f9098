"""Sets of four sources, and targets of which it is known whom they are like: one source, or nobody.

Enters: a kind, a half and a number. Leaves: a `Set`. In every set each source has targets of its
own: what it did, displaced or a little different, in other units; and a third of the targets is
like none of the sources. The kinds are

- "bbob": functions of BBOB (package ioh) in 5, 10 and 20 dimensions. Sources are runs of a thousand
  evaluations, two by Differential Evolution, two by CMA-ES. Their targets have the optimum
  displaced by 2% or 10% of the box per coordinate; rows are those of a run, in order;
- "tables": real tables. Reactions and pupils: every source has rows of one group, with the words
  of each column, or the columns, exchanged in its own way; its target is another group,
  exchanged in the same way. Tuning: every source is a data set of LCBench at epoch 20, with its
  coordinates mirrored and exchanged in its own way; its target is the same at epoch 52;
- "functions": random functions of 2, 4 or 8 inputs, sums of waves or small networks. A target is
  a source plus 0, 20% or 40% of another such function;
- "control": what a step pays. A robot's arm with goals in different places, displaced by a few
  centimetres; or a supply chain whose owner wants sales here, storage or transport there.

Half of all is there to choose settings with ("choose"), the other half is reported ("report");
they share no function, no table and no environment.
"""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.learners.differential_evolution import DE
from bers_studies.bbob.problems import DEVELOPED_ON, REPORTED
from bers_studies.lcbench.surrogate import accuracies, tuning_tasks
from bers_studies.public_data import file_of

KINDS = ("bbob", "tables", "functions", "control")
ROWS = 300
"""Of a target, at most."""
_SOURCES, _SOURCE_ROWS = 4, 500
_MISLEADING, _EACH = 8, 4  # targets of nobody, and of each source

Fun = Callable[[np.ndarray], np.ndarray]


class Target(NamedTuple):
    """Rows in order, and whom they are like."""

    x: np.ndarray
    y: np.ndarray
    right: int | None
    """The number of the source; None is nobody."""
    about: str
    generations: int | None = None
    """Rows of the first five generations, where the rows are those of Differential Evolution."""


class Set(NamedTuple):
    """Sources of one model, and the targets."""

    sources: list[Demonstrations]
    targets: list[Target]


def set_of(kind: str, half: str, number: int, folder: Path) -> Set:
    """One of them; the same words give the same rows.

    >>> made = set_of("functions", "choose", 0, Path())
    >>> rights = [target.right for target in made.targets]
    >>> [rights.count(who) for who in (0, 1, 2, 3, None)]
    [4, 4, 4, 4, 8]
    """
    rng = np.random.default_rng([KINDS.index(kind), half == "report", number])
    if kind == "bbob":
        among = REPORTED if half == "report" else DEVELOPED_ON
        found = _bbob(rng, among, (5, 10, 20)[number % 3])
    elif kind == "functions":
        found = _functions(rng, _network if half == "report" else _waves)
    elif kind == "control":
        found = (_supply if half == "report" else _arm)(rng)
    else:
        tables = {"choose": (_arylation, _school), "report": (_halides, _tuning)}[half]
        found = tables[number % 2](rng, folder)
    return Set(found.sources, [_in_other_units(rng, one) for one in found.targets])


def _in_other_units(rng: np.random.Generator, target: Target) -> Target:
    """Half of the targets are in the units of their source."""
    if rng.random() < 0.5:
        return target
    return target._replace(y=rng.normal(0, 100) + np.exp(rng.normal(0, 2)) * target.y)


# ---- BBOB ----------------------------------------------------------------------------------------


def _bbob(rng: np.random.Generator, among: tuple[int, ...], D: int) -> Set:
    chosen = rng.permutation(among)[: _SOURCES + _MISLEADING]
    made = [_Box(int(f), int(rng.integers(1, 100)), D) for f in chosen]
    own, others = made[:_SOURCES], made[_SOURCES:]
    by_de = rng.permutation(_SOURCES) % 2 == 0
    sources = []
    for i, (fun, evolved) in enumerate(zip(own, by_de, strict=True)):
        x, _ = _run(rng, fun, D, 1000, by_de=bool(evolved))
        y = rng.normal(0, 100) + np.exp(rng.normal(0, 2)) * fun(x)
        sources.append(Demonstrations(x, y, f"run {i}"))
    targets = []
    for rms in (0.02, 0.02, 0.1, 0.1):
        for i, fun in enumerate(own):
            moved = fun.moved(_step(rng, fun.optimum, rms))
            targets.append(_searched(rng, moved, D, i, f"displaced {rms:.0%}"))
    targets += [_searched(rng, fun, D, None, "misleading") for fun in others]
    return Set(sources, targets)


class _Box:
    """A function of BBOB over the unit cube, moved."""

    def __init__(self, function: int, instance: int, D: int, by: Any = 0.0) -> None:
        import ioh

        self._made = function, instance, D
        self._problem = ioh.get_problem(function, instance, D, ioh.ProblemClass.BBOB)
        self._by = by

    @property
    def optimum(self) -> np.ndarray:
        return (np.array(self._problem.optimum.x) + 5) / 10 + self._by

    def moved(self, by: np.ndarray) -> "_Box":
        return _Box(*self._made, by)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        rows = -5 + 10 * (x - self._by)
        return np.array([self._problem(row) for row in rows]) - self._problem.optimum.y


def _step(rng: np.random.Generator, optimum: np.ndarray, rms: float) -> np.ndarray:
    """So far in a random direction, with the optimum still in the box."""
    step = rng.normal(size=len(optimum))
    step *= rms / np.sqrt(np.mean(step**2))
    outside = np.abs(optimum + step - 0.5) > 0.5
    return np.where(outside, -step, step)


def _searched(rng: np.random.Generator, fun: Fun, D: int, right: int | None, about: str) -> Target:
    by_de = bool(rng.random() < 0.5)
    x, size = _run(rng, fun, D, ROWS, by_de=by_de)
    return Target(x, fun(x), right, about, 5 * size if by_de and 5 * size <= ROWS else None)


def _run(
    rng: np.random.Generator, fun: Fun, D: int, rows: int, *, by_de: bool
) -> tuple[np.ndarray, int]:
    """The points of a run, in order, and how many a generation has."""
    seen: list[np.ndarray] = []
    if by_de:
        search = DE().on(fun, np.zeros(D), np.ones(D))
        agents = search.start(rng)
        seen.append(agents.x)
        while sum(map(len, seen)) < rows:
            agents, saw = search.iterate(rng, agents)
            seen.append(saw.x)
    else:
        from bers_studies.rivals.cma import cma_es

        for generation in cma_es(rng, fun, D):
            seen.append(generation.x)
            if sum(map(len, seen)) >= rows:
                break
    return np.concatenate(seen)[:rows], len(seen[0])


# ---- real tables ---------------------------------------------------------------------------------


def _arylation(rng: np.random.Generator, folder: Path) -> Set:
    return _reactions(rng, _table(folder, "direct_arylation.csv", "Temp_C"))


def _halides(rng: np.random.Generator, folder: Path) -> Set:
    return _reactions(rng, _table(folder, "aryl_halides.csv", "aryl_halide"))


class _Words(NamedTuple):
    """A table of words: their numbers, the yields, and the group of each row."""

    codes: np.ndarray
    counts: tuple[int, ...]
    y: np.ndarray
    groups: np.ndarray


@cache
def _table(folder: Path, name: str, group: str) -> _Words:
    import pandas as pd

    columns = {
        "direct_arylation.csv": ["Base", "Ligand", "Solvent", "Concentration"],
        "aryl_halides.csv": ["base", "ligand", "additive"],
    }[name]
    table = pd.read_csv(file_of(folder, name), encoding="utf-8-sig").dropna(
        subset=[*columns, group]
    )
    numbered = [pd.factorize(table[column].astype(str), sort=True) for column in columns]
    return _Words(
        np.stack([codes for codes, _ in numbered], axis=1),
        tuple(len(words) for _, words in numbered),
        table["yield"].to_numpy(float),
        pd.factorize(table[group].astype(str), sort=True)[0],
    )


def _reactions(rng: np.random.Generator, table: _Words) -> Set:
    groups = np.unique(table.groups)

    def rows(which: int, exchanged: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
        own = rng.permutation(np.flatnonzero(table.groups == which))[:n]
        ones = [
            np.eye(count)[words[table.codes[own, j]]]
            for j, (count, words) in enumerate(zip(table.counts, exchanged, strict=True))
        ]
        return np.concatenate(ones, axis=1), table.y[own]

    def ways() -> list[np.ndarray]:
        return [rng.permutation(count) for count in table.counts]

    def some() -> list[int]:
        return rng.permutation(groups)[: 1 + _EACH].tolist()

    return _exchanged(rng, rows, ways, some)


def _school(rng: np.random.Generator, folder: Path) -> Set:
    X, y, school = _pupils(folder)
    schools = np.unique(school)

    def rows(which: Any, exchanged: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        own = rng.permutation(np.flatnonzero(np.isin(school, which)))[:n]
        return X[own][:, exchanged], y[own]

    def some() -> list[Any]:
        return np.split(rng.choice(schools, 12 * (1 + _EACH), replace=False), 1 + _EACH)

    return _exchanged(rng, rows, lambda: rng.permutation(X.shape[1]), some)


@cache
def _pupils(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from bers_studies.regression.problems import school

    found = school(folder)
    spread = found.X.std(0)
    X = (found.X - found.X.mean(0)) / np.where(spread > 0, spread, 1.0)
    return X, found.y, found.groups


def _exchanged(rng: np.random.Generator, rows: Any, ways: Any, some: Any) -> Set:
    sources, targets = [], []
    for i in range(_SOURCES + _MISLEADING):
        way, (first, *others) = ways(), some()
        if i < _SOURCES:
            sources.append(Demonstrations(*rows(first, way, _SOURCE_ROWS), f"source {i}"))
        right = i if i < _SOURCES else None
        about = "another group" if i < _SOURCES else "misleading"
        for k in range(_EACH if i < _SOURCES else 1):
            targets.append(Target(*rows(others[k % len(others)], way, ROWS), right, about))
    return Set(sources, targets)


def _tuning(rng: np.random.Generator, folder: Path) -> Set:
    tasks, sources, targets = rng.permutation(len(tuning_tasks(folder))), [], []
    for i in range(_SOURCES + _MISLEADING):
        order, mirrored = rng.permutation(7), rng.random(7) < 0.5

        def accuracy(x: np.ndarray, epoch: int, i: int = i, order=order, mirrored=mirrored):
            return accuracies(folder, int(tasks[i]), np.where(mirrored, 1 - x, x)[:, order], epoch)

        if i < _SOURCES:
            x = rng.random((_SOURCE_ROWS, 7))
            sources.append(Demonstrations(x, accuracy(x, 20), f"task {i}"))
        right = i if i < _SOURCES else None
        about = "later epoch" if i < _SOURCES else "misleading"
        for _ in range(_EACH if i < _SOURCES else 1):
            x = rng.random((ROWS, 7))
            targets.append(Target(x, accuracy(x, 52), right, about))
    return Set(sources, targets)


# ---- random functions ----------------------------------------------------------------------------


def _functions(rng: np.random.Generator, drawn: Callable[..., Fun]) -> Set:
    """No two of the functions go along with each other: they are uncorrelated over the cube."""
    D = int(rng.choice([2, 4, 8]))
    K = _SOURCES + _MISLEADING + _SOURCES * _EACH
    fun = _uncorrelated([drawn(rng, D) for _ in range(K)], D)
    others = iter(range(_SOURCES + _MISLEADING, K))
    sources, targets = [], []
    for i in range(_SOURCES + _MISLEADING):
        if i < _SOURCES:
            x = rng.random((_SOURCE_ROWS, D))
            if rng.random() < 0.5:  # rows around a place, as those of a search
                x = np.clip(rng.random(D) + 0.2 * rng.normal(size=x.shape), 0, 1)
            sources.append(Demonstrations(x, _noisy(rng, fun(x)[:, i]), f"source {i}"))
        right = i if i < _SOURCES else None
        for _ in range(_EACH if i < _SOURCES else 1):
            apart, x = float(rng.choice([0.0, 0.2, 0.4])), rng.random((ROWS, D))
            f = fun(x)
            y = f[:, i] + apart * f[:, next(others)] if i < _SOURCES else f[:, i]
            about = f"{apart:.0%} apart" if i < _SOURCES else "misleading"
            targets.append(Target(x, _noisy(rng, y), right, about))
    return Set(sources, targets)


def _noisy(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return y + 0.05 * y.std() * rng.normal(size=len(y))


def _uncorrelated(functions: list[Fun], D: int) -> Fun:
    """Of rows, a column for each: without what the earlier ones say, and of variance one."""

    def raw(x: np.ndarray) -> np.ndarray:
        return np.stack([function(x) for function in functions], axis=1)

    seen = raw(np.random.default_rng(0).random((4000, D)))
    R = np.linalg.qr((seen - seen.mean(0)) / np.sqrt(len(seen)), mode="r")
    return lambda x: (raw(x) - seen.mean(0)) @ np.linalg.inv(R)


def _waves(rng: np.random.Generator, D: int) -> Fun:
    """A sum of fifty waves: about a Gaussian process, of variance one."""
    k = rng.normal(size=(D, 50)) * rng.uniform(1, 4)
    phase, size = rng.uniform(0, 2 * np.pi, 50), rng.normal(size=50) * np.sqrt(2 / 50)
    return lambda x: np.cos(x @ k + phase) @ size


def _network(rng: np.random.Generator, D: int) -> Fun:
    """A network with one hidden layer of rectified units, scaled to variance one."""
    W = rng.normal(size=(D, 30))
    bend, out = rng.uniform(-1, 1, 30), rng.normal(size=30)

    def raw(x: np.ndarray) -> np.ndarray:
        return np.maximum((2 * x - 1) @ W + bend, 0) @ out

    seen = raw(np.random.default_rng(0).random((1000, D)))
    return lambda x: (raw(x) - seen.mean()) / seen.std()


# ---- control -------------------------------------------------------------------------------------


def _arm(rng: np.random.Generator) -> Set:
    """Goals of a robot's arm, rows where its owner has been: near the goal."""
    from bers_studies.envs.reacher import Reacher

    arm = Reacher()
    goals: list[np.ndarray] = []
    while len(goals) < _SOURCES + _MISLEADING:
        goal = rng.uniform(-arm.reach, arm.reach, 2)
        apart = [np.linalg.norm(goal - one) for one in goals[:_SOURCES]]
        if np.linalg.norm(goal) < arm.reach and min(apart, default=1.0) > 0.5 * arm.reach:
            goals.append(goal)

    def rows(goal: np.ndarray, n: int, near: float) -> tuple[np.ndarray, np.ndarray]:
        angle, bend = rng.uniform(-np.pi, np.pi, 20 * n), rng.uniform(-2.5, 2.5, 20 * n)
        tip = np.stack(
            [
                arm.inner * np.cos(angle) + arm.outer * np.cos(angle + bend),
                arm.inner * np.sin(angle) + arm.outer * np.sin(angle + bend),
            ],
            axis=1,
        )
        paid = 1 - 4 * np.linalg.norm(tip - goal, axis=1)
        chance = np.exp(near * paid)
        some = rng.choice(20 * n, n, replace=False, p=chance / chance.sum())
        angle, bend = angle[some], bend[some]
        speeds = rng.normal(size=(n, 4))  # of the joints, and torques
        x = [np.cos(angle), np.sin(angle), np.cos(bend), np.sin(bend)]
        return np.column_stack([*x, speeds]), paid[some]

    sources, targets = [], []
    for i, goal in enumerate(goals):
        if i < _SOURCES:
            sources.append(Demonstrations(*rows(goal, _SOURCE_ROWS, 3.0), f"goal {i}"))
        right = i if i < _SOURCES else None
        about = "goal moved" if i < _SOURCES else "misleading"
        for _ in range(_EACH if i < _SOURCES else 1):
            moved = goal + rng.choice([0.0, 0.1, 0.2]) * arm.reach * _direction(rng)
            targets.append(Target(*rows(moved, ROWS, 0.5), right, about))
    return Set(sources, targets)


def _direction(rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def _supply(rng: np.random.Generator) -> Set:
    """Owners of a supply chain who want different things, run by different hands.

    No two of the sources' wishes go along with each other, nor a misleading target with any.
    """
    mean, common = _usual()
    K = common.shape[1]
    own = np.linalg.qr(rng.normal(size=(K, K)))[0]
    rest = own[:, _SOURCES:]
    wishes = [
        *own[:, :_SOURCES].T,
        *(rest @ w for w in rng.normal(size=(_MISLEADING, K - _SOURCES))),
    ]
    sources, targets = [], []
    for i, wish in enumerate(wishes):
        if i < _SOURCES:
            x, brought = _operated(rng, _SOURCE_ROWS)
            sources.append(Demonstrations(x, (brought - mean) @ common @ wish, f"owner {i}"))
        right = i if i < _SOURCES else None
        for _ in range(_EACH if i < _SOURCES else 1):
            apart = float(rng.choice([0.0, 0.2, 0.4])) if i < _SOURCES else 0.0
            other = rest @ rng.normal(size=K - _SOURCES) / np.sqrt(K - _SOURCES)
            x, brought = _operated(rng, ROWS)
            y = (brought - mean) @ common @ (wish + apart * other)
            about = f"{apart:.0%} apart" if i < _SOURCES else "misleading"
            targets.append(Target(x, y, right, about))
    return Set(sources, targets)


@cache
def _usual() -> tuple[np.ndarray, np.ndarray]:
    """Mean of what a step brings, and directions that are uncorrelated and of variance one.

    By the rows of forty other hands; directions in which next to nothing differs are left out.
    """
    rng = np.random.default_rng(0)
    brought = np.concatenate([_operated(rng, 100)[1] for _ in range(40)])
    scale = brought.std(0)
    values, directions = np.linalg.eigh(np.corrcoef(brought.T))
    kept = values > 0.05
    return brought.mean(0), directions[:, kept] / np.sqrt(values[kept]) / scale[:, None]


def _operated(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Stocks, action and trucks of many short runs, and what a step brings: twelve numbers."""
    from bers_studies.envs.supply_chain import SupplyChain, scenario_costs
    from bers_studies.envs.supply_inputs import trucks_and_stocks, trucks_per_route

    chain, chains, step = SupplyChain(1), 25, _period()
    usual = rng.random(chain.actions)
    stock, found = rng.integers(0, 30, (chains, chain.K + 1)).astype(np.int32), []
    for _ in range(rows // chains):
        action = np.clip(usual + 0.3 * rng.normal(size=(chains, chain.actions)), 0, 1)
        demand = rng.poisson(chain.demand, (chains, chain.K)).astype(np.int32)
        after, _, parts = step(stock, action.astype(np.float32), demand)
        found.append((stock, action.astype(np.float32), np.asarray(after), parts))
        stock = np.asarray(after)
    s_tm1, a, s_t = (np.concatenate([one[j] for one in found]) for j in range(3))
    x = trucks_and_stocks(s_tm1, a, s_t, config=chain).astype(np.float64)
    trucks = np.asarray(trucks_per_route(s_tm1, a, config=chain))
    costs = [np.ravel(scenario_costs(which)) for which in (1, 2, 3, "target")]
    brought = [
        *np.concatenate([np.asarray(one[3].sold) for one in found]).T,
        np.concatenate([np.asarray(one[3].produced) for one in found]),
        np.concatenate([np.asarray(one[3].storage) for one in found]),
        *(trucks @ cost for cost in costs),
    ]
    return x, np.stack(brought, axis=1).astype(np.float64)


@cache
def _period() -> Any:
    import jax

    from bers_studies.envs.supply_chain import SupplyChain, step_with

    chain = SupplyChain(1)
    return jax.jit(jax.vmap(lambda s, a, d: step_with(s, a, d, config=chain)))


def counts(target: Target, wanted: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    """How many rows are seen, and what that is called."""
    for n in wanted:
        if n <= len(target.y):
            yield n, str(n)
    if target.generations is not None:
        yield target.generations, "5 generations"
