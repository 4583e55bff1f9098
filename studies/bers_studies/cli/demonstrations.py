"""`bers-studies demonstrations make`: the paper's demonstrations as files.

Enters: which ones, a seed, a folder. Leaves: one Parquet file per demonstrator, and for the supply
chain one Minari data set each; rows of a new task to rank them for; the command that does so.
"""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bers.cli.common import Progress, make_folder, new_console, print_table
from bers.errors import ConfigError
from bers.progress import progress_bar

_NEW_EPISODES = 10
_NEW_GENERATIONS = 10
_MINARI = Path("minari", "supply-chain")

demonstrations = typer.Typer(
    no_args_is_help=True,
    help="Make the paper's demonstrations, as files to rank, fit and learn from.",
)


class What(StrEnum):
    """Of which study."""

    supply_chain = "supply-chain"
    functions = "functions"


class Format(StrEnum):
    """Of the files."""

    parquet = "parquet"
    minari = "minari"
    both = "both"


@demonstrations.callback()
def _group() -> None:
    """Make the paper's demonstrations, as files to rank, fit and learn from."""


@demonstrations.command()
def make(
    what: Annotated[What, typer.Argument(help="Of which study.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.")] = Path(
        "demonstrations"
    ),
    format: Annotated[
        Format | None, typer.Option(help="Default: both; for functions, parquet.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same rows.")] = 0,
    steps: Annotated[int, typer.Option(min=1, help="Of DDPG's training, each.")] = 30_000,
    rows: Annotated[int, typer.Option(min=1, help="Drawn from them, for Parquet.")] = 10_000,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    progress: Progress = None,
) -> None:
    """Make one data set per demonstrator, and a small one of a new task to rank them for.

    supply-chain: DDPG is trained on scenarios 1, 2 and 3, some minutes each. Parquet gets rows
    drawn from the whole training, as in the paper; Minari gets all of its episodes, whole. A
    second call with the same seed trains nothing again.

    functions: Differential Evolution on Rosenbrock, Ackley and Sphere until it is close to the
    minimum. These are points, not steps, so there is no Minari of them.
    """
    if what is What.functions:
        if format in (Format.minari, Format.both):
            raise ConfigError(
                f"--format {format}: functions have points, not episodes. Leave --format out."
            )
        _functions(out, seed, force)
    else:
        _supply_chain(out, format or Format.both, seed, steps, rows, force, progress)


def _supply_chain(
    out: Path, format: Format, seed: int, steps: int, rows: int, force: bool, progress: bool | None
) -> None:
    from bers.data.storage import save
    from bers_studies.envs.supply_chain import SupplyChain
    from bers_studies.supply.demonstrations import SCENARIOS, with_trucks

    horizon = SupplyChain(1).horizon
    if steps % horizon:
        raise ConfigError(
            f"--steps must be a multiple of {horizon}, the periods of an episode; got {steps}."
        )
    if rows > steps:
        raise ConfigError(f"--rows {rows} are more than --steps {steps}. Draw fewer.")
    names = [f"scenario-{scenario}" for scenario in SCENARIOS] + ["new-task"]
    tables, folders = _places(out, names, format)
    _prepare([*tables.values(), *folders.values()], force)

    new_console().print(
        f"DDPG learns scenarios 1, 2 and 3 of the supply chain, {steps:,} steps each ..."
    )
    recordings = dict(zip(names, _trained(seed, steps, progress), strict=False))
    recordings["new-task"] = _new_task(seed)
    written = {}
    for name, path in tables.items():
        source = recordings[name].demonstrations(inputs=with_trucks())
        if name != "new-task":
            scenario = SCENARIOS[names.index(name)]
            source = source.take(_drawn(seed, scenario, source.n, rows))
        save(source, path)
        written[name] = source.n
    for name, path in folders.items():
        new = name == "new-task"
        recordings[name].save(
            path,
            overwrite=force,
            dataset_id=f"{_MINARI.name}/{path.name}",
            author="BERS",
            algorithm="random actions" if new else "DDPG",
            description=f"{recordings[name].name}: all episodes of "
            f"{'random actions' if new else 'the training of DDPG'}, seed {seed}.",
        )
    _tell_profits(recordings, written)
    _tell_places(tables, folders)
    _tell_next(list((tables or folders).values()), "--skip")


def _functions(out: Path, seed: int, force: bool) -> None:
    import numpy as np

    from bers.data.storage import save
    from bers_studies.static.demonstrations import demonstrate
    from bers_studies.static.functions import RASTRIGIN, SOURCES

    names = [*(function.name.lower() for function in SOURCES), "new-function"]
    tables, _ = _places(out, names, Format.parquet)
    _prepare(list(tables.values()), force)
    rng = np.random.default_rng(seed)
    runs = [demonstrate(rng, function) for function in SOURCES]
    start = demonstrate(rng, RASTRIGIN, max_generations=_NEW_GENERATIONS)
    runs.append(start.renamed(f"Rastrigin, {_NEW_GENERATIONS} generations"))
    for run, path in zip(runs, tables.values(), strict=True):
        save(run, path)
    shown = [[run.name, f"{run.n:,}", f"{run.original_y.min():.3f}"] for run in runs]
    print_table(["run of Differential Evolution", "rows", "best value"], shown)
    new_console().print("The label is log(1 + value); a lower one is better.")
    _tell_places(tables, {})
    _tell_next(list(tables.values()), "")


