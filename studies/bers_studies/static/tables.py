"""Tables of the static studies, from their journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import (
    THRESHOLDS,
    Runs,
    at,
    every_generation,
    log10_mean,
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


def _head(runs: Runs) -> list[str]:
    lost = f", {runs.failed} failed and left out" if runs.failed else ""
    return [f"{runs.trials} trials{lost}."]


def static_tables(folder: Path) -> str:
    """For every panel and method: evaluations, best value, spread, and how often BERS is better.

    Evaluations are an interquartile mean with a 95% bootstrap interval; the best value after 100
    generations is a mean with its standard error.
    """
    runs = read_runs(folder)
    lines = _head(runs)
    for panel in runs.values("panel"):
        threshold = THRESHOLDS.get(panel, "1.0")
        ours = at(runs.best(panel=panel, method="BERS"), 100)
        rows = []
        for method in dict.fromkeys(r["method"] for r in runs.records if r.get("panel") == panel):
            needed = runs.evaluations(panel, method=method)
            best = at(runs.best(panel=panel, method=method), 100)
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
        heads += ["best at 100", "spread (log10)", "BERS better"]
        lines += ["", f"**{panel}**", "", *table(heads, rows)]
    return "\n".join([*lines, ""])


def safety_tables(folder: Path) -> str:
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
    return "\n".join([*_head(runs), "", *table(heads, rows), ""])


def growth_tables(folder: Path) -> str:
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
    return "\n".join([*_head(runs), "", *table(heads, rows), ""])


def options_tables(folder: Path) -> str:
    """Mean of log10 of the best value over 100 generations, and evaluations, for every option."""
    runs = read_runs(folder)
    panels = runs.values("panel")
    lines = _head(runs)
    rows, counts = [], []
    for method in runs.values("method"):
        scores = [log10_mean(runs.best(panel=p, method=method)).mean() for p in panels]
        needed = [interquartile_mean(runs.evaluations(p, method=method)) for p in panels]
        rows.append([method, *(f"{score:.2f}" for score in scores), f"{np.mean(scores):.2f}"])
        counts.append([method, *(number(n, "{:.0f}") for n in needed)])
    lines += ["", "**Mean of log10 of the best value over 100 generations** (less is better)", ""]
    lines += table(["option", *panels, "mean"], rows)
    heads = [f"{p}, to {THRESHOLDS.get(p, '1.0')}" for p in panels]
    lines += ["", "**Evaluations until solved**, interquartile mean", ""]
    return "\n".join([*lines, *table(["option", *heads], counts), ""])


def paper_metric_tables(folder: Path) -> str:
    """Mean weight of each source on Rastrigin, and the best value, for everything tried."""
    runs = read_runs(folder)
    rows = []
    for method in runs.values("method"):
        g, a = runs.weights(panel="Rastrigin", method=method)
        sizes = np.mean([r["rows"] for r in runs.pick(method=method)], axis=0)
        best = at(runs.best(panel="Rastrigin", method=method), 100)
        mean = every_generation(g, a).mean((0, 1))
        shares = [" : ".join(f"{w:.2f}" for w in a[:, g == m].mean((0, 1))) for m in (4, 48, 100)]
        shares.append(" : ".join(f"{w:.2f}" for w in mean))
        rows.append([method, ", ".join(f"{n:,.0f}" for n in sizes), *shares, number(best.mean())])
    heads = ["variant", "rows", "generation 4", "48", "100", "all", "best at 100"]
    note = "Weights are Rosenbrock : Ackley : Sphere."
    return "\n".join([*_head(runs), note, "", *table(heads, rows), ""])
