"""Write ROWS rows of 21 features and a label to Parquet files under FOLDER, in chunks.

The same seed whatever the size: a smaller set is the beginning of a larger one.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEATURES = 21
NAMES = [f"x{j}" for j in range(FEATURES)]
_PER_FILE = 1_000_000


def main(folder: Path, rows: int) -> None:
    """Files of a million rows, as `pyarrow.parquet.write_table` writes them by default."""
    folder.mkdir(parents=True)
    rng, noise = np.random.default_rng(0), np.random.default_rng(1)
    w = np.linspace(-1, 1, FEATURES)
    for i, start in enumerate(range(0, rows, _PER_FILE)):
        x = rng.standard_normal((min(_PER_FILE, rows - start), FEATURES))
        y = x @ w + 0.5 * noise.standard_normal(len(x))
        pq.write_table(pa.table([*x.T.copy(), y], [*NAMES, "y"]), folder / f"part-{i:03}.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
