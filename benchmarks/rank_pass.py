"""Rank the three sources under FOLDER for its target; print seconds, peak memory and weights.

python benchmarks/rank_pass.py FOLDER [BACKEND]
"""

import json
import sys
import time
from pathlib import Path

from resident import peak_mib

import bers
from bers.parallel import pool


def main(folder: Path, backend: str) -> None:
    """One ranking, as `bers rank` does it."""
    sources = [bers.load(folder / f"source-{i}", y="reward", stream=True) for i in range(3)]
    target = bers.load(folder / "target.parquet", y="reward")
    start = time.perf_counter()
    with pool(backend) as workers:
        ranking = bers.rank(sources, target, workers=workers, progress=False)
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - start,
                "peak": peak_mib(),
                "weights": ranking.weights.tolist(),
                "mu": ranking.model.heads.mu.tolist(),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "threads")
