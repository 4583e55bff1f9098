"""The picture on the first page: whom a new manager trusts, and what that is worth.

Enters: a folder of journals. Leaves: an SVG file that follows the reader's dark mode.
"""

from pathlib import Path

import numpy as np

from bers.files import write_atomically
from bers_studies.report.curves import read_runs

TRUTH = "2"
"""The new manager's costs are those of the second demonstrator."""
EPISODES = 60
_LEFT, _RIGHT, _TOP, _BOTTOM = 430, 700, 66, 262  # of the curves
_STYLE = """
text { font: 16px system-ui, sans-serif; fill: #222 } .head { font-weight: 600 }
.small { font-size: 14px } .right { text-anchor: end }
.back { fill: #fff } .rail { fill: #e6eaea } .bar { fill: #00796b }
.mid { text-anchor: middle } .axis { stroke: #8a9494; fill: none } .grid { stroke: #e6eaea }
.ours { stroke: #00796b; stroke-width: 3; fill: none } .ours-band { fill: #00796b; opacity: .18 }
.alone { stroke: #777; stroke-width: 2.5; stroke-dasharray: 6 4; fill: none }
.alone-band { fill: #777; opacity: .15 } .ours-word { fill: #00695c } .alone-word { fill: #555 }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7ea } .back { fill: #1e2129 } .rail { fill: #343a44 } .bar { fill: #4db6ac }
  .axis { stroke: #7c8591 } .grid { stroke: #343a44 } .ours { stroke: #4db6ac }
  .ours-band { fill: #4db6ac } .alone { stroke: #a4abb5 } .alone-band { fill: #a4abb5 }
  .ours-word { fill: #80cbc4 } .alone-word { fill: #bfc5cd }
}
"""


def draw_home(folder: Path, picture: Path) -> None:
    """Bars of mean weights over the first episodes; profit with the logs, and without.

    Lines are means over trials and five episodes, bands one standard error.
    """
    runs = read_runs(folder)
    weights = np.array([r["weights"] for r in runs.pick(truth=TRUTH, method="BERS")])
    shares = weights[:, :EPISODES].mean(axis=(0, 1))
    ours, alone = (
        np.array([_smooth(one) for one in runs.array("profit", truth=TRUTH, method=method)])
        for method in ("BERS", "None")
    )
    top = 500 * np.ceil(max(ours[:, :EPISODES].mean(axis=0).max(), 1) / 500)
    parts = [*_bars([*shares, 1 - shares.sum()]), *_axes(top)]
    for kind, curves in (("alone", alone), ("ours", ours)):
        parts += _curve(kind, curves[:, :EPISODES], top)
    alone_at = _y(alone[:, 24].mean(), top) + 26
    parts += [
        _text(_x(8), _TOP - 8, "with the logs it trusts", "ours-word"),
        _text(_x(27), alone_at, "without any log", "alone-word"),
    ]
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 310" role="img">'
        "<title>Left: of three managers' logs, the new one trusts the second. Right: with that log "
        "its profit is high from the first episodes on; without, it takes dozens.</title>"
        f"<style>{' '.join(_STYLE.split())}</style>"
        '<rect class="back" width="720" height="310" rx="8"/>' + "".join(parts) + "</svg>\n"
    )
    with write_atomically(picture) as temporary:
        Path(temporary).write_text(text, encoding="utf-8")


def _bars(shares: list[float]) -> list[str]:
    parts = [_text(16, 34, "Whom a new manager trusts", "head")]
    names = [*(f"manager {i + 1}'s log" for i in range(len(shares) - 1)), "nobody"]
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        y = 66 + 50 * i
        parts += [
            _text(16, y + 19, name),
            _bar("rail", y, 1.0),
            _bar("bar", y, share),
            _text(362, y + 19, f"{abs(share):.0%}", "right"),
        ]
    wanted = f"Manager {TRUTH} paid for the same things; others did not."
    return [*parts, _text(16, 286, wanted, "small")]


def _bar(kind: str, y: int, share: float) -> str:
    width = 150 * max(share, 0)
    return f'<rect class="{kind}" x="150" y="{y}" width="{width:.1f}" height="26" rx="4"/>'


def _axes(top: float) -> list[str]:
    parts = [_text(_LEFT - 46, 34, "Its profit in each episode", "head")]
    for value in np.linspace(0, top, 3):
        y = _y(value, top)
        parts += [
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{_RIGHT}"/>',
            _text(_LEFT - 6, y + 5, f"{value:,.0f}", "right small"),
        ]
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>')
    for episode in (1, 20, 40, 60):
        parts.append(_text(_x(episode), _BOTTOM + 19, str(episode), "mid small"))
    return [*parts, _text((_LEFT + _RIGHT) / 2, _BOTTOM + 40, "episode", "mid small")]


def _curve(kind: str, curves: np.ndarray, top: float) -> list[str]:
    mean = curves.mean(axis=0)
    error = curves.std(axis=0, ddof=1) / np.sqrt(len(curves)) if len(curves) > 1 else 0 * mean
    there = [f"{_x(i + 1):.1f} {_y(v, top):.1f}" for i, v in enumerate(mean + error)]
    back = [f"{_x(i + 1):.1f} {_y(v, top):.1f}" for i, v in enumerate(mean - error)][::-1]
    line = [f"{_x(i + 1):.1f} {_y(v, top):.1f}" for i, v in enumerate(mean)]
    return [
        f'<path class="{kind}-band" d="M{"L".join([*there, *back])}Z"/>',
        f'<path class="{kind}" d="M{"L".join(line)}"/>',
    ]


def _smooth(curve: np.ndarray) -> np.ndarray:
    """Means over up to five episodes that end here."""
    sums = np.cumsum([0.0, *curve])
    first = np.maximum(np.arange(1, len(curve) + 1) - 5, 0)
    last = np.arange(1, len(curve) + 1)
    return (sums[last] - sums[first]) / (last - first)


def _x(episode: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (episode - 1) / (EPISODES - 1)


def _y(value: float, top: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(value, 0) / top, 1)


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{text}</text>'
