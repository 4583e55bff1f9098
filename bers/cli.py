"""The command line: `bers demo`, `bers rank`, `bers fit`, `bers info`, `bers reproduce`.

Enters: file names and settings. Leaves: tables on standard output, progress and warnings on
standard error, files where asked. Bad input ends with one sentence and exit code 2. Nothing
heavy is imported until a command needs it.
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bers.errors import BersError, ConfigError, FileError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Which of several demonstrators should a new task learn from, and how much?",
)
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for results and pictures.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")]
Progress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Bars; by default on a terminal only."),
]


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
    """Fit the paper's three test functions; show what each head learned."""
    import numpy as np

    from bers.experiments.heads import source_records, source_split
    from bers.model.neural_linear import fit

    console = _console()
    _make_folder(out)
    console.print("Three runs of Differential Evolution, one on each test function ...")
    kept, held_out = source_split(np.random.default_rng(seed))
    rows = ", ".join(f"{d.name} {d.n + h.n:,}" for d, h in zip(kept, held_out, strict=True))
    console.print(f"  evaluations until a fitness of 0.15: {rows}")
    console.print("One encoder and three Bayesian heads, trained on four fifths of the rows ...")
    model = fit(kept, rng=seed, progress=progress)
    records = source_records(model, held_out, setting="BERS", seed=seed)
    _print_scores(records)
    console.print(
        "R² and error are on rows the heads have not seen. The last column is calibration: the "
        "share of those rows inside each head's 50% and 90% intervals."
    )
    _write_study(out, records)


