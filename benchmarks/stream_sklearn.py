"""The peer: BayesianRidge of scikit-learn on the first ROWS rows under FOLDER, in memory.

Prints one line of JSON: seconds to read the rows as a user would, seconds of the faster of two
fits, seconds of our own posterior of the same arrays (the faster of two), and the peak memory.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from resident import peak_mib
from sklearn.linear_model import BayesianRidge
from stream_data import FEATURES, NAMES
from timing import timed

from bers.model import nig


def main(folder: Path, rows: int) -> None:
    """No intercept: the features are the same 21 as ours."""
    start = time.perf_counter()
    table = pq.read_table(folder).slice(0, rows)
    x = np.column_stack([table[name].to_numpy() for name in NAMES])
    y = table["y"].to_numpy()
    found = {"read_seconds": time.perf_counter() - start}
    del table
    fits = [timed(lambda: BayesianRidge(fit_intercept=False).fit(x, y)) for _ in range(2)]
    found |= {"seconds": min(fits), "mib": peak_mib()}
    prior = nig.prior(FEATURES)
    ours = [timed(lambda: nig.condition(prior, nig.summarise(x, y))) for _ in range(2)]
    print(json.dumps({**found, "ours_seconds": min(ours)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
