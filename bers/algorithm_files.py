"""A `Reuse` in parts, for files that go on with the same bits.

Enters: what Algorithm 1 carries from one iteration to the next. Leaves: arrays and settings for a
sealed file, and the same `Reuse` from them. Whoever writes the file adds what else there is.
"""

from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from bers.algorithm import Reuse, ReuseConfig
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform
from bers.errors import ConfigError, FileError
from bers.model.config import ModelConfig
from bers.model.model_files import model_of, model_parts
from bers.reuse.guard import Guard
from bers.reuse.schedule import Constant, Linear, Power
from bers.trust.rules import Past

_SCHEDULES = {kind.__name__: kind for kind in (Power, Constant, Linear)}
_STREAMS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}


def reuse_parts(reuse: Reuse) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and settings; the sources themselves are not among them."""
    config = reuse.config
    schedule = type(config.schedule).__name__
    if type(config.schedule) is not _SCHEDULES.get(schedule):
        raise ConfigError(
            f"a run with a schedule of your own ({schedule}) cannot be saved; use one of "
            f"bers.reuse.schedule: {', '.join(_SCHEDULES)}."
        )
    simple = {
        f.name: getattr(config, f.name)
        for f in fields(config)
        if f.name not in ("schedule", "model")
    }
    settings: dict[str, Any] = {
        **simple,
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


def reuse_of(
    arrays: dict[str, np.ndarray],
    about: dict[str, Any],
    sources: list[Demonstrations],
    stream: np.random.Generator,
    transform: Transform | None,
) -> Reuse:
    """The same from its parts, and the sources it was made with."""
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


def plain(state: Any) -> Any:
    """Settings or a generator's state as JSON; NumPy's numbers and arrays become plain ones.

    >>> plain({"a": (np.float64(1.5), np.arange(2))})
    {'a': [1.5, [0, 1]]}
    """
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return [plain(value) for value in state]
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def stream_of(state: dict[str, Any]) -> np.random.Generator:
    """A generator that goes on where another one stood.

    >>> one = np.random.default_rng(0)
    >>> other = stream_of(one.bit_generator.state)
    >>> bool(one.random() == other.random())
    True
    """
    name = state["bit_generator"]
    if name not in _STREAMS:
        raise FileError(f"a saved run cannot have a generator named {name!r}.")
    bits = getattr(np.random, name)()
    bits.state = state
    return np.random.Generator(bits)
