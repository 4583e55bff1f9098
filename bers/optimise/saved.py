"""A run on disk: everything an `Optimizer` needs to go on with the same bits.

Enters: an optimizer. Leaves: one sealed file, past runs and model included, and an optimizer from
such a file. A generation that was asked for and not yet told is begun again from where the random
streams stood, with the values that were told already.
"""

import os
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from bers.algorithm import Reuse, ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform, from_dict
from bers.errors import BersError, ConfigError, FileError
from bers.learners.camps import Camps
from bers.learners.differential_evolution import DEConfig, Population
from bers.model.config import ModelConfig
from bers.model.model_files import model_of, model_parts
from bers.reuse.guard import Guard
from bers.reuse.schedule import Constant, Linear, Power
from bers.sealed import read_sealed, write_sealed
from bers.trust.ranking import unique
from bers.trust.rules import Past

_FORMAT = "bers-run-1"
_SCHEDULES = {kind.__name__: kind for kind in (Power, Constant, Linear)}
_STREAMS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}


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
        more, settings = _reuse_parts(o.reuse)
        arrays |= more
        about["reuse"] = settings
    write_sealed(path, _FORMAT, arrays, _plain(about))


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
    streams = [_stream(state) for state in about["streams"]]
    o.rng, o._states = streams[0], about["streams"]
    o.agents, o.reuse = None, None
    if "agents.x" in arrays:
        camps = Camps(arrays["camps.guided"], **about["camps"]) if "camps" in about else None
        o.agents = Population(arrays["agents.x"], arrays["agents.f"], camps, about["contest"])
    if "reuse" in about:
        sources = [o._mapped(run) for run in o.runs]
        o.reuse = _reuse(arrays, about["reuse"], sources, streams[1], o.transform)
    o.tell(arrays["told.x"], arrays["told.y"])


def _reuse_parts(reuse: Reuse) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    config = reuse.config
    schedule = type(config.schedule).__name__
    if type(config.schedule) is not _SCHEDULES.get(schedule):
        raise ConfigError(
            f"a run with a schedule of your own ({schedule}) cannot be saved; use one of "
            f"bers.reuse.schedule: {', '.join(_SCHEDULES)}."
        )
    plain = {
        f.name: getattr(config, f.name)
        for f in fields(config)
        if f.name not in ("schedule", "model")
    }
    settings: dict[str, Any] = {
        **plain,
        "schedule": [schedule, asdict(config.schedule)],  # pyright: ignore[reportArgumentType]
        "model": config.model.to_dict(),
        "m": reuse.m,
    }
    arrays = {
        "reuse.a": reuse.a,
        "past.pulls": reuse.past.pulls,
        "past.gains": reuse.past.gains,
        "past.a": reuse.past.a,
        "guard.paid": reuse.guard.paid,
        "guard.failed": reuse.guard.failed,
        "seen.x": reuse.x,
        "seen.y": reuse.y,
    }
    for i, (points, values) in enumerate(zip(reuse.points, reuse.values, strict=True)):
        arrays |= {f"points.{i}": points, f"values.{i}": values}
    if reuse.model is not None:
        parts, about = model_parts(reuse.model)
        arrays |= {f"model.{name}": array for name, array in parts.items()}
        settings["fitted"] = about
    return arrays, settings


def _reuse(
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    sources: list[Demonstrations],
    stream: np.random.Generator,
    transform: Transform | None,
) -> Reuse:
    kind, numbers = about.pop("schedule")
    m, fitted = about.pop("m"), about.pop("fitted", None)
    settings = ModelConfig(**about.pop("model"))
    config = replace(ReuseConfig(**about), schedule=_SCHEDULES[kind](**numbers), model=settings)
    model = None
    if fitted is not None:
        start = "model."
        inner = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
        model = model_of(inner, fitted)
    N = len(sources)
    return Reuse(
        rng=stream,
        sources=tuple(sources),
        points=tuple(arrays[f"points.{i}"] for i in range(N)),
        values=tuple(arrays[f"values.{i}"] for i in range(N)),
        config=config,
        transform=transform,
        model=model,
        x=arrays["seen.x"],
        y=arrays["seen.y"],
        a=arrays["reuse.a"],
        past=Past(arrays["past.pulls"], arrays["past.gains"], arrays["past.a"]),
        guard=Guard(arrays["guard.paid"], arrays["guard.failed"]),
        m=m,
    )


def _plain(state: Any) -> Any:
    """Settings or a generator's state as JSON; NumPy's numbers and arrays become plain ones."""
    if isinstance(state, dict):
        return {key: _plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [_plain(value) for value in state]
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _stream(state: dict[str, Any]) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _STREAMS:
        raise FileError(f"a saved run cannot have a generator named {name!r}.")
    bits = getattr(np.random, name)()
    bits.state = state
    return np.random.Generator(bits)
