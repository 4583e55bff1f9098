"""The command line: `bers rank`, `fit`, `info`, `demo`, `tune-report`.

Enters: file names and settings. Leaves: tables on standard output, progress and warnings on
standard error, files where asked. Bad input ends with one sentence and exit code 2. Nothing
heavy is imported until a command needs it.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from bers.cli.common import (
    Categories,
    Decimal,
    DropNonfinite,
    Encoding,
    Missing,
    Progress,
    Seed,
    Sep,
    Tables,
    Units,
    X,
    Y,
    as_options,
    new_console,
    print_scores,
    print_table,
    run_app,
)
from bers.cli.demo import demo
from bers.cli.rank import rank
from bers.cli.tune_report import tune_report
from bers.errors import ConfigError

_MOST_COLUMNS = 50

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which of several demonstrators should a new task learn from, and how much?",
)


def main() -> None:
    """Run the command line; exit with 2 and one sentence on bad input."""
    run_app(app, "bers")


@app.command()
def fit(
    source: Annotated[list[str], typer.Argument(help="Files, folders of data, or minari:ID.")],
    x: X = None,
    y: Y = None,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Save the model.")] = None,
    batches: Annotated[int, typer.Option(help="Mini-batches of training.")] = 4000,
    learning_rate: Annotated[
        float | None, typer.Option(help="Of Adam; by default the model's own.")
    ] = None,
    skip: Annotated[bool, typer.Option(help="Show the heads the inputs too.")] = False,
    held_out: Annotated[float, typer.Option(help="Share of rows kept for the scores.")] = 0.1,
    drop_nonfinite: DropNonfinite = False,
    categories: Categories = False,
    sep: Sep = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    missing: Missing = None,
    units: Units = None,
    seed: Seed = 0,
    progress: Progress = None,
) -> None:
    """Train one head per source; show how well each explains rows it has not seen."""
    import numpy as np

    from bers.model.calibration import source_records
    from bers.model.config import ModelConfig
    from bers.model.model_files import save_model
    from bers.model.neural_linear import fit as fit_model
    from bers.model.neural_linear import refine

    config = ModelConfig(batches=batches, learning_rate=learning_rate, skip=skip, held_out=held_out)
    if model is not None and (model.is_dir() or not model.absolute().parent.is_dir()):
        raise ConfigError(f"--model {model} must be a file in a folder that exists.")
    tables = Tables(x, y, drop_nonfinite, categories, sep, decimal, encoding, missing, units)
    sources, _ = tables.sources(source, None)
    rng = np.random.default_rng(seed)
    halves = [one.split(rng, held_out) for one in sources]
    trained = fit_model([kept for kept, _ in halves], config=config, rng=rng, progress=progress)
    print_scores(source_records(trained, [held for _, held in halves]))
    if model is not None:
        save_model(refine(trained, sources, batches=0, progress=progress), model)
        new_console().print(f"Saved to {model}, with the posteriors of all rows.", markup=False)


@app.command()
def info(
    source: Annotated[list[str], typer.Argument(help="Files, folders of data, or minari:ID.")],
    x: X = None,
    y: Y = None,
    drop_nonfinite: DropNonfinite = False,
    sep: Sep = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    missing: Missing = None,
    units: Units = None,
) -> None:
    """Say what is in files of demonstrations: rows, columns, labels, transforms."""
    import numpy as np

    from bers.data.checks import far_labels
    from bers.text import printable

    tables = Tables(x, y, drop_nonfinite, False, sep, decimal, encoding, missing, units)
    rows, notes = [], []
    for path in source:
        open_table = tables.unlabelled(path)
        if open_table is not None:
            _print_columns(Path(path).name, *open_table)
            continue
        one = tables.load(path, source)
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
    if rows:
        print_table(["source", "rows", "inputs", "label", "range", "transforms"], rows)
    for note in notes:
        new_console().print(note, markup=False)


def _print_columns(name: str, table: Any, why: str) -> None:
    """The columns of a table, of which one must be named as the label."""
    from bers.data.encoding import in_words
    from bers.text import printable

    shown, console = table.schema.names[:_MOST_COLUMNS], new_console()
    more = len(table.schema.names) - len(shown)
    console.print(f"{printable(name)}: {table.rows:,} rows", style="bold", markup=False)
    values = table.read(list(shown)) if len(set(table.schema.names)) == more + len(shown) else None
    rows = []
    for column in shown:
        told = in_words(values.column(column), table.line) if values is not None else ("", "", "")
        rows.append([printable(column, 30), *told])
    print_table(["column", "holds", "values", "missing"], rows)
    if more:
        console.print(f"... and {more:,} more columns.", markup=False)
    console.print(f"{as_options(why)}\n", markup=False)


app.command()(demo)
app.command()(rank)
app.command("tune-report")(tune_report)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import bers

        print(bers.__version__)
        raise typer.Exit
