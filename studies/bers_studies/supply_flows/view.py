"""A network of places and what moves between them, as SVG.

Enters: records with `places`, `flows` (mean units from row to column) and `truck_cost`. Leaves: one
`<svg>` each: the first place in the middle, the others around it, arrows as wide as many units go
along, in the colour of what a truck costs there.
"""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float

from bers_studies.report.curves import Runs
from bers_studies.report.panel import Panel, keys
from bers_studies.report.views import place_name

COSTS = ("cheap", "dearer", "dearest")
"""Kinds of routes, by the order of their prices."""
_SIZE, _RADIUS = 400, 148
_NODES = (30, 21)  # the radius of the place in the middle, and of the others
_LEAST = 0.05  # units per period that are worth an arrow
_NUMBERED = 0.5  # and a number


def draw_flows(title: str, record: Mapping[str, Any]) -> str:
    """One network.

    >>> one = {"places": ["<f>", "A"], "flows": [[0, 7.5], [0, 0]], "truck_cost": [[0, 1], [1, 0]]}
    >>> made = draw_flows("t", one)
    >>> made.count('class="route'), "7.5" in made, "<f>" in made
    (1, True, False)
    """
    names = [str(name) for name in record["places"]]
    flows, kinds = np.asarray(record["flows"], float), kinds_of(record)
    at, routes, numbers = _circle(len(names)), [], []
    for a, b in sorted(np.argwhere(flows >= _LEAST).tolist(), key=lambda ab: -flows[*ab]):
        units = float(flows[a, b])
        bend = _bend(at[a], at[b], 0 in (a, b))
        said = f"{names[a]} to {names[b]}: {units:.1f} units a period, {COSTS[kinds[a, b]]}"
        sizes = _NODES[a > 0], _NODES[b > 0]
        way = at[a], at[b], bend
        routes.append(_arrow(*way, sizes, 1.0 + 0.75 * units, int(kinds[a, b]), said))
        if units >= _NUMBERED:
            x, y = _on_curve(at[a], at[b], bend, 0.5 if 0 in (a, b) else 0.4)
            numbers.append(f'<text class="units" x="{x:.1f}" y="{y + 4:.1f}">{units:.1f}</text>')
    nodes = [
        f'<circle class="place" cx="{x:.1f}" cy="{y:.1f}" r="{_NODES[i > 0]}"/>'
        f'<text class="name" x="{x:.1f}" y="{y + 4:.1f}">{escape(name)}</text>'
        for i, (name, (x, y)) in enumerate(zip(names, at, strict=True))
    ]
    return (
        f'<svg viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join([*routes, *numbers, *nodes])}</svg>"
    )


def panels(runs: Runs) -> list[Panel]:
    """Every network of the first trial."""
    first = runs.records[0].get("trial")
    made = []
    for record in runs.records:
        if record.get("flows") and record.get("trial") == first:
            name = f"{place_name({'truth': record['truth']})}, {record['method']}"
            made.append((f"{name}: profit {record['earned']:,.0f}", draw_flows(name, record)))
    title = "Units that go along each route, per period"
    return [Panel(title, made, note=keys("Price of a truck:", COSTS))]


def kinds_of(record: Mapping[str, Any]) -> np.ndarray:
    """The number of each route's price among all prices; routes that are not used have none."""
    cost = np.asarray(record["truck_cost"], float)
    K = len(cost)
    real = ~np.eye(K, dtype=bool) & (np.arange(K) > 0)
    prices = np.unique(cost[real])
    kinds = np.minimum(np.searchsorted(prices, cost), len(COSTS) - 1)
    return np.where(real, kinds, -1)


def _circle(places: int) -> Float[np.ndarray, "places 2"]:
    angle = 2 * np.pi * np.arange(places - 1) / max(places - 1, 1)
    around = _RADIUS * np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    return _SIZE / 2 + np.concatenate([np.zeros((1, 2)), around])


def _bend(start: np.ndarray, end: np.ndarray, middle: bool) -> np.ndarray:
    """Where the curve is drawn to: beside the straight line, so that both directions are seen."""
    way = end - start
    side = np.array([way[1], -way[0]])
    across = np.linalg.norm((start + end) / 2 - _SIZE / 2) < 0.4 * _RADIUS
    return (start + end) / 2 + (0.06 if middle else 0.4 if across else 0.16) * side


def _on_curve(start: np.ndarray, end: np.ndarray, bend: np.ndarray, t: float) -> np.ndarray:
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end


def _arrow(
    start: np.ndarray,
    end: np.ndarray,
    bend: np.ndarray,
    sizes: tuple[int, int],
    width: float,
    kind: int,
    said: str,
) -> str:
    last = (end - bend) / np.linalg.norm(end - bend)
    first = (bend - start) / np.linalg.norm(bend - start)
    long = 6 + 0.9 * width
    tip, begin = end - last * (sizes[1] + 2), start + first * sizes[0]
    neck = tip - last * long
    side = np.array([-last[1], last[0]]) * (3 + 0.85 * width)
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, neck + side, neck - side))
    path = "M{:.1f},{:.1f}Q{:.1f},{:.1f} {:.1f},{:.1f}".format(*begin, *bend, *neck)
    return (
        f'<g class="route c{kind}"><title>{escape(said)}</title>'
        f'<path d="{path}" stroke-width="{width:.1f}"/><polygon points="{head}"/></g>'
    )
