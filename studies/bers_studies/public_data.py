"""Where public data lie that are not part of the project.

Enters: a folder and the name of a file. Leaves: its path, or a sentence that says what to do.
"""

import os
from pathlib import Path

from bers.errors import ConfigError


def file_of(folder: Path, name: str) -> Path:
    """A file of the folder; the environment variable BERS_DATA goes before."""
    path = Path(os.environ.get("BERS_DATA", folder)) / name
    if not path.is_file():
        raise ConfigError(
            f"there is no file {name} in {path.parent}. Set the environment variable BERS_DATA to "
            "the folder that holds it; docs/sklearn.md says where it is from."
        )
    return path
