"""Pictures of the arm: one state, a movement as an animated GIF, and who is trusted where.

Enters: states. Leaves: a Matplotlib figure, or a GIF file. No display is needed.
"""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from bers.errors import DataError
from bers.files import write_atomically
from bers_studies.envs.pictures import GREY, INK, as_pixels, canvas, written
from bers_studies.envs.reacher import Reacher, elbow, tip

_LINKS = ("#0072B2", "#56B4E9")
_GOAL = "#D55E00"


def draw_arm(
    s: Float[np.ndarray, "4"],
    *,
    config: Reacher,
    trail: Float[np.ndarray, "n 2"] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The arm, its goal, how far it can reach, and where the tip has been.

    >>> draw_arm(np.zeros(4), config=Reacher())
    <Figure size 400x400 with 1 Axes>
    """
    figure = Figure(figsize=(4, 4), dpi=100)
    ax = canvas(figure, (0, 0, 1, 1), 1.15 * config.reach)
    ax.add_patch(Circle((0, 0), config.reach, fill=False, color="0.85", ls=(0, (4, 4))))
    ax.add_patch(Circle(config.goal, 0.012, color=_GOAL, alpha=0.25, lw=0))
    ax.add_patch(Circle(config.goal, 0.005, color=_GOAL, lw=0))
    if trail is not None and len(trail):
        ax.plot(*np.asarray(trail).T, color="0.75", lw=1.2, zorder=1)
    joints = np.array([(0.0, 0.0), elbow(s, config=config), tip(s, config=config)])  # pyright: ignore
    for start, end, colour in zip(joints[:-1], joints[1:], _LINKS, strict=True):
        ax.plot(*np.array([start, end]).T, color=colour, lw=9, solid_capstyle="round", zorder=2)
    ax.plot(*joints[:2].T, "o", color=INK, ms=6, zorder=3)
    ax.plot(*joints[2], "o", color="white", mec=INK, ms=7, zorder=4)
    away = float(np.linalg.norm(joints[2] - np.asarray(config.goal)))
    ax.text(
        -1.1 * config.reach,
        -1.1 * config.reach,
        f"{100 * away:.1f} cm away",
        color=GREY,
        fontsize=9,
    )
    return written(figure, path)


def animate(
    states: Iterable[Float[np.ndarray, "4"]],
    path: str | os.PathLike[str],
    *,
    config: Reacher,
    every: int = 3,
) -> None:
    """A movement as a GIF file that repeats; one frame for every few steps.

    >>> animate([np.zeros(4), np.ones(4)], "arm.gif", config=Reacher(), every=1)
    """
    from PIL import Image

    shown, trail, frames = list(states)[::every], [], []
    if not shown:
        raise DataError("there are no states to draw. Record at least one.")
    for s in shown:
        trail.append(np.asarray(tip(np.asarray(s), config=config)))  # pyright: ignore
        pixels = as_pixels(draw_arm(s, config=config, trail=np.array(trail[-60:])))
        frames.append(Image.fromarray(pixels).quantize(32))
    lasts = max(20, round(1000 * every * config.seconds))
    first, *rest = frames
    how: dict[str, Any] = {"save_all": True, "append_images": rest, "duration": lasts, "loop": 0}
    with write_atomically(path) as temporary:
        first.save(temporary, format="GIF", **how)
