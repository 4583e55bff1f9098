"""Work on a Ray cluster: one that is there, or one that is started for the purpose.

Enters: an address, or none; a function, and the parts to call it on. Leaves: the results, each as
soon as it comes back. A part whose worker died is handed out again, three times at most; an error
of the function itself is raised here and tried once. Workers compute with one thread each, so that
they give the same bits whatever their number. Ray is imported when a cluster is asked for.
"""

import os
import signal
import socket
import sys
import threading
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from typing import Any, NamedTuple

from bers.errors import BersError, ConfigError

RETRIES = 3
"""How often a part is handed out again after its worker died."""
_HANDED_OUT = 1000  # parts that Ray knows of at a time; it runs as many as there are cores
_PATIENCE = 5.0  # seconds to wait for a machine to answer
_LOOK = 0.5  # seconds between two looks whether Ray still runs on this machine
_LIMITS = ["OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR"]
ONE_THREAD = {"NPROC": "1", "VECLIB_MAXIMUM_THREADS": "1"} | {
    f"{name}_NUM_THREADS": "1" for name in _LIMITS
}
"""The environment of a worker: XLA goes by NPROC, libraries of linear algebra by the others."""


class Cluster(NamedTuple):
    """A cluster that this process is connected to."""

    address: str
    environment: dict[str, str]
    """Variables that every worker is started with."""


@contextmanager
def cluster(address: str | None = None, cores: int | None = None) -> Iterator[Cluster]:
    """Within the block, this process is connected to a Ray cluster.

    That is the one at `address`, else the one that RAY_ADDRESS names, else one that is started on
    this machine with so many `cores` and ends with the block. A process that is connected already
    stays so.

    >>> with cluster("head"):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
    bers.errors.ConfigError: the address of a Ray cluster is HOST:PORT or auto; got 'head'. ...
    """
    _check_address(address)
    ray = _import_ray()
    if ray.is_initialized():
        yield _joined(ray, address)
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_address(address)
    environment = dict(ONE_THREAD)
    if address == "local":
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        more = {"num_cpus": cores, "include_dashboard": False}
    else:
        more = {}
    try:
        with _nothing_of_ours_changed():
            _connect(ray, address, more)
        if ray.cluster_resources().get("CPU", 0) < 1:
            raise ConfigError(
                f"the Ray cluster at {address} has no cores to give. "
                f"Add machines to it: ray start --address={address} on each."
            )
        yield Cluster(ray.get_runtime_context().gcs_address, environment)
    finally:
        ray.shutdown()


def results(
    there: Cluster,
    function: Callable[[Any], Any],
    parts: Sequence[Any],
    *,
    jobs: int | None = None,
    lost: Callable[[Any, str], Any] | None = None,
) -> Generator[tuple[int, Any]]:
    """The position of a part and function(part), in the order in which they come back.

    `jobs` is how many are open at a time; without it, as many as the cluster has cores, those that
    join later too. `lost(part, why)` is the result of a part whose workers died again and again;
    without it, that is an error.

    >>> list(results(Cluster("", {}), abs, []))
    []
    """
    if not parts:
        return
    ray = _import_ray()
    task = ray.remote(_call).options(
        num_cpus=1, max_retries=0, runtime_env={"env_vars": there.environment}
    )
    shared, waiting, died = ray.put(function), deque(enumerate(parts)), Counter()
    open_: dict[Any, tuple[int, Any, Any]] = {}
    node = _node(ray)
    try:
        while waiting or open_:
            while waiting and len(open_) < (jobs or _HANDED_OUT):
                i, part = waiting.popleft()
                reference = task.remote(shared, part)
                open_[reference.future()] = i, part, reference
            # not ray.wait, which swallows what a handler of signals raises
            done = wait(open_, timeout=_LOOK, return_when=FIRST_COMPLETED).done
            if not done and node is not None and not _answers(node):
                open_.clear()  # nobody is there who could cancel them
                raise _gone(there)
            for future in done:
                i, part, _ = open_.pop(future)
                error = future.exception()
                if error is None:
                    yield i, future.result()
                    continue
                _raise_unless_died(ray, there, error)
                died[i] += 1
                if died[i] <= RETRIES:
                    waiting.append((i, part))
                elif lost is not None:
                    yield i, lost(part, f"{_first_line(error)}\n{_too_often()}")
                else:
                    raise BersError(f"{_too_often()}.") from error
    finally:
        for _, _, reference in open_.values():
            ray.cancel(reference, force=True)


