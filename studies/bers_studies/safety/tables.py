"""Tables of runs that mislead, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    log10_mean,
    read_runs,
    span,
    table,
)
from bers_studies.report.statistics import (
    interval,
)


def tables(folder: Path) -> str:
    """Mean of log10 of the best value over 100 generations, with misleading runs and without."""
    runs = read_runs(folder)
    rows = []
    for kind in runs.values("kind"):
        for panel in runs.values("panel"):
            ours = log10_mean(runs.best(panel=panel, kind=kind, method="BERS"))
            none = log10_mean(runs.best(panel=panel, kind=kind, method="None"))
            ends = interval(ours - none, np.mean)
            rows.append(
                [
                    kind,
                    panel,
                    f"{none.mean():.3f}",
                    f"{ours.mean():.3f}",
                    f"{(ours - none).mean():+.3f}",
                    span(ends, "{:+.3f}"),
                ]
            )
    heads = ["past runs", "target", "None", "BERS", "difference", "95% interval"]
    return "\n".join([runs.heading, "", *table(heads, rows), ""])
