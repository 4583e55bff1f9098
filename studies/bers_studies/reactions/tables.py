"""Tables of reactions, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.reactions.study import ALONE, AT, ORDER, OWN, RANDOM
from bers_studies.report.curves import Runs, read_runs, table


def tables(folder: Path) -> str:
    """Experiments to the top 1% and best yields: each scenario beside the same without sources."""
    runs = read_runs(folder)
    at = AT[: len(runs.records[0]["best"])]
    rows = []
    for scenario in scenarios(runs):
        own, alone = runs.pick(method=OWN, scenario=scenario), partners(runs, scenario)
        order = runs.pick(method=ORDER, scenario=scenario)
        rows.append(
            [
                scenario,
                f"{own[0]['alike']:.2f}",
                str(own[0]["rows"]),
                *(f"{_mean(some):.1f}" for some in (own, alone, order)),
                f"{ratio(runs, scenario):.2f}",
                *(" / ".join(f"{v:.1f}" for v in _best(some)) for some in (own, alone)),
            ]
        )
    budgets = " / ".join(str(n) for n in at)
    heading = ["scenario", "alike", "rows", OWN, ALONE, ORDER, "ratio"]
    heading += [f"{OWN}: best after {budgets}", f"{ALONE}: best after {budgets}"]
    lines = [runs.heading, "", "**Experiments to the top 1%**, and best yields in percent", ""]
    lines += [*table(heading, rows), ""]
    lines += [f"At random: {_mean(runs.pick(method=RANDOM)):.1f}.", ""]
    return "\n".join(lines)


def scenarios(runs: Runs) -> list[str]:
    """All that were run, in order of appearance."""
    return [name for name in runs.values("scenario") if name]


def partners(runs: Runs, scenario: str) -> list[dict[str, Any]]:
    """The runs without sources on the same target, of the trials that the scenario has."""
    own = runs.pick(method=OWN, scenario=scenario)
    trials = {r["trial"] for r in own}
    same = runs.pick(method=ALONE, table=own[0]["table"], target=own[0]["target"])
    return [r for r in same if r["trial"] in trials]


def ratio(runs: Runs, scenario: str) -> float:
    """Mean experiments to the top over those of the same method without sources.

    >>> about = {"trial": 0, "table": "t", "target": "a"}
    >>> records = ({"method": "BERS", "scenario": "s", "to_top": 5} | about,
    ...            {"method": "BERS alone", "scenario": "", "to_top": 20} | about)
    >>> ratio(Runs(records, 1, 0, "runs/a"), "s")
    0.25
    """
    return _mean(runs.pick(method=OWN, scenario=scenario)) / _mean(partners(runs, scenario))


def _mean(records: list[dict[str, Any]]) -> float:
    return float(np.mean([r["to_top"] for r in records]))


def _best(records: list[dict[str, Any]]) -> np.ndarray:
    return np.mean([r["best"] for r in records], axis=0)
