"""Claims about the static study: what the paper says of its functions, and what we say.

Enters: the study's records. Leaves: claims. What the paper says is asked of both: of its own metric
and of the library's defaults.
"""

from collections.abc import Iterator

import numpy as np

from bers_studies.report.claim import Claim, ends
from bers_studies.report.curves import Runs, at, every_generation, number
from bers_studies.report.statistics import (
    interquartile_mean,
    interval,
    probability_of_improvement,
    spread,
)

_TARGETS = {"Rosenbrock": "S1", "Ackley": "S2", "Sphere": "S3", "Rastrigin": "S3"}
"""Each target with the source that suits it best."""
RIGHT = {"Rosenbrock": 0, "Ackley": 1, "Sphere": 2, "Rastrigin": 2}
_BOTH = {"our default": "BERS", "paper's metric": "BERS, paper's metric"}
_SMALL = 1.25  # times the evaluations of the best expert: what "a small gap" is taken to mean
_MULTI_TASK = "Rastrigin, multi-task"


def claims(runs: Runs) -> Iterator[Claim]:
    """All claims about the functions, the paper's first."""
    for who, method in _BOTH.items():
        yield from _of_method(runs, who, method)
    yield _ucb_is_strong(runs)
    for target in _TARGETS:
        yield _best_expert(runs, target)
        yield _well_ahead_of_ucb(runs, target)
    yield from _far_below(runs)


def paper_claims(runs: Runs) -> Iterator[Claim]:
    """What the paper says of its method, of records that need not hold those of other methods."""
    yield from _of_method(runs, *list(_BOTH.items())[1])


def _of_method(runs: Runs, who: str, method: str) -> Iterator[Claim]:
    for target in _TARGETS:
        yield _gap(runs, target, who, method)
        yield _identified(runs, target, who, method)
        yield _ahead_of_ucb(runs, target, who, method)
        yield _less_variable(runs, target, who, method)
    yield _favours_sphere(runs, who, method)
    yield _quicker(runs, who, method)
    yield from _multi_task(runs, who, method)
    yield _smooth(runs, who, method)


def _id(name: str, who: str, target: str = "") -> str:
    short = "default" if who == "our default" else "paper"
    return "-".join(part for part in (name, target.lower(), short) if part)


def _needed(runs: Runs, target: str, method: str) -> float:
    return interquartile_mean(runs.evaluations(target, method=method))


def _gap(runs: Runs, target: str, who: str, method: str) -> Claim:
    ours, expert = _needed(runs, target, method), _needed(runs, target, _TARGETS[target])
    return Claim(
        _id("small-gap", who, target),
        f"BERS ({who}) has a small gap to the single best expert on {target}: at most {_SMALL} "
        "times its evaluations until solved",
        "paper",
        f"{number(ours, '{:.0f}')} evaluations, the expert {number(expert, '{:.0f}')}",
        ends(interval(runs.evaluations(target, method=method))),
        runs.trials,
        bool(np.isfinite(ours) and ours <= _SMALL * expert),
        runs.folder,
    )


def _identified(runs: Runs, target: str, who: str, method: str) -> Claim:
    g, a = runs.weights(panel=target, method=method)
    right = a[:, g == 10, RIGHT[target]].ravel()
    return Claim(
        _id("identified", who, target),
        f"BERS ({who}) quickly finds the most suitable source on {target}: most of the weight "
        "by generation 10",
        "paper",
        f"mean weight {right.mean():.2f}",
        ends(interval(right, np.mean)),
        runs.trials,
        bool(right.mean() > 0.5),
        runs.folder,
    )


def _ahead_of_ucb(runs: Runs, target: str, who: str, method: str) -> Claim:
    better = probability_of_improvement(
        runs.evaluations(target, method=method), runs.evaluations(target, method="UCB")
    )
    return Claim(
        _id("fewer-than-ucb", who, target),
        f"BERS ({who}) finds the solution of {target} in fewer iterations than UCB",
        "paper",
        f"needs fewer evaluations with probability {better.value:.2f}",
        ends(better[1:]),
        runs.trials,
        bool(better.low > 0.5),
        runs.folder,
    )


def _spread(runs: Runs, target: str, method: str) -> float:
    return spread(at(runs.best(panel=target, method=method), 100))


def _less_variable(runs: Runs, target: str, who: str, method: str) -> Claim:
    ours, ucb = _spread(runs, target, method), _spread(runs, target, "UCB")
    return Claim(
        _id("less-variable", who, target),
        f"BERS ({who}) varies less than UCB on {target} (standard deviation of the best value "
        "after 100 generations)",
        "paper",
        f"{ours:.2g} against {ucb:.2g}",
        None,
        runs.trials,
        ours < ucb,
        runs.folder,
    )


def _favours_sphere(runs: Runs, who: str, method: str) -> Claim:
    weights = every_generation(*runs.weights(panel="Rastrigin", method=method))
    means = weights.mean(axis=1)
    total = means.mean(axis=0)
    return Claim(
        _id("favours-sphere", who),
        f"the weights ({who}) favour Sphere when solving Rastrigin, over 100 generations",
        "paper",
        "mean weights " + ", ".join(f"{w:.2f}" for w in total),
        ends(interval(means[:, 2], np.mean)),
        runs.trials,
        bool(np.argmax(total) == 2 and total[2] > 0.5),
        runs.folder,
    )


