"""`bers-studies compare`: two sets of journals side by side.

Enters: two folders. Leaves: a table, or JSON, on standard output.
"""

from pathlib import Path
from typing import Annotated

import typer

from bers.cli.common import new_console, print_table


def compare(
    one: Annotated[Path, typer.Argument(help="A folder of journals.")],
    other: Annotated[Path, typer.Argument(help="Another, of the same study.")],
    json: Annotated[bool, typer.Option("--json", help="Only JSON on standard output.")] = False,
) -> None:
    """Say for every target and method how two sets of journals differ, and how surely."""
    from bers_studies.report.compare import compare as check
    from bers_studies.report.curves import number, span

    found = check(one, other)
    if json:
        import json as json_module

        print(json_module.dumps([row.to_dict() for row in found], indent=1))
        return
    rows = [
        [
            row.target,
            row.method,
            *(
                f"{number(side.mean)} ({span((side.low, side.high))})"
                for side in (row.one, row.other)
            ),
            f"{row.better:.2f} ({span((row.low, row.high), '{:.2f}')})",
        ]
        for row in found
    ]
    heads = ["target", "method", str(one), str(other), "the second is better"]
    new_console().print(
        f"{found[0].score}, mean over trials and its 95% interval; how likely a trial of the "
        "second is better than one of the first.",
        markup=False,
    )
    print_table(heads, rows)
    notes: dict[str, list[str]] = {}
    for row in found:
        for note in row.notes:
            notes.setdefault(note, []).append(f"{row.target}, {row.method}")
    for note, where in notes.items():
        which = (
            ""
            if len(where) == len(found)
            else f" ({'; '.join(where[:3])}{', ...' * (len(where) > 3)})"
        )
        new_console().print(f"Unequal runs: {note}{which}.", markup=False)
