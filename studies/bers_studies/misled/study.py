"""What does it cost the target's head if all sources mislead, one of them or fifty?

Enters: settings and a seed. Leaves: one record per kind of source, number of sources and number of
the target's rows: the error of the head on fresh rows, and the weight of nobody. The function is
one of those that nothing was chosen on (known_truth), of four inputs, and not alike when mirrored.
Sources say the opposite, or the same at mirrored inputs, each with a part of its own; or noise; or
one number. There are two to compare with: `neutral` has the same encoder, but its head does not
begin at the sources'; `alone` is a model of the target's rows, encoder and all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bers.data.demonstrations import Demonstrations
from bers.model.config import ModelConfig
from bers.model.neural_linear import fit
from bers.trust.trust import Trust
from bers_studies.known_truth.functions import MATTER, REPORT, Function, drawn, scaled

KINDS = ("turned", "mirrored", "noise", "constant")
_NOISE = 0.1
_OWN = 0.3  # of a source's labels, in spreads of the function
_ALIKE = 0.3  # correlation of the function with its mirror image, at most


@dataclass(frozen=True)
class MisledConfig:
    """One study."""

    sources: tuple[int, ...] = (1, 10, 50)
    rows: tuple[int, ...] = (20, 100, 300)
    """Of the target."""
    source_rows: int = 200
    fresh_rows: int = 2000
    model: ModelConfig | None = None
    """The library's default, as long as there is none."""


def trial(config: MisledConfig, seed: int) -> Iterator[dict[str, Any]]:
    """One function, and all kinds and numbers of sources."""
    rng = np.random.default_rng(seed)
    family = list(REPORT)[seed % len(REPORT)]
    f = _uneven(rng, family)
    x = _inputs(rng, max(config.rows))
    y = f(x) + _NOISE * rng.standard_normal(len(x))
    asked = _inputs(rng, config.fresh_rows)
    truth = f(asked)

    def error(mean: np.ndarray) -> float:
        return round(float(np.sqrt(np.mean((mean - truth) ** 2))), 4)

    alone = {}
    for n in config.rows:
        own = fit(
            [Demonstrations(x[:n], y[:n], "target")], config=config.model, rng=seed, progress=False
        )
        alone[n] = error(own.predict("target", asked).mean)
    for kind in KINDS:
        for count in config.sources:
            some = [_source(rng, kind, f, family, config, f"{kind} {i}") for i in range(count)]
            model = fit(some, config=config.model, rng=seed, progress=False)
            how = {"model": model, "rng": seed, "progress": False}
            start, neutral = Trust(some, **how), Trust(some, prior="neutral", **how)
            for n in config.rows:
                trust, other = (one.observe(x[:n], y[:n]) for one in (start, neutral))
                yield {
                    "family": family,
                    "kind": kind,
                    "sources": count,
                    "rows": n,
                    "nobody": round(trust.nobody, 4),
                    "BERS": error(trust.predict(asked).mean),
                    "neutral": error(other.predict(asked).mean),
                    "alone": alone[n],
                }


def _inputs(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), (n, MATTER))


def _uneven(rng: np.random.Generator, family: str) -> Function:
    """A function whose mirror image is another one."""
    x = _inputs(rng, 1000)
    while True:
        f = scaled(drawn(rng, family, x), x)
        if abs(np.corrcoef(f(x), f(-x))[0, 1]) <= _ALIKE:
            return f


def _source(
    rng: np.random.Generator, kind: str, f: Function, family: str, config: MisledConfig, name: str
) -> Demonstrations:
    x = _inputs(rng, config.source_rows)
    own = scaled(drawn(rng, family, x), x)
    labels: dict[str, Callable[[], np.ndarray]] = {
        "turned": lambda: _OWN * own(x) - f(x) + _NOISE * rng.standard_normal(len(x)),
        "mirrored": lambda: _OWN * own(x) + f(-x) + _NOISE * rng.standard_normal(len(x)),
        "noise": lambda: rng.standard_normal(len(x)),
        "constant": lambda: np.full(len(x), rng.standard_normal()),
    }
    return Demonstrations(x, labels[kind](), name)


CONFIG = MisledConfig()
QUICK = MisledConfig(
    sources=(1, 2),
    rows=(20,),
    fresh_rows=200,
    model=ModelConfig(hidden=(16,), latent_dim=4, batches=100, learning_rate=1e-2),
)
