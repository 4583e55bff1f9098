"""`bers rank`: whom a new task should learn from.

Enters: files of sources and of the target, settings. Leaves: a table or JSON on standard output,
a picture, a page and weights for other tools where asked.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
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
    new_console,
    print_ranking,
)
from bers.errors import ConfigError

_PICTURES = (".png", ".pdf", ".svg")


def rank(
    source: Annotated[list[str], typer.Argument(help="Files, folders of data, or minari:ID.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Rows of the new task.")],
    x: X = None,
    y: Y = None,
    rule: Annotated[str, typer.Option(help="How to weigh; odds is the library's own.")] = "odds",
    json: Annotated[bool, typer.Option("--json", help="Only JSON on standard output.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the weights: .png, .pdf or .svg.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the ranking as a page.")] = None,
    export: Annotated[
        str | None, typer.Option(help="robomimic: data-set weights, to --export-to.")
    ] = None,
    export_to: Annotated[Path, typer.Option(help="Where --export writes.")] = Path(
        "robomimic.json"
    ),
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="What `bers fit -m` saved: no training.")
    ] = None,
    batches: Annotated[
        int | None, typer.Option(help="Mini-batches of training; 4000 by default.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Of Adam; by default the model's own.")
    ] = None,
    skip: Annotated[bool, typer.Option(help="Show the heads the inputs too.")] = False,
    transform: Annotated[
        str, typer.Option(help="Of all labels: none, rank, log, auto or paper.")
    ] = "none",
    draws: Annotated[int, typer.Option(help="Of the posteriors, for the intervals.")] = 400,
    drop_nonfinite: DropNonfinite = False,
    categories: Categories = False,
    sep: Sep = None,
    decimal: Decimal = ".",
    encoding: Encoding = None,
    missing: Missing = None,
    units: Units = None,
    backend: Annotated[
        str, typer.Option(help="Who works on the shards: threads, processes or ray.")
    ] = "threads",
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster; else one is started here.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at once.")] = None,
    seed: Seed = 0,
    progress: Progress = None,
) -> None:
    """Say whom a new task should learn from, how much, and how sure that is."""
    from bers.files import write_atomically
    from bers.parallel import pool
    from bers.trust import render as show
    from bers.trust.trust import rank as rank_sources

    if export not in (None, "robomimic"):
        raise ConfigError(f"--export {export} is not known. Known: robomimic.")
    for name, path in (("--plot", plot), ("--html", html), ("--export-to", export_to)):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise ConfigError(f"{name} {path} must be a file in a folder that exists.")
    if plot is not None and plot.suffix.lower() not in _PICTURES:
        raise ConfigError(f"--plot {plot} must end in .png, .pdf or .svg. Rename it.")
    known = _model(model, batches, learning_rate, skip)
    tables = Tables(x, y, drop_nonfinite, categories, sep, decimal, encoding, missing, units)
    sources, new = tables.sources(source, target)
    if model is not None:
        _check_heads(known, sources, model)
    with (
        redirect_stdout(sys.stderr),  # Ray tells of dead workers on standard output
        pool(backend, jobs, address) as workers,  # pyright: ignore[reportArgumentType]
    ):
        ranking = rank_sources(
            sources,
            new,
            rule=rule,
            model=known,
            transform=transform,
            draws=draws,
            workers=workers,
            rng=seed,
            progress=progress,
        )
    values = ranking.to_dict()
    if json:
        print(ranking.to_json())
    else:
        print_ranking(values)
        named = tables.label(target, [*source, target]) is not None
        new_console().print(_columns_taken(target, new, named), markup=False)
    if plot is not None:
        with write_atomically(plot) as temporary:
            ranking.plot().savefig(temporary, format=plot.suffix.lower()[1:], dpi=120)
    pages = [(html, lambda: show.as_page(values))] if html is not None else []
    if export is not None:
        from bers.integrations.robomimic import robomimic_weights

        pages.append((export_to, lambda: robomimic_weights(ranking, source)))
    for path, text in pages:
        with write_atomically(path) as temporary:
            temporary.write_text(text(), encoding="utf-8")
    for path in (plot, html, export_to if export else None):
        if path is not None and not json:
            new_console().print(f"Written: {path}", markup=False)


def _model(path: Path | None, batches: int | None, rate: float | None, skip: bool) -> Any:
    """What to train, or what was trained before."""
    from bers.model.config import ModelConfig
    from bers.model.model_files import load_model

    if path is None:
        return ModelConfig(
            batches=4000 if batches is None else batches, learning_rate=rate, skip=skip
        )
    if batches is not None or rate is not None or skip:
        raise ConfigError(
            "--model is trained already: leave out --batches, --learning-rate and --skip."
        )
    return load_model(path)


def _check_heads(model: Any, sources: Sequence[Any], path: Path) -> None:
    """Refuse a model of other sources: its heads would be given to the wrong ones."""
    from bers.text import printable

    given = tuple(source.name for source in sources)
    if tuple(model.names) != given:
        raise ConfigError(
            f"--model {path} was fitted on {printable(', '.join(model.names), 100)}; the sources "
            f"are {printable(', '.join(given), 100)}. Give the same files in the same order, or "
            "fit again."
        )


def _columns_taken(path: str, source: Any, label_named: bool) -> str:
    """Which columns were read, and whether that was a guess."""
    from bers.text import printable

    if path.startswith("minari:"):
        return "Inputs: observation, action, next observation; label: reward."
    inputs = source.x_names
    shown = ", ".join(printable(name, 20) for name in inputs[:8])
    more = f", ... ({len(inputs)})" if len(inputs) > 8 else ""
    guess = ""
    if source.columns_guessed:
        options = "--x" if label_named else "--x and --y"
        guess = f" ({'inputs ' if label_named else ''}guessed; choose with {options})"
    return f"Inputs: {shown}{more}; label: {printable(source.y_name)}{guess}."
