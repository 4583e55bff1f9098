"""What the commands share: reading sources, printing tables.

Enters: file names, records. Leaves: sources; text on standard output. Nothing heavy is
imported until it is needed.
"""

import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bers.errors import BersError, ConfigError, FileError

Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for results and pictures.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same model.")]
Progress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Bars; by default on a terminal only."),
]
_WIDE = 240  # characters, where no terminal says how many


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line: warnings and errors are one line each, and bad input exits with 2."""

    shown: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        if str(message) not in shown:  # many files may have the same flaw
            shown.add(str(message))
            print(f"{name}: warning: {message}", file=sys.stderr)

    warnings.showwarning = show
    try:
        app()
    except BersError as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)


def load_source(path: str, x: str | None, y: str | None, drop_nonfinite: bool) -> Any:
    """One source, by the options of a command."""
    from bers.data.storage import load

    return load(path, x=column_names(x), y=y, drop_nonfinite=drop_nonfinite)


def load_sources(
    paths: Sequence[str], target: str | None, x: str | None, y: str | None, drop_nonfinite: bool
) -> tuple[list[Any], Any]:
    """All sources and, where there is one, the target, with the same columns."""
    from bers.data.given import as_sources

    chosen = column_names(x)
    if chosen is not None:  # text that is named becomes categories, and all tables have a say
        return as_sources(list(paths), target, x=chosen, y=y, drop_nonfinite=drop_nonfinite)
    sources = [load_source(path, x, y, drop_nonfinite) for path in paths]
    new = None if target is None else load_source(target, x, y, drop_nonfinite)
    return as_sources(sources, new)


def column_names(x: str | None) -> list[str] | None:
    """What --x names.

    >>> column_names("speed, load,")
    ['speed', 'load']
    """
    if x is None:
        return None
    columns = [name.strip() for name in x.split(",") if name.strip()]
    if not columns:
        raise ConfigError("--x names no column. Leave it out, or name columns as in --x a,b.")
    return columns


def print_scores(records: Sequence[dict[str, Any]]) -> None:
    """One line per head."""
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
    print_table([*columns, "50% and 90% hold"], rows)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Names stay text; columns of numbers stand to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        starts = {row[i][:1] for row in rows if row[i] != "nan"} - {"", "-", "+"}
        number = all(start.isdigit() for start in starts)
        table.add_column(name, justify="right" if i > 0 and number else "left")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    new_console().print(table)


def print_ranking(values: Mapping[str, Any]) -> None:
    """A ranking as a table, with what it rests on and what the columns mean."""
    from bers.trust import render as show

    console = new_console()
    console.print(show.title(values), style="bold", markup=False)
    print_table(show.headings(values), show.table(values))
    for line in [*show.footing(values), show.legend()]:
        console.print(line, markup=False)


def make_folder(out: Path) -> None:
    """Before the work, not after it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"cannot make the folder {out}: {error.strerror}. Choose another."
        ) from error


def new_console() -> Any:
    """Standard output, without colours for numbers; lines of a pipe are as long as they are."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(highlight=False, width=wide)
