"""What a page shows of a study: charts of its curves and weights, found by what its records hold.

Enters: the records of a study. Leaves: groups of charts. A study needs no code of its own here: a
record that names a method and holds `best`, `profit` or `returns` has a learning curve, one that
holds `weights` has weights, one that holds `makeup` tells where its batches came from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bers_studies.report.curves import Runs
from bers_studies.report.statistics import band
from bers_studies.report.svg import Chart, Line

STATISTICS = {"mean": "mean", "iqm": "interquartile mean"}
_WHERE = ("panel", "target", "truth", "task", "kind", "number")
_MOST_SHOWN = 2  # methods whose weights are drawn


@dataclass(frozen=True)
class Curve:
    """A kind of learning curve."""

    field: str
    x_label: str
    y_label: str
    log: bool = False


CURVES = (
    Curve("best", "generation", "best value", log=True),
    Curve("profit", "episode", "test profit"),
    Curve("returns", "step", "return of test episodes"),
)
"""Those that are known; a study has one of them."""


@dataclass(frozen=True)
class Group:
    """Charts of one kind, one for each target."""

    title: str
    charts: list[Chart]
    names: list[str]
    """Of the lines, by the number of their class."""
    choose: bool = False
    """Whether a reader can choose among lines and statistics."""
    opened: tuple[int, ...] | None = None
    """Numbers of the lines that are shown at first; None: all."""


def groups(runs: Runs, sources: Sequence[str] = ()) -> list[Group]:
    """All charts that the records of a study allow for; `sources` names those of weights."""
    found = [_curves(runs, curve) for curve in CURVES if has(runs, curve.field)]
    if has(runs, "weights"):
        found += _weights(runs, sources)
    if has(runs, "makeup"):
        found.append(_makeup(runs, sources))
    return [group for group in found if group.charts]


def has(runs: Runs, field: str) -> bool:
    """Whether some record holds this."""
    return any(record.get(field) for record in runs.records)


def places(runs: Runs) -> list[dict[str, Any]]:
    """The targets of a study, each as the fields that single it out."""
    have = [name for name in _WHERE if runs.values(name)]
    seen = [tuple(r.get(name) for name in have) for r in runs.records]
    return [dict(zip(have, one, strict=True)) for one in dict.fromkeys(seen)]


def place_name(place: Mapping[str, Any]) -> str:
    """A target in words.

    >>> place_name({"truth": "2"}), place_name({"panel": "Ackley", "number": 4})
    ('scenario 2', 'Ackley, 4 sources')
    """
    words = []
    for field, value in place.items():
        if field == "truth":
            words.append("target" if value == "target" else f"scenario {value}")
        else:
            words.append(f"{value} sources" if field == "number" else str(value))
    return ", ".join(words)


def matching(runs: Runs, place: Mapping[str, Any], method: str, field: str) -> list[Any]:
    """What the records of a target and a method hold in a field, one for each trial."""
    wanted = {**place, "method": method}
    rows = [r for r in runs.records if all(r.get(k) == v for k, v in wanted.items())]
    return [r[field] for r in rows if r.get(field)]


def _curves(runs: Runs, curve: Curve) -> Group:
    methods = sorted(runs.values("method"), key=lambda name: name != "BERS")  # ours has one colour
    charts = []
    for place in places(runs):
        lines: dict[str, list[Line]] = {statistic: [] for statistic in STATISTICS}
        x, at = np.zeros(0), []
        for number, method in enumerate(methods):
            found = matching(runs, place, method, curve.field)
            if not found:
                continue
            values = _same_length(found)
            at = matching(runs, place, method, "at")
            start = 0 if curve.field == "best" else 1
            own = np.asarray(at[0], float) if at else np.arange(values.shape[1]) + float(start)
            x = max(x, own, key=len)  # a rival may have been run for its first episodes only
            for statistic in STATISTICS:
                lines[statistic].append(_banded(method, number, values, statistic, curve.log))
        if lines["mean"]:
            across = curve.x_label if at or curve.field != "returns" else "episode"
            across = next((r["along"] for r in runs.records if "along" in r), across)
            chart = Chart(
                place_name(place) or "all", x, lines, across, curve.y_label, log=curve.log,
                levels=_levels(runs, place),
            )  # fmt: skip
            charts.append(chart)
    opened = _opened(charts, methods, lower=curve.log)
    return Group(curve.y_label.capitalize(), charts, methods, choose=True, opened=opened)


def _opened(charts: Sequence[Chart], methods: Sequence[str], *, lower: bool) -> tuple[int, ...]:
    """BERS, the best of the others, and None: those that a reader sees first.

    The best is ahead of most others in the last tenth of its curves, over all charts that it is in,
    of which there must be half. Methods of ours under other settings are no rivals.
    """
    ahead: dict[int, list[float]] = {}
    for chart in charts:
        ends = {
            line.number: float(np.nanmean(line.y[-max(1, len(line.y) // 10) :]))
            for line in chart.lines["mean"]
            if not line.name.startswith("BERS") and line.name != "None"
        }
        for number, end in ends.items():
            others = [other for key, other in ends.items() if key != number]
            beaten = [end < other if lower else end > other for other in others]
            ahead.setdefault(number, []).append(float(np.mean(beaten)) if others else 1.0)
    rivals = [number for number, shares in ahead.items() if 2 * len(shares) >= len(charts)]
    best = max(rivals, key=lambda number: np.mean(ahead[number]), default=None)
    wanted = [i for i, name in enumerate(methods) if name in ("BERS", "None") or i == best]
    return tuple(wanted) if len(wanted) > 1 and "BERS" in methods else tuple(range(len(methods)))


def _levels(runs: Runs, place: Mapping[str, Any]) -> dict[str, float]:
    """What the demonstrations themselves earned, where they are for this very target."""
    truth = str(place.get("truth", ""))
    found = [r["sources"] for r in runs.records if r.get("truth") == truth and r.get("sources")]
    if not found or not truth.isdigit():
        return {}
    return {"mean profit of the demonstrations": float(np.mean(found, axis=0)[int(truth) - 1])}


def _banded(name: str, number: int, values: np.ndarray, statistic: str, log: bool) -> Line:
    """On a logarithmic axis the mean is taken of logarithms."""
    scores = np.log10(np.maximum(values, 1e-12)) if log else values
    made = band(scores, statistic)
    y, low, high = (10.0**part if log else part for part in made)
    return Line(name, number, y, low, high, dashed=name == "None")


def _weights(runs: Runs, sources: Sequence[str]) -> list[Group]:
    methods = [m for m in runs.values("method") if any(_has_weights(r, m) for r in runs.records)]
    preferred = [m for m in methods if m.startswith("BERS")] or methods
    found = []
    for method in preferred[:_MOST_SHOWN]:
        charts, names = [], []
        for place in places(runs):
            weights = matching(runs, place, method, "weights")
            if not weights:
                continue
            values = _same_length(weights)
            at = matching(runs, place, method, "weights_at") or matching(runs, place, method, "at")
            x = np.asarray(at[0], float) if at else np.arange(values.shape[1]) + 1.0
            told = matching(runs, place, method, "names") or [_named(values.shape[2], sources)]
            shares = [str(name) for name in told[0]]
            names = max(names, shares, key=len)
            lines = [_share(shares[i], i, values[:, :, i]) for i in range(min(9, len(shares)))]
            charts.append(
                Chart(
                    place_name(place) or "all",
                    x,
                    {"": lines},
                    _across(runs, bool(at)),
                    "weight",
                    y_range=(0.0, 1.0),
                )
            )
        found.append(Group(f"Weights of the sources: {method}", charts, names[:9]))
    return found


def _named(count: int, sources: Sequence[str]) -> list[str]:
    """Names of sources, by number where a study has others than these."""
    return list(sources) if len(sources) == count else [f"source {i + 1}" for i in range(count)]


def _across(runs: Runs, at_steps: bool) -> str:
    """What weights are drawn over: what the curves of the study are."""
    curve = next((curve for curve in CURVES if has(runs, curve.field)), None)
    along = next((r["along"] for r in runs.records if "along" in r), None)
    if along is not None or curve is None:
        return along or ""
    return "episode" if curve.field == "returns" and not at_steps else curve.x_label


def _has_weights(record: Mapping[str, Any], method: str) -> bool:
    return record.get("method") == method and bool(record.get("weights"))


def _makeup(runs: Runs, sources: Sequence[str]) -> Group:
    """Where the rows of prioritised batches came from."""
    charts, names = [], ["own rows", *_named(3, sources)]
    for place in places(runs):
        found = matching(runs, place, "PER", "makeup")
        if found:
            values = _same_length(found)
            values = values / np.maximum(values.sum(axis=2, keepdims=True), 1e-12)
            lines = [_share(name, i, values[:, :, i]) for i, name in enumerate(names)]
            x = np.arange(values.shape[1]) + 1.0
            chart = Chart(place_name(place), x, {"": lines}, "episode", "share of the batch")
            charts.append(chart)
    return Group("Where prioritised batches come from", charts, names)


def _share(name: str, number: int, values: Float[np.ndarray, "trials n"]) -> Line:
    return Line(name, number, *band(values))


def _same_length(found: Sequence[Any]) -> np.ndarray:
    shortest = min(len(one) for one in found)
    return np.array([one[:shortest] for one in found], float)
