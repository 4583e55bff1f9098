"""One head on ten million rows in Parquet files: speed, memory, and growth with the rows.

Every pass is a fresh process. `posterior_stream` is the hard race: ours reads from disk (or the
system's cache of it), while the peer, scikit-learn's BayesianRidge, has its rows in memory before
its clock starts. `posterior_files` starts both at the files, `posterior_arrays` both in memory.
"""

import json
import tempfile
from pathlib import Path
from statistics import median

from resident import available_bytes
from row import GROWTH, Row, at_most, faster
from timing import say, script

_SIZES = {"1e4": 10_000, "1e5": 100_000, "1e6": 1_000_000, "1e7": 10_000_000}
_PEER_SIZES = (10_000_000, 5_000_000, 2_000_000, 1_000_000)
_PEER_BYTES_PER_ROW = 1000  # measured: X, its copy and its singular vectors
_RUNS = 3
# Time per row, at most, relative to 1e6: opening files weighs on few rows, and a
# million are one row group for one thread; many must stay linear.
_GROWTH = {"1e4": 5.0, "1e5": 2.0, "1e6": 1.0, "1e7": 1.25}


def rows() -> list[Row]:
    """All rows from the same files, which are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="bers-bench-") as folder:
        for size, n in _SIZES.items():
            say(f"posterior_stream: writing {size} rows")
            script("stream_data.py", Path(folder, size), n)
        n_peer = _peer_rows()
        runs, peers, decoded = {size: [] for size in _SIZES}, [], []
        for i in range(_RUNS):
            for size in _SIZES:
                say(f"posterior_stream: {size} rows, run {i + 1} of {_RUNS}")
                runs[size].append(_ours(Path(folder, size), compare=size == "1e5"))
            say(f"posterior_stream: BayesianRidge on {n_peer:,} rows, run {i + 1} of {_RUNS}")
            say(f"posterior_stream: decoding alone, run {i + 1} of {_RUNS}")
            decoded.append(json.loads(script("stream_decode.py", Path(folder, "1e7")))["seconds"])
            peers.append(json.loads(script("stream_sklearn.py", Path(folder, "1e7"), n_peer)))
    seconds = {size: median(run["seconds"] for run in runs[size]) for size in _SIZES}
    warm = {size: median(run["warm_seconds"] for run in runs[size]) for size in _SIZES}
    peer = {key: median(run[key] for run in peers) for key in peers[0]}
    distance = max(run["distance"] for run in runs["1e5"])
    if not distance < 1e-9:
        raise RuntimeError(f"the streamed mu is off by {distance:.1e} on the first 1e5 rows.")
    return [
        _race(
            "posterior_stream",
            _SIZES["1e7"] / seconds["1e7"],
            n_peer / peer["seconds"],
            n_peer,
            "Ours includes reading and checking Parquet; the peer's rows are in memory already. "
            f"Streamed mu against a direct solution: {distance:.0e}.",
        ).above(_SIZES["1e7"] / median(decoded), "decoding the files"),
        _race(
            "posterior_files",
            _SIZES["1e7"] / seconds["1e7"],
            n_peer / (peer["read_seconds"] + peer["seconds"]),
            n_peer,
            "Both start at the Parquet files; the peer's are read by pyarrow as a whole.",
        ),
        _race(
            "posterior_arrays",
            n_peer / peer["ours_seconds"],
            n_peer / peer["seconds"],
            n_peer,
            "Both have the rows in memory; ours in one thread.",
        ),
        _memory(max(run["mib"] for run in runs["1e7"]), max(run["mib"] for run in peers)),
        *(_growth(size, warm, seconds[size]) for size in _SIZES),
    ]


def _ours(folder: Path, *, compare: bool) -> dict[str, float]:
    found = json.loads(script("stream_pass.py", folder, *(["compare"] if compare else [])))
    if found["rows"] != _SIZES[folder.name]:
        raise RuntimeError(f"a pass saw {found['rows']} of {_SIZES[folder.name]} rows.")
    return found


def _peer_rows() -> int:
    """As many as memory holds with ease."""
    room = 0.7 * available_bytes() / _PEER_BYTES_PER_ROW
    return next((n for n in _PEER_SIZES if n < room), _PEER_SIZES[-1])


def _race(name: str, ours: float, peer: float, n_peer: int, note: str) -> Row:
    return faster(
        name,
        ours,
        peer,
        peer_name=f"scikit-learn BayesianRidge on {n_peer:,} rows",
        goal=5,
        unit="rows per second",
        note=f"21 features, float64. {note}",
    )


def _memory(mib: float, peer_mib: float) -> Row:
    return at_most(
        "posterior_memory",
        mib,
        1024.0,
        unit="MiB (less is better; ratio = limit / ours)",
        note=f"Peak above the loaded interpreter at 1e7 rows. BayesianRidge: {peer_mib:.0f} MiB.",
    )


def _growth(size: str, warm: dict[str, float], first: float) -> Row:
    linear = warm["1e6"] * _SIZES[size] / _SIZES["1e6"]
    return Row(
        f"posterior_growth_{size}",
        warm[size],
        linear,
        "linear from 1e6 rows",
        warm[size] / linear,
        _GROWTH[size],
        GROWTH,
        "seconds (ratio = time per row over that at 1e6)",
        f"{_SIZES[size] / warm[size]:,.0f} rows per second in a second pass; the first pass of a "
        f"fresh process took {first:.3f} seconds.",
    )
