"""Reading, passing the encoder, training and opening at several sizes; prints one line of JSON.

One thread. Files are as `bers.save` writes them: float64, row groups of 65,536 rows, sealed; the
system has them in its cache. The network is the paper's: 200 and 200 hidden units, 20 features.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np
from cpu_clock import Points, measured
from resident import resident_mib
from scaling_fit import GROUP, STRETCH

import bers
from bers.data.shards import Shards
from bers.data.source import Source
from bers.model.encoder import new_encoder
from bers.model.posteriors import summarise
from bers.model.scaling import Memory, input_scale, label_scales
from bers.model.training import new_state, train

INPUTS = 10
_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_COLUMNS = (5, 10, 20, 40)
_GROUPS = (1, 2, 4, 8, 16, 32)
_FOOTERS = (4, 16, 64, 256, 1024)
_SOURCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_OPENED = 20  # files at once, to see what their footers take


def main() -> None:
    """Points of every series, bytes of a row on disk, and of a row group's footer in memory."""
    with tempfile.TemporaryDirectory(prefix="bers-bench-") as name:
        folder = Path(name)
        footer = _footer_bytes(folder)
        long = {n: shards(folder / f"{n}.parquet", n, INPUTS) for n in _ROWS}
        wide = {k: shards(folder / f"wide-{k}.parquet", 2 * GROUP, k) for k in _COLUMNS}
        series = {
            "read": measured("read", {n: partial(_read, s) for n, s in long.items()}),
            "read_columns": _per_row("read_columns", wide),
            "first_pass": measured("first_pass", {n: _moments(s) for n, s in long.items()}),
            "pass": measured("pass", _passes(long), rounds=3),
            "drawing": _drawing(folder),
            "opening": measured("opening", {g: _opening(folder, g) for g in _FOOTERS}),
            "training": [(N, t / STRETCH) for N, t in _training()],
        }
        largest = folder / f"{_ROWS[-1]}.parquet"
        row = largest.stat().st_size / _ROWS[-1]
    print(json.dumps({"series": series, "bytes": {"row": row}, "memory": {"footer": footer}}))


def shards(path: Path, rows: int, columns: int, group: int = GROUP) -> Shards:
    """A file of normal inputs and a label, opened."""
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, columns))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(rows)
    bers.save(bers.Demonstrations(x, y, path.stem), path, rows_per_group=group)
    return Shards.open(path)


def _read(source: Source) -> None:
    for _ in source.blocks():
        pass


def _per_row(label: str, sources: Mapping[int, Shards]) -> Points:
    points = measured(label, {k: partial(_read, s) for k, s in sources.items()})
    return [(k, seconds / sources[int(k)].n) for k, seconds in points]


def _moments(source: Shards) -> Callable[[], object]:
    return lambda: input_scale([source], memory=Memory())  # nobody remembers its moments


def _passes(sources: Mapping[int, Shards]) -> dict[float, Callable[[], object]]:
    """All rows read, through the encoder, to a triangular factor."""
    inputs = input_scale([sources[_ROWS[0]]], memory=Memory())
    encoder = new_encoder(np.random.default_rng(0), INPUTS, config=bers.ModelConfig.paper())
    return {n: lambda s=s: list(summarise(encoder, [s], inputs=inputs)) for n, s in sources.items()}


def _drawing(folder: Path) -> Points:
    """A hundred batches of a source on disk, by its rows."""
    rng = np.random.default_rng(0)
    sources = [shards(folder / f"draw-{g}.parquet", g * GROUP, INPUTS) for g in _GROUPS]
    size = bers.ModelConfig.paper().batch_size
    return measured("drawing", {s.n: partial(s.draw, rng, STRETCH, size) for s in sources})


def _opening(folder: Path, groups: int) -> Callable[[], object]:
    path = folder / f"open-{groups}.parquet"
    shards(path, 8 * groups, INPUTS, group=8)
    return partial(Shards.open, path)


def _footer_bytes(folder: Path) -> float:
    """Resident memory of an opened row group; first, before memory is had that could be used."""
    groups = _FOOTERS[-1]
    _opening(folder, groups)()
    before = resident_mib()
    kept = [Shards.open(folder / f"open-{groups}.parquet") for _ in range(_OPENED)]
    return (resident_mib() - before) * 2**20 / (groups * len(kept))


def _training() -> Points:
    """A hundred batches of sources in memory, drawing included."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, INPUTS))
    every = [
        bers.Demonstrations(x, np.sin(x @ rng.standard_normal(INPUTS)), str(i))
        for i in range(_SOURCES[-1])
    ]
    config, inputs = bers.ModelConfig.paper(), input_scale(every[:1], memory=Memory())
    state = new_state(new_encoder(rng, INPUTS, config=config), config=config)
    labels = label_scales(every, config=config, memory=Memory())
    how = {"batches": STRETCH, "inputs": inputs, "config": config, "show": False}
    return measured(
        "training",
        {N: partial(train, rng, state, every[:N], labels=labels[:N], **how) for N in _SOURCES},
        rounds=3,
        long=float("inf"),  # the first call compiles
    )


if __name__ == "__main__":
    main()
