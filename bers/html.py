"""Parts of pages that people open and send: one file, no script, right in the dark and on a phone.

Enters: names and numbers. Leaves: HTML and SVG that ask for nothing else; every name is text.
"""

import html
import math
from collections.abc import Iterable, Sequence
from itertools import compress

from bers.text import printable

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
"""
_STYLE = """
:root { color-scheme: light dark; --ink: #222; --soft: #666; --paper: #fff;
  --line: #ddd; --rail: #eceff1;
  --bar: #00796b; --rest: #8a9494 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #a4abb5; --paper: #16191f;
  --line: #343a44; --rail: #262b33; --bar: #4db6ac; --rest: #7c8591 } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 66rem; padding: 0 1rem;
  color: var(--ink); background: var(--paper) }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
td, th { padding: .25em .6em; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap }
td:first-child, th:first-child { text-align: left }
.bars { display: grid; grid-template-columns: minmax(4rem, max-content) 1fr max-content;
  gap: .5rem .8rem; align-items: center }
.bars > span:nth-child(3n+1) { overflow-wrap: anywhere; max-width: 14rem }
.rail { position: relative; height: 1.3rem; background: var(--rail); border-radius: 4px }
.rail i { position: absolute; top: 0; bottom: 0; background: var(--bar); border-radius: 4px }
.rail i.rest { background: var(--rest) }
.rail b { position: absolute; top: .6rem; height: 2px; background: var(--ink) }
svg { width: 100%; height: auto; max-width: 44rem; display: block; overflow: visible }
svg text { font-size: 14px; fill: var(--ink) }
@media (max-width: 600px) { svg text { font-size: 22px } }
svg .line { fill: none; stroke: var(--bar); stroke-width: 2.5 }
svg .axis { fill: none; stroke: var(--rest) }
svg .grid { stroke: var(--rail) } .soft { color: var(--soft) }
"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 260, 90, 212


def whole_page(title: str, parts: Sequence[str]) -> str:
    """A file of its own: a heading and parts of HTML.

    >>> "<h1>a &lt;b&gt;</h1>" in whole_page("a <b>", ["<p>c</p>"])
    True
    """
    said = text(title, 200)
    body = "\n".join(parts)
    style = " ".join(_STYLE.split())
    return (
        f"{_HEAD}<title>{said}</title><style>{style}</style></head>"
        f"<body><h1>{said}</h1>\n{body}\n</body></html>\n"
    )


def text(anything: object, longest: int = 60) -> str:
    """Words of others as words, whatever is in them."""
    return html.escape(printable(str(anything), longest))


def rows_of(cells: Sequence[Sequence[str]]) -> str:
    """A table, the first row its head, without columns that hold nothing; it scrolls where the
    window is narrow.

    >>> rows_of([["a", "b"], ["1", ""]])
    '<div class="wide"><table><tr><th>a</th></tr><tr><td>1</td></tr></table></div>'
    """
    lines = []
    some = [any(column[1:]) or len(column) == 1 for column in zip(*cells, strict=True)]
    for i, row in enumerate(compress(row, some) for row in cells):
        kind = "th" if i == 0 else "td"
        joined = "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in row)
        lines.append(f"<tr>{joined}</tr>")
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def bars(shares: Sequence[tuple[str, float, float, float]], longest: int = 24) -> str:
    """Shares between 0 and 1 with their intervals, which may be NaN; "nobody" in another colour.

    >>> bars([("a", 0.5, 0.4, 0.6)]).count("<i")
    1
    """
    lines = []
    for name, share, low, high in shares:
        kind = ' class="rest"' if name == "nobody" else ""
        span = ""
        if not (math.isnan(low) or math.isnan(high)):
            at, width = 100 * low, 100 * max(high - low, 0.002)
            span = f'<b style="left:{at:.1f}%;width:{width:.1f}%"></b>'
        width = 100 * min(max(share, 0.0), 1.0)
        lines.append(
            f"<span>{text(name, longest)}</span>"
            f'<span class="rail"><i{kind} style="width:{width:.1f}%"></i>{span}</span>'
            f"<span>{share:.2f}</span>"
        )
    return f'<div class="bars">{"".join(lines)}</div>'


def curve(values: Iterable[float], across: str, up: str, first: int = 1) -> str:
    """A line over whole numbers, thinned out where there are more points than can be seen.

    Parameters
    ----------
    values
        NaN and infinite ones are left out.
    across, up
        What the axes show.
    first
        The number of the first value.

    Returns
    -------
    str
        An SVG; a sentence if there is nothing to draw, or one value only.

    Examples
    --------
    >>> "evaluation" in curve([3.0, 1.0], "evaluation", "best value")
    True
    """
    known = [(first + i, float(v)) for i, v in enumerate(values) if math.isfinite(v)]
    if not known:
        return '<p class="soft">There is nothing to draw.</p>'
    if len(known) == 1:  # a line needs two ends
        return f"<p>{text(up)}: <b>{known[0][1]:.4g}</b>, a single value so far.</p>"
    step = -(-len(known) // 400)
    kept = [*known[::step], *([known[-1]] if (len(known) - 1) % step else [])]
    low, high = min(v for _, v in kept), max(v for _, v in kept)
    if high == low:  # one value all along runs through the middle
        pad = abs(low) / 10 or 0.5
        low, high = low - pad, high + pad
    left, right = kept[0][0], kept[-1][0]

    def place(at: float, value: float) -> str:
        x = _LEFT + (_WIDTH - 20 - _LEFT) * (at - left) / (right - left)
        return f"{x:.1f} {_BOTTOM - (_BOTTOM - 30) * (value - low) / (high - low):.1f}"

    grid = "".join(
        f'<path class="grid" d="M{place(left, v)}L{place(right, v)}"/>'
        f'<text x="{_LEFT - 8}" y="{float(place(left, v).split()[1]) + 5:.1f}" text-anchor="end">'
        f"{v:.4g}</text>"
        for v in (low, (low + high) / 2, high)
    )
    ticks = "".join(
        f'<text x="{place(at, low).split()[0]}" y="{_BOTTOM + 20}" '
        f'text-anchor="middle">{at:,}</text>'
        for at in dict.fromkeys((left, (left + right) // 2, right))
    )
    line = "L".join(place(at, value) for at, value in kept)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{text(up)} by {text(across)}">'
        f'<text x="{_LEFT}" y="16">{text(up)}</text>{grid}'
        f'<path class="axis" d="M{_LEFT} 30V{_BOTTOM}H{_WIDTH - 20}"/>{ticks}'
        f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_BOTTOM + 42}" '
        f'text-anchor="middle">{text(across)}</text>'
        f'<path class="line" d="M{line}"/></svg>'
    )
