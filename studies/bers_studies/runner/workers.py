"""Trials at once: in processes, on a Ray cluster, or here, one after the other.

Enters: a trial, its config, and seeds. Leaves: what each trial found, as soon as it comes back, in
any order. A trial that fails is a finding too: its records so far and its traceback. Workers
compute with one thread each, so that they do not get in each other's way and give the same bits
whatever their number. A worker that is killed is replaced: a process of this machine once, one of
a Ray cluster three times for each trial.
"""

import multiprocessing
import os
import signal
import socket
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from bers.cluster import cluster, results
from bers.errors import BersError, ConfigError, DataError
from bers.parallel import stay
from bers_studies.runner.journal import plain, restored
from bers_studies.runner.provenance import machine, trial_code

Trial = Callable[[Any, int], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Finished:
    """One trial that came back."""

    seed: int
    records: list[dict[str, Any]]
    traceback: str | None
    """Of a trial that failed."""
    machine: dict[str, Any]
    """Versions and processor where it ran, and the seconds it took."""


def finish(trial: Trial, config: Any, seed: int) -> Finished:
    """Run one trial to its end, or to its error.

    >>> def halves(config, seed):
    ...     yield {"half": seed / 2}
    >>> finish(halves, None, 3).records
    [{'half': 1.5}]
    """
    records: list[dict[str, Any]] = []
    error, started = None, time.perf_counter()
    try:
        for record in trial(config, seed):
            where = f"record {len(records) + 1} of seed {seed}"
            if not isinstance(record, Mapping):
                raise DataError(f"{where} is a {type(record).__name__}. Yield dicts only.")
            if not isinstance(record.get("data_digests", {}), Mapping):
                raise DataError(f"{where}: data_digests must be a dict of names and digests.")
            records.append(restored(plain(record, where)))
    except (Exception, SystemExit):
        error = traceback.format_exc()
    seconds = round(time.perf_counter() - started, 1)
    return Finished(seed, records, error, {**machine(), "seconds": seconds})


def finish_each(
    trial: Trial,
    config: Any,
    seeds: Sequence[int],
    *,
    jobs: int | None,
    backend: str,
    address: str | None = None,
) -> Generator[Finished]:
    """Run all trials; if a worker is killed, those that are missing are run once more.

    >>> def halves(config, seed):
    ...     yield {"half": seed / 2}
    >>> [one.seed for one in finish_each(halves, None, [2, 1], jobs=None, backend="here")]
    [2, 1]
    """
    if backend not in _BACKENDS:
        raise ConfigError(f"backend must be one of {', '.join(_BACKENDS)}; got {backend!r}.")
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs must be at least 1; got {jobs}. Leave it out to use all cores.")
    if address is not None and backend != "ray":
        raise ConfigError("an address is that of a Ray cluster: give --backend ray with it.")
    work = partial(_on_ray, address=address) if backend == "ray" else _BACKENDS[backend]
    missing = list(seeds)
    for last in (False, True):
        try:
            with closing(work(trial, config, tuple(missing), jobs)) as found:
                for finished in found:
                    missing.remove(finished.seed)
                    yield finished
            return
        except BrokenProcessPool as error:
            if last:
                raise BersError(
                    f"workers were killed twice while seeds {missing} were open, perhaps for want "
                    "of memory. Give the same command again with fewer jobs: it goes on from here."
                ) from error


def _here(trial: Trial, config: Any, seeds: Sequence[int], jobs: int | None) -> Generator[Finished]:
    for seed in seeds:
        yield finish(trial, config, seed)


def _in_processes(
    trial: Trial, config: Any, seeds: Sequence[int], jobs: int | None
) -> Generator[Finished]:
    import joblib

    jobs = min(jobs or joblib.cpu_count(), len(seeds))
    with joblib.parallel_config(
        backend="loky",
        inner_max_num_threads=1,
        initializer=_start_worker,
        initargs=(os.getpid(),),
    ):
        pool: Any = joblib.Parallel(
            n_jobs=max(jobs, 2),  # with one, joblib would work in the user's own process
            pre_dispatch=jobs,  # pyright: ignore[reportArgumentType]
            batch_size=1,  # pyright: ignore[reportArgumentType]
            max_nbytes=None,
            return_as="generator_unordered",
        )
        found = pool(joblib.delayed(finish)(trial, config, seed) for seed in seeds)
    try:
        for finished in found:  # noqa: UP028 (it would close them before the warning is silenced)
            yield finished
    except BaseException:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of results nobody took
            found.close()
        _kill_workers()
        raise


def _kill_workers() -> None:
    """End what joblib could not: without psutil it needs the program pgrep, or leaves them."""
    for worker in multiprocessing.active_children():
        if worker.name.startswith("LokyProcess") and worker.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


def _start_worker(parent: int) -> None:
    """Once in each worker, before anything else.

    XLA sizes its pool of threads by NPROC when JAX first computes; the user's own process is left
    alone. Ctrl-C reaches the whole group of processes, but only the parent acts on it. A parent
    that is killed cannot stop its workers, so they watch it.
    """
    stay()
    os.environ["NPROC"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _on_ray(
    trial: Trial,
    config: Any,
    seeds: Sequence[int],
    jobs: int | None,
    address: str | None = None,
) -> Generator[Finished]:
    import joblib

    if not seeds:
        return
    work = partial(_finish_there, trial, config, _travelling_code(trial))
    with (
        cluster(address, min(jobs or joblib.cpu_count(), len(seeds))) as there,
        closing(results(there, work, seeds, jobs=jobs, lost=_lost)) as found,
    ):
        for _, finished in found:
            yield finished


def _finish_there(trial: Trial, config: Any, code: str, seed: int) -> Finished:
    """On a machine that may have other code than the one that asks."""
    if _travelling_code(trial) != code:
        raise ConfigError(
            f"the machine {socket.gethostname()} of the Ray cluster has other code than this one. "
            "Install the same version of BERS, and of your own modules, on every machine."
        )
    return finish(trial, config, seed)


def _travelling_code(trial: Trial) -> str:
    """The code that has to be there already: a trial of the main program is sent along."""
    return trial_code(None if getattr(trial, "__module__", "") == "__main__" else trial)


def _lost(seed: int, why: str) -> Finished:
    """A trial whose workers died again and again has failed; the others go on."""
    return Finished(seed, [], why, machine())


_BACKENDS = {"local": _in_processes, "ray": _on_ray, "here": _here}
