"""How long a person with tables waits for an answer, and what many sources cost beside few."""

import sys

from row import GROWTH, Row, at_most
from timing import here, program, take_turns

_UNIT = "seconds (less is better; ratio = limit / ours)"
_MADE = """
import numpy as np, bers
rng = np.random.default_rng(0)
def made(sources, rows):
    w = rng.standard_normal((sources, 4))
    for i in range(sources):
        x = rng.uniform(-1, 1, (rows, 6))
        y = np.sin(2 * x[:, :4]) @ w[i] + 0.1 * rng.standard_normal(rows)
        yield bers.Demonstrations(x, y, f"s{{i}}")
"""
_RANK = (
    _MADE
    + """
every = list(made({sources}, {rows}))
target = every[1].take(range(60)).renamed("new")
print(bers.rank(every, target, progress=False).verdict)
"""
)
_FIT = (
    _MADE
    + """
import time
start = time.perf_counter()
bers.fit(list(made({sources}, 500)), progress=False)
print(time.perf_counter() - start)
"""
)


def rows() -> list[Row]:
    """Two waits from a cold start, and fifty sources beside three."""
    cold = {
        "three": here(lambda: program([sys.executable, "-c", _RANK.format(sources=3, rows=2000)])),
        "many": here(lambda: program([sys.executable, "-c", _RANK.format(sources=49, rows=288)])),
    }
    waits = take_turns("rank_cold", cold, rounds=3)
    fits = {n: [_fit(n) for _ in range(3)] for n in (3, 50)}
    few, many = sorted(fits[3])[1], sorted(fits[50])[1]
    note = "The whole process: import, compilation, fit, 400 draws of the intervals."
    return [
        at_most("rank_cold", waits["three"], 8.0, unit=_UNIT, note=f"3 x 2,000 rows. {note}"),
        at_most("rank_cold_many", waits["many"], 30.0, unit=_UNIT, note=f"49 x 288 rows. {note}"),
        Row(
            "fit_sources",
            many,
            few,
            "3 sources",
            many / few,
            3.0,
            GROWTH,
            "seconds, 50 sources of 500 rows beside 3 (less is better)",
            "Both from a cold start; a batch takes at most eight sources.",
        ),
    ]


def _fit(sources: int) -> float:
    return float(program([sys.executable, "-c", _FIT.format(sources=sources)]))
