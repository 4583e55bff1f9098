"""Tables of LCBench, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from bers_studies.report.curves import Runs, read_runs, span, table
from bers_studies.report.statistics import evaluations_to, interval

AT = (5, 10, 20, 30, 50)
RANKED = (10, 20, 30)
BASE, OURS = "TPE", "BERS"


def tables(folder: Path) -> str:
    """Regret and rank by kind of earlier studies, and what misleading ones cost."""
    runs = read_runs(folder)
    lines = [runs.heading]
    for panel in runs.values("panel"):
        lines += ["", *_compared(runs, panel)]
    if misled(runs):
        lines += ["", *_misled(runs)]
    return "\n".join([*lines, ""])


def methods(runs: Runs) -> list[str]:
    """All that have right studies, or none."""
    return [m for m in runs.values("method") if m not in misled(runs)]


def misled(runs: Runs) -> list[str]:
    """Those with misleading studies."""
    return [m for m in runs.values("method") if m.startswith(f"{OURS}, ")]


def curves(runs: Runs, panel: str, method: str) -> np.ndarray:
    """Regret after each trial, (targets and seeds, trials), in the order of target and seed.

    >>> record = {"panel": "a", "method": "b", "target": "c", "trial": 0, "steps": [[1, 3], [3, 2]]}
    >>> curves(Runs((record,), 1, 0, "runs/a"), "a", "b").tolist()
    [[3.0, 3.0, 2.0]]
    """
    found = runs.pick(panel=panel, method=method)
    found.sort(key=lambda r: (r["target"], r["trial"]))
    last = int(max(r["steps"][-1][0] for r in runs.records))
    values = np.empty((len(found), last))
    for row, record in zip(values, found, strict=True):
        for at, regret in record["steps"]:
            row[int(at) - 1 :] = regret
    return values


def after(runs: Runs, panel: str, method: str, trials: int) -> np.ndarray:
    """Regret of every run after some trials; after the last, if there are fewer."""
    found = curves(runs, panel, method)
    return found[:, min(trials, found.shape[1]) - 1]


def ranks(runs: Runs, panel: str, trials: int) -> dict[str, float]:
    """Mean rank of every method after some trials, 1 the best; equal ones share."""
    names = methods(runs)
    values = np.array([after(runs, panel, name, trials) for name in names])
    return dict(zip(names, rankdata(values, axis=0).mean(axis=1).tolist(), strict=True))


def needed(runs: Runs, panel: str, method: str) -> np.ndarray:
    """Trials until the value that TPE usually ends with; never is one more than all.

    Usually: the median over seeds, target by target.
    """
    ends, found = curves(runs, panel, BASE)[:, -1], curves(runs, panel, method)
    of = np.array(sorted(r["target"] for r in runs.pick(panel=panel, method=BASE)))
    goals = [np.median(ends[of == target]) for target in of]
    counts = np.arange(1, found.shape[1] + 1)
    pairs = zip(found, goals, strict=True)
    return np.minimum([evaluations_to(row, counts, g) for row, g in pairs], len(counts) + 1)


def behind(runs: Runs, method: str, trials: int) -> np.ndarray:
    """Regret with misleading studies less that of the base sampler, target and seed alike."""
    panel = runs.pick(method=method)[0]["panel"]
    base = {_run(r): r for r in runs.pick(panel=panel, method=BASE)}
    pairs = [(r, base[_run(r)]) for r in runs.pick(method=method) if _run(r) in base]
    return np.array([_after(ours, trials) - _after(theirs, trials) for ours, theirs in pairs])


def _run(record: dict[str, Any]) -> tuple[str, int]:
    return record["target"], record["trial"]


def _after(record: dict[str, Any], trials: int) -> float:
    return [regret for at, regret in record["steps"] if at <= trials][-1]


def _compared(runs: Runs, panel: str) -> list[str]:
    by_trials = {n: ranks(runs, panel, n) for n in RANKED}
    usual = needed(runs, panel, BASE).sum()
    rows = []
    for name in methods(runs):
        regret = [after(runs, panel, name, n) for n in AT]
        ends = span(interval(regret[2], np.mean), "{:.3f}")
        rows.append(
            [
                name,
                " / ".join(f"{one.mean():.3f}" for one in regret),
                ends,
                " / ".join(f"{by_trials[n][name]:.1f}" for n in RANKED),
                f"{needed(runs, panel, name).sum() / usual:.0%}",
            ]
        )
    told = " / ".join(str(n) for n in AT)
    heads = ["method", f"regret after {told}", f"after {AT[2]}, 95%"]
    heads += ["rank after " + " / ".join(str(n) for n in RANKED), "trials to TPE's value"]
    count = len(runs.values("target"))
    title = (
        f"**Earlier studies of {panel} trials**, {count} targets; trials as a share of TPE's own"
    )
    return [title, "", *table(heads, rows)]


def _misled(runs: Runs) -> list[str]:
    rows = []
    for name in misled(runs):
        row = [name.removeprefix(f"{OURS}, ")]
        for n in (20, 50):
            found = behind(runs, name, n)
            row += [f"{found.mean():+.3f}", span(interval(found, np.mean), "{:+.3f}")]
        rows.append(row)
    heads = ["earlier studies", "20 trials: regret less TPE's", "95%"]
    heads += ["50 trials: regret less TPE's", "95%"]
    return ["**Misleading studies only**", "", *table(heads, rows)]
