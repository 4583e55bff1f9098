"""`bers tune-report`: which earlier studies helped a study of Optuna.

Enters: a storage and a study's name. Leaves: a table on standard output.
"""

from typing import Annotated

import typer

from bers.cli.common import print_table
from bers.errors import DataError


def tune_report(
    storage: Annotated[str, typer.Argument(help="As Optuna names it: sqlite:///studies.db")],
    study: Annotated[str | None, typer.Argument(help="Its name; may be left out if alone.")] = None,
) -> None:
    """Say which earlier studies helped a study that BersSampler sampled, how much, and when."""
    from bers.integrations.optuna import HEADS, helped  # says what to install, if need be

    import optuna  # isort: skip

    try:
        found = optuna.load_study(study_name=study, storage=storage)
    except (KeyError, ValueError) as error:
        names = optuna.get_all_study_names(storage)
        told = ", ".join(names[:10]) or "none"
        raise DataError(f"there is no such study; the storage has: {told}. Name one.") from error
    print_table(HEADS, helped(found))
