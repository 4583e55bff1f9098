"""How cost grows with rows, features, sources and trials: slopes, each against the one expected.

Three programs measure, each in a fresh process of one thread; CPU time counts. All points go to
scaling.json; from it come the rows of the table, and the tables and the picture of
docs/scaling.md.
"""

import json

from one_thread import one_thread
from row import GROWTH, Row, machine
from scaling_fit import HEADS, SERIES
from scaling_page import STORED, points_listed, write
from timing import say, script

PROGRAMS = ("scaling_heads.py", "scaling_files.py", "scaling_runs.py")
SLOPES = (
    "pass", "read", "factor", "factor_bytes", "heads", "program", "odds", "training", "trials",
)  # fmt: skip
"""The series that have a row of their own in the table."""
_MOST = 1.1  # times the slope to be expected
_FLAT = 1.25  # times the cost of a batch of 64 sources, for 256


def rows() -> list[Row]:
    """Measure, store, write the page; then the rows of the table."""
    found: dict = {"machine": machine(), "series": {}, "bytes": {}, "memory": {}}
    for name in PROGRAMS:
        say(f"scaling: {name}")
        with one_thread():
            part = json.loads(script(name, timeout=3000))
        for key in ("series", "bytes", "memory"):
            found[key] |= part.get(key, {})
        found |= {key: part[key] for key in ("system", "check") if key in part}
    found["series"] = {name: _short(found["series"][name]) for name in SERIES}
    STORED.write_text(json.dumps(found, indent=1) + "\n")
    write()
    return made(found)


def made(found: dict) -> list[Row]:
    """Slopes, and what a batch costs beyond the sources it takes."""
    return [*(_slope(found, name) for name in SLOPES), _flat(found)]


def _slope(found: dict, name: str) -> Row:
    series, points = SERIES[name], found["series"][name]
    slope = series.slope(points)
    return Row(
        f"scaling_{name}",
        slope,
        series.expected,
        "the slope to be expected",
        slope / series.expected,
        _MOST,
        GROWTH,
        f"log {'bytes' if series.unit == 'B' else 'CPU seconds'} per log {series.over}",
        f"{series.what[0].upper()}{series.what[1:]}, by {series.over}: "
        f"{points_listed(series, points)}.",
        machine=found["machine"],
    )


def _flat(found: dict) -> Row:
    """Beyond 64 sources a batch must not become dearer."""
    cost = {size: 1e3 * seconds for size, seconds in found["series"]["training"]}
    most = max(cost)
    return Row(
        "scaling_training_many",
        cost[most],
        cost[HEADS],
        f"{HEADS} sources",
        cost[most] / cost[HEADS],
        _FLAT,
        GROWTH,
        "CPU ms a batch",
        f"{most} sources, of which a batch takes {HEADS} at random.",
        machine=found["machine"],
    )


def _short(points: list) -> list:
    """Four digits are more than the machine is good for."""
    return [[size, float(f"{cost:.4g}")] for size, cost in points]
