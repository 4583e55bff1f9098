"""What past runs cost in time: `minimize` with four of 2,000 rows beside the same without any."""

import json
import sys

from row import Row, at_most
from timing import program, say

_LIMIT = 3.0
_UNIT = "CPU seconds (less is better; ratio = limit / ours)"
_RUN = """
import json, sys, time
import numpy as np, bers
D, rng, past = 10, np.random.default_rng(0), []
def valleys(x):
    return np.sum(x ** 2, -1) + 10 * np.sum(1 - np.cos(2 * x), -1)
for _ in range(4 * int(sys.argv[1])):
    x = rng.uniform(-5, 5, (2000, D))
    past.append((x, valleys(x - rng.uniform(-2, 2, D))))
def run():
    start = time.process_time()
    found = bers.minimize(
        lambda x: float(valleys(x - 1)), [(-5, 5)] * D, sources=past, rng=0, maxfun=3000
    )
    assert found.nfev == 3000
    return time.process_time() - start
print(json.dumps([run(), run()]))
"""


def rows() -> list[Row]:
    """The first call of a process, and one after it. CPU time, as the machine may be shared."""
    seconds: dict[bool, list[list[float]]] = {False: [], True: []}
    for i in range(3):
        say(f"minimise_reuse: round {i + 1} of 3")
        for reuse in seconds:
            said = program([sys.executable, "-c", _RUN, str(int(reuse))], timeout=600)
            seconds[reuse].append(json.loads(said))
    middle = {
        reuse: [sorted(part)[1] for part in zip(*s, strict=True)] for reuse, s in seconds.items()
    }
    found = []
    for k, name in enumerate(("minimise_reuse_first", "minimise_reuse")):
        alone, ours = middle[False][k], middle[True][k]
        when = "The first call of a process, with imports and compilation" if k == 0 else "Warm"
        note = (
            f"Above the {alone:.2f} of the same run without past runs: 3,000 evaluations in ten "
            f"variables, four past runs of 2,000 rows. {when}."
        )
        found.append(at_most(name, ours - alone, _LIMIT, unit=_UNIT, note=note))
    return found
