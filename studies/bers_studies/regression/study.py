"""Regression on real groups: what do they learn from each other, and what does it cost?

Enters: settings and a seed. Leaves: one record per problem, group, share of rows seen, and method.
Schools: of every school three quarters of the pupils are seen, the others are foretold. The other
problems: each group in turn is new, a small share of its rows is seen beside all rows of the other
groups, and the rest of its rows are foretold. `together` is `MultiSourceRegressor` fitted to all
that is seen; `adapted` was fitted to the other groups and takes in the new one's rows without
training; `alone` is the same estimator with the new group's rows only.

Trials 0 to 4 were there to choose settings; the study runs trials 5 to 9, which are reported.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bers.model.config import ModelConfig
from bers.sklearn import MultiSourceRegressor
from bers_studies.regression.problems import PROBLEMS, Problem
from bers_studies.regression.rivals import RIVALS

PARTS = len(PROBLEMS)
"""Of a trial, run one by one: a problem each."""


@dataclass(frozen=True)
class RegressionConfig:
    """One study."""

    first: int = 5
    """Trial: those before it were there to choose settings."""
    data: str = "../shared/data"
    """Folder of the files; the environment variable BERS_DATA goes before."""
    shares: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4)
    """Of a new group's rows that are seen; firms have 20 rows each, and see no fewer than 4."""
    groups: int | None = None
    """New ones of each problem, the first; None for all."""
    together: tuple[str, ...] = ("school", "arylation", "firms")
    """Problems on which all that is seen is fitted anew; it takes long where groups are many."""
    rivals: tuple[str, ...] = tuple(RIVALS)
    model: ModelConfig | None = None


def trial(config: RegressionConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One problem; seeds go round the problems, trial by trial."""
    turn, which = divmod(seed, PARTS)
    number, name = config.first + turn, list(PROBLEMS)[which]
    problem = PROBLEMS[name](Path(config.data))
    run = _schools if name == "school" else _new_groups
    for record in run(config, problem, name, number):
        yield {"trial": number, "problem": name, **record}


def _schools(
    config: RegressionConfig, problem: Problem, name: str, number: int
) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(number)
    seen = np.zeros(len(problem.y), bool)
    for group in np.unique(problem.groups):
        rows = rng.permutation(np.flatnonzero(problem.groups == group))
        seen[rows[: round(0.75 * len(rows))]] = True
    known, asked = _take(problem, seen), _take(problem, ~seen)
    model = _regressor(config).fit(known.X, known.y, groups=known.groups)
    said = {"together": model.predict(asked.X, groups=asked.groups)}
    said |= {rival: RIVALS[rival](known, asked.X, asked.groups) for rival in config.rivals}
    yield from _records(said, asked.y, group="all", share=0.75)


def _new_groups(
    config: RegressionConfig, problem: Problem, name: str, number: int
) -> Iterator[dict[str, Any]]:
    for group in np.unique(problem.groups)[: config.groups]:
        others = _take(problem, problem.groups != group)
        fitted = _regressor(config).fit(others.X, others.y, groups=others.groups)
        own = np.flatnonzero(problem.groups == group)
        counts = [max(round(share * len(own)), 4) for share in config.shares]
        for count in dict.fromkeys(counts):
            rng = np.random.default_rng([number, count])
            rows = rng.permutation(own)
            few, asked = _take(problem, rows[:count]), _take(problem, rows[count:])
            known = Problem(*(np.concatenate(both) for both in zip(others, few, strict=True)))
            more = fitted.adapt(few.X, few.y, group=group)
            said = {"adapted": more.predict(asked.X, groups=asked.groups)}
            said["alone"] = _regressor(config).fit(few.X, few.y).predict(asked.X)
            if name in config.together:
                model = _regressor(config).fit(known.X, known.y, groups=known.groups)
                said["together"] = model.predict(asked.X, groups=asked.groups)
            said |= {rival: RIVALS[rival](known, asked.X, asked.groups) for rival in config.rivals}
            yield from _records(said, asked.y, group=str(group), share=round(count / len(own), 2))


def _records(
    said: dict[str, np.ndarray], y: np.ndarray, **about: object
) -> Iterator[dict[str, Any]]:
    for method, values in said.items():
        squares = float(np.mean((values - y) ** 2))
        yield {
            **about,
            "method": method,
            "error": float(f"{np.sqrt(squares):.6g}"),
            "explained": float(f"{1 - squares / np.var(y):.6g}"),
        }


def _regressor(config: RegressionConfig) -> MultiSourceRegressor:
    return MultiSourceRegressor(model=config.model)


def _take(problem: Problem, rows: np.ndarray) -> Problem:
    return Problem(*(part[rows] for part in problem))


CONFIG = RegressionConfig()
QUICK = RegressionConfig(
    shares=(0.1,), groups=1, together=("school",), rivals=("pooled ridge", "ridge alone")
)
