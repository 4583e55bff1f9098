"""What moves between machines, what trials cost, and a whole ranking; prints one line of JSON.

Bytes are those of the very objects that are handed to workers and that come back, serialised by
cloudpickle, as joblib and Ray do. One thread.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bers_studies.runner.run import Experiment, run
from bers_studies.runner.workers import finish
from cpu_clock import Points, cpu_seconds, measured
from joblib.externals.loky.backend.reduction import dumps
from scaling_files import INPUTS, shards
from scaling_heads import FEATURES

import bers
from bers.data.shards import Shards
from bers.model import nig
from bers.model.encoder import new_encoder
from bers.model.posteriors import summarise
from bers.model.scaling import Memory, input_scale

CHECK = {"sources": 80, "rows": 20_000, "batches": 200}
"""A ranking that is small enough to be run and large enough to be compared with the plan."""
_FOOTERS = (4, 16, 64, 256, 1024)
_TRIALS = (1, 2, 4, 8)


def main() -> None:
    """Bytes, trials, and the ranking."""
    with tempfile.TemporaryDirectory(prefix="bers-bench-") as name:
        folder = Path(name)
        handed = {g: _handed(folder, g) for g in _FOOTERS}
        series = {
            "factor_bytes": [(k, _size(_factor(k))) for k in FEATURES],
            "part_bytes": [(g, _size(parts[0])) for g, (_, parts, _) in handed.items()],
            "trials": _trials(folder),
        }
        work, _, found = handed[_FOOTERS[0]]
        moved = {
            "encoder": _size(work),
            "factor": _size(found[0]),
            "trial": _size(finish(trial, Search(), 0)),
            "weight": np.dtype(float).itemsize,
        }
        check = {**CHECK, "seconds": _ranking(folder)}
    print(json.dumps({"series": series, "bytes": moved, "check": check}))


@dataclass(frozen=True)
class Search:
    """Settings of a short trial."""

    generations: int = 20
    batches: int = 200


def trial(config: Search, seed: int) -> Iterator[dict[str, Any]]:
    """A search with the help of two past runs, as in the static study but short."""
    bounds = [(-4.0, 4.0)] * 5
    how = {"bounds": bounds, "maxiter": config.generations, "vectorized": True}
    how["learner"] = bers.DE()
    past = {
        str(at): bers.minimize(partial(_bowl, at=at), rng=[seed, i], **how)
        for i, at in enumerate((1.0, -2.0))
    }
    model = bers.ModelConfig(hidden=(32,), latent_dim=8, batches=config.batches)
    found = bers.minimize(partial(_bowl, at=0.9), sources=past, rng=seed, model=model, **how)
    yield {"best": float(found.fun), "weights": found.weights}


def _bowl(x: np.ndarray, at: float) -> np.ndarray:
    return np.sum((x - at) ** 2, axis=0)


def _trials(folder: Path) -> Points:
    calls = {n: partial(_run, folder / "trials", n) for n in _TRIALS}
    return measured("trials", calls, rounds=3, long=float("inf"))  # the first call compiles


def _run(folder: Path, trials: int) -> None:
    experiment = Experiment("scaling", Search(), trial)
    how = {"backend": "here", "fresh": True, "progress": False}
    failed = run(experiment, range(trials), folder, **how).tracebacks
    if failed:
        raise RuntimeError(f"a trial failed:\n{next(iter(failed.values()))}")


def _handed(folder: Path, groups: int) -> tuple[Any, list[Any], list[Any]]:
    """What a pass over a source hands to workers, and what comes back."""
    source = shards(folder / f"{groups}.parquet", 8 * groups, INPUTS, group=8)
    encoder = new_encoder(np.random.default_rng(0), INPUTS, config=bers.ModelConfig.paper())
    inputs = input_scale([source], memory=Memory())
    seen: list[Any] = []

    def spy(work: Any, parts: list[Any]) -> Iterator[Any]:
        found = [work(part) for part in parts]
        seen.extend((work, parts, found))
        return iter(found)

    list(summarise(encoder, [source], inputs=inputs, workers=spy))
    work, parts, found = seen
    return work, parts, found


def _factor(k: int) -> nig.Summary:
    rng = np.random.default_rng(k)
    return nig.summarise(rng.standard_normal((4 * k, k)), rng.standard_normal(4 * k))


def _size(thing: Any) -> int:
    return len(dumps(thing))


def _ranking(folder: Path) -> float:
    """CPU seconds of `rank` on files, all compiled by a first one."""
    for i in range(CHECK["sources"]):
        shards(folder / f"source-{i}.parquet", CHECK["rows"] + i, INPUTS)  # i seeds the rows
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, INPUTS))
    target = bers.Demonstrations(x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2], "new")
    config = bers.ModelConfig(hidden=(200, 200), batches=CHECK["batches"])

    def once() -> None:
        paths = [folder / f"source-{i}.parquet" for i in range(CHECK["sources"])]
        bers.rank([Shards.open(path) for path in paths], target, model=config, progress=False)

    once()
    return cpu_seconds(once)


if __name__ == "__main__":
    main()
