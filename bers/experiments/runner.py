"""Run an experiment: one trial per seed, one journal per trial, and go on where it was stopped.

Enters: an experiment (a name, a config, a trial), seeds, a folder. Leaves: journals in the folder,
and the records of all trials that ended well. Whatever is killed, and whenever: trials that came
back are kept, and the same call runs only what is missing, so the records are the same to the last
byte as those of a run that was never disturbed. For that, records must hold no times.

Beside the journals, config.json says what the folder is for; another config or other code is
refused, and so is a second run at the same time.
"""

import fcntl
import hashlib
import inspect
import operator
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bers.errors import BersError, ConfigError, FileError
from bers.experiments.provenance import code_digest, provenance
from bers.experiments.workers import Finished, Trial, finish_each
from bers.files import file_digest, write_atomically
from bers.journal import (
    Journal,
    canonical,
    plain,
    read_journal,
    restored,
    seal,
    unseal,
    write_journal,
)
from bers.progress import progress_bar

_ELSEWHERE = "Choose another folder with --out, or start again with --fresh."


_PATIENCE = 30  # tenths of a second to wait for a lock


@dataclass(frozen=True)
class Experiment:
    """What is done for every seed."""

    name: str
    config: Any
    """A frozen dataclass of settings; it is kept in every journal."""
    trial: Trial
    """A function of the config and a seed that yields records: dicts of numbers and text.

    It stands at the top of a module. A key "data_digests" goes to the journal's header."""


@dataclass(frozen=True)
class Outcome:
    """What an experiment found."""

    records: list[dict[str, Any]]
    """Of the trials that ended well, in the order of the seeds; each names its seed."""
    ok: int
    """Trials that ended well."""
    failed: int
    """Trials that ended with an error; they are run again next time."""
    tracebacks: dict[int, str] = field(default_factory=dict)
    """Of the failed trials, by seed."""


class _Study(NamedTuple):
    """An experiment in its folder."""

    name: str
    config: dict[str, Any]
    code: str
    folder: Path

    def id(self, seed: int) -> str:
        """Another config, seed or code has another id."""
        return _sha(canonical(plain({**self.about(), "seed": seed})))

    def path(self, seed: int) -> Path:
        return self.folder / f"trial-{seed:04d}-{self.id(seed)[:8]}.jsonl"

    def about(self) -> dict[str, Any]:
        return {"name": self.name, "config": self.config, "code": self.code}


def run(
    experiment: Experiment,
    seeds: Iterable[int],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    backend: str = "processes",
    fresh: bool = False,
    progress: bool | None = None,
) -> Outcome:
    """Run the trials that are not there yet; read all of them back.

    `backend` is "processes", "ray" or "here" (in this process, one after the other); `jobs` is how
    many at once, by default as many as there are cores. `fresh` removes the old trials first.

    >>> @dataclass(frozen=True)
    ... class Dice:
    ...     sides: int = 6
    >>> def throw(config, seed):
    ...     yield {"eyes": 1 + seed % config.sides}
    >>> run(Experiment("dice", Dice(), throw), [7, 8], "dice", backend="here")
    Outcome(records=[{'seed': 7, 'eyes': 2}, {'seed': 8, 'eyes': 3}], ok=2, failed=0, tracebacks={})
    """
    seeds = _checked(seeds)
    study = _Study(
        experiment.name, _as_dict(experiment.config), _code(experiment.trial), Path(folder)
    )
    with _alone(study.folder):
        try:
            with _one_signal_stops() as stop_if_asked:
                _claim(study, fresh)
                missing = [seed for seed in seeds if not _is_done(study, seed)]
                results = finish_each(
                    experiment.trial, experiment.config, missing, jobs=jobs, backend=backend
                )
                with closing(results), progress_bar("trials", len(missing), show=progress) as bar:
                    about = provenance() if missing else {}
                    for finished in results:
                        _keep(study, finished, about)
                        bar(seed=finished.seed)
                        stop_if_asked()
        except _Stopped as stopped:
            raise _go_on(study, seeds, stopped.number) from None
        journals = {seed: _journal(study, seed) for seed in seeds}
    good = {seed: journal for seed, journal in journals.items() if not journal.failed}
    return Outcome(
        [{"seed": seed, **record} for seed, journal in good.items() for record in journal.records],
        len(good),
        len(journals) - len(good),
        {seed: j.traceback for seed, j in journals.items() if j.traceback is not None},
    )


