"""Progress bars on standard error, for anything that can take more than two seconds.

A bar is shown when standard error is a terminal, or when asked for; never in a log file by
accident. Nothing is imported from Rich until a bar is really drawn.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bers.errors import ConfigError
from bers.text import printable


@contextmanager
def progress_bar(
    label: str, total: float | None, *, show: bool | None = None
) -> Iterator[Callable[..., None]]:
    """Yield a function `advance(amount=1, **columns)` that moves one bar.

    `show=None` draws only on a terminal. `columns` are shown behind the bar as `name value`.

    >>> with progress_bar("training", 3, show=False) as advance:
    ...     for _ in range(3):
    ...         advance(loss=0.5)
    """
    if not isinstance(show, bool | None) and type(show).__name__ not in ("bool", "bool_"):
        raise ConfigError(f"progress must be True, False or None; got {show!r:.80}.")
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield lambda amount=1, **columns: None
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(printable(label), total=total, note="")

        def advance(amount: float = 1, **columns: object) -> None:
            note = "  ".join(f"{name} {_short(value)}" for name, value in columns.items())
            bar.update(task, advance=amount, note=note)

        yield advance


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value), 30)