def _quicker(runs: Runs, who: str, method: str) -> Claim:
    ours, none = (at(runs.best(panel="Rastrigin", method=m), 100) for m in (method, "None"))
    better = probability_of_improvement(ours, none)
    return Claim(
        _id("quicker-minimum", who),
        f"this leads BERS ({who}) to the global minimum of Rastrigin more quickly than no reuse",
        "paper",
        f"best value {ours.mean():.2g} against {none.mean():.2g}; better with probability "
        f"{better.value:.2f}",
        ends(better[1:]),
        runs.trials,
        bool(better.low > 0.5),
        runs.folder,
    )


def _multi_task(runs: Runs, who: str, method: str) -> Iterator[Claim]:
    if _MULTI_TASK not in runs.values("panel"):
        return
    ours = at(runs.best(panel=_MULTI_TASK, method=method), 100)
    for rival in ("UCB", "Equal"):
        other = at(runs.best(panel=_MULTI_TASK, method=rival), 100)
        better = probability_of_improvement(ours, other)
        yield Claim(
            _id(f"multi-task-{rival.lower()}", who),
            f"solving all functions at once, BERS ({who}) is ahead of {rival} on Rastrigin",
            "paper",
            f"best value {ours.mean():.2g} against {other.mean():.2g}; better with probability "
            f"{better.value:.2f}",
            ends(better[1:]),
            runs.trials,
            bool(better.low > 0.5),
            runs.folder,
        )


def _smooth(runs: Runs, who: str, method: str) -> Claim:
    """The largest change of a mean weight between two recorded generations, from the 20th on."""
    worst = 0.0
    for target in _TARGETS:
        g, a = runs.weights(panel=target, method=method)
        later = a[:, (g >= 20) & (g <= 100)].mean(axis=0)
        worst = max(worst, float(np.abs(np.diff(later, axis=0)).max()))
    return Claim(
        _id("smooth", who),
        f"the weights ({who}) converge smoothly: no mean weight moves by more than 0.1 in four "
        "generations from the 20th on",
        "paper",
        f"largest move {worst:.2f}",
        None,
        runs.trials,
        worst <= 0.1,
        runs.folder,
    )


def _ucb_is_strong(runs: Runs) -> Claim:
    chances = []
    for target in _TARGETS:
        ucb = at(runs.best(panel=target, method="UCB"), 100)
        for other in ("Equal", "None"):
            rival = at(runs.best(panel=target, method=other), 100)
            chances.append(probability_of_improvement(ucb, rival).value)
    return Claim(
        "ucb-is-strong",
        "UCB is a strong baseline: better than Equal and None after 100 generations on all four",
        "paper",
        f"least probability of being better {min(chances):.2f}",
        None,
        runs.trials,
        min(chances) > 0.5,
        runs.folder,
    )


def _best_expert(runs: Runs, target: str) -> Claim:
    allowed = 1.15 if target == "Rastrigin" else 1.0
    often = "no more than" if allowed == 1 else f"at most {allowed:g} times"
    experts = {m: _needed(runs, target, m) for m in ("S1", "S2", "S3")}
    best = min(experts, key=lambda m: experts[m])
    ours = _needed(runs, target, "BERS")
    return Claim(
        f"best-expert-{target.lower()}",
        f"by default, {target} is solved in {often} the evaluations of the best single source used "
        "alone (interquartile mean)",
        "BERS",
        f"{number(ours, '{:.0f}')} against {number(experts[best], '{:.0f}')} of {best}",
        ends(interval(runs.evaluations(target, method="BERS"))),
        runs.trials,
        bool(np.isfinite(ours) and ours <= allowed * experts[best]),
        runs.folder,
    )


def _well_ahead_of_ucb(runs: Runs, target: str) -> Claim:
    ours, ucb = (at(runs.best(panel=target, method=m), 100) for m in ("BERS", "UCB"))
    better = probability_of_improvement(ours, ucb)
    spreads = _spread(runs, target, "BERS"), _spread(runs, target, "UCB")
    return Claim(
        f"ahead-of-ucb-{target.lower()}",
        f"by default, BERS is better than UCB on {target} after 100 generations with probability "
        "0.8 or more, and varies less",
        "BERS",
        f"probability {better.value:.2f}; standard deviation {spreads[0]:.2g} against "
        f"{spreads[1]:.2g}",
        ends(better[1:]),
        runs.trials,
        better.value >= 0.8 and spreads[0] < spreads[1],
        runs.folder,
    )


def _far_below(runs: Runs) -> Iterator[Claim]:
    ours = at(runs.best(panel="Rastrigin", method="BERS"), 100).mean()
    for other, times in (("UCB", 5), ("None", 10)):
        rival = at(runs.best(panel="Rastrigin", method=other), 100).mean()
        yield Claim(
            f"rastrigin-below-{other.lower()}",
            f"by default, the best value on Rastrigin after 100 generations is at least {times} "
            f"times lower than that of {other}",
            "BERS",
            f"{ours:.2g} against {rival:.2g}: {rival / ours:.0f} times",
            None,
            runs.trials,
            bool(rival >= times * ours),
            runs.folder,
        )
