"""Where a result comes from: versions, code, machine, command, time.

Enters: nothing. Leaves: a dict for the header of a journal; and a fingerprint of the code that
can change a result. Nothing heavy is imported: versions are read from the packages' metadata.
"""

import functools
import hashlib
import inspect
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bers
from bers.files import file_digest

PACKAGE = Path(bers.__file__).parent
WITHOUT_RESULTS = {"commands", "report", "integrations", "cli.py"}
"""Parts of the package that show or hand on results, but do not change them. A study that runs
through one of them says so: `THROUGH = ("integrations",)`."""


def provenance() -> dict[str, Any]:
    """All of it, for this process and this moment.

    >>> sorted(provenance())[:5]
    ['bers', 'command', 'commit', 'constraints', 'cpu']
    """
    constraints = PACKAGE.parent / "constraints.txt"
    return {
        "bers": bers.__version__,
        **git_state(PACKAGE),
        "constraints": file_digest(constraints) if constraints.is_file() else None,
        **machine(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def machine() -> dict[str, Any]:
    """Versions and processor of the process that computes; a worker's may differ from its parent's.

    >>> machine()["python"].startswith("3.")
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get("NPROC", "")
    return {
        "python": platform.python_version(),
        **{name: _version(name) for name in ("jax", "jaxlib", "numpy", "scipy")},
        "platform": platform.platform(),
        "cpu": _cpu(),
        "threads": int(limit) if limit.isdigit() else cores,
    }


def git_state(package: Path) -> dict[str, Any]:
    """The commit a package folder is at, and whether its files were changed since; else None.

    >>> import pathlib
    >>> git_state(pathlib.Path("nowhere"))
    {'commit': None, 'dirty': None}
    """
    top = _git(package.parent, "rev-parse", "--show-toplevel")
    # an installed package inside of somebody else's repository has no commit of its own
    if top is None or Path(top).resolve() != package.parent.resolve():
        return {"commit": None, "dirty": None}
    commit = _git(package.parent, "rev-parse", "HEAD")
    changes = _git(package.parent, "status", "--porcelain", "--", package.name)
    return {"commit": commit, "dirty": None if changes is None else changes != ""}


@functools.cache
def code_digest(*through: str) -> str:
    """SHA-256 of the code that can change a result: all but commands, report and integrations,
    and of those that results went through.

    >>> len(code_digest())
    64
    """
    return files_digest(PACKAGE, through)


def trial_code(trial: Callable[..., object] | None) -> str:
    """The code that a trial runs: the package, and the trial's own file if it is elsewhere.

    >>> trial_code(files_digest) == code_digest()
    True
    """
    module = getattr(trial, "__module__", "")
    if trial is None or module.startswith("bers."):
        return code_digest(*getattr(sys.modules.get(module), "THROUGH", ()))
    try:
        own = file_digest(inspect.getsourcefile(trial) or "")
        return hashlib.sha256((code_digest() + own).encode()).hexdigest()
    except (OSError, TypeError):  # typed at a prompt, or not a plain function
        return code_digest()


def files_digest(package: Path, through: Collection[str] = ()) -> str:
    """SHA-256 of the names and bytes of a package's .py, .c and .h files that change results.

    `through`: parts that do so only in some studies, and did in this one.

    >>> import pathlib
    >>> _ = pathlib.Path("cli.py").write_text("print()")
    >>> before = files_digest(pathlib.Path("."))
    >>> _ = pathlib.Path("cli.py").write_text("print(1)")
    >>> files_digest(pathlib.Path(".")) == before
    True
    """
    total, without = hashlib.sha256(), WITHOUT_RESULTS.difference(through)
    for path in sorted(package.rglob("*")):
        parts = path.relative_to(package).parts
        if path.suffix in {".py", ".c", ".h"} and parts[0] not in without:
            content = path.read_bytes()
            total.update(f"{'/'.join(parts)}\0{len(content)}\0".encode())
            total.update(content)
    return total.hexdigest()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@functools.cache
def _cpu() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or None


def _git(folder: Path, *command: str) -> str | None:
    """What git answers, or None: no git, no repository, no such folder."""
    try:
        answer = subprocess.run(
            ["git", *command], cwd=folder, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
