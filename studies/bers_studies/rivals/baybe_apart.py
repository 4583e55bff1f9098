"""BayBE as a rival, by the Python of another environment.

Enters: a reaction and earlier ones. Leaves: yields in the order in which BayBE carried them out,
until one is high enough. The environment variable BERS_BAYBE names the Python of an environment in
which BayBE is installed: `pip install baybe`.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bers.errors import BersError, ConfigError

VARIABLE = "BERS_BAYBE"
"""Of the environment; names a Python."""
PROGRAM = Path(__file__).with_name("baybe_program.py")
"""What that Python runs."""


def tried(
    target: Mapping[str, Any],
    sources: Sequence[Mapping[str, Any]],
    *,
    enough: float,
    trials: int,
    seed: int,
    python: str = "",
) -> list[int]:
    """Numbers of the target's conditions, in the order of experiments.

    `target` and `sources` have a name, columns, conditions (a row each) and yields. The last
    experiment is the first with a yield of `enough`, or the last of `trials`.
    """
    python = python or os.environ.get(VARIABLE, "")
    if not python:
        raise ConfigError(
            f"BayBE needs an environment of its own: `python -m venv baybe`, install baybe there, "
            f"and set {VARIABLE} to its Python, such as baybe/bin/python."
        )
    given = {**target, "sources": list(sources), "enough": enough, "trials": trials, "seed": seed}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-W", "ignore", str(PROGRAM)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BersError(f"BayBE in {python} ended with: {last}. Check that environment.")
    return json.loads(done.stdout.strip().splitlines()[-1])["tried"]
