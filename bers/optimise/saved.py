"""A run on disk: everything an `Optimizer` needs to go on with the same bits.

Enters: an optimizer. Leaves: one sealed file, past runs and model included, and an optimizer from
such a file. A generation that was asked for and not yet told is begun again from where the random
streams stood, with the values that were told already.
"""

import os
from dataclasses import asdict
from typing import Any

import numpy as np

from bers.algorithm_files import plain, reuse_of, reuse_parts, stream_of
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import from_dict
from bers.errors import BersError, FileError
from bers.integrity import read_sealed, write_sealed
from bers.learners.camps import Camps
from bers.learners.differential_evolution import DEConfig, Population
from bers.trust.ranking import unique

_FORMAT = "bers-run-1"


def save(o: Any, path: str | os.PathLike[str]) -> None:
    """Write the run that the optimizer `o` has come to."""
    told = list(o._told.items())
    D, N = len(o.low), len(o.runs)
    arrays = {
        "low": o.low,
        "high": o.high,
        "first": o._first,
        "x": np.concatenate([np.zeros((0, D)), *o._x]),
        "y": np.concatenate([np.zeros(0), *o._y]),
        "told.x": np.array([np.frombuffer(key) for key, _ in told]).reshape(len(told), D),
        "told.y": np.array([value for _, value in told], np.float64),
        "weight_history": np.reshape(o.weight_history, (len(o.weight_history), N)),
        "use_history": np.reshape(o.use_history, (len(o.use_history), N)).astype(np.int64),
    }
    for i, run in enumerate(o.runs):
        arrays |= {f"run.{i}.x": run.x, f"run.{i}.y": run.y}
    about: dict[str, Any] = {
        "de": asdict(o.de),
        "names": [run.name for run in o.runs],
        "transform": None if o.transform is None else o.transform.to_dict(),
        "nit": o.nit,
        "streams": o._states,
    }
    if o.agents is not None:
        arrays |= {"agents.x": o.agents.x, "agents.f": o.agents.f}
        about["contest"] = o.agents.contest
        if o.agents.camps is not None:
            arrays["camps.guided"] = o.agents.camps.guided
            about["camps"] = {
                name: getattr(o.agents.camps, name) for name in ("ahead", "behind", "won")
            }
    if o.reuse is not None:
        more, settings = reuse_parts(o.reuse)
        arrays |= more
        about["reuse"] = settings
    write_sealed(path, _FORMAT, arrays, plain(about))


def load(o: Any, path: str | os.PathLike[str]) -> None:
    """Fill an empty optimizer with a run that was saved."""
    arrays, about = read_sealed(path, _FORMAT, "a BERS run")
    try:
        _fill(o, arrays, about)
    except BersError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise FileError(f"{path} is damaged or not a BERS run: {error}. Save it again.") from error


def _fill(o: Any, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    weight = about["de"]["differential_weight"]
    F = tuple(weight) if isinstance(weight, list) else weight
    o.de = DEConfig(**{**about["de"], "differential_weight": F})
    o.low, o.high, o._first = arrays["low"], arrays["high"], arrays["first"]
    o.runs = [
        Demonstrations(arrays[f"run.{i}.x"], arrays[f"run.{i}.y"], name)
        for i, name in enumerate(about["names"])
    ]
    o.names = unique(about["names"])
    o.transform = None if about["transform"] is None else from_dict(about["transform"])
    o.nit, o._started = about["nit"], None
    o._x, o._y = [arrays["x"]], [arrays["y"]]
    o.weight_history, o.use_history = list(arrays["weight_history"]), list(arrays["use_history"])
    o._told = {}
    streams = [stream_of(state) for state in about["streams"]]
    o.rng, o._states = streams[0], about["streams"]
    o.agents, o.reuse = None, None
    if "agents.x" in arrays:
        camps = Camps(arrays["camps.guided"], **about["camps"]) if "camps" in about else None
        o.agents = Population(arrays["agents.x"], arrays["agents.f"], camps, about["contest"])
    if "reuse" in about:
        sources = [o._mapped(run) for run in o.runs]
        o.reuse = reuse_of(arrays, about["reuse"], sources, streams[1], o.transform)
    o.tell(arrays["told.x"], arrays["told.y"])
