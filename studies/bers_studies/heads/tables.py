"""Tables of how well the heads learn, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bers_studies.report.curves import read_runs

_NUMBERS = {"r2": ("Held-out R²", "{:.3f}"), "log_density": ("Held-out log density", "{:.2f}")}


def tables(folder: Path) -> str:
    """Of a folder of journals."""
    return heads_tables(read_runs(folder).records)


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
