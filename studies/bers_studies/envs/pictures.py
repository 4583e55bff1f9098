"""What pictures have in common: pixels, files, empty axes, colours.

No display is needed, and Matplotlib's global settings are left alone.
"""

import os
from typing import Any

import numpy as np
from jaxtyping import UInt8
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bers.files import write_atomically

INK, GREY, WATER = "#222222", "0.45", "#A9D5EE"


def as_pixels(figure: Figure) -> UInt8[np.ndarray, "height width 3"]:
    """A figure as red, green and blue.

    >>> as_pixels(Figure(figsize=(1, 2), dpi=10)).shape
    (20, 10, 3)
    """
    agg = FigureCanvasAgg(figure)
    agg.draw()
    return np.array(agg.buffer_rgba())[..., :3].copy()


def written(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, also as a PNG file if there is a path.

    >>> written(Figure(), None)
    <Figure size 640x480 with 0 Axes>
    """
    if path is not None:
        with write_atomically(path) as temporary:
            figure.savefig(temporary, format="png")
    return figure


def canvas(figure: Figure, where: tuple[float, float, float, float], reach: float = 0.0) -> Any:
    """Room to draw without axes: the unit square, or with a reach a square around the origin.

    >>> canvas(Figure(), (0, 0, 1, 1), 2.0).get_xlim() == (-2.0, 2.0)
    True
    """
    ax = figure.add_axes(where)
    ax.set_axis_off()
    if reach:
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    else:
        ax.set(xlim=(0, 1), ylim=(0, 1))
    return ax
