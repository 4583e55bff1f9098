"""Write three sources of ROWS rows, and 500 rows of a target like the second, under FOLDER.

Six inputs and a reward each, in Parquet files of a million rows. The goals differ in what is paid
for; the target is the second source's, three times as large and shifted.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

INPUTS = 6
_PER_FILE = 1_000_000


def _reward(x: np.ndarray, goal: int) -> np.ndarray:
    return np.tanh(2 * x[:, goal]) + x[:, goal + 1] * x[:, goal + 2]


def _write(path: Path, rng: np.random.Generator, rows: int, goal: int, scale: float) -> None:
    x = rng.standard_normal((rows, INPUTS), dtype=np.float32)
    y = scale * _reward(x, goal) + 0.1 * rng.standard_normal(rows, dtype=np.float32)
    names = [f"x{j}" for j in range(INPUTS)]
    table = pa.table([*x.T.copy(), y.astype(np.float32) + (scale - 1)], [*names, "reward"])
    pq.write_table(table, path, row_group_size=250_000)


def main(folder: Path, rows: int) -> None:
    """Folders source-0 to source-2, and target.parquet."""
    for goal in range(3):
        rng = np.random.default_rng(goal)
        own = folder / f"source-{goal}"
        own.mkdir(parents=True)
        for i, start in enumerate(range(0, rows, _PER_FILE)):
            _write(own / f"part-{i:03}.parquet", rng, min(_PER_FILE, rows - start), goal, 1.0)
    _write(folder / "target.parquet", np.random.default_rng(9), 500, 1, 3.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
