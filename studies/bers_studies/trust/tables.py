"""Tables of whom each rule trusts, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bers_studies.report.curves import read_runs


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return trust_tables(read_runs(folder).records)


def trust_tables(
    records: Sequence[dict[str, Any]], shown: Sequence[int] = (1, 2, 5, 10, 20, 48, 100)
) -> str:
    """The mean weight on the right source, rules down, generations across, for every target.

    The last two columns are the mean and the least of these means from generation 5 on.

    >>> r = {"target": "Sphere", "rule": "odds", "right": 1, "generations": [1, 5]}
    >>> print(trust_tables([{**r, "weights": [[0, 0.5], [0, 1]]}], (1, 5)).splitlines()[4])
    | odds | 0.50 | 1.00 | 1.000 | 1.000 |
    """
    shown = [g for g in shown if g in records[0]["generations"]]
    lines = []
    for target in dict.fromkeys(r["target"] for r in records):
        chosen = [r for r in records if r["target"] == target]
        lines += [f"**{target}**, {len({str(r.get('seed')) for r in chosen})} trials", ""]
        lines += [f"| rule | {' | '.join(map(str, shown))} | mean 5+ | least 5+ |"]
        lines += ["|---" * (len(shown) + 3) + "|"]
        for rule in dict.fromkeys(r["rule"] for r in chosen):
            trials = [r for r in chosen if r["rule"] == rule]
            curve = mean_on_the_right(trials)
            later = [weight for g, weight in curve.items() if g >= 5]
            cells = [f"{curve[g]:.2f}" for g in shown]
            cells += [f"{sum(later) / len(later):.3f}", f"{min(later):.3f}"]
            lines += [f"| {rule} | {' | '.join(cells)} |"]
        lines += [""]
    return "\n".join(lines)


def mean_on_the_right(trials: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Weight on the right source by generation, averaged over trials."""
    return {
        g: sum(r["weights"][i][r["right"]] for r in trials) / len(trials)
        for i, g in enumerate(trials[0]["generations"])
    }
