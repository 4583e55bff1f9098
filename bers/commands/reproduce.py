"""`bers reproduce`: the long experiments, with their tables and pictures.

Enters: the name of an experiment. Leaves: records, tables and pictures in a folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bers.commands.common import (
    Progress,
    make_folder,
    new_console,
    print_scores,
    write_study,
)
from bers.errors import ConfigError


def reproduce(
    what: Annotated[str, typer.Argument(help="heads, trust, nobody or grunfeld.")] = "heads",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; reproductions/WHAT by default.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Seeds; 5 for heads, else 20.")] = None,
    progress: Progress = None,
) -> None:
    """Run a long experiment again and draw its pictures."""
    studies = {
        "heads": _reproduce_heads,
        "trust": _reproduce_trust,
        "nobody": _reproduce_nobody,
        "grunfeld": _reproduce_grunfeld,
    }
    if what not in studies:
        raise ConfigError(f"there is no experiment {what!r}. Known: {', '.join(studies)}.")
    out = out or Path("reproductions") / what
    make_folder(out)
    studies[what](out, trials, progress)


def _reproduce_heads(out: Path, trials: int | None, progress: bool | None) -> None:
    from bers.experiments.heads import HeadsConfig, study
    from bers.files import write_atomically
    from bers.report.tables import heads_tables

    trials = trials or 5
    records = study(HeadsConfig(seeds=tuple(range(trials))), progress=progress)
    for setting in dict.fromkeys(r["setting"] for r in records):
        for kind in ("source", "target"):
            chosen = [r for r in records if (r["setting"], r["kind"]) == (setting, kind)]
            new_console().print(f"\n{setting}: {kind} heads, mean of {trials} trials", markup=False)
            print_scores(averaged(chosen))
    write_study(out, records)
    with write_atomically(out / "tables.md") as temporary:
        temporary.write_text(heads_tables(records))


def _reproduce_trust(out: Path, trials: int | None, progress: bool | None) -> None:
    from bers.experiments.trust import TrustConfig, study
    from bers.report.figures import draw_trust
    from bers.report.tables import trust_tables

    config = TrustConfig(seeds=tuple(range(trials or 20)))
    make_folder(out / "trials")
    records = study(config, out / "trials", progress=progress)
    _write_tables(out, records, trust_tables(records))
    draw_trust(out / "results.json", out / "weights.png")
    new_console().print(f"Weights by generation: {out / 'weights.png'}", markup=False)


def _reproduce_nobody(out: Path, trials: int | None, progress: bool | None) -> None:
    from bers.experiments.nobody import study
    from bers.report.tables import nobody_table

    records = study(tuple(range(trials or 20)), progress=progress)
    _write_tables(out, records, nobody_table(records))


def _reproduce_grunfeld(out: Path, trials: int | None, progress: bool | None) -> None:
    from bers.experiments.grunfeld import study
    from bers.report.tables import grunfeld_tables

    if trials is not None:
        raise ConfigError("grunfeld has one trial per firm; leave --trials out.")
    records = study(progress=progress)
    _write_tables(out, records, grunfeld_tables(records))


def _write_tables(out: Path, records: Sequence[dict[str, Any]], tables: str) -> None:
    import json

    from bers.files import write_atomically

    with write_atomically(out / "results.json") as temporary:
        temporary.write_text(json.dumps(records) + "\n")
    with write_atomically(out / "tables.md") as temporary:
        temporary.write_text(tables)
    new_console().print(tables, markup=False)


def averaged(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record per head, numbers averaged over trials."""
    import numpy as np

    means = []
    for head in dict.fromkeys(r["head"] for r in records):
        trials = [r for r in records if r["head"] == head]
        numbers = ("rows", "held_out", "r2", "rmse", "log_density", "coverage")
        mean = {name: np.mean([r[name] for r in trials], axis=0) for name in numbers}
        means.append({**trials[0], **mean})
    return means
