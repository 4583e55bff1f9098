"""The heads' posterior means with two features, frame by frame, as SVG.

Enters: records with `means` of all heads after each generation, and `covariances`, how wide their
posteriors are. Leaves: for each target an `<svg>` whose frames a page shows one at a time; without
a script the last one is seen, with the way that led there.
"""

from collections.abc import Sequence
from html import escape

import numpy as np
from jaxtyping import Float

from bers_studies.report.curves import Runs
from bers_studies.report.panel import Panel
from bers_studies.report.svg import nice_ticks

_SIZE, _PAD = 360, 44
_CIRCLE = np.linspace(0, 2 * np.pi, 37)
_TWO_SIGMA = 2.0
_FRAMES = 5  # generations between two frames, as the study records covariances
_HEADS = ("target", "Rosenbrock", "Ackley", "Sphere")
_ORDER = [3, 0, 1, 2]  # the target has the first colour, as on the other charts


def panels(runs: Runs) -> list[Panel]:
    """One drawing for each target, of its first trial."""
    made = []
    for panel in runs.values("panel"):
        record = runs.pick(panel=panel)[0]
        means = np.array(record["means"])[::_FRAMES, _ORDER, :2]
        spread = record.get("covariances")
        covariances = None if spread is None else np.array(spread)[:, _ORDER]
        labels = [f"generation {_FRAMES * i}" for i in range(len(means))]
        made.append((panel, draw_frames(panel, means, covariances, _HEADS, labels)))
    title = "Posterior means of w, two features"
    return [Panel(title, made, names=_HEADS, legend="Heads", frames=True)]


def draw_frames(
    title: str,
    means: Float[np.ndarray, "frames heads 2"],
    covariances: Float[np.ndarray, "frames heads 2 2"] | None,
    names: Sequence[str],
    labels: Sequence[str],
) -> str:
    """Points, ellipses of two standard deviations, and the way so far.

    >>> made = draw_frames("t", np.zeros((2, 1, 2)), None, ["<i>"], ["1", "2"])
    >>> made.count('class="frame"'), "<i>" in made
    (2, False)
    """
    low, high = _box(means, covariances)
    parts = _axes(low, high)
    ways = _placed(means, low, high)
    for head, name in enumerate(names):
        points = "L".join(f"{x:.1f},{y:.1f}" for x, y in ways[:, head])
        parts.append(
            f'<g class="m{head}"><path class="line way" d="M{points}">'
            f"<title>{escape(name)}</title></path></g>"
        )
    for frame, label in enumerate(labels):
        shown = []
        for head, name in enumerate(names):
            x, y = ways[frame, head]
            ellipse = ""
            if covariances is not None:
                ellipse = _ellipse(means[frame, head], covariances[frame, head], low, high)
            shown.append(
                f'<g class="m{head}">{ellipse}<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="5">'
                f"<title>{escape(name)}, {escape(label)}</title></circle></g>"
            )
        parts.append(f'<g class="frame" data-label="{escape(label)}">{"".join(shown)}</g>')
    return (
        f'<svg class="frames" viewBox="0 0 {_SIZE} {_SIZE}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _box(means: np.ndarray, covariances: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    reach: np.ndarray | float = 0.0
    if covariances is not None:
        reach = _TWO_SIGMA * np.sqrt(np.diagonal(covariances, axis1=2, axis2=3))
        # a head that has seen little may be as wide as its prior: it must not hide the others
        reach = np.minimum(reach, 3 * np.ptp(means, axis=(0, 1)) + 1e-9)
    low, high = (means - reach).min((0, 1)), (means + reach).max((0, 1))
    room = 0.05 * (high - low) + 1e-9
    return low - room, high + room


def _placed(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    share = np.clip((points - low) / (high - low), -0.05, 1.05)
    inner = _SIZE - _PAD - 10
    return np.stack([_PAD + share[..., 0] * inner, 10 + (1 - share[..., 1]) * inner], axis=-1)


def _ellipse(mean: np.ndarray, covariance: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    axes = vectors * np.sqrt(np.maximum(values, 0)) * _TWO_SIGMA
    ring = mean + np.stack([np.cos(_CIRCLE), np.sin(_CIRCLE)], axis=1) @ axes.T
    points = "L".join(f"{x:.1f},{y:.1f}" for x, y in _placed(ring, low, high))
    return f'<path class="band" d="M{points}Z"/>'


def _axes(low: np.ndarray, high: np.ndarray) -> list[str]:
    parts = []
    for axis, name in enumerate(("w₁", "w₂")):
        for tick in nice_ticks(float(low[axis]), float(high[axis]), 5):
            at = low.copy()
            at[axis] = tick
            x, y = _placed(at, low, high)
            if axis == 0:
                parts.append(
                    f'<text class="tick across" x="{x:.1f}" y="{_SIZE - 20}">{tick:g}</text>'
                )
            else:
                parts.append(
                    f'<text class="tick" x="{_PAD - 6}" y="{y:.1f}" dy="4">{tick:g}</text>'
                )
        where = f'x="{_SIZE // 2}" y="{_SIZE - 4}"' if axis == 0 else 'x="14" y="20"'
        parts.append(f'<text class="name" {where}>{name}</text>')
    edge = _SIZE - _PAD - 10
    parts.append(
        f'<rect class="box" x="{_PAD}" y="10" width="{edge}" height="{edge}" fill="none"/>'
    )
    return parts
