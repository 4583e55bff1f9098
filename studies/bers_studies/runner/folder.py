"""A study's folder: whose it is, which trials are there, and that one run works in it at a time.

Enters: the name, config and code of a study, and a folder. Leaves: journals, and answers. Another
config or other code is refused, and so is a second run at the same time.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bers.errors import ConfigError, FileError
from bers.files import write_atomically
from bers_studies.runner.journal import Journal, canonical, plain, read_journal, seal, unseal

_ELSEWHERE = "Choose another folder with --out, or start again with --fresh."
_PATIENCE = 30  # tenths of a second to wait for a lock


class StudyFolder(NamedTuple):
    """An experiment in its folder."""

    name: str
    config: dict[str, Any]
    code: str
    folder: Path

    def id(self, seed: int) -> str:
        """Another config, seed or code has another id."""
        return _sha(canonical(plain({**self.about(), "seed": seed})))

    def path(self, seed: int) -> Path:
        """Where the journal of a trial is, or will be."""
        return self.folder / f"trial-{seed:04d}-{self.id(seed)[:8]}.jsonl"

    def about(self) -> dict[str, Any]:
        """For headers, and for the folder's own file."""
        return {"name": self.name, "config": self.config, "code": self.code}

    def journal(self, seed: int) -> Journal:
        """The journal of a trial."""
        found = read_journal(self.path(seed))
        if found.header.get("id") != self.id(seed):
            raise FileError(
                f"{self.path(seed)}, line 1: the journal of another trial under this name. "
                "Delete the file and run the same command again."
            )
        return found

    def is_done(self, seed: int) -> bool:
        """Whether a trial has ended well."""
        return self.path(seed).exists() and not self.journal(seed).failed


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the kernel releases it however the process ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise FileError(
            f"cannot write in {folder}: {error.strerror}. "
            "Choose another folder with --out, or make this one writable."
        ) from error
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    """Take the lock; what is left of a run that was just killed may hold it for a moment."""
    for left in range(_PATIENCE, -1, -1):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if not left:
                raise ConfigError(
                    f"another run is at work in {folder}. "
                    "Wait until it has ended, or choose another folder with --out."
                ) from error
            time.sleep(0.1)


def claim(study: StudyFolder, *, fresh: bool) -> None:
    """Make the folder this study's, or refuse."""
    path, old = study.folder / "config.json", list(study.folder.glob("trial-*.jsonl"))
    there = _there(study)
    if there is not None and there["name"] != study.name:
        raise ConfigError(_other_study(study, there))
    if fresh:
        for journal in old:
            _remove(journal)
    elif why := _why_not(study, there, old=bool(old)):
        raise ConfigError(why)
    if fresh or there is None:
        with write_atomically(path) as temporary:
            temporary.write_text(seal(study.about()) + "\n")


def refused(study: StudyFolder) -> str | None:
    """Why the study could not go on in its folder, if so; nothing is changed."""
    there = _there(study)
    if there is not None and there["name"] != study.name:
        return _other_study(study, there)
    return _why_not(study, there, old=any(study.folder.glob("trial-*.jsonl")))


def _there(study: StudyFolder) -> dict[str, Any] | None:
    path = study.folder / "config.json"
    if not path.exists():
        return None
    return unseal(path.read_bytes().removesuffix(b"\n"), str(path))


def _other_study(study: StudyFolder, there: Mapping[str, Any]) -> str:
    return (
        f"{study.folder} holds the experiment {there['name']!r}, not {study.name!r}. "
        "Choose another folder with --out."
    )


def _why_not(study: StudyFolder, there: Mapping[str, Any] | None, *, old: bool) -> str | None:
    if there is None:
        return f"{study.folder} holds trials but no config.json. {_ELSEWHERE}" if old else None
    if not _same(there["config"], study.config):
        return (
            f"{study.folder} holds trials with another config: "
            f"{_differences(there['config'], study.config)}. {_ELSEWHERE}"
        )
    if there["code"] != study.code:
        return (
            f"the trials in {study.folder} were made by other code: "
            "choose another folder with --out, or start again with --fresh."
        )
    return None


def _remove(journal: Path) -> None:
    try:
        journal.unlink()
    except OSError as error:
        raise FileError(
            f"cannot remove {journal}: {error.strerror}. Choose another folder with --out."
        ) from error


def _differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> str:
    found = []
    for key in sorted(there.keys() | here.keys()):
        one, other = there.get(key, "not set"), here.get(key, "not set")
        if isinstance(one, Mapping) and isinstance(other, Mapping) and not _same(one, other):
            found.append(_differences(one, other, f"{prefix}{key}."))
        elif not _same(one, other):
            found.append(f"{prefix}{key} is {one!r} there and {other!r} here")
    return "; ".join(found)


def _same(one: Any, other: Any) -> bool:
    return canonical(plain(one)) == canonical(plain(other))  # NaN is the same as NaN


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
