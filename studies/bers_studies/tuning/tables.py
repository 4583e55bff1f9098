"""Tables of tuning with earlier studies, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, number, read_runs, span, table
from bers_studies.report.statistics import evaluations_to, interquartile_mean, interval

GOAL = "TPE"
"""The method whose value, the median over seeds after its budget of trials, is everybody's goal."""


def tables(folder: Path) -> str:
    """Trials until TPE's usual value, and what misleading studies cost.

    A run that never gets there counts as one trial more than it had. Intervals are from a
    bootstrap over seeds.
    """
    runs = read_runs(folder)
    lines = [runs.heading]
    for make in (_saved, _by_target, _misled):
        lines += ["", *make(runs)]
    return "\n".join([*lines, ""])


def needed(runs: Runs, panel: str, target: str, method: str) -> np.ndarray:
    """Trials of a method until TPE's usual value; never is one more than all."""
    goal = float(np.median(_after_budget(runs, panel, target, GOAL)))
    curves = runs.best(panel=panel, target=target, method=method)
    counts = np.arange(1, curves.shape[1] + 1)
    found = [evaluations_to(curve, counts, goal) for curve in curves]
    return np.minimum(found, len(counts) + 1)


def _after_budget(runs: Runs, panel: str, target: str, method: str) -> np.ndarray:
    curves = runs.best(panel=panel, target=target, method=method)
    return curves[:, runs.records[0]["budget"] - 1]


def share(runs: Runs, panel: str, method: str) -> tuple[float, tuple[float, float]]:
    """Trials of a method over TPE's own, all targets of a family together, with its interval."""
    targets = _targets(runs, panel)
    theirs = np.sum([needed(runs, panel, target, GOAL) for target in targets], axis=0)
    ours = np.sum([needed(runs, panel, target, method) for target in targets], axis=0)

    def ratio(seeds: np.ndarray) -> float:
        rows = np.asarray(seeds, int)
        return float(ours[rows].sum() / theirs[rows].sum())

    every = np.arange(len(ours))
    return ratio(every), interval(every, ratio)


def gaps(runs: Runs, panel: str, method: str) -> np.ndarray:
    """Best value less TPE's of the same seed after the budget, in percent of it; one per run."""
    found = []
    for target in _targets(runs, panel):
        theirs = _after_budget(runs, panel, target, GOAL)
        worse = _after_budget(runs, panel, target, method) - theirs
        # where TPE has no error left, against the mean of the seeds
        unit = np.where(theirs > 0, theirs, float(np.mean(theirs)) or 1.0)
        found.append(100 * worse / unit)
    return np.concatenate(found)


def _targets(runs: Runs, panel: str) -> list[str]:
    return list(dict.fromkeys(r["target"] for r in runs.pick(panel=panel)))


def misled(runs: Runs) -> dict[str, str]:
    """Methods with misleading studies only, by how these mislead."""
    start = "BERS, "
    return {m.removeprefix(start): m for m in runs.values("method") if m.startswith(start)}


def _methods(runs: Runs) -> list[str]:
    return [m for m in runs.values("method") if m not in misled(runs).values()]


def _saved(runs: Runs) -> list[str]:
    rows = []
    for panel in runs.values("panel"):
        targets = _targets(runs, panel)
        for method in _methods(runs):
            count = np.concatenate([needed(runs, panel, t, method) for t in targets])
            part, ends = share(runs, panel, method)
            change = gaps(runs, panel, method)
            rows.append(
                [
                    panel,
                    method,
                    f"{count.mean():.1f}",
                    "" if method == GOAL else f"{part:.2f} ({span(ends, '{:.2f}')})",
                    "" if method == GOAL else _won(change),
                ]
            )
    heads = ["family", "method", "trials to TPE's value", "share of TPE's own (95%)"]
    heads += ["better, same, worse than TPE at equal trials"]
    budget = runs.records[0]["budget"]
    title = (
        f"**Trials until the value that plain TPE has after {budget} trials** (its median), mean "
    )
    title += "over targets and seeds"
    return [title, "", *table(heads, rows)]


def _by_target(runs: Runs) -> list[str]:
    rows = []
    for panel in runs.values("panel"):
        for target in _targets(runs, panel):
            counts = [needed(runs, panel, target, method) for method in _methods(runs)]
            rows.append([panel, target, *(number(interquartile_mean(c), "{:.1f}") for c in counts)])
    title = "**The same, target by target**, interquartile mean"
    return [title, "", *table(["family", "target", *_methods(runs)], rows)]


def _misled(runs: Runs) -> list[str]:
    rows = []
    for panel in runs.values("panel"):
        for kind, method in misled(runs).items():
            change = gaps(runs, panel, method)
            used = [_tried(r) for r in runs.pick(panel=panel, method=method)]
            ends = interval(change, np.mean)
            rows.append(
                [
                    panel,
                    kind,
                    f"{change.mean():+.2f}%",
                    span(ends, "{:+.2f}"),
                    _won(change),
                    f"{np.mean(used):.1f}",
                ]
            )
    heads = ["family", "earlier studies", "error against TPE's", "95% interval"]
    heads += ["better, same, worse", "points tried"]
    return ["**Misleading studies**, after as many trials", "", *table(heads, rows)]


def _tried(record: dict[str, Any]) -> int:
    """Points of earlier studies among the trials that count."""
    return sum(number <= record["budget"] for number in record["used"])


def _won(change: np.ndarray) -> str:
    return f"{(change < 0).sum()}, {(change == 0).sum()}, {(change > 0).sum()}"
