"""How long `import bers` and `bers --help` keep a user waiting."""

import importlib.util
import json
import sys
from pathlib import Path

from row import Row, at_most
from timing import Turn, here, program, say, take_turns

_HEAVY = ("jax", "torch", "pyarrow", "minari", "sklearn")
_LIMIT = 1.0
_UNIT = "seconds (less is better; ratio = limit / ours)"


def rows() -> list[Row]:
    """Two rows; the second only once the command line is there."""
    contenders = {"bare": _python("pass"), "import": _python("import bers")}
    command = Path(sys.executable).with_name("bers")
    with_help = importlib.util.find_spec("bers.cli") is not None and command.exists()
    if with_help:
        contenders["help"] = here(lambda: program([str(command), "--help"]))
    else:
        say("help_time: skipped, there is no `bers` beside this Python yet")
    seconds = take_turns("import_time", contenders, rounds=9)
    made = [_import_row(max(seconds["import"] - seconds["bare"], 0.0), seconds["bare"])]
    if with_help:
        note = f"The whole command; a bare interpreter takes {seconds['bare']:.3f} of it."
        made.append(at_most("help_time", seconds["help"], _LIMIT, unit=_UNIT, note=note))
    return made


def _python(code: str) -> Turn:
    return here(lambda: program([sys.executable, "-c", code]))


def _import_row(seconds: float, bare: float) -> Row:
    code = f"import bers, sys, json; print(json.dumps([m for m in {_HEAVY} if m in sys.modules]))"
    loaded = json.loads(program([sys.executable, "-c", code]))
    said = f"loads {', '.join(loaded)}!" if loaded else f"loads none of {', '.join(_HEAVY)}."
    return at_most(
        "import_time",
        seconds,
        _LIMIT,
        unit=_UNIT,
        note=f"Above a bare interpreter ({bare:.3f}); {said}",
        fine=not loaded,
    )
