"""Work on many parts at once: in threads, in processes, or on a Ray cluster.

Enters: a function and the parts it is to be called on. Leaves: its results, in the parts' order,
so sums over them have the same bits wherever the work was done. Plain threads are the default;
within `work_on`, parts on disk go through joblib, or to a Ray cluster.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from bers.cluster import cluster, in_order, results
from bers.errors import ConfigError

Backend = Literal["threads", "processes", "ray"]
BACKENDS: tuple[Backend, ...] = ("threads", "processes", "ray")
THREADS = min(os.cpu_count() or 1, 8)

Work = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
_chosen: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def work_on(
    backend: Backend, jobs: int | None = None, address: str | None = None
) -> Iterator[None]:
    """Within the block, parts on disk are worked on by this backend.

    "ray" uses the cluster at `address`, or the one that Ray is connected to, or starts one on this
    machine; a worker that dies is replaced.

    >>> with work_on("processes", jobs=2):
    ...     list(each(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    if backend not in BACKENDS:
        raise ConfigError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    if address is not None and backend != "ray":
        raise ConfigError("an address is that of a Ray cluster: give --backend ray with it.")
    with _ray(jobs, address) if backend == "ray" else _joblib(backend, jobs) as work:
        before = _chosen.set(work)
        try:
            yield
        finally:
            _chosen.reset(before)


@contextmanager
def _ray(jobs: int | None, address: str | None) -> Iterator[Work]:
    import joblib

    with cluster(address, jobs or joblib.cpu_count()) as there:
        yield lambda function, parts: in_order(results(there, function, parts, jobs=jobs))


@contextmanager
def _joblib(backend: Backend, jobs: int | None) -> Iterator[Work]:
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


def each(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """function(part) for every part, in order, by the chosen backend, or else in plain threads."""
    yield from (_chosen.get() or each_in_memory)(function, parts)


def each_in_memory(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """The same in plain threads, whatever was chosen: they start ten times as fast as joblib."""
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(function, part) for part in parts]
        try:
            for one in waiting:
                yield one.result()
        finally:
            pool.shutdown(cancel_futures=True)
