"""What is found once and kept: it does not change when the sampler does.

Enters: a key, and a function that finds numbers. Leaves: the numbers. Where the environment
variable BERS_KEPT names a folder, they are read from there if the same code made them, and are left
there otherwise.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bers.files import write_atomically
from bers_studies.runner.provenance import code_digest

VARIABLE = "BERS_KEPT"
"""Of the environment; names the folder."""
_NEEDED = ("numpy", "scipy", "optuna", "cmaes", "onnxruntime")


def kept(module: str, key: Sequence[str | int], find: Callable[[], Any]) -> Any:
    """Numbers in lists, as the code of a module finds them.

    >>> kept("bers_studies.lcbench.problems", ["a", 1], lambda: [1.0, 2.0])
    [1.0, 2.0]
    """
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        return find()
    made_by = [code_digest(module), *(version(name) for name in _NEEDED)]
    name = hashlib.sha256(json.dumps([*key, *made_by]).encode()).hexdigest()
    path = Path(folder) / f"{name[:32]}.json"
    if path.is_file():
        return json.loads(path.read_text())["found"]
    found = find()
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(path) as temporary:
        temporary.write_text(json.dumps({"key": list(key), "found": found}))
    return found
