"""Plain Differential Evolution: evaluations per second, against SciPy's and pymoo's.

All contenders have the same settings, the same first points and the same number of generations,
and a function so cheap that the time is their own. Each is run once before the clock starts, to
see that it did as many evaluations as the others and found the minimum.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import pymoo.optimize
import scipy.optimize
from apart import Maker, apart
from pymoo.algorithms.soo.nonconvex.de import DE
from pymoo.core.problem import Problem
from row import Row, faster
from timing import take_turns

import bers

D, NP, GENERATIONS = 10, 32, 300
F, CR = 0.5, 0.7
BOUNDS = [(-4.0, 4.0)] * D
EVALUATIONS = NP * (GENERATIONS + 1)
ROUNDS, CALLS = 15, 3
_FOUND = 1e-6  # of a sphere, after so many generations, from some 50 at the start


def rows() -> list[Row]:
    """Two races with whole generations, one with agents replaced in place."""
    whole = {"ours": ours, "scipy": scipy_de, "pymoo": pymoo_de}
    rates = _rates("static_de", whole)
    in_place = {name: partial(make, in_place=True) for name, make in list(whole.items())[:2]}
    rates_in_place = _rates("static_de_immediate", in_place)
    same = f"{D} dimensions, {NP} agents, {GENERATIONS} generations of rand/1/bin."
    return [
        _race(
            "static_de_scipy",
            rates,
            "scipy",
            goal=3,
            note=f"{same} A sphere in NumPy that takes a whole generation; both deferred.",
        ),
        _race(
            "static_de_pymoo",
            rates,
            "pymoo",
            goal=3,
            note=f"{same} The same sphere; pymoo without its extra mutation.",
        ),
        _race(
            "static_de_immediate",
            rates_in_place,
            "scipy",
            goal=2,
            note=f"{same} float(np.dot(x, x)), a point at a time; both immediate.",
        ),
    ]


def ours(*, in_place: bool = False) -> Callable[[], object]:
    """`minimize` without sources."""
    fun = one_value if in_place else column_values
    learner = bers.DE(
        population=NP,
        mutation=F,
        recombination=CR,
        updating="immediate" if in_place else "deferred",
        init=first_points(),
        tol=0.0,
    )

    def run() -> tuple[int, float]:
        result = bers.minimize(
            fun, BOUNDS, learner=learner, maxiter=GENERATIONS, vectorized=not in_place, rng=0
        )
        return result.nfev, result.fun

    return _checked("ours", run)


def scipy_de(*, in_place: bool = False) -> Callable[[], object]:
    """SciPy's, without its polishing at the end."""
    how = {"updating": "immediate"} if in_place else {"updating": "deferred", "vectorized": True}
    fun = one_value if in_place else column_values
    init = first_points()

    def run() -> tuple[int, float]:
        result = scipy.optimize.differential_evolution(
            fun,
            BOUNDS,
            strategy="rand1bin",
            maxiter=GENERATIONS,
            tol=0.0,
            mutation=F,
            recombination=CR,
            init=init,
            rng=0,
            polish=False,
            **how,
        )
        # its nfev counts calls, and a call takes a whole generation
        return len(result.population) * (result.nit + 1), result.fun

    return _checked("scipy", run)


def pymoo_de() -> Callable[[], object]:
    """pymoo's, which has whole generations only."""
    init = first_points()
    low, high = (np.array(side) for side in zip(*BOUNDS, strict=True))
    problem = _Sphere(n_var=D, n_obj=1, xl=low, xu=high)

    def run() -> tuple[int, float]:
        algorithm = DE(
            pop_size=NP, sampling=init, variant="DE/rand/1/bin", F=F, CR=CR, prob_mut=0.0
        )
        result = pymoo.optimize.minimize(
            problem,
            algorithm,
            ("n_gen", GENERATIONS + 1),  # it counts the first points as one
            copy_algorithm=False,
            seed=0,
            verbose=False,
        )
        return result.algorithm.evaluator.n_eval, float(result.F[0])

    return _checked("pymoo", run)


def first_points() -> np.ndarray:
    """The same for all."""
    low, high = np.transpose(BOUNDS)
    return np.random.default_rng(0).uniform(low, high, (NP, D))


def column_values(x: np.ndarray) -> np.ndarray:
    """A sphere, points in columns."""
    return np.sum(x * x, axis=0)


def one_value(x: np.ndarray) -> float:
    """A sphere, one point."""
    return float(np.dot(x, x))


class _Sphere(Problem):
    """The same, points in rows: pymoo's way."""

    def _evaluate(self, x: np.ndarray, out: dict, *args: object, **kwargs: object) -> None:
        out["F"] = np.sum(x * x, axis=1)


def _checked(name: str, run: Callable[[], tuple[int, float]]) -> Callable[[], object]:
    """The run itself, once it has shown that it does the same work as the others."""
    count, best = run()
    if count != EVALUATIONS or not best < _FOUND:
        raise RuntimeError(
            f"{name} made {count} evaluations (wanted {EVALUATIONS}) and found {best:.3g}"
        )
    return run


def _rates(label: str, makers: dict[str, Maker]) -> dict[str, float]:
    with apart(label, makers) as turns:
        seconds = take_turns(label, turns, rounds=ROUNDS, calls=CALLS)
    return {name: EVALUATIONS / value for name, value in seconds.items()}


def _race(name: str, rates: dict[str, float], peer: str, *, goal: float, note: str) -> Row:
    peer_name = {"scipy": "scipy.optimize.differential_evolution", "pymoo": "pymoo's DE"}[peer]
    return faster(
        name,
        rates["ours"],
        rates[peer],
        peer_name=peer_name,
        goal=goal,
        unit="evaluations per second",
        note=note,
    )
