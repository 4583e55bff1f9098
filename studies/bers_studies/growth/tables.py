"""Tables of more and more past runs, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    number,
    read_runs,
    span,
    table,
)
from bers_studies.report.statistics import (
    interquartile_mean,
    interval,
)


def tables(folder: Path) -> str:
    """Evaluations until 1.0 on Rastrigin, by the number of past runs."""
    runs = read_runs(folder)
    numbers = runs.values("number")
    first = interquartile_mean(runs.evaluations("Rastrigin", number=numbers[0]))
    rows = []
    for count in numbers:
        needed = runs.evaluations("Rastrigin", number=count)
        g, a = runs.weights(panel="Rastrigin", number=count)
        middle = interquartile_mean(needed)
        weight = [f"{a[:, int(np.argmax(g >= m)), 0].mean():.2f}" for m in (1, 2, 3, 5, 10)]
        rows.append(
            [
                str(count),
                number(middle, "{:.0f}"),
                span(interval(needed), "{:.0f}"),
                f"{int(np.isfinite(needed).sum())} of {len(needed)}",
                number(middle / first, "{:.2f}"),
                *weight,
            ]
        )
    heads = ["past runs", "evaluations to 1.0", "95% interval", "reached", "ratio"]
    heads += [f"weight, gen. {m}" for m in (1, 2, 3, 5, 10)]
    return "\n".join([runs.heading, "", *table(heads, rows), ""])
