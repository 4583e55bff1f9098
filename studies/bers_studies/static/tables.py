"""Tables of the static study, from its journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    THRESHOLDS,
    at,
    number,
    read_runs,
    span,
    table,
)
from bers_studies.report.statistics import (
    interquartile_mean,
    interval,
    probability_of_improvement,
    spread,
    standard_error,
)


def tables(folder: Path) -> str:
    """For every panel and method: evaluations, best value, spread, and how often BERS is better.

    Evaluations are an interquartile mean with a 95% bootstrap interval; the best value after 100
    generations, or after all where there are fewer, is a mean with its standard error.
    """
    runs = read_runs(folder)
    lines = [runs.heading]
    for panel in runs.values("panel"):
        threshold = THRESHOLDS.get(panel, "1.0")
        curves = runs.best(panel=panel, method="BERS")
        last = min(100, curves.shape[1] - 1)
        ours = at(curves, last)
        rows = []
        for method in dict.fromkeys(r["method"] for r in runs.records if r.get("panel") == panel):
            needed = runs.evaluations(panel, method=method)
            best = at(runs.best(panel=panel, method=method), last)
            better = probability_of_improvement(ours, best)
            rows.append(
                [
                    method,
                    number(interquartile_mean(needed), "{:.0f}"),
                    span(interval(needed), "{:.0f}"),
                    f"{int(np.isfinite(needed).sum())} of {len(needed)}",
                    f"{number(float(best.mean()))} ± {number(standard_error(best), '{:.1g}')}",
                    number(spread(np.log10(np.maximum(best, 1e-12))), "{:.2f}"),
                    ""
                    if method == "BERS"
                    else f"{better.value:.2f} ({span(better[1:], '{:.2f}')})",
                ]
            )
        heads = ["method", f"evaluations to {threshold}", "95% interval", "reached"]
        heads += [f"best at {last}", "spread (log10)", "BERS better"]
        lines += ["", f"**{panel}**", "", *table(heads, rows)]
    return "\n".join([*lines, ""])
