"""`bers-studies claims`: what the paper says and what we say, beside what was measured.

Enters: a folder of reproductions. Leaves: a table, JSON or Markdown on standard output; or pages
whose tables of claims are made anew.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bers.cli.common import new_console, print_table
from bers.errors import ConfigError

if TYPE_CHECKING:
    from bers_studies.report.claim import Claim


def claims(
    root: Annotated[
        Path, typer.Argument(help="Folder of reproductions, with a folder of journals each.")
    ] = Path("reproductions"),
    json: Annotated[bool, typer.Option("--json", help="Only JSON on standard output.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Only Markdown on standard output.")
    ] = False,
    write: Annotated[
        list[Path] | None,
        typer.Option("--write", "-w", help="A page to fill in between its comments; repeatable."),
    ] = None,
) -> None:
    """Say for every claim that can be measured whether it holds, from the journals alone."""
    from bers_studies.report.claims import claims as check

    if json + markdown + bool(write) > 1:
        raise ConfigError("--json, --markdown and --write exclude one another. Choose one.")
    found = check(root)
    if write:
        from bers_studies.report.claims_page import fill_in

        changed = fill_in(write, found)
        for page in write:
            said = "written" if page in changed else "was up to date"
            new_console().print(f"{page}: {said}.", markup=False)
        return
    if markdown:
        from bers_studies.report.claims_page import all_claims

        print(all_claims(found), end="")
        return
    if json:
        import json as json_module

        print(json_module.dumps([claim.to_dict() for claim in found], indent=1))
        return
    for who in ("paper", "BERS"):
        its = [c for c in found if c.said_by == who]
        rows = [[_verdict(c.holds), c.claim, c.measured, str(c.trials)] for c in its]
        headings = ["", "claim", "measured", "trials"]
        if any(c.best for c in its):
            headings += ["in its best reading", "measured", "trials"]
            rows = [[*row, *_best(c.best)] for row, c in zip(rows, its, strict=True)]
        if rows:
            title = "What the paper says" if who == "paper" else "What we say"
            new_console().print(f"\n{title}", style="bold")
            print_table(headings, rows)
    fine, more = (sum(x) for x in zip(*((c.holds, c.holds_somehow) for c in found), strict=True))
    also = f", {more} in their best reading" if any(c.best for c in found) else ""
    new_console().print(f"\n{fine} of {len(found)} claims hold{also}.")


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _best(best: "Claim | None") -> list[str]:
    if best is None:
        return ["", "", ""]
    return [f"{_verdict(best.holds)}: {best.reading}", best.measured, str(best.trials)]
