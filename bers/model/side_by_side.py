"""Work on many parts at once: in threads, in processes, or on a Ray cluster.

Enters: a function and the parts it is to be called on. Leaves: its results, in the parts' order,
so sums over them have the same bits wherever the work was done. Plain threads are the default;
within `work_on`, parts on disk go through joblib, whose backend can be chosen.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from bers.errors import ConfigError

Backend = Literal["threads", "processes", "ray"]
BACKENDS: tuple[Backend, ...] = ("threads", "processes", "ray")
THREADS = min(os.cpu_count() or 1, 8)

_chosen: ContextVar[Backend | None] = ContextVar("backend", default=None)


@contextmanager
def work_on(backend: Backend, jobs: int | None = None) -> Iterator[None]:
    """Within the block, parts on disk are worked on by this backend.

    "ray" uses the cluster that Ray is connected to, or starts one on this machine.

    >>> with work_on("processes", jobs=2):
    ...     list(each(abs, [-1, -2, -3]))
    [1, 2, 3]
    """
    if backend not in BACKENDS:
        raise ConfigError(f"backend must be one of {', '.join(BACKENDS)}; got {backend!r}.")
    import joblib

    if backend == "ray":
        try:
            from ray.util.joblib import register_ray
        except ImportError as error:
            raise ConfigError("backend 'ray' needs Ray: pip install 'bers[ray]'.") from error
        register_ray()
    name = {"threads": "threading", "processes": "loky", "ray": "ray"}[backend]
    more: dict[str, Any] = {"initializer": stay} if backend == "processes" else {}
    before = _chosen.set(backend)
    try:
        with joblib.parallel_config(
            backend=name, n_jobs=jobs or (-1 if backend == "ray" else THREADS), **more
        ):
            yield
    finally:
        _chosen.reset(before)


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
    backend = _chosen.get()
    if backend is None:
        yield from each_in_memory(function, parts)
        return
    import joblib

    # Ray's backend cannot hand over results one by one
    workers = joblib.Parallel(return_as="list" if backend == "ray" else "generator")
    yield from workers(joblib.delayed(function)(part) for part in parts)


def each_in_memory(function: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
    """The same in plain threads, whatever was chosen: they start ten times as fast as joblib."""
    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(function, part) for part in parts]
        try:
            for one in waiting:
                yield one.result()
        finally:
            pool.shutdown(cancel_futures=True)
