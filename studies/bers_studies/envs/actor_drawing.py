"""A picture of the paper's policy for the supply chain. [Eq. supply_actor]

Enters: a network and the sizes of the hidden layers. Leaves: a Matplotlib figure.
"""

import itertools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from bers_studies.envs.pictures import GREY, INK, WATER, canvas, written
from bers_studies.envs.supply_chain import SupplyChain

_LIT, _PRODUCTION, _SHARES = "#0072B2", "#E69F00", "#CFE8D8"
_TOP, _BOTTOM = 4.05, 0.55


def draw_actor(
    *,
    config: SupplyChain | None = None,
    hidden: Sequence[int] = (300, 300),
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The paper's policy: stocks one-hot, hidden layers, shares that sum to one.

    >>> draw_actor()
    <Figure size 1000x500 with 1 Axes>
    """
    config = SupplyChain() if config is None else config
    K, size = config.K, config.capacity + 1
    figure = Figure(figsize=(10, 5), dpi=100, facecolor="white")
    ax = canvas(figure, (0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, 10), ylim=(0, 5))
    y = np.linspace(_TOP, _BOTTOM, K + 1)
    for i, name in enumerate(config.places):
        _one_hot(ax, y[i], name)
    for x, text in ((1.215, "0"), (1.93, "…"), (2.645, str(config.capacity))):
        ax.text(x, 4.25, text, ha="center", va="center", fontsize=9, color=GREY)
    columns = np.linspace(4.0, 6.0, len(hidden)) if len(hidden) > 1 else [5.0]
    for x, units in zip(columns, hidden, strict=True):
        _layer(ax, x, units)
    _join(ax, 2.75, columns[0] - 0.28)
    for left, right in itertools.pairwise(columns):
        _join(ax, left + 0.28, right - 0.28)
    _join(ax, columns[-1] + 0.28, 7.05)
    heads = np.linspace(_TOP, _BOTTOM, K + 2)
    height = min(0.34, 0.75 * (heads[0] - heads[1]))
    _head(ax, heads[0], height, "sigmoid", 1, "production")
    _head(ax, heads[1], height, "softmax", K + 1, "from factory")
    for i in range(K):
        _head(ax, heads[i + 2], height, "softmax", K, f"from {config.places[i + 1]}")
    for x, text in (
        (1.75, f"stocks, one-hot: {K + 1} × {size}"),
        (float(np.mean(columns)), "hidden layers, ReLU"),
        (8.4, f"action: {config.actions} numbers"),
    ):
        ax.text(x, 4.72, text, ha="center", va="center", fontsize=12, weight="bold", color=INK)
    return written(figure, path)


def _one_hot(ax: Any, y: float, name: str) -> None:
    """A row of cells, one of them set."""
    cells, left, side = 12, 1.15, 0.13
    lit = (5 * len(name) + 7 * ord(name[0])) % cells
    ax.text(left - 0.12, y, name, ha="right", va="center", fontsize=11, color=INK)
    for i in range(cells):
        ax.add_patch(
            Rectangle(
                (left + i * side, y - side / 2), side, side, lw=0.7, edgecolor=GREY,
                facecolor=_LIT if i == lit else "white",
            )
        )  # fmt: skip


def _layer(ax: Any, x: float, units: int) -> None:
    ax.add_patch(
        FancyBboxPatch(
            (x - 0.28, 0.45), 0.56, 3.7, boxstyle="round,pad=0,rounding_size=0.1",
            facecolor=WATER, edgecolor=INK, linewidth=1.4, zorder=2,
        )
    )  # fmt: skip
    ax.text(x, 2.3, str(units), ha="center", va="center", fontsize=14, color=INK, zorder=3)


def _join(ax: Any, left: float, right: float) -> None:
    for start in np.linspace(_TOP, _BOTTOM, 7):
        for end in np.linspace(_TOP, _BOTTOM, 7):
            ax.plot([left, right], [start, end], color="0.85", lw=0.5, zorder=1)


def _head(ax: Any, y: float, height: float, kind: str, outputs: int, what: str) -> None:
    colour = _PRODUCTION if kind == "sigmoid" else _SHARES
    ax.add_patch(
        FancyBboxPatch(
            (7.05, y - height / 2), 1.35, height, boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=colour, edgecolor=INK, linewidth=1.0, zorder=2,
        )
    )  # fmt: skip
    ax.text(7.725, y, f"{kind} {outputs}", ha="center", va="center", fontsize=30 * height, zorder=3)
    ax.text(8.55, y, what, ha="left", va="center", fontsize=30 * height, color=INK)
