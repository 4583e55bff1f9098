"""Pictures of results. They read files only, so drawing again never runs anything again.

Enters: a folder of journals, or a JSON file of records. Leaves: a PNG file. No display is needed,
and Matplotlib's global settings are left alone.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from bers.files import write_atomically

COLOURS = {
    "Rosenbrock": "#0072B2",
    "Ackley": "#D55E00",
    "Sphere": "#009E73",
    "Rastrigin": "#CC79A7",
}
"""From Okabe and Ito's palette, which colour-blind readers can tell apart."""
QUICK = "QUICK"
"""A file of this name marks the folder of a quick look."""


def is_quick(folder: Path) -> bool:
    """Whether a folder holds a quick look, with few trials and short runs."""
    return (folder / QUICK).exists()


def save(figure: Any, picture: str | os.PathLike[str]) -> None:
    """A picture, marked if it is of a quick look."""
    if is_quick(Path(picture).parent):
        figure.text(
            0.5, 0.5, "quick look", fontsize=56, color="0.5", alpha=0.25, rotation=20,
            ha="center", va="center",
        )  # fmt: skip
    with write_atomically(picture) as temporary:
        figure.savefig(temporary, format="png", dpi=100)


def draw_band(ax: Any, values: np.ndarray, label: str | None, style: dict[str, Any]) -> None:
    """Mean over trials by episode, with a band of one standard error; trials are rows."""
    x, mean = np.arange(1, values.shape[1] + 1), values.mean(axis=0)
    ax.plot(x, mean, label=label, **style)
    if len(values) > 1:
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        ax.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.12, lw=0)
    ax.set_xlim(0, len(x))
    ax.grid(color="0.94")
    ax.spines[["top", "right"]].set_visible(False)
