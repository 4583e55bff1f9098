"""`bers-studies reproduce`: the long experiments, with their tables and pictures.

Enters: names of experiments; none means all. Leaves: journals, tables and pictures in a folder for
each. What is there already is not run again.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from bers.cli.common import Progress, make_folder, new_console, print_table
from bers.errors import ConfigError
from bers_studies.study import Study, studies, study_named

_NAMES = ", ".join(studies())
_ME = "bers-studies"
_QUICK_LOOK = "about 8 minutes"


def reproduce(
    what: Annotated[list[str] | None, typer.Argument(help=f"{_NAMES}; all by default.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder; runs/WHAT by default, or quick/WHAT."),
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Else as each study has it.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quick look: few trials, short runs, marked so.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what there is to do, and how long it will take.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once.")] = None,
    backend: Annotated[
        str, typer.Option(help="Who runs the trials: local, ray or here.")
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster; else one is started here.")
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Throw away trials that are there.")] = False,
    progress: Progress = None,
) -> None:
    """Run the long experiments, or what is left of them, and draw their pictures.

    Trials that are there already are not run again; after a stop the same command goes on. What
    is stored in reproductions/ was made so too: `bers-studies compare` sets two side by side.
    """
    names = list(dict.fromkeys(what or studies()))
    chosen = [study_named(name) for name in names]
    if out is not None and len(chosen) > 1:
        raise ConfigError("--out is for one experiment. Name it, or leave --out out.")
    root = Path("quick" if quick else "runs")
    if dry_run:
        return _tell([(study, out or root / study.name) for study in chosen], trials, quick, jobs)
    how = {"jobs": jobs, "backend": backend, "address": address, "fresh": fresh}
    failed = []
    for study in [] if what else [study for study in chosen if study.missing]:
        lost = ", ".join(study.missing)
        failed.append(f"{_ME}: {study.name} was left out: it needs {lost}. Run `make venv`.")
        chosen.remove(study)
    with _compiled_once():
        for i, study in enumerate(chosen, start=1):
            if len(names) > 1:
                title = f"\n{study.name} ({i} of {len(chosen)})"
                new_console().print(title, style="bold", markup=False)
            failed += _run(study, out or root / study.name, trials, quick, progress, how)
    if failed:
        print(*failed, sep="\n", file=sys.stderr)
        raise typer.Exit(1)


@contextmanager
def _compiled_once() -> Iterator[None]:
    """What one worker process compiles, the others take; in a folder that only this user reads."""
    from bers_studies.runner.own_folder import passing_folder

    chosen = "JAX_COMPILATION_CACHE_DIR" in os.environ
    with passing_folder("compiled-") as folder:
        if not chosen:
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        try:
            yield
        finally:
            if not chosen:
                del os.environ["JAX_COMPILATION_CACHE_DIR"]


def _run(
    study: Study,
    folder: Path,
    trials: int | None,
    quick: bool,
    progress: bool | None,
    how: dict[str, Any],
) -> list[str]:
    """One study with its tables and pictures; what failed, in words."""
    from bers_studies.report.figures import QUICK
    from bers_studies.runner.run import run

    seeds = study.seeds(trials, quick=quick)
    make_folder(folder)
    if quick:
        (folder / QUICK).touch()
    experiment = study.experiment(quick=quick)
    with redirect_stdout(sys.stderr):  # Ray tells of dead workers on standard output
        outcome = run(experiment, seeds, folder, progress=progress, label=study.name, **how)
    if outcome.ok:
        _report(study, folder)
    if not outcome.failed:
        return []
    seed, traceback = next(iter(outcome.tracebacks.items()))
    return [
        f"{_ME}: {outcome.failed} of {outcome.ok + outcome.failed} trials failed; seed {seed} with "
        f"{traceback.strip().splitlines()[-1]}. The journals hold the rest."
    ]


def _report(study: Study, out: Path) -> None:
    """Tables and pictures, from the journals alone."""
    from bers.files import write_atomically

    for picture, draw in study.figures.items():
        draw(out, out / picture)
        new_console().print(f"Picture: {out / picture}", markup=False)
    if study.tables is not None:
        tables = study.tables(out)
        with write_atomically(out / "tables.md") as temporary:
            temporary.write_text(tables)
        _print_tables(tables)


def _print_tables(text: str) -> None:
    """Markdown as a terminal shows it."""
    from bers_studies.report.markdown import to_plain

    for block in to_plain(text):
        if block.headings:
            print_table(block.headings, block.rows)
            new_console().print()
        elif block.words:
            new_console().print(block.words, style="bold", markup=False)


def _tell(
    folders: list[tuple[Study, Path]], trials: int | None, quick: bool, jobs: int | None
) -> None:
    """What is done, what is missing, and how long that takes."""
    from bers_studies.runner.folder import refused
    from bers_studies.runner.run import study_folder

    at_once, rows, total, unknown = jobs or os.cpu_count() or 1, [], 0.0, 0
    for study, folder in folders:
        seeds = study.seeds(trials, quick=quick)
        if study.missing:
            note = f"needs {', '.join(study.missing)}: make venv"
            rows.append([study.name, str(len(seeds)), "?", "?", "?", note])
            continue
        here = study_folder(study.experiment(quick=quick), folder)
        why = refused(here)
        done = 0 if why else sum(here.is_done(seed) for seed in seeds)
        left = len(seeds) - done
        known = None if quick else study.seconds
        seconds = None if known is None else left * known / min(at_once, left or 1)
        if not why:
            total += seconds or 0.0
            unknown += seconds is None
        note = "by other code or settings: --fresh or --out" if why else ""
        rows.append([study.name, str(len(seeds)), str(done), str(left), _time(seconds), note])
    print_table(["study", "parts", "done", "left", "takes", ""], rows)
    cores = f"{at_once} core{'s' if at_once > 1 else ''}"
    more = f"; {unknown} of these were never timed" if unknown else ""
    told = f"About {_time(total)} on {cores}, by earlier runs{more}."
    if quick:
        told = f"A quick look at all studies takes {_QUICK_LOOK} on 2 cores."
    new_console().print(told, markup=False)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
