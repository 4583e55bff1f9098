"""What the commands share: reading sources, printing tables.

Enters: file names, records. Leaves: sources; text on standard output. What the library says of its
keywords is said of options here. Nothing heavy is imported until it is needed.
"""

import csv as csv_module
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
X = Annotated[
    str | None,
    typer.Option(help="Input columns, separated by commas; one with a comma in double quotes."),
]
Y = Annotated[
    list[str] | None,
    typer.Option(help="Label column; of one file only: --y FILE=COLUMN. Repeatable."),
]
DropNonfinite = Annotated[bool, typer.Option(help="Drop rows with NaN, count them.")]
Categories = Annotated[bool, typer.Option(help="Use text too, as columns of 0 and 1.")]
Sep = Annotated[str | None, typer.Option(help="Of text files: mark between columns; tab: \\t.")]
Decimal = Annotated[str, typer.Option(help="Of text files: decimal mark, '.' or ','.")]
Encoding = Annotated[str | None, typer.Option(help="Of text files, such as latin-1.")]
Missing = Annotated[
    str | None, typer.Option(help="Of text files: words for no value, separated by commas.")
]
Units = Annotated[
    str | None, typer.Option(help="Of text files: what stands beside numbers: %, km. Taken off.")
]

_SAID = (
    (
        r'csv=bers\.CSV\(missing="([^"]*)"\) and drop_nonfinite=True',
        r"--missing '\1' --drop-nonfinite",
    ),
    (r'csv=bers\.CSV\((\w+)="([^"]*)"\)', r"--\1 '\2'"),
    (r"CSV\((\w+)=\.\.\.\)", r"--\1"),
    (r"[\w.]+\(\.\.\., (x|y)=[^)]*\)", r"--\1"),
    (r"[\w.]+\(\.\.\., categories=True\)", "--categories"),
    (r"(?:[\w.]+\(\.\.\., )?drop_nonfinite=True\)?", "--drop-nonfinite"),
    (r"rank\((\w+)=\.\.\.\)", r"--\1"),
    (
        r", or pass rewards=\.\.\., a function of",
        "; or load it in Python, with bers.load(..., rewards=f), where f is a function of",
    ),
    (r"\b(x|y)=(?:\[\.\.\.\]|\.\.\.)(?: when loading)?(?:, or --x)?", r"--\1"),
)
_WIDE = 240  # characters, where no terminal says how many


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line: warnings and errors are one line each, and bad input exits with 2."""

    shown: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        if str(message) not in shown:  # many files may have the same flaw
            shown.add(str(message))
            print(f"{name}: warning: {as_options(str(message))}", file=sys.stderr)

    warnings.showwarning = show
    try:
        app()
    except BersError as error:
        print(f"{name}: {as_options(str(error))}", file=sys.stderr)
        sys.exit(2)


def as_options(message: str) -> str:
    """What the library says of its keywords, said of the options of the command line.

    >>> as_options("Name the label with y=...")
    'Name the label with --y'
    >>> as_options('If that is the decimal mark, pass csv=bers.CSV(decimal=",").')
    "If that is the decimal mark, pass --decimal ','."
    """
    for pattern, words in _SAID:
        message = re.sub(pattern, words, message)
    return message


@dataclass(frozen=True)
class Tables:
    """How the commands read files: which columns, and how text is written.

    >>> Tables(y=["pay", "b.csv=gain"]).label("b.csv", ["a.csv", "b.csv"])
    'gain'
    """

    x: str | None = None
    y: Sequence[str] | None = None
    drop_nonfinite: bool = False
    categories: bool = False
    sep: str | None = None
    decimal: str = "."
    encoding: str | None = None
    missing: str | None = None
    units: str | None = None

    def label(self, path: str, every: Sequence[str]) -> str | None:
        """What --y says of one of the files."""
        for_all, own = None, None
        for said in self.y or ():
            file, equals, column = said.partition("=")
            if not equals or file not in every:
                for_all = said
            elif file == path:
                own = column
        return own if own is not None else for_all

    def style(self) -> Any:
        """What is said of tables of text."""
        from bers.data.formats.delimited import CSV

        words = tuple(column_names(self.missing, "--missing") or ())
        sep = {"\\t": "\t", "tab": "\t"}.get(self.sep or "", self.sep)
        units = tuple(column_names(self.units, "--units") or ())
        return CSV(sep, self.decimal, self.encoding, words, units)

    def load(self, path: str, every: Sequence[str] = ()) -> Any:
        """One source."""
        from bers.data.formats import format_of
        from bers.data.storage import load

        more = {"csv": self.style()} if format_of(path).is_text else {}
        y = self.label(path, every or [path])
        return load(path, x=column_names(self.x), y=y, drop_nonfinite=self.drop_nonfinite, **more)

    def unlabelled(self, path: str) -> tuple[Any, str] | None:
        """A table whose label nobody named and no usual name tells, and why; else None."""
        from bers.data.formats import Options, format_of
        from bers.data.formats.tables import label_name

        opens = format_of(path).open_table
        if opens is None or self.label(path, [path]) is not None:
            return None
        table = opens(path, Options(csv=self.style()))
        if table is None:
            return None
        try:
            label_name(table.schema.names, None, path)
        except FileError as error:
            return table, str(error)
        return None

    def sources(self, paths: Sequence[str], target: str | None) -> tuple[list[Any], Any]:
        """All sources and, where there is one, the target, with the same columns."""
        from bers.data.given import as_sources

        every = [*paths, *([] if target is None else [target])]
        self._check(every)
        chosen = column_names(self.x)
        if chosen is None and not self.categories:
            loaded = [self.load(path, every) for path in every]
            return as_sources(loaded[: len(paths)], None if target is None else loaded[-1])
        # text that is named becomes categories, and all tables have a say
        labels = [self.label(path, every) for path in every]
        given = [p if y is None else (p, y) for p, y in zip(every, labels, strict=True)]
        return as_sources(
            given[: len(paths)],
            None if target is None else given[-1],
            x=chosen,
            drop_nonfinite=self.drop_nonfinite,
            categories=self.categories,
            csv=self.style(),
        )

    def _check(self, every: Sequence[str]) -> None:
        """Refuse two labels for all."""
        plain = [y for y in self.y or () if y.partition("=")[0] not in every]
        if len(plain) > 1:
            raise ConfigError(
                f"--y names {plain[0]!r} and {plain[1]!r} for all files. Name one for all, and "
                f"those of single files as in --y {every[0]}={plain[1]}."
            )


def column_names(x: str | None, option: str = "--x") -> list[str] | None:
    """What --x names, as a line of CSV has it.

    >>> column_names('speed, "load, max",')
    ['speed', 'load, max']
    """
    if x is None:
        return None
    cells = next(csv_module.reader([x], skipinitialspace=True), [])
    columns = [name.strip() for name in cells if name.strip()]
    if not columns:
        raise ConfigError(
            f"{option} names no column. Leave it out, or name columns as in {option} a,b."
        )
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
