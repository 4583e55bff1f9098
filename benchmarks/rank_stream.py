"""Three sources of ten million rows each, ranked from Parquet files: memory that does not grow.

Each ranking is a fresh process. A second one, of a tenth of the rows, shows what grows.
"""

import json
import tempfile
from pathlib import Path

from row import Row, at_most
from timing import say, script

_ROWS = 10_000_000
_LIMIT = 2048.0


def rows() -> list[Row]:
    """Peak memory of the large ranking, with its time and weights in the note."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="bers-bench-") as folder:
        for n in (_ROWS // 10, _ROWS):
            say(f"rank_stream: writing 3 x {n:,} rows")
            script("rank_data.py", Path(folder, str(n)), n)
            say(f"rank_stream: ranking 3 x {n:,} rows")
            found[n] = json.loads(script("rank_pass.py", Path(folder, str(n)), timeout=3000))
    small, large = found[_ROWS // 10], found[_ROWS]
    weights = ", ".join(f"{weight:.3f}" for weight in large["weights"])
    return [
        at_most(
            "rank_memory",
            large["peak"],
            _LIMIT,
            unit="MiB",
            note=f"Peak of a process that ranks 3 x 10,000,000 rows in {large['seconds']:.0f} "
            f"s: weights {weights}, the second is right. With a tenth of the rows: "
            f"{small['peak']:,.0f} MiB, {small['seconds']:.0f} s.",
            fine=large["weights"][1] > 0.9 and large["peak"] < 1.5 * small["peak"],
        )
    ]