def _checked(seeds: Iterable[int]) -> list[int]:
    found = [operator.index(seed) for seed in seeds]
    twice = sorted({seed for seed in found if found.count(seed) > 1})
    if twice:
        raise ConfigError(f"seeds given twice: {twice}. They would fake precision; give each once.")
    if not found or min(found) < 0:
        raise ConfigError(f"seeds must be one or more whole numbers from 0 on; got {found}.")
    return found


def _as_dict(config: Any) -> dict[str, Any]:
    if not is_dataclass(config) or isinstance(config, type):
        raise ConfigError(f"config must be a dataclass; got {type(config).__name__}.")
    return restored(plain(asdict(config), "config"))


def _code(trial: Trial) -> str:
    """The code that a trial runs: the package, and the trial's own file if it is elsewhere."""
    if getattr(trial, "__module__", "").startswith("bers."):
        return code_digest()
    try:
        return _sha(code_digest() + file_digest(inspect.getsourcefile(trial) or ""))
    except (OSError, TypeError):  # typed at a prompt, or not a plain function
        return code_digest()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
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


def _claim(study: _Study, fresh: bool) -> None:
    """Make the folder this study's, or refuse."""
    path, old = study.folder / "config.json", list(study.folder.glob("trial-*.jsonl"))
    known = path.exists()
    there = unseal(path.read_bytes().removesuffix(b"\n"), str(path)) if known else {}
    if known and there["name"] != study.name:
        raise ConfigError(
            f"{study.folder} holds the experiment {there['name']!r}, not {study.name!r}. "
            "Choose another folder with --out."
        )
    if fresh:
        for journal in old:
            _remove(journal)
    elif known and not _same(there["config"], study.config):
        raise ConfigError(
            f"{study.folder} holds trials with another config: "
            f"{_differences(there['config'], study.config)}. {_ELSEWHERE}"
        )
    elif known and there["code"] != study.code:
        raise ConfigError(
            f"the trials in {study.folder} were made by other code: "
            "choose another folder with --out, or start again with --fresh."
        )
    elif old and not known:
        raise ConfigError(f"{study.folder} holds trials but no config.json. {_ELSEWHERE}")
    if fresh or not known:
        with write_atomically(path) as temporary:
            temporary.write_text(seal(study.about()) + "\n")


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


def _journal(study: _Study, seed: int) -> Journal:
    journal = read_journal(study.path(seed))
    if journal.header.get("id") != study.id(seed):
        raise FileError(
            f"{study.path(seed)}, line 1: the journal of another trial under this name. "
            "Delete the file and run the same command again."
        )
    return journal


def _is_done(study: _Study, seed: int) -> bool:
    return study.path(seed).exists() and not _journal(study, seed).failed


def _keep(study: _Study, finished: Finished, about: Mapping[str, Any]) -> None:
    """One trial that came back goes to disk at once."""
    digests: dict[str, Any] = {}
    records = []
    for record in finished.records:
        digests |= record.pop("data_digests", {})
        if record:
            records.append(record)
    now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    header = {
        "id": study.id(finished.seed),
        **study.about(),
        "seed": finished.seed,
        "data_digests": digests,
        "provenance": {**about, **finished.machine, "time": now},
    }
    write_journal(study.path(finished.seed), header, records, traceback=finished.traceback)


class _Stopped(BaseException):
    """Ctrl-C or SIGTERM; no trial catches it by mistake."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _one_signal_stops() -> Iterator[Callable[[], None]]:
    """Ctrl-C and SIGTERM raise `_Stopped`; a second one does not disturb the tidying up."""
    asked: list[int] = []
    before: dict[signal.Signals, Any] = {}

    def stop(number: int, _: object) -> None:
        asked.append(number)
        # also for the programs that joblib starts to stop its workers: they inherit it
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise _Stopped(number)

    def stop_if_asked() -> None:  # an exception that was raised within a destructor is lost
        if asked:
            raise _Stopped(asked[0])

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.getsignal(number)
                signal.signal(number, stop)
    try:
        yield stop_if_asked
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _go_on(study: _Study, seeds: list[int], number: int) -> BaseException:
    kept = 0
    for seed in seeds:
        with suppress(FileError):
            kept += _is_done(study, seed)
    message = (
        f"stopped: {kept} of {len(seeds)} trials are kept in {study.folder}. "
        "Give the same command again to go on from there."
    )
    if number == signal.SIGTERM:
        return BersError(message)
    interrupt = KeyboardInterrupt()
    interrupt.add_note(message)
    return interrupt


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
