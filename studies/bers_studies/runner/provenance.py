"""Where a result comes from: versions, code, machine, command, time.

Enters: nothing. Leaves: a dict for the header of a journal; and a fingerprint of the code that
can change a result. Nothing heavy is imported: versions are read from the packages' metadata.
"""

import ast
import functools
import hashlib
import inspect
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bers
import bers_studies
from bers.integrity import file_digest

PACKAGES: dict[str, Sequence[str]] = {"bers": bers.__path__, "bers_studies": bers_studies.__path__}
"""Where our code is."""


def provenance() -> dict[str, Any]:
    """All of it, for this process and this moment.

    >>> sorted(provenance())[:5]
    ['bers', 'command', 'commit', 'constraints', 'cpu']
    """
    package = Path(PACKAGES["bers"][0])
    constraints = package.parent / "constraints.txt"
    return {
        "bers": bers.__version__,
        **git_state(package),
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
    changes = _git(package.parent, "status", "--porcelain", "--", package.name, "studies")
    return {"commit": commit, "dirty": None if changes is None else changes != ""}


def trial_code(trial: Callable[..., object] | None) -> str:
    """SHA-256 of the code that a trial runs; None stands for a trial that travels by itself.

    A trial typed at a prompt, or of a kind without a file, has no code of its own.
    """
    module = getattr(trial, "__module__", "")
    if trial is None or not module:
        return code_digest()
    if module.split(".")[0] in PACKAGES:
        return code_digest(module)
    try:
        own = Path(inspect.getsourcefile(trial) or "").read_text()  # pyright: ignore
    except (OSError, TypeError):
        return code_digest()
    return code_digest(source=own)


@functools.cache
def code_digest(module: str = "", *, source: str = "") -> str:
    """SHA-256 of a module or a source text, and of all of ours that it imports.

    What Python does counts: comments, docstrings and blank lines do not. So a study can be resumed
    after a change that it does not run through.

    >>> len(code_digest("bers_studies.grunfeld.study"))
    64
    >>> code_digest(source="x = 1  # one") == code_digest(source="x = 1")
    True
    """
    total = hashlib.sha256(_bare(source).encode())
    for name in sorted(closure(module, source)):
        content = _code(name)[0]
        total.update(f"{name}\0{len(content)}\0{content}".encode())
    for path in sorted(Path(PACKAGES["bers"][0]).rglob("*.[ch]")):
        total.update(path.read_bytes())
    return total.hexdigest()


def closure(module: str = "", source: str = "") -> set[str]:
    """The modules of ours that a module or a source text needs, itself included.

    Those that a package finds by itself, such as formats of files, are among them.

    >>> "bers.model.nig" in closure("bers.model.neural_linear")
    True
    """
    found: set[str] = set()
    waiting = [module] if module else list(_imports(ast.parse(source)))
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += _code(name)[1]
    return found


@functools.cache
def _code(module: str) -> tuple[str, tuple[str, ...]]:
    """What a module of ours does, without comments, and which others it needs."""
    place = _path(module)
    text = place.read_text()
    needed = list(_imports(ast.parse(text)))
    if place.name == "__init__.py" and "iter_modules(__path__)" in text:
        needed += [f"{module}.{inner.stem}" for inner in place.parent.glob("[!_]*.py")]
    return _bare(text), tuple(needed)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Modules of ours, wherever the import stands; a package's own code counts as well."""
    public = bers._WHERE  # what `bers.fit` stands for
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "bers":
            names = [public.get(alias.name, f"bers.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "bers":
            names = [public[node.attr]] if node.attr in public else []
        for name in names:
            parts = name.split(".")
            if parts[0] not in PACKAGES:
                continue
            for end in range(2, len(parts) + 1):
                inner = ".".join(parts[:end])
                if _path(inner).is_file() and not _is_record(inner):
                    yield inner


def _path(module: str) -> Path:
    top, *rest = module.split(".")
    places = [Path(root).joinpath(*rest) for root in PACKAGES[top]]
    files = [
        place / "__init__.py" if place.is_dir() else place.with_suffix(".py") for place in places
    ]
    return next((file for file in files if file.is_file()), files[0])


def _is_record(module: str) -> bool:
    """Whether this is what is told of a study before it is run; no result depends on it."""
    path = _path(module)
    return path.name == "__init__.py" and (path.parent / "study.py").is_file()


def _bare(source: str) -> str:
    """A source text without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # pyright: ignore[reportAttributeAccessIssue]
    return ast.unparse(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


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
