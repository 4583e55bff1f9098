"""Tables of the weights in the supply chain, reading by reading, from the study's journals.

Enters: a folder of journals. Leaves: Markdown.
"""

from pathlib import Path

import numpy as np

from bers_studies.report.curves import Runs, read_runs, table


def tables(folder: Path) -> str:
    """Mean weights on every truth, and how often the right source leads from episode 3 on."""
    runs = read_runs(folder)
    truths = runs.values("truth")
    heads = ["reading", "trials"]
    heads += ["target" if truth == "target" else f"scenario {truth}" for truth in truths]
    rows = [
        [reading, str(len(runs.pick(reading=reading, truth=truths[0])))]
        + [_told(runs, reading, truth) for truth in truths]
        for reading in runs.values("reading")
    ]
    said = (
        "Mean weights of scenarios 1 : 2 : 3; in brackets, in how many trials the right one leads "
        "from episode 3 on."
    )
    return "\n".join([said, "", *table([*heads], rows), ""])


def _told(runs: Runs, reading: str, truth: str) -> str:
    a = np.array([r["weights"] for r in runs.pick(reading=reading, truth=truth)])
    said = " : ".join(f"{x:.2f}" for x in a.mean((0, 1)))
    if truth == "target":
        return said
    leads = (a[:, 2:].argmax(axis=2) == int(truth) - 1).all(axis=1)
    return f"{said} ({leads.sum()} of {len(leads)})"
