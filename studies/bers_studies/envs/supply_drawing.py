"""Pictures of the supply chain: a network at work, and the paper's scenarios.

Enters: a network, its stocks, what moved. Leaves: a Matplotlib figure. Colours differ in lightness
too, so that colour-blind readers can tell them apart.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from bers_studies.envs.pictures import GREY, INK, WATER, canvas, written
from bers_studies.envs.supply_chain import CHEAP, CHEAP_ROUTES, FAR, NEAR, SupplyChain

KINDS = {"cheap": "#0072B2", "dear": "#E69F00", "loses money": "#7A1047"}
"""Colours of trucks: a full one costs next to nothing, part of what it brings, or more."""
_LOST = "#B34700"
_MOST_NUMBERS = 16  # routes that can have a number each without a tangle
Route = tuple[int, int]


def draw_network(
    stock: Int[np.ndarray, " places"],
    info: Mapping[str, Any] | None = None,
    *,
    config: SupplyChain,
    period: int | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The factory in the middle, the warehouses around it, and what the last period moved.

    Boxes are filled like tanks. Arrows are as wide as many units went, in the colour of what the
    truck costs; thin lines are cheap routes that nothing went along. `info` is what a step of the
    environment tells.

    >>> draw_network(np.array([20, 5, 0, 9, 3, 1, 50]), config=SupplyChain(1))
    <Figure size 800x600 with 2 Axes>
    """
    figure = Figure(figsize=(8, 6), dpi=100, facecolor="white")
    ax = canvas(figure, (0.0, 0.0, 0.75, 1.0), 1.34)
    boxes = _boxes(ax, config.K)
    for i, box in enumerate(boxes):
        _fill(ax, box, min(int(stock[i]) / config.capacity, 1.0))
        _write(ax, box, config.places[i], str(int(stock[i])))
    price = np.array(config.truck_cost)
    kinds = {route: _kind(config, price[route]) for route in _routes(config.K)}
    units = {route: 0 if info is None else int(info["shipped"][route]) for route in kinds}
    used = sorted((route for route in units if units[route]), key=lambda route: -units[route])
    for route, kind in kinds.items():
        if kind == "cheap" and not units[route]:
            _arrow(ax, boxes, route, KINDS[kind], 0.7, alpha=0.4)
    for route in used:
        colour = KINDS[kinds[route]]
        _arrow(ax, boxes, route, colour, 1.2 + 0.3 * min(units[route], 30))
        if len(used) <= _MOST_NUMBERS:
            _number(ax, boxes, route, units[route])
    if info is not None:
        _missed(ax, boxes, info["lost_sales"])
    _account(figure, config, info, period)
    return written(figure, path)


def draw_scenarios(path: str | os.PathLike[str] | None = None) -> Figure:
    """The paper's scenarios side by side: which trucks are cheap, which are not.

    >>> draw_scenarios()
    <Figure size 1600x450 with 5 Axes>
    """
    figure = Figure(figsize=(16, 4.5), dpi=100, facecolor="white")
    look = {FAR: ("0.84", 0.8), NEAR: ("0.5", 1.3), CHEAP: (KINDS["cheap"], 3.5)}
    for i, which in enumerate(CHEAP_ROUTES):
        ax = canvas(figure, (i / 4, 0.08, 0.25, 0.84), 1.25)
        title = "target" if which == "target" else f"scenario {which}"
        ax.set_title(title, fontsize=15, color=INK, weight="bold", pad=3)
        config = SupplyChain(which)
        boxes = _boxes(ax, config.K)
        for box, name in zip(boxes, config.places, strict=True):
            _write(ax, box, name)
        cost = np.array(config.truck_cost)
        for price, (colour, width) in look.items():
            for route in _routes(config.K):
                if cost[route] == price:
                    _arrow(ax, boxes, route, colour, width)
    key = canvas(figure, (0.0, 0.0, 1.0, 0.09))
    for x, (price, (colour, width)) in zip((0.62, 0.45, 0.28), look.items(), strict=True):
        key.plot([x, x + 0.03], [0.5, 0.5], color=colour, lw=width)
        key.text(x + 0.037, 0.5, f"{price:.2f} a truck", va="center", fontsize=13, color=INK)
    return written(figure, path)


def _routes(K: int) -> list[Route]:
    return [(a, b) for a in range(K + 1) for b in range(1, K + 1) if a != b]


def _kind(config: SupplyChain, price: float) -> str:
    full = config.truck_size * config.price
    if price <= 0.1 * full:
        return "cheap"
    gain = full - config.truck_size * config.production_cost
    return "dear" if price <= gain else "loses money"


def _boxes(ax: Any, K: int) -> list[FancyBboxPatch]:
    """One box per place: the factory in the middle, A on top, the others clockwise."""
    angle = np.pi / 2 - 2 * np.pi * np.arange(K) / K
    half = min(0.17, 0.6 * np.sin(np.pi / K))
    boxes = []
    for x, y, h in [(0.0, 0.0, 0.21), *zip(np.cos(angle), np.sin(angle), [half] * K, strict=True)]:
        box = FancyBboxPatch(
            (x - h, y - h), 2 * h, 2 * h, boxstyle=f"round,pad=0,rounding_size={0.25 * h}",
            facecolor="white", edgecolor=INK, linewidth=1.6, zorder=4,
        )  # fmt: skip
        boxes.append(ax.add_patch(box))
    return boxes


