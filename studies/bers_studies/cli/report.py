"""`bers-studies report` and `watch`: studies as one page, in a file or live in the browser.

Enters: folders of journals. Leaves: an HTML file, or a page on the loopback address until Ctrl-C.
"""

from pathlib import Path
from typing import Annotated

import typer

from bers.cli.common import new_console
from bers.errors import ConfigError

Folders = Annotated[
    list[Path] | None,
    typer.Argument(help="Folders of studies, or a folder of them; reproductions by default."),
]


def report(
    runs: Folders = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="At the top of the page.")] = "BERS",
) -> None:
    """Write studies as one page that opens offline: claims, curves, weights, provenance."""
    from bers.files import write_atomically
    from bers_studies.report.page import page

    if out.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--out {out} must end in .html.")
    made = page(studies(runs), title=title)
    with write_atomically(out) as temporary:
        temporary.write_text(made, encoding="utf-8")
    new_console().print(f"{out}: {len(made.encode()) / 1e6:.1f} MB.", markup=False)


def watch(
    runs: Folders = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8321,
    title: Annotated[str, typer.Option(help="At the top of the page.")] = "BERS",
) -> None:
    """Show the same page in a browser on this machine, and keep it up to date."""
    from bers_studies.report.server import serve

    folders = studies(runs)
    with serve(folders, port=port, title=title) as server:
        console = new_console()
        console.print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", markup=False)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            console.print("Ended.", markup=False)


def studies(runs: list[Path] | None) -> list[Path]:
    """The folders of studies that are meant: those given, or those in a folder of them."""
    from bers_studies.study import studies as known

    order, found = list(known()), []
    for folder in runs or [Path("reproductions")]:
        if not folder.is_dir():
            raise ConfigError(
                f"there is no folder {folder}. Give one that `bers-studies reproduce` made, such "
                "as runs."
            )
        inner = sorted(p for p in folder.iterdir() if p.is_dir() and _is_study(p))
        inner.sort(key=lambda p: order.index(p.name) if p.name in order else len(order))
        found += [folder] if _is_study(folder) or not inner else inner
    return found


def _is_study(folder: Path) -> bool:
    return any(any(folder.glob(kind)) for kind in ("*.jsonl", "tables.md", "config.json"))
