"""`bers reproduce`: the long experiments, with their tables and pictures.

Enters: the name of an experiment. Leaves: records, tables and pictures in a folder.
"""

import sys
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

_JOURNALS = {
    "static": ("static", "StaticConfig", 20),
    "safety": ("safety", "SafetyConfig", 20),
    "growth": ("growth", "GrowthConfig", 20),
    "options": ("options", "OptionsConfig", 20),
    "paper-metric": ("paper_metric", "PaperMetricConfig", 5),
    "latent": ("latent", "LatentConfig", 5),
    "supply": ("supply", "SupplyConfig", 5),
    "supply-options": ("supply_options", "SupplyOptionsConfig", 5),
    "agents": ("agents", "AgentsConfig", 5),
    "tuning": ("tuning", "TuningConfig", 10),
}
"""Studies that live in journals: module, settings, trials."""


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="static, safety, growth, options, paper-metric, latent, supply, "
            "supply-options, agents, tuning, heads, trust, nobody or grunfeld."
        ),
    ] = "static",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; reproductions/WHAT by default.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Seeds; 5 for heads, paper-metric, latent, agents and supply's, 10 for tuning, "
            "else 20.",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Trials at once.")] = None,
    backend: Annotated[
        str, typer.Option(help="Who runs the trials: processes, ray or here.")
    ] = "processes",
    fresh: Annotated[bool, typer.Option(help="Throw away trials that are there.")] = False,
    progress: Progress = None,
) -> None:
    """Run a long experiment, or what is left of it, and draw its pictures.

    Trials that are there already are not run again; after a stop the same command goes on.
    """
    from functools import partial

    how = {"jobs": jobs, "backend": backend, "fresh": fresh}
    studies = {
        **{name: partial(_reproduce_journal, name, how) for name in _JOURNALS},
        "heads": _reproduce_heads,
        "trust": partial(_reproduce_trust, how),
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


def _reproduce_journal(
    name: str, how: dict[str, Any], out: Path, trials: int | None, progress: bool | None
) -> None:
    from importlib import import_module

    from bers.experiments.runner import Experiment, run

    module_name, config_name, default = _JOURNALS[name]
    module = import_module(f"bers.experiments.{module_name}")
    experiment = Experiment(name, getattr(module, config_name)(), module.trial)
    each = getattr(module, "PARTS", 1)  # of a trial, run one by one
    outcome = run(experiment, range((trials or default) * each), out, progress=progress, **how)
    if outcome.ok:
        _report(name, out)
    _leave_if_failed(outcome)


def _leave_if_failed(outcome: Any) -> None:
    """Say how many trials failed and why the first did; exit with 1."""
    if not outcome.failed:
        return
    seed, traceback = next(iter(outcome.tracebacks.items()))
    print(
        f"bers: {outcome.failed} of {outcome.ok + outcome.failed} trials failed; seed {seed} with "
        f"{traceback.strip().splitlines()[-1]}. The journals hold the rest.",
        file=sys.stderr,
    )
    raise typer.Exit(1)


def _report(name: str, out: Path) -> None:
    """Tables and pictures, from the journals alone."""
    from bers.files import write_atomically
    from bers.report.studies import DRAWN, TABLES

    if name == "supply":
        from bers.integrations.actor_drawing import draw_actor
        from bers.integrations.supply_drawing import draw_scenarios

        draw_scenarios(out / "scenarios.png")
        draw_actor(path=out / "actor.png")
    for picture, draw in DRAWN.get(name, {}).items():
        draw(out, out / picture)
        new_console().print(f"Picture: {out / picture}", markup=False)
    if name in TABLES:
        tables = TABLES[name](out)
        with write_atomically(out / "tables.md") as temporary:
            temporary.write_text(tables)
        new_console().print(tables, markup=False)


def _reproduce_trust(
    how: dict[str, Any], out: Path, trials: int | None, progress: bool | None
) -> None:
    from bers.experiments.runner import Experiment, run
    from bers.experiments.trust import TrustConfig, trial
    from bers.report.figures import draw_trust
    from bers.report.tables import trust_tables

    experiment = Experiment("trust", TrustConfig(), trial)
    outcome = run(experiment, range(trials or 20), out / "trials", progress=progress, **how)
    _write_tables(out, outcome.records, trust_tables(outcome.records))
    draw_trust(out / "results.json", out / "weights.png")
    new_console().print(f"Weights by generation: {out / 'weights.png'}", markup=False)
    _leave_if_failed(outcome)


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
