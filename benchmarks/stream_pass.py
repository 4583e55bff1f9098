"""The posterior of one head on all rows under FOLDER, streamed; prints one line of JSON.

Seconds run from opening the files to the posterior, in the first pass of a fresh process. Memory
is the peak of resident memory in that pass less what the interpreter held before, with bers and
all that it needs already imported. A second pass gives the seconds of a process in full swing.
"""

import json
import sys
import time

import numpy as np
import pyarrow.compute  # noqa: F401  bers imports it when it opens a file
import pyarrow.parquet as pq
from resident import peak_mib, resident_mib
from stream_data import FEATURES, NAMES
from timing import timed

from bers import Shards
from bers.model import nig
from bers.model.posteriors import summarise_rows


def posterior(folder: str) -> nig.NIG:
    """Every row once, a block at a time, files side by side."""
    source = Shards.open(folder, x=NAMES, y="y")
    return nig.condition(nig.prior(FEATURES), summarise_rows(source))


def distance_to_direct(head: nig.NIG, folder: str) -> float:
    """Largest difference of mu to the normal equations on all rows at once."""
    table = pq.read_table(folder)
    x = np.column_stack([table[name].to_numpy() for name in NAMES])
    direct = np.linalg.solve(np.eye(FEATURES) + x.T @ x, x.T @ table["y"].to_numpy())
    return float(np.abs(head.mu - direct).max())


def main(folder: str, compare: bool) -> None:
    """Measure, then compare if asked to."""
    before, start = resident_mib(), time.perf_counter()
    head = posterior(folder)
    found = {"seconds": time.perf_counter() - start, "mib": peak_mib() - before}
    found["rows"] = round(2 * (float(head.alpha) - 1))
    found["warm_seconds"] = timed(lambda: posterior(folder))
    if compare:
        found["distance"] = distance_to_direct(head, folder)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["compare"])
