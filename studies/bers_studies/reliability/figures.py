"""The picture of what was claimed and what was right.

Enters: a folder of journals. Leaves: a file.
"""

import itertools
from pathlib import Path

import numpy as np

from bers_studies.reliability.tables import BINS, seen
from bers_studies.report.curves import read_runs


def draw(folder: Path, path: Path) -> None:
    """Share that is right over the claimed weight, for all kinds and each."""
    from bers.trust.render import matplotlib_figure

    every = seen(read_runs(folder).records)
    figure = matplotlib_figure()(figsize=(5.5, 5), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.7", lw=1, zorder=1)
    for kind in [None, *dict.fromkeys(every.kind)]:
        some = every if kind is None else every.some(every.kind == kind)
        points = []
        for low, high in itertools.pairwise(BINS):
            chosen = (some.claimed > low) & (some.claimed <= high)
            if chosen.sum() >= 10:
                points.append((some.claimed[chosen].mean(), some.right[chosen].mean()))
        x, y = np.array(points).reshape(-1, 2).T
        style = {"color": "black", "lw": 2, "marker": "o"} if kind is None else {"lw": 1}
        ax.plot(x, y, label="all" if kind is None else str(kind), zorder=3, **style)
    ax.set(xlabel="weight of the source on top", ylabel="share that is right")
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


FIGURES = {"reliability.png": draw}
"""By the name of the file."""
