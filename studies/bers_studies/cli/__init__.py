"""`bers-studies`: reproduce, claims, report, watch, compare, demonstrations.

Enters: names of studies, folders of journals. Leaves: journals, tables, pictures, pages. Bad input
ends with one sentence and exit code 2. Nothing heavy is imported until a command needs it.
"""

import typer

from bers.cli.common import run_app
from bers_studies.cli.claims import claims
from bers_studies.cli.compare import compare
from bers_studies.cli.demonstrations import demonstrations
from bers_studies.cli.report import report, watch
from bers_studies.cli.reproduce import reproduce

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The studies behind BERS: run them, read them, check what they claim.",
)
for command in (reproduce, claims, report, watch, compare):
    app.command()(command)
app.add_typer(demonstrations, name="demonstrations")


def main() -> None:
    """Run the command line; exit with 2 and one sentence on bad input."""
    run_app(app, "bers-studies")
