"""A `Trust` on disk, and in parts for files that hold more than it.

Enters: a `Trust`. Leaves: arrays and settings for a sealed file, and the same `Trust` from them and
from the sources, whose own rows are not in the file. It goes on with the same bits.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from bers.data.source import Source
from bers.data.transforms import from_dict
from bers.errors import ConfigError, FileError
from bers.integrity import read_sealed, write_sealed
from bers.model.config import ModelConfig
from bers.model.model_files import model_of, model_parts
from bers.model.neural_linear import Model
from bers.trust.rules import rule_named

_FORMAT = "bers-trust-1"
_STREAMS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
_MODEL, _JUDGE, _TRUST = "model.", "judge.", "trust."


def save_trust(trust: Any, path: str | os.PathLike[str]) -> None:
    """Write a `Trust` to a file of its own."""
    arrays, about = trust_parts(trust)
    rng = trust._rng
    stream = int(rng) if isinstance(rng, int | np.integer) else plain(rng.bit_generator.state)
    digests = digests_of(trust.sources)
    write_sealed(path, _FORMAT, arrays, {**about, "stream": stream, "digests": digests})


def read_trust(
    path: str | os.PathLike[str],
) -> tuple[dict[str, np.ndarray], dict[str, Any], int | np.random.Generator]:
    """The parts that `save_trust` wrote, and the stream of random numbers."""
    arrays, about = read_sealed(path, _FORMAT, "a BERS trust")
    stream = about.get("stream", 0)
    return arrays, about, stream if isinstance(stream, int) else stream_of(stream)


def trust_parts(trust: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and settings; neither the sources nor the stream of random numbers."""
    settings = trust._settings
    name = settings.rule.name
    try:
        known = rule_named(name)
    except ConfigError:
        known = None
    if known is None or known.needs != settings.rule.needs:
        raise ConfigError(
            f"a rule of your own ({name}) cannot be saved; use one of bers.rules.RULES."
        )
    if trust._whole_target is not None and not len(trust.y) and trust.target.n:
        raise ConfigError(
            "rows of the target that are on disk cannot be saved along. Load them into memory "
            "first: bers.load(..., stream=False)."
        )
    about: dict[str, Any] = {
        "rule": name,
        "config": None if settings.config is None else settings.config.to_dict(),
        "batches": settings.batches,
        "subset": settings.subset,
        "transform": None if settings.transform is None else settings.transform.to_dict(),
        "keep": settings.keep,
        "remember": settings.remember,
        "frozen": settings.frozen,
        "prior": settings.prior,
        "robust": settings.robust,
        "modelled": settings.modelled,
    }
    own = {
        "a": trust.weights,
        "x": trust.x,
        "y": trust.y,
        "outliers": np.array(trust.outliers, np.int64),
        "pulls": trust.past.pulls,
        "gains": trust.past.gains,
        "last": trust.past.a,
    }
    arrays = {_TRUST + name: array for name, array in own.items()}
    judge = None if trust._judge is trust.model else trust._judge
    for prefix, model in ((_MODEL, trust.model), (_JUDGE, judge)):
        if model is not None:
            parts, about[prefix.strip(".")] = model_parts(model)
            arrays |= {prefix + name: array for name, array in parts.items()}
    return arrays, plain(about)


def judge_of(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model | None:
    """The model that judges, where it is not the one that predicts."""
    return _model_at(_JUDGE, arrays, about)


def _model_at(prefix: str, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model | None:
    name = prefix.strip(".")
    if name not in about:
        return None
    inner = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    return model_of(inner, about[name])


def trust_settings(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> dict[str, Any]:
    """What `trust_parts` took apart, as arguments of a `Trust`; nothing is trained anew."""
    model = _model_at(_MODEL, arrays, about)
    config = None if about["config"] is None else ModelConfig(**about["config"])
    keep, transform = about["keep"], about["transform"]
    return {
        "rule": about["rule"],
        "model": model or config,
        "batches": about["batches"],
        "subset": about["subset"],
        "transform": None if transform is None else from_dict(transform),
        "keep": None if keep is None else (float(keep[0]), float(keep[1])),
        "remember": about["remember"],
        "predicts": about["modelled"],
        "frozen": about["frozen"],
        "prior": about.get("prior", "neutral"),
        "robust": about["robust"],
        "progress": False,
    }


def seen_and_found(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a `Trust` had seen, and what followed from it."""
    return {k.removeprefix(_TRUST): v for k, v in arrays.items() if k.startswith(_TRUST)}


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


def digests_of(sources: Sequence[Source]) -> list[str | None]:
    """By which sources are known again; None for those that have no digest."""
    return [getattr(source, "digest", None) for source in sources]
