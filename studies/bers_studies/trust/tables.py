"""Results as Markdown tables, for pages that must not be typed by hand.

Enters: records of a study. Leaves: tables, one per number or per target.
"""

from collections.abc import Sequence
from typing import Any

_NUMBERS = {"r2": ("Held-out R²", "{:.3f}"), "log_density": ("Held-out log density", "{:.2f}")}


def heads_tables(records: Sequence[dict[str, Any]]) -> str:
    """The mean over trials of R² and log density, for every setting and head.

    >>> r = {"setting": "BERS", "kind": "source", "head": "Sphere", "r2": 0.9, "log_density": 1.0}
    >>> print(heads_tables([r, {**r, "r2": 0.8}]).splitlines()[4])
    | Sphere (source) | 0.850 |
    """
    settings = list(dict.fromkeys(r["setting"] for r in records))
    heads = list(dict.fromkeys((r["kind"], r["head"]) for r in records))
    lines = []
    for number, (title, form) in _NUMBERS.items():
        lines += [f"**{title}**, mean over trials", "", f"| head | {' | '.join(settings)} |"]
        lines += ["|---" * (len(settings) + 1) + "|"]
        for kind, head in heads:
            cells = [_mean(records, number, setting, kind, head) for setting in settings]
            lines += [f"| {head} ({kind}) | {' | '.join(form.format(cell) for cell in cells)} |"]
        lines += [""]
    return "\n".join(lines)


def _mean(
    records: Sequence[dict[str, Any]], number: str, setting: str, kind: str, head: str
) -> float:
    wanted = (setting, kind, head)
    values = [r[number] for r in records if (r["setting"], r["kind"], r["head"]) == wanted]
    return sum(values) / len(values)


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


def nobody_table(records: Sequence[dict[str, Any]]) -> str:
    """Share of nobody, mean and least over seeds, kinds of sources down, rules across.

    >>> r = {"kind": "noise", "rule": "odds", "nobody": 0.9}
    >>> print(nobody_table([r, {**r, "nobody": 1.0}]).splitlines()[2])
    | noise | 0.950 (0.900) |
    """
    rules = list(dict.fromkeys(r["rule"] for r in records))
    lines = [f"| sources | {' | '.join(rules)} |", "|---" * (len(rules) + 1) + "|"]
    for kind in dict.fromkeys(r["kind"] for r in records):
        cells = []
        for rule in rules:
            found = [r["nobody"] for r in records if (r["kind"], r["rule"]) == (kind, rule)]
            cells.append(f"{sum(found) / len(found):.3f} ({min(found):.3f})")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def grunfeld_tables(records: Sequence[dict[str, Any]]) -> str:
    """Error of the ranked mixture over that of equal weights, firms down, rules across.

    >>> r = {"years": "first ten", "firm": "A", "rule": "odds", "error": 1.0, "equal": 2.0}
    >>> print(grunfeld_tables([r]).splitlines()[-1])
    | better than equal | 1 of 1 |
    """
    rules = list(dict.fromkeys(r["rule"] for r in records))
    lines = []
    for years in dict.fromkeys(r["years"] for r in records):
        chosen = [r for r in records if r["years"] == years]
        lines += [f"**{years} years seen**", "", f"| firm | {' | '.join(rules)} |"]
        lines += ["|---" * (len(rules) + 1) + "|"]
        firms = list(dict.fromkeys(r["firm"] for r in chosen))
        for firm in firms:
            ratio = {r["rule"]: r["error"] / r["equal"] for r in chosen if r["firm"] == firm}
            lines += [f"| {firm} | {' | '.join(f'{ratio[rule]:.2f}' for rule in rules)} |"]
        wins = [sum(r["error"] < r["equal"] for r in chosen if r["rule"] == x) for x in rules]
        lines += [f"| better than equal | {' | '.join(f'{w} of {len(firms)}' for w in wins)} |", ""]
    return "\n".join(lines)
