"""Charts as SVG text, drawn so that a page can restyle them.

Enters: series of numbers. Leaves: one `<svg>` per chart, as text that is safe to put in a page.
Colours and what is shown are left to classes, so that one drawing serves light and dark pages,
paper and screens, and a reader who hides a method: `m0`, `m1`, ... are methods, `s-mean`, `s-iqm`
are statistics.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from jaxtyping import Float

WIDTH, HEIGHT = 440, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 18, 12, 42
_RARE = 0.02  # share of values, the lowest, that a chart may cut off
_MOST_POINTS = 240  # of a line; more cannot be seen


@dataclass(frozen=True)
class Line:
    """One line with its band."""

    name: str
    number: int
    """Of its colour and of its class."""
    y: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"] | None = None
    high: Float[np.ndarray, " n"] | None = None
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over one axis, for one or more statistics."""

    title: str
    x: Float[np.ndarray, " n"]
    lines: Mapping[str, Sequence[Line]]
    """By statistic: "mean", "iqm"; or "" for all."""
    x_label: str = ""
    y_label: str = ""
    log: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)
    """Horizontal lines, by what they mean."""
    y_range: tuple[float, float] | None = None


def draw(chart: Chart) -> str:
    """The chart.

    >>> line = Line("<b>", 0, np.array([1.0, 2.0]))
    >>> made = draw(Chart("two & more", np.array([0.0, 1.0]), {"": [line]}))
    >>> made.startswith("<svg"), "two &amp; more" in made, "<b>" in made
    (True, True, False)
    """
    low, high = chart.y_range or _range(chart)
    across = _Axis(float(chart.x[0]), float(chart.x[-1]), _LEFT, WIDTH - _RIGHT)
    up = _Axis(low, high, HEIGHT - _BOTTOM, _TOP, log=chart.log)
    parts = [*_grid(across, up), *_labels(chart)]
    for name, value in chart.levels.items():
        at = f"{up.place(value):.1f}"
        parts.append(
            f'<line class="level" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at}" y2="{at}">'
            f"<title>{escape(name)}: {value:.4g}</title></line>"
        )
    inside = []
    for statistic, lines in chart.lines.items():
        shown = "".join(_line(line, chart.x, across, up) for line in lines)
        mark = f' class="s-{statistic}"' if statistic else ""
        inside.append(f"<g{mark}>{shown}</g>")
    parts.append(_framed("".join(inside)))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.title)}">'
        f"<title>{escape(chart.title)}</title>{''.join(parts)}</svg>"
    )


def _framed(inside: str) -> str:
    """Curves, cut off at the edges of the chart; half the width of a line is let through."""
    left, top = _LEFT - 2, _TOP - 2
    width, height = WIDTH - _RIGHT - _LEFT + 4, HEIGHT - _BOTTOM - _TOP + 3
    box = f"{left} {top} {width} {height}"
    place = f'x="{left}" y="{top}" width="{width}" height="{height}"'
    return f'<svg class="frame-of-lines" {place} viewBox="{box}">{inside}</svg>'


@dataclass(frozen=True)
class _Axis:
    """From numbers to places on the page."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: Float[np.ndarray, "..."] | float) -> np.ndarray:
        low, high, value = (self._scaled(v) for v in (self.low, self.high, value))
        share = (value - low) / (high - low if high > low else 1.0)
        return self.start + np.clip(share, -1.0, 2.0) * (self.end - self.start)

    def _scaled(self, value: Float[np.ndarray, "..."] | float) -> np.ndarray:
        found = np.asarray(value, float)
        return np.log10(np.maximum(found, 1e-12)) if self.log else found

    def ticks(self, *, whole: bool = False) -> list[float]:
        if not self.log:
            return nice_ticks(self.low, self.high, whole=whole)
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        step = max(1, (last - first + 1) // 5)
        return [10.0**k for k in range(first, last + 1, step)]


def nice_ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Round numbers between two ends; `whole` ones, where things are counted.

    >>> nice_ticks(0.0, 10.0)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    >>> nice_ticks(1.0, 3.0, whole=True)
    [1.0, 2.0, 3.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(m * power for m in steps if m * power >= rough * 0.999)
    step = max(step, 1.0) if whole else step
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _range(chart: Chart) -> tuple[float, float]:
    values = [np.asarray([*chart.levels.values()], float)]
    for line in (line for lines in chart.lines.values() for line in lines):
        values += [v for v in (line.y, line.low, line.high) if v is not None]
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    if not every.size:
        return 0.0, 1.0
    if chart.log:
        return float(max(every.min(), 1e-6)), float(max(every.max(), 1e-5))
    low, high = float(np.quantile(every, _RARE)), float(every.max())
    low = min(low, *chart.levels.values()) if chart.levels else low
    pad = 0.04 * (high - low) or 0.5
    return low - pad, high + pad


def _grid(across: _Axis, up: _Axis) -> list[str]:
    parts = []
    for tick in up.ticks():
        at = f"{up.place(tick):.1f}"
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at}" y2="{at}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{at}" dy="4">{_short(tick)}</text>')
    for tick in across.ticks(whole=True):
        at = f"{across.place(tick):.1f}"
        parts.append(f'<text class="tick across" x="{at}" y="{HEIGHT - 24}">{_short(tick)}</text>')
    base = HEIGHT - _BOTTOM
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{base}" y2="{base}"/>')
    return parts


def _labels(chart: Chart) -> list[str]:
    middle = (HEIGHT - _BOTTOM + _TOP) // 2
    return [
        f'<text class="name" x="{(WIDTH + _LEFT) // 2}" y="{HEIGHT - 6}">'
        f"{escape(chart.x_label)}</text>",
        f'<text class="name" transform="translate(13,{middle}) rotate(-90)">'
        f"{escape(chart.y_label)}</text>",
    ]


def _line(line: Line, x: Float[np.ndarray, " n"], across: _Axis, up: _Axis) -> str:
    chosen = _thinned(min(len(x), len(line.y)))
    places = across.place(x[chosen])
    parts = []
    if line.low is not None and line.high is not None:
        there = chosen[np.isfinite(line.low[chosen]) & np.isfinite(line.high[chosen])]
        if len(there) > 1:
            xs = across.place(x[there])
            upper, lower = up.place(line.high[there]), up.place(line.low[there])
            around = _points(np.r_[xs, xs[::-1]], np.r_[upper, lower[::-1]])
            parts.append(f'<path class="band" d="M{around}Z"/>')
    fine = np.isfinite(line.y[chosen])
    d = "M" + _points(places[fine], up.place(line.y[chosen][fine])) if fine.any() else ""
    dash = " dashed" if line.dashed else ""
    parts.append(f'<path class="line{dash}" d="{d}"><title>{escape(line.name)}</title></path>')
    none = " none" if line.dashed else ""
    return f'<g class="m{line.number}{none}">{"".join(parts)}</g>'


def _thinned(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, _MOST_POINTS)).round().astype(int))


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _short(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e4 or abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:g}"
