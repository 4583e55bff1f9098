"""The paper's latent figure, from the study's journals.

Enters: a folder of journals. Leaves: a PNG file.
"""

from pathlib import Path
from typing import Any

import numpy as np

from bers_studies.report.curves import read_runs
from bers_studies.report.figures import COLOURS, save

_SOURCES = ("Rosenbrock", "Ackley", "Sphere")


def draw_latent(folder: Path, picture: Path) -> None:
    """Movement of the heads' posterior means with two features: (w₁, w₂, bias), four panels.

    Each line starts at a small dot and ends at a large one; the target is black.
    """
    from matplotlib.figure import Figure

    runs = read_runs(folder)
    panels = runs.values("panel")
    figure = Figure(figsize=(3.9 * len(panels), 4.4), layout="constrained")
    for i, panel in enumerate(panels):
        ax: Any = figure.add_subplot(1, len(panels), i + 1, projection="3d")
        means = np.array(runs.pick(panel=panel)[0]["means"])  # generations, heads, 3
        for head, name in enumerate((*_SOURCES, "target")):
            path = means[:, head]
            colour = COLOURS.get(name, "black")
            width = 2.0 if name == "target" else 1.4
            ax.plot(*path.T, color=colour, lw=width, label=name)
            ax.scatter(*path[0], color=colour, s=12)
            ax.scatter(*path[-1], color=colour, s=60, edgecolors="white")
        ax.set_title(panel, loc="left", fontsize=12)
        ax.set_xlabel("w₁", labelpad=-4)
        ax.set_ylabel("w₂", labelpad=0)
        ax.set_zlabel("bias", labelpad=-1)
        ax.tick_params(labelsize=7, pad=-3)
        ax.set_box_aspect(None, zoom=0.8)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    save(figure, picture)


FIGURES = {"latent.png": draw_latent}
