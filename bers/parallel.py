"""Work on many parts at once: in threads, in processes, or on a Ray cluster.

Enters: a function and the parts it is to be called on. Leaves: its results, in the parts' order,
so sums over them have the same bits wherever the work was done. Who does the work is handed from
function to function as `workers`, a map: nothing here is remembered.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from bers.errors import ConfigError

Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Like Python's own map: a function and parts go in, results come out in the same order."""
Backend = Literal["threads", "processes", "ray"]
BACKENDS: tuple[Backend, ...] = ("threads", "processes", "ray")
THREADS = min(os.cpu_count() or 1, 8)


def map_of(workers: int | Map | None) -> Map | None:
    """A map from what a user wrote: a map, a number of processes; None for 1, a plain loop.

    As in SciPy, -1 stands for all cores.

    >>> map_of(1) is None, map_of(map) is map
    (True, True)
    """
    if workers is None or callable(workers):
        return workers
    whole = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
    if not whole or (workers < 1 and workers != -1):
        raise ConfigError(
            f"workers must be a whole number or map-like; got {workers!r}. Give 1 or more, or -1 "
            "for all cores."
        )
    if workers == 1:
        return None
    import joblib

    pool = joblib.Parallel(n_jobs=int(workers))
    return lambda function, parts: pool(joblib.delayed(function)(part) for part in parts)


@contextmanager
def pool(backend: Backend, jobs: int | None = None, address: str | None = None) -> Iterator[Map]:
    """A map that works on parts by this backend, until the block ends.

    "ray" uses the cluster at `address`, or the one that Ray is connected to, or starts one on this
    machine; a worker that dies is replaced.

    >>> with pool("processes", jobs=2) as workers:
    ...     list(workers(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    if backend not in BACKENDS:
        raise ConfigError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    if address is not None and backend != "ray":
        raise ConfigError("an address is that of a Ray cluster: give --backend ray with it.")
    with _ray(jobs, address) if backend == "ray" else _joblib(backend, jobs) as workers:
        yield workers


@contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[Map]:
    import joblib

    from bers.cluster import cluster, in_order, results

    with cluster(address, jobs or joblib.cpu_count()) as there:
        yield lambda function, parts: in_order(results(there, function, parts, jobs=jobs))


@contextmanager
def _joblib(backend: Backend, jobs: int | None) -> Iterator[Map]:
    import joblib

    name = {"threads": "threading", "processes": "loky"}[backend]
    more: dict[str, Any] = {"initializer": stay} if backend == "processes" else {}

    def work(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        yield from joblib.Parallel(return_as="generator")(
            joblib.delayed(function)(part) for part in parts
        )

    with joblib.parallel_config(backend=name, n_jobs=jobs or THREADS, **more):
        yield work


def stay() -> None:
    """In a worker process: do not leave for having grown.

    With psutil installed, joblib's workers take memory that JAX keeps for a leak and go; if the
    pool is busy at that moment, it can wait for ever.

    >>> stay()
    """
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # pyright: ignore


def in_threads(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """A map of plain threads: they start ten times as fast as joblib."""
    with ThreadPoolExecutor(THREADS) as threads:
        waiting = [threads.submit(function, part) for part in parts]
        try:
            for one in waiting:
                yield one.result()
        finally:
            threads.shutdown(cancel_futures=True)