@app.command()
def rank(
    source: Annotated[list[str], typer.Argument(help="Files, folders of Parquet, or minari:ID.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Rows of the new task.")],
    x: Annotated[str | None, typer.Option(help="Input columns, separated by commas.")] = None,
    y: Annotated[str | None, typer.Option(help="Label column.")] = None,
    rule: Annotated[str, typer.Option(help="How to weigh; odds is the library's own.")] = "odds",
    json: Annotated[bool, typer.Option("--json", help="Only JSON on standard output.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the weights as PNG.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the ranking as a page.")] = None,
    export: Annotated[
        str | None, typer.Option(help="robomimic: data-set weights, to --export-to.")
    ] = None,
    export_to: Annotated[Path, typer.Option(help="Where --export writes.")] = Path(
        "robomimic.json"
    ),
    batches: Annotated[int, typer.Option(help="Mini-batches of training.")] = 4000,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-4,
    skip: Annotated[bool, typer.Option(help="Show the heads the inputs too.")] = False,
    draws: Annotated[int, typer.Option(help="Of the posteriors, for the intervals.")] = 400,
    drop_nonfinite: Annotated[bool, typer.Option(help="Drop rows with NaN, count them.")] = False,
    backend: Annotated[
        str, typer.Option(help="Who works on the shards: threads, processes or ray.")
    ] = "threads",
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at once.")] = None,
    seed: Seed = 0,
    progress: Progress = None,
) -> None:
    """Say whom a new task should learn from, how much, and how sure that is."""
    from bers.files import write_atomically
    from bers.model.config import ModelConfig
    from bers.model.side_by_side import work_on
    from bers.trust import show
    from bers.trust.ranking import rank as rank_sources
    from bers.trust.robomimic import robomimic_weights

    if export not in (None, "robomimic"):
        raise ConfigError(f"--export {export} is not known. Known: robomimic.")
    for name, path in (("--plot", plot), ("--html", html), ("--export-to", export_to)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise ConfigError(f"{name} {path} must be a file in a folder that exists.")
    config = ModelConfig(batches=batches, learning_rate=learning_rate, skip=skip)
    sources = [_load(path, x, y, drop_nonfinite) for path in source]
    new = _load(target, x, y, drop_nonfinite)
    with work_on(backend, jobs):  # pyright: ignore[reportArgumentType]
        ranking = rank_sources(
            sources, new, rule=rule, config=config, draws=draws, rng=seed, progress=progress
        )
    values = ranking.to_dict()
    if json:
        print(ranking.to_json())
    else:
        console = _console()
        console.print(show.title(values), style="bold", markup=False)
        _print_table(show.headings(values), show.table(values))
        for line in [*show.footing(values), _columns_taken(target, x, y), show.legend()]:
            console.print(line, markup=False)
    if plot is not None:
        ranking.plot(str(plot))
    pages = [(html, lambda: show.as_page(values))] if html is not None else []
    if export is not None:
        pages.append((export_to, lambda: robomimic_weights(ranking, source)))
    for path, text in pages:
        with write_atomically(path) as temporary:
            temporary.write_text(text(), encoding="utf-8")
    for path in (plot, html, export_to if export else None):
        if path is not None and not json:
            _console().print(f"Written: {path}", markup=False)


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
    sources = [_load(path, x, y, drop_nonfinite) for path in source]
    rng = np.random.default_rng(seed)
    halves = [one.split(rng, held_out) for one in sources]
    trained = fit_model([kept for kept, _ in halves], config=config, rng=rng, progress=progress)
    _print_scores(source_records(trained, [held for _, held in halves]))
    if model is not None:
        save_model(refine(trained, sources, batches=0, progress=progress), model)
        _console().print(f"Saved to {model}, with the posteriors of all rows.", markup=False)


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
        one = _load(path, x, y, drop_nonfinite)
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
    _print_table(["source", "rows", "inputs", "label", "range", "transforms"], rows)
    for note in notes:
        _console().print(note, markup=False)


@app.command()
def reproduce(
    what: Annotated[str, typer.Argument(help="heads: the model on the test functions.")] = "heads",
    out: Out = Path("reproductions/heads"),
    trials: Annotated[int, typer.Option(help="Seeds per setting.")] = 5,
    progress: Progress = None,
) -> None:
    """Run a long experiment again and draw its pictures."""
    from bers.experiments.heads import HeadsConfig, study
    from bers.files import write_atomically
    from bers.report.tables import heads_tables

    if what != "heads":
        raise ConfigError(f"there is no experiment {what!r}. Known: heads.")
    _make_folder(out)
    records = study(HeadsConfig(seeds=tuple(range(trials))), progress=progress)
    for setting in dict.fromkeys(r["setting"] for r in records):
        for kind in ("source", "target"):
            chosen = [r for r in records if (r["setting"], r["kind"]) == (setting, kind)]
            _console().print(f"\n{setting}: {kind} heads, mean of {trials} trials", markup=False)
            _print_scores(_averaged(chosen))
    _write_study(out, records)
    with write_atomically(out / "tables.md") as temporary:
        temporary.write_text(heads_tables(records))


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        import bers

        print(bers.__version__)
        raise typer.Exit


def _load(path: str, x: str | None, y: str | None, drop_nonfinite: bool) -> Any:
    from bers.data.storage import load

    columns = None
    if x is not None:
        columns = [name.strip() for name in x.split(",") if name.strip()]
        if not columns:
            raise ConfigError("--x names no column. Leave it out, or name columns as in --x a,b.")
    return load(path, x=columns, y=y, drop_nonfinite=drop_nonfinite)


def _columns_taken(path: str, x: str | None, y: str | None) -> str:
    """Which columns were read, and whether that was a guess."""
    from bers.data.storage import describe_columns
    from bers.text import printable

    if path.startswith("minari:"):
        return "Inputs: observation, action, next observation; label: reward."
    columns = [name.strip() for name in x.split(",") if name.strip()] if x is not None else None
    inputs, label, guessed = describe_columns(path, columns, y)
    shown = ", ".join(printable(name, 20) for name in inputs[:8])
    more = f", ... ({len(inputs)})" if len(inputs) > 8 else ""
    guess = " (guessed; choose with --x and --y)" if guessed else ""
    return f"Inputs: {shown}{more}; label: {printable(label)}{guess}."


def _averaged(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record per head, numbers averaged over trials."""
    import numpy as np

    means = []
    for head in dict.fromkeys(r["head"] for r in records):
        trials = [r for r in records if r["head"] == head]
        numbers = ("rows", "held_out", "r2", "rmse", "log_density", "coverage")
        mean = {name: np.mean([r[name] for r in trials], axis=0) for name in numbers}
        means.append({**trials[0], **mean})
    return means


def _print_scores(records: Sequence[dict[str, Any]]) -> None:
    from bers.text import printable

    rows = []
    for r in records:
        inside = dict(zip(r["levels"], r["coverage"], strict=True))
        rows.append([
            printable(r["head"], 30),
            f"{r['rows']:,.0f}",
            f"{r['held_out']:,.0f}",
            f"{r['r2']:.3f}" if abs(r["r2"]) < 100 else f"{r['r2']:.2g}",
            f"{r['rmse']:.3g}",
            f"{r['log_density']:.2f}",
            f"{inside[0.5]:.0%} and {inside[0.9]:.0%}",
        ])  # fmt: skip
    columns = ["head", "rows", "held out", "R²", "error", "log density"]
    _print_table([*columns, "50% and 90% hold"], rows)


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        starts = {row[i][:1] for row in rows if row[i] != "nan"} - {"", "-", "+"}
        number = all(start.isdigit() for start in starts)
        table.add_column(name, justify="right" if i > 0 and number else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    _console().print(table)


def _write_study(out: Path, records: Sequence[dict[str, Any]]) -> None:
    import json

    from bers.files import write_atomically
    from bers.report.figures import draw_calibration

    with write_atomically(out / "results.json") as temporary:
        temporary.write_text(json.dumps(records, indent=1) + "\n")
    draw_calibration(out / "results.json", out / "calibration.png")
    _console().print(f"Calibration curves: {out / 'calibration.png'}", markup=False)


def _make_folder(out: Path) -> None:
    """Before the work, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder {out}: {error.strerror}. Choose another."
        ) from error


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    print(f"bers: warning: {message}", file=sys.stderr)