def _places(out: Path, names: list[str], format: Format) -> tuple[dict[str, Path], dict[str, Path]]:
    """The files to write, and the folders."""
    tables = {name: out / f"{name}.parquet" for name in names}
    folders = {name: out / _MINARI / f"{name}-v0" for name in names}
    return (
        {} if format is Format.minari else tables,
        {} if format is Format.parquet else folders,
    )


def _prepare(paths: list[Path], force: bool) -> None:
    """Find out what stands in the way before the work, not after it."""
    from bers.integrations.gymnasium.minari import checked_id, may_write

    for path in paths:
        if not path.suffix:
            checked_id(path.name)  # is Minari there?
        may_write(path, overwrite=force)
    for folder in {path.parent for path in paths}:
        make_folder(folder)


def _trained(seed: int, steps: int, progress: bool | None) -> list[Any]:
    """All episodes of the training on each scenario: the very ones of the study's trial."""
    import gymnasium
    import numpy as np

    from bers.integrations.gymnasium import Recording
    from bers.integrations.gymnasium.episodes import Episode, ends
    from bers_studies.envs import SUPPLY_CHAIN
    from bers_studies.envs.supply_chain import SupplyChain
    from bers_studies.supply.demonstrations import (
        SCENARIOS,
        DemonstrationConfig,
        shown,
        with_trucks,
    )

    horizon = SupplyChain(1).horizon
    every = DemonstrationConfig(steps=steps, rows=steps)  # so that none is left out
    with progress_bar("three scenarios", None, show=progress):
        pool = shown(seed, inputs=with_trucks(), config=every).pool
    recordings = []
    for i, scenario in enumerate(SCENARIOS):
        env = gymnasium.make(SUPPLY_CHAIN, scenario=scenario)
        recording = Recording(f"scenario {scenario}")
        recording.of(env.observation_space, env.action_space, env.spec)
        for start in range(i * steps, (i + 1) * steps, horizon):
            run = pool[start : start + horizon]
            stocks = np.concatenate([run.s_tm1, run.s_t[-1:]]).astype(np.float32)
            rewards = run.r_t.astype(np.float64)
            recording.add(Episode(stocks, run.a_tm1, rewards, *ends(horizon, truncated=True)))
        recordings.append(recording)
    return recordings


def _drawn(seed: int, scenario: int, n: int, rows: int) -> Any:
    """Numbers of the rows that the study's trial draws, by the same generator: it has given the
    keys of the networks and of the episodes before.
    """
    import numpy as np

    rng = np.random.default_rng([seed, scenario])
    for _ in ("networks", "episodes"):
        rng.integers(2**63)
    return np.sort(rng.choice(n, rows, replace=False))


def _new_task(seed: int) -> Any:
    """What somebody knows of the target who has only tried it out: a few episodes, at random."""
    import gymnasium

    from bers.integrations.gymnasium import Recorder
    from bers_studies.envs import SUPPLY_CHAIN

    env = Recorder(gymnasium.make(SUPPLY_CHAIN, scenario="target"), "target")
    env.action_space.seed(seed)
    for episode in range(_NEW_EPISODES):
        env.reset(seed=seed if episode == 0 else None)
        over = False
        while not over:
            _, _, _, over, _ = env.step(env.action_space.sample())
    env.close()
    return env.recording


def _tell_profits(recordings: dict[str, Any], rows: dict[str, int]) -> None:
    import numpy as np

    table = []
    for name, recording in recordings.items():
        profit = np.array([one.total for one in recording.episodes])
        tenth = max(1, len(profit) // 10)
        table.append([
            recording.name,
            f"{sum(len(one) for one in recording.episodes):,}",
            f"{len(profit)}",
            f"{rows[name]:,}" if rows else "none",
            f"{profit.mean():.0f}",
            f"{profit[:tenth].mean():.0f}",
            f"{profit[-tenth:].mean():.0f}",
        ])  # fmt: skip
    columns = ["demonstrator", "steps", "episodes", "in Parquet"]
    print_table([*columns, "mean profit", "first tenth", "last tenth"], table)
    new_console().print("Profit is the sum of rewards of an episode.\n")


def _tell_places(tables: dict[str, Path], folders: dict[str, Path]) -> None:
    console = new_console()
    for what, paths in (("Parquet", tables), ("Minari", folders)):
        for path in paths.values():
            console.print(f"{what}: {path}", markup=False, soft_wrap=True)


def _tell_next(paths: list[Path], options: str) -> None:
    *sources, target = (shlex.quote(str(path)) for path in paths)
    command = f"bers rank {' '.join(sources)} --target {target} {options}".strip()
    new_console().print(
        f"\nNext, whom should the new task trust?\n  {command}", markup=False, soft_wrap=True
    )
