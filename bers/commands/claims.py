"""`bers claims`: what the paper says and what we say, beside what was measured.

Enters: a folder of reproductions. Leaves: a table, or JSON, on standard output.
"""

from pathlib import Path
from typing import Annotated

import typer

from bers.commands.common import new_console, print_table


def claims(
    root: Annotated[
        Path, typer.Argument(help="Folder of reproductions, with a folder of journals each.")
    ] = Path("reproductions"),
    json: Annotated[bool, typer.Option("--json", help="Only JSON on standard output.")] = False,
) -> None:
    """Say for every claim that can be measured whether it holds, from the journals alone."""
    from bers.report.claims import claims as check

    found = check(root)
    if json:
        import json as json_module

        print(json_module.dumps([claim.to_dict() for claim in found], indent=1))
        return
    for who in ("paper", "BERS"):
        rows = [
            ["holds" if c.holds else "does not hold", c.claim, c.measured, str(c.trials)]
            for c in found
            if c.said_by == who
        ]
        if rows:
            title = "What the paper says" if who == "paper" else "What we say"
            new_console().print(f"\n{title}", style="bold")
            print_table(["", "claim", "measured", "trials"], rows)
    fine = sum(c.holds for c in found)
    new_console().print(f"\n{fine} of {len(found)} claims hold.")
