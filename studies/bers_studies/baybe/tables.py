"""Tables of reactions beside BayBE, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, span, table
from bers_studies.report.statistics import interval

OURS, ALONE, WITH = "BERS", "BayBE", "BayBE, TaskParameter"


def tables(folder: Path) -> str:
    """Experiments until a yield of the top 1%, scenario by scenario."""
    runs = read_runs(folder)
    names = runs.values("method")
    rows = []
    for scenario in runs.values("scenario"):
        found = [counts(runs, name, scenario=scenario) for name in names]
        rows.append([scenario, *(" ".join(str(int(n)) for n in each) for each in found)])
    rows.append(["mean", *(f"{counts(runs, name).mean():.1f}" for name in names)])
    lines = [runs.heading, ""]
    lines += ["**Experiments until a yield of the top 1%**, one number for each trial", ""]
    lines += [*table(["scenario", *names], rows), ""]
    ends = [[other, f"{share(runs, other):.2f}", _ends(runs, other)] for other in (ALONE, WITH)]
    lines += ["**Experiments of BERS**, as a share", "", *table(["of", "share", "95%"], ends)]
    return "\n".join([*lines, ""])


def counts(runs: Runs, method: str, **given: str) -> np.ndarray:
    """Experiments of a method, in the order of scenario and trial."""
    found = runs.pick(method=method, **given)
    found.sort(key=lambda r: (r["scenario"], r["trial"]))
    return np.array([r["needed"] for r in found], float)


def share(runs: Runs, other: str) -> float:
    """Experiments of ours over those of another, all scenarios together."""
    return float(counts(runs, OURS).sum() / counts(runs, other).sum())


def ends(runs: Runs, other: str) -> tuple[float, float]:
    """Its interval, by scenarios and trials drawn again."""
    ours, theirs = counts(runs, OURS), counts(runs, other)

    def ratio(which: np.ndarray) -> float:
        rows = np.asarray(which, int)
        return float(ours[rows].sum() / theirs[rows].sum())

    return interval(np.arange(len(ours)), ratio)


def _ends(runs: Runs, other: str) -> str:
    return span(ends(runs, other), "{:.2f}")