def _fill(ax: Any, box: FancyBboxPatch, share: float) -> None:
    """The box as a tank that is full to a share."""
    corner, width, height = (box.get_x(), box.get_y()), box.get_width(), box.get_height()
    water = ax.add_patch(Rectangle(corner, width, share * height, color=WATER, lw=0, zorder=4.1))
    water.set_clip_path(box)
    ax.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle=box.get_boxstyle(),
            facecolor="none", edgecolor=INK, linewidth=1.6, zorder=4.2,
        )
    )  # fmt: skip


def _centre(box: FancyBboxPatch) -> Float[np.ndarray, " 2"]:
    return np.array([box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2])


def _write(ax: Any, box: FancyBboxPatch, name: str, number: str = "") -> None:
    (x, y), width = _centre(box), box.get_width()
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": INK, "zorder": 5}
    up = 0.23 * width if number else 0.0
    size = min(45, 170 / len(name)) * width
    ax.text(x, y + up, name, fontsize=size, weight="bold", **style)
    ax.text(x, y - 0.23 * width, number, fontsize=45 * width, **style)


def _bend(boxes: list[FancyBboxPatch], route: Route) -> float:
    """How far an arrow leaves the straight line, to miss the factory and the way back."""
    if 0 in route:
        return 0.0
    start, end = (_centre(boxes[i]) for i in route)
    return 0.4 if np.linalg.norm(start + end) < 0.7 else 0.13


def _arrow(
    ax: Any, boxes: list[FancyBboxPatch], route: Route, colour: str, width: float, alpha: float = 1
) -> None:
    head = f"head_length={4 + 1.4 * width},head_width={4 + 1.4 * width}"
    start, end = (boxes[i] for i in route)
    arrow = FancyArrowPatch(
        tuple(_centre(start)), tuple(_centre(end)), patchA=start, patchB=end, shrinkA=2, shrinkB=2,
        connectionstyle=f"arc3,rad={_bend(boxes, route)}",
        arrowstyle=f"simple,{head},tail_width={width}", mutation_scale=1,
        color=colour, linewidth=0, alpha=alpha, zorder=2 + width / 100,
    )  # fmt: skip
    ax.add_patch(arrow)


def _number(ax: Any, boxes: list[FancyBboxPatch], route: Route, units: int) -> None:
    """How many units, on the arrow; between warehouses before its middle, where others cross."""
    start, end = (_centre(boxes[i]) for i in route)
    x, y = end - start
    control = (start + end) / 2 + _bend(boxes, route) * np.array([y, -x])
    t = 0.5 if 0 in route else 0.38
    x, y = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    ax.text(
        x, y, str(units), ha="center", va="center", fontsize=9, weight="bold", color=INK,
        bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.9}, zorder=3,
    )  # fmt: skip


def _missed(ax: Any, boxes: list[FancyBboxPatch], lost: Int[np.ndarray, " K"]) -> None:
    for box, units in zip(boxes[1:], np.asarray(lost).tolist(), strict=True):
        if units:
            x, y = _centre(box)
            y += (0.5 if y > 0 else -0.5) * box.get_height() + (0.07 if y > 0 else -0.07)
            text = f"{units} not served"
            ax.text(x, y, text, ha="center", va="center", fontsize=9, color=_LOST, zorder=5)


def _account(
    figure: Figure, config: SupplyChain, info: Mapping[str, Any] | None, period: int | None
) -> None:
    """What the period brought, and what the colours mean."""
    ax = canvas(figure, (0.74, 0.0, 0.26, 1.0))
    lines = [("" if period is None else f"period {period}", "", INK, "bold")]
    if info is not None:
        costs = {name: -float(info[name]) for name in ("production", "storage", "transport")}
        money = {"revenue": float(info["revenue"])} | costs
        lines += [(name, _signed(value), INK, "normal") for name, value in money.items()]
        lines += [("profit", _signed(sum(money.values())), INK, "bold"), ("", "", INK, "normal")]
        for name, key in (
            ("produced", "produced"), ("sold", "sold"), ("not served", "lost_sales"),
            ("thrown away", "overflow"),
        ):  # fmt: skip
            units = int(np.sum(info[key]))
            bad = units > 0 and key in ("lost_sales", "overflow")
            lines.append((name, str(units), _LOST if bad else INK, "normal"))
    for i, (name, value, colour, weight) in enumerate(lines):
        y = 0.93 - 0.042 * i
        ax.text(0.05, y, name, fontsize=11, color=colour, weight=weight)
        ax.text(0.88, y, value, fontsize=11, color=colour, weight=weight, ha="right")
    y = 0.27
    ax.text(0.05, y, "trucks", fontsize=10, color=INK, weight="bold")
    cost = np.array(config.truck_cost)
    prices = sorted({float(cost[route]) for route in _routes(config.K)})
    for kind, colour in KINDS.items():
        mine = [f"{price:.2f}" for price in prices if _kind(config, price) == kind]
        if mine:
            y -= 0.042
            ax.plot([0.05, 0.17], [y + 0.012] * 2, color=colour, lw=3.5, solid_capstyle="butt")
            said = mine[0] if len(mine) == 1 else f"{mine[0]} to {mine[-1]}"
            ax.text(0.21, y, f"{kind}: {said}", fontsize=9, color=INK)
    notes = f"arrows: units shipped\nboxes: stock afterwards,\nfull at {config.capacity}"
    ax.text(0.05, y - 0.05, notes, fontsize=9, color=GREY, va="top", linespacing=1.5)


def _signed(money: float) -> str:
    return f"{money + 0.0:+.2f}".replace("-", "−")  # no minus before nothing
