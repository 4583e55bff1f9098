"""How often the answer is right, and how much heads explain, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table

Records = Sequence[dict[str, Any]]


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return known_truth_tables(read_runs(folder))


def known_truth_tables(runs: Runs) -> str:
    """Both halves in short, then every case of each, then the heads."""
    rankings = [r for r in runs.records if r["what"] == "ranking"]
    heads = [r for r in runs.records if r["what"] == "heads"]
    lines = [runs.heading, "", *halves(rankings), ""]
    for half in _values(rankings, "half"):
        lines += [f"**{half}**", "", *cases([r for r in rankings if r["half"] == half]), ""]
    if heads:
        lines += ["**R² on fresh rows**, mean and least over sources and seeds", ""]
        lines += [*explained(heads), ""]
    return "\n".join(lines)


def halves(rankings: Records) -> list[str]:
    """One line for each half: shares of all rankings, and of intervals that hold the median.

    >>> r = {"half": "report", "case": "a", "outcome": "right", "confidently_wrong": False}
    >>> print(halves([r, {**r, "outcome": "wrong", "covered": [True, False]}])[2])
    | report | 1 | 2 | 50% | 0% | 50% | 0% | 50% | 50% of 2 |
    """
    rows = []
    for half in _values(rankings, "half"):
        chosen = [r for r in rankings if r["half"] == half]
        number = len(_values(chosen, "case"))
        held = coverage(chosen)
        covered = f"{held.mean():.0%} of {len(held)}" if len(held) else "not checked"
        rows.append([half, str(number), str(len(chosen)), *_shares(chosen), covered])
    return table(["half", "cases", "rankings", *_SHARES, "90% intervals that hold"], rows)


def cases(rankings: Records) -> list[str]:
    """One line for each case."""
    rows = []
    for case in _values(rankings, "case"):
        chosen = [r for r in rankings if r["case"] == case]
        name = case.removeprefix(f"{chosen[0]['half']}: ")
        rows.append([chosen[0]["kind"], name, *_shares(chosen)])
    return table(["kind", "case", *_SHARES], rows)


def explained(heads: Records) -> list[str]:
    """One line for each number of columns and each triple of functions."""
    rows = []
    for half in _values(heads, "half"):
        for families in _values([r for r in heads if r["half"] == half], "families"):
            for number in _values(heads, "irrelevant"):
                put = (half, families, number)
                one = [r for r in heads if (r["half"], r["families"], r["irrelevant"]) == put]
                rows.append([half, families.replace(" ", ", "), str(number), *_r2(one)])
    return table(["half", "functions", "irrelevant columns", "heads", "boosting"], rows)


def coverage(rankings: Records) -> np.ndarray:
    """For each interval that was checked, whether it holds the median over fresh targets."""
    return np.array([held for r in rankings for held in r.get("covered", ())], dtype=bool)


def share(rankings: Records, *outcomes: str) -> float:
    """Of rankings with one of these outcomes."""
    return float(np.mean([r["outcome"] in outcomes for r in rankings]))


_SHARES = ("right", "undecided", "wrong", "confidently wrong", "right or undecided")


def _shares(rankings: Records) -> list[str]:
    sure = np.mean([r["confidently_wrong"] for r in rankings])
    three = [share(rankings, outcome) for outcome in ("right", "undecided", "wrong")]
    return [f"{value:.0%}" for value in (*three, sure, share(rankings, "right", "undecided"))]


def _r2(heads: Records) -> list[str]:
    found = [np.array([r[field] for r in heads]) for field in ("heads", "boosting")]
    return [f"{r2.mean():.3f} ({r2.min():.3f})" for r2 in found]


def _values(records: Records, field: str) -> list[Any]:
    return list(dict.fromkeys(r[field] for r in records))
