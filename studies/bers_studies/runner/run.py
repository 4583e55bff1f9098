"""Run an experiment: one trial per seed, one journal per trial, and go on where it was stopped.

Enters: an experiment (a name, a config, a trial), seeds, a folder. Leaves: journals in the folder,
and the records of all trials that ended well. Whatever is killed, and whenever: trials that came
back are kept, and the same call runs only what is missing, so the records are the same to the last
byte as those of a run that was never disturbed. For that, records must hold no times.

Beside the journals, config.json says what the folder is for; another config or other code is
refused, and so is a second run at the same time.
"""

import operator
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from bers.errors import BersError, ConfigError, FileError
from bers.progress import progress_bar
from bers_studies.runner.folder import StudyFolder, alone, claim
from bers_studies.runner.journal import plain, restored, write_journal
from bers_studies.runner.provenance import provenance, trial_code
from bers_studies.runner.workers import Finished, Trial, finish_each


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


def run(
    experiment: Experiment,
    seeds: Iterable[int],
    folder: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    backend: str = "local",
    address: str | None = None,
    fresh: bool = False,
    progress: bool | None = None,
    label: str = "trials",
) -> Outcome:
    """Run the trials that are not there yet; read all of them back.

    `backend` is "local" (processes of this machine), "ray" (the cluster at `address`, or one that
    is started here) or "here" (in this process, one after the other); `jobs` is how many at once,
    by default as many as there are cores. `fresh` removes the old trials first.

    >>> @dataclass(frozen=True)
    ... class Dice:
    ...     sides: int = 6
    >>> def throw(config, seed):
    ...     yield {"eyes": 1 + seed % config.sides}
    >>> run(Experiment("dice", Dice(), throw), [7, 8], "dice", backend="here")
    Outcome(records=[{'seed': 7, 'eyes': 2}, {'seed': 8, 'eyes': 3}], ok=2, failed=0, tracebacks={})
    """
    seeds = _checked(seeds)
    study = study_folder(experiment, folder)
    with alone(study.folder):
        try:
            with _one_signal_stops() as stop_if_asked:
                claim(study, fresh=fresh)
                missing = [seed for seed in seeds if not study.is_done(seed)]
                results = finish_each(
                    experiment.trial,
                    experiment.config,
                    missing,
                    jobs=jobs,
                    backend=backend,
                    address=address,
                )
                with closing(results), progress_bar(label, len(missing), show=progress) as bar:
                    about = provenance() if missing else {}
                    for finished in results:
                        _keep(study, finished, about)
                        bar(seed=finished.seed)
                        stop_if_asked()
        except _Stopped as stopped:
            raise _go_on(study, seeds, stopped.number) from None
        journals = {seed: study.journal(seed) for seed in seeds}
    good = {seed: journal for seed, journal in journals.items() if not journal.failed}
    return Outcome(
        [{"seed": seed, **record} for seed, journal in good.items() for record in journal.records],
        len(good),
        len(journals) - len(good),
        {seed: j.traceback for seed, j in journals.items() if j.traceback is not None},
    )


def study_folder(experiment: Experiment, folder: str | os.PathLike[str]) -> StudyFolder:
    """The folder as this experiment's, with the code of now."""
    config, code = _as_dict(experiment.config), trial_code(experiment.trial)
    return StudyFolder(experiment.name, config, code, Path(folder))


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


def _keep(study: StudyFolder, finished: Finished, about: Mapping[str, Any]) -> None:
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


def _go_on(study: StudyFolder, seeds: list[int], number: int) -> BaseException:
    kept = 0
    for seed in seeds:
        with suppress(FileError):
            kept += study.is_done(seed)
    message = (
        f"stopped: {kept} of {len(seeds)} trials are kept in {study.folder}. "
        "Give the same command again to go on from there."
    )
    if number == signal.SIGTERM:
        return BersError(message)
    interrupt = KeyboardInterrupt()
    interrupt.add_note(message)
    return interrupt
