"""The peer: BayesianRidge of scikit-learn on the first ROWS rows under FOLDER, in memory.

Prints one line of JSON: seconds of the faster of two fits, reading excluded, and the peak memory.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from resident import peak_mib
from sklearn.linear_model import BayesianRidge
from stream_data import FEATURES, NAMES
from timing import timed


def main(folder: Path, rows: int) -> None:
    """No intercept: the features are the same 21 as ours."""
    x, y, start = np.empty((rows, FEATURES)), np.empty(rows), 0
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path).slice(0, rows - start)
        stop = start + len(table)
        for j, name in enumerate(NAMES):
            x[start:stop, j] = table[name].to_numpy()
        y[start:stop] = table["y"].to_numpy()
        start = stop
        if start == rows:
            break
    del table
    seconds = min(timed(lambda: BayesianRidge(fit_intercept=False).fit(x, y)) for _ in range(2))
    print(json.dumps({"seconds": seconds, "mib": peak_mib()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