def in_order(found: Iterator[tuple[int, Any]]) -> Iterator[Any]:
    """Results in the order of their positions; those that come early wait.

    >>> list(in_order(iter([(1, "b"), (0, "a"), (2, "c")])))
    ['a', 'b', 'c']
    """
    early: dict[int, Any] = {}
    position = 0
    for i, result in found:
        early[i] = result
        while position in early:
            yield early.pop(position)
            position += 1


def _call(function: Callable[[Any], Any], part: Any) -> Any:
    return function(part)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ConfigError("backend 'ray' needs Ray: pip install 'bers[ray]'.") from error
    return ray


def _check_address(address: str | None) -> None:
    if address is None or address in ("auto", "local"):
        return
    _, _, port = address.rpartition(":")
    if "://" in address or not port.isdigit() or address.startswith(":"):
        raise ConfigError(
            f"the address of a Ray cluster is HOST:PORT or auto; got {address!r}. "
            "Run this on a machine of the cluster, with the address that ray start shows."
        )


def _joined(ray: Any, address: str | None) -> Cluster:
    """What the user's own program is connected to."""
    there = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", there):
        raise ConfigError(
            f"this process is connected to the Ray cluster at {there}, not {address}. "
            "Leave the address out, or call ray.shutdown() first."
        )
    return Cluster(there, ONE_THREAD)


def _connect(ray: Any, address: str, more: dict[str, Any]) -> None:
    if address not in ("auto", "local") and not _answers(address):
        raise ConfigError(_unreachable(address, "nobody answers"))
    try:
        ray.init(address, log_to_driver=False, logging_level="error", **more)
    except Exception as error:  # Ray raises plain ones too
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__) is not None:
            causes.append(cause)
        if any("AuthenticationError" in f"{type(one).__name__} {one}" for one in causes):
            raise ConfigError(
                f"the Ray cluster at {address} asks for its token. "
                "Set RAY_AUTH_MODE=token and have the token of the cluster on this machine."
            ) from error
        raise ConfigError(_unreachable(address, _first_line(error))) from error


def _unreachable(address: str, reason: str) -> str:
    if address == "local":
        return f"cannot start Ray here: {reason}. Try again, or work without it."
    return (
        f"cannot reach a Ray cluster at {address}: {reason}. Start one there with "
        "ray start --head, and give the address that it shows; without an address, one is "
        "started here."
    )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, OverflowError):
        return False
    return True


@contextmanager
def _nothing_of_ours_changed() -> Iterator[None]:
    """While it starts, Ray sets variables, takes over SIGTERM and warns of its own plans."""
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGTERM) if main else None
    before = dict(os.environ)
    # a cluster of ours tells nobody that it is there
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    asked = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SystemExit:  # Ray's answer to SIGTERM
        asked = True
    finally:
        for name in [name for name in os.environ if name not in before]:
            del os.environ[name]
        if main:
            signal.signal(signal.SIGTERM, signal.SIG_DFL if handler is None else handler)
    if asked:
        signal.raise_signal(signal.SIGTERM)
        raise SystemExit(128 + signal.SIGTERM)


def _raise_unless_died(ray: Any, there: Cluster, error: Any) -> None:
    """Go on if a worker or its machine is gone; else raise what happened."""
    errors = ray.exceptions
    if isinstance(error, errors.RayTaskError):
        raise error.cause from error
    if isinstance(error, errors.LocalRayletDiedError) or not _answers(there.address):
        raise _gone(there) from error
    died = (
        errors.WorkerCrashedError,
        errors.NodeDiedError,
        errors.OutOfMemoryError,
        errors.ObjectLostError,
        errors.TaskCancelledError,
    )
    if not isinstance(error, died):
        raise BersError(
            f"the workers of the Ray cluster cannot start: {_first_line(error)}. "
            "Install the same version of BERS, with the same extras, on every machine."
        ) from error


def _node(ray: Any) -> str | None:
    """Where this machine's part of the cluster answers; without it Ray ends this process."""
    here = ray.get_runtime_context().get_node_id()
    known = [node for node in ray.nodes() if node["NodeID"] == here]
    return f"{known[0]['NodeManagerAddress']}:{known[0]['NodeManagerPort']}" if known else None


def _gone(there: Cluster) -> BersError:
    return BersError(
        f"the Ray cluster at {there.address} is gone. "
        "Start it again, then give the same command again; trials that came back are kept."
    )


def _too_often() -> str:
    why = f"workers died {RETRIES + 1} times, perhaps for want of memory"
    return f"{why}: try again with fewer jobs, or on machines with more of it"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
