"""The command line: `bers demo`, `bers rank`, `bers fit`, `bers info`, `bers reproduce`.

Enters: file names and settings. Leaves: tables on standard output, progress and warnings on
standard error, files where asked. Bad input ends with one sentence and exit code 2. Nothing
heavy is imported until a command needs it.
"""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from bers.commands.common import (
    Out,
    Progress,
    Seed,
    load_source,
    make_folder,
    new_console,
    print_ranking,
    print_scores,
    print_table,
    write_study,
)
from bers.commands.rank import rank
from bers.commands.reproduce import reproduce
from bers.errors import BersError, ConfigError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which of several demonstrators should a new task learn from, and how much?",
)


def main() -> None:
    """Run the command line; exit with 2 and one sentence on bad input."""
    warnings.showwarning = _show_warning
    try:
        app()
    except BersError as error:
        print(f"bers: {error}", file=sys.stderr)
        sys.exit(2)


@app.command()
def demo(out: Out = Path("demo-output"), seed: Seed = 0, progress: Progress = None) -> None:
    """Three past tasks, and a new one: what each wanted, and whom the new one should trust."""
    import numpy as np

    from bers.experiments.heads import source_records, source_split
    from bers.experiments.static import demonstrate
    from bers.model.neural_linear import fit
    from bers.problems.functions import RASTRIGIN
    from bers.trust.ranking import rank as rank_sources

    console = new_console()
    make_folder(out)
    console.print("Three runs of Differential Evolution, one on each test function ...")
    kept, held_out = source_split(np.random.default_rng(seed))
    rows = ", ".join(f"{d.name} {d.n + h.n:,}" for d, h in zip(kept, held_out, strict=True))
    console.print(f"  evaluations until a fitness of 0.15: {rows}")
    console.print("One encoder and three Bayesian heads, trained on four fifths of the rows ...")
    model = fit(kept, rng=seed, progress=progress)
    records = source_records(model, held_out, setting="BERS", seed=seed)
    print_scores(records)
    console.print(
        "R² and error are on rows the heads have not seen. The last column is calibration: the "
        "share of those rows inside each head's 50% and 90% intervals."
    )
    write_study(out, records)
    console.print("\nA new task: 10 generations on Rastrigin. Whom should it learn from?")
    new = demonstrate(np.random.default_rng(seed + 1), RASTRIGIN, fitness=0.0, max_generations=10)
    ranking = rank_sources(kept, new, model=model, rng=seed, progress=progress)
    print_ranking(ranking.to_dict())
    ranking.plot(str(out / "weights.png"))
    console.print(f"Weights: {out / 'weights.png'}", markup=False)


@app.command()
def fit(
    source: Annotated[list[str], typer.Argument(help="Files, folders of Parquet, or minari:ID.")],
    x: Annotated[str | None, typer.Option(help="Input columns, separated by commas.")] = None,
    y: Annotated[str | None, typer.Option(help="Label column.")] = None,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Save the model.")] = None,
    batches: Annotated[int, typer.Option(help="Mini-batches of training.")] = 4000,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-4,
    skip: Annotated[bool, typer.Option(help="Show the heads the inputs too.")] = False,
    held_out: Annotated[float, typer.Option(help="Share of rows kept for the scores.")] = 0.1,
    drop_nonfinite: Annotated[bool, typer.Option(help="Drop rows with NaN, count them.")] = False,
    seed: Seed = 0,
    progress: Progress = None,
) -> None:
    """Train one head per source; show how well each explains rows it has not seen."""
    import numpy as np

    from bers.experiments.heads import source_records
    from bers.model.config import ModelConfig
    from bers.model.model_files import save_model
    from bers.model.neural_linear import fit as fit_model
    from bers.model.neural_linear import refine

    config = ModelConfig(batches=batches, learning_rate=learning_rate, skip=skip, held_out=held_out)
    if model is not None and (model.is_dir() or not model.absolute().parent.is_dir()):
        raise ConfigError(f"--model {model} must be a file in a folder that exists.")
    sources = [load_source(path, x, y, drop_nonfinite) for path in source]
    rng = np.random.default_rng(seed)
    halves = [one.split(rng, held_out) for one in sources]
    trained = fit_model([kept for kept, _ in halves], config=config, rng=rng, progress=progress)
    print_scores(source_records(trained, [held for _, held in halves]))
    if model is not None:
        save_model(refine(trained, sources, batches=0, progress=progress), model)
        new_console().print(f"Saved to {model}, with the posteriors of all rows.", markup=False)


@app.command()
def info(
    source: Annotated[list[str], typer.Argument(help="Files, folders of Parquet, or minari:ID.")],
    x: Annotated[str | None, typer.Option(help="Input columns, separated by commas.")] = None,
    y: Annotated[str | None, typer.Option(help="Label column.")] = None,
    drop_nonfinite: Annotated[bool, typer.Option(help="Drop rows with NaN, count them.")] = False,
) -> None:
    """Say what is in files of demonstrations: rows, columns, labels, transforms."""
    import numpy as np

    from bers.data.label_checks import far_labels
    from bers.text import printable

    rows, notes = [], []
    for path in source:
        one = load_source(path, x, y, drop_nonfinite)
        columns = [printable(name, 20) for name in one.x_names]
        some = ", ".join(columns[:6]) + (f", ... ({len(columns)})" if len(columns) > 6 else "")
        transforms = ", ".join(t.name for t in one.transforms) or "none"
        labels = np.concatenate([np.zeros(0), *(block for _, block in one.blocks())])
        span = f"{labels.min():.4g} to {labels.max():.4g}" if len(labels) else "none"
        name = printable(one.name, 30)
        rows.append([name, f"{one.n:,}", some, printable(one.y_name), span, transforms])
        far = far_labels(labels)
        if len(far):
            notes.append(
                f"{name}: {len(far)} of {one.n:,} labels lie far from the rest, the first in row "
                f"{far[0]} ({labels[far[0]]:.4g}). Trim them if they are mistakes."
            )
    print_table(["source", "rows", "inputs", "label", "range", "transforms"], rows)
    for note in notes:
        new_console().print(note, markup=False)


app.command()(rank)
app.command()(reproduce)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import bers

        print(bers.__version__)
        raise typer.Exit


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    print(f"bers: warning: {message}", file=sys.stderr)
