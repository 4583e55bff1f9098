"""Statistics, heads and weights at several sizes, in one thread; prints one line of JSON.

Nothing is read and no encoder runs: features are given. Sources are made up in the shape that
`bers.trust` sees: posteriors of 2,000 rows each, and a target that mixes three of them.
"""

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from cpu_clock import Points, cpu_seconds, measured, system_share
from resident import available_bytes
from weights_data import d, mixture

from bers.model import nig
from bers.trust.beliefs import Beliefs
from bers.trust.odds import drawn_odds
from bers.trust.qp.simplex import solve
from bers.trust.rules import weigh

FEATURES = (6, 11, 21, 41, 81, 161)
DRAWS = 400  # as `rank` has it
_ROWS = 65536
_SOURCES = (10, 100, 1000, 10_000, 100_000, 1_000_000)
_MANY = 100_000
_DRAWN = (10, 30, 100, 300, 1000)
_SHARDS = (10, 100, 1000, 10_000)
_HEADS = 100  # at once, where features grow


def main() -> None:
    """Points of every series, and the peak memory per source."""
    memory = {"odds": peak(_odds(10_000)) / 10_000, "draws": peak(_drawn(300)) / 300}
    fitting = [N for N in _SOURCES if N * (memory["odds"] + 8 * d * d) < 0.7 * available_bytes()]
    series = {
        "factor": _per_row(lambda rng, n, k: rng.standard_normal((n, k))),
        "collinear": _per_row(_collinear),
        "head_features": [(k, t / _HEADS) for k, t in _head_features()],
        "heads": measured("heads", {N: _heads(N, d) for N in _SOURCES[:5]}),
        "merge": measured("merge", {n: _merge(n) for n in _SHARDS}),
        "program": measured("program", {N: partial(solve, *mixture(N)) for N in _SOURCES}),
        "odds": [(N, _alone(_odds, N)) for N in fitting],
        "draws": measured("draws", {N: _drawn(N) for N in _DRAWN}, rounds=3),
    }
    system = {
        "sources": _MANY,
        "heads": system_share(_heads(_MANY, d)),
        "odds": system_share(_odds(_MANY)),
    }
    print(json.dumps({"series": series, "memory": memory, "system": system}))


def known(N: int) -> Beliefs:
    """N sources of 2,000 rows, and a target of 200 that is a mixture of the first three."""
    rng = np.random.default_rng(N)
    Phi = np.tanh(rng.standard_normal((2000, d)))
    Phi[:, -1] = 1.0
    noise = 0.5 * rng.standard_normal(2000)
    head = nig.condition(nig.prior(d), nig.summarise(Phi, noise))
    mu = rng.standard_normal((N, d))
    sources = nig.NIG(
        mu,
        np.repeat(head.U[None], N, axis=0),
        np.full(N, float(head.alpha)),
        np.full(N, float(head.beta)),
    )
    y = Phi[:200] @ (np.array([0.5, 0.3, 0.2]) @ mu[:3]) + noise[:200]
    summary = nig.summarise(Phi[:200], y)
    target = nig.condition(nig.prior(d), summary)
    return Beliefs(sources, target, np.full(N, 2000), summary, lambda: (Phi[:200], y))


def peak(call: Callable[[], object]) -> float:
    """Bytes that a call allocates at its peak."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(most)


def _alone(make: Callable[[int], Callable[[], object]], N: int) -> float:
    """Median of a few calls, of one where sources fill the memory; nothing stays behind."""
    call = make(N)
    calls = max(1, min(15, 300_000 // N))
    return float(np.median([cpu_seconds(call) for _ in range(calls)]))


def _odds(N: int) -> Callable[[], object]:
    beliefs = known(N)
    return lambda: weigh(replace(beliefs), "odds")  # a copy has nothing cached


def _drawn(N: int) -> Callable[[], object]:
    beliefs = known(N)
    return lambda: drawn_odds(np.random.default_rng(0), replace(beliefs), DRAWS)


def _per_row(make: Callable[[np.random.Generator, int, int], np.ndarray]) -> Points:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(_ROWS)
    calls = {k: partial(nig.summarise, make(rng, _ROWS, k), y) for k in FEATURES}
    return [(k, seconds / _ROWS) for k, seconds in measured("factor", calls)]


def _collinear(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    Phi = rng.standard_normal((n, k))
    Phi[:, 0] = Phi[:, 1] + 1e-3 * Phi[:, 0]
    return Phi


def _head_features() -> Points:
    return measured("head_features", {k: _heads(_HEADS, k) for k in FEATURES})


def _heads(N: int, k: int) -> Callable[[], object]:
    one = _summary(k)
    many = nig.Summary(np.repeat(one.R[None], N, axis=0), np.full(N, int(one.n)))
    return partial(nig.condition, nig.stack([nig.prior(k)] * N), many)


def _merge(shards: int) -> Callable[[], object]:
    return partial(nig.merge, *[_summary(d)] * shards)


def _summary(k: int) -> nig.Summary:
    rng = np.random.default_rng(k)
    return nig.summarise(rng.standard_normal((4 * k, k)), rng.standard_normal(4 * k))


if __name__ == "__main__":
    main()
