"""Settings that several functions share, checked before they are used.

Enter: what the caller passed. Leave: the same, or an error that names the setting and says
what it must be.
"""

from typing import Any

import numpy as np

from bers.errors import ConfigError


def whole(value: Any, what: str, least: int = 1) -> int:
    """A whole number of at least `least`, or an error that names the setting.

    >>> whole(3, "size")
    3
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ConfigError(f"{what} must be a whole number of at least {least}; got {value!r}.")


def generator(rng: Any) -> np.random.Generator:
    """A NumPy generator, or an error that says how to make one.

    >>> generator(np.random.default_rng(0)) is not None
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    raise ConfigError(
        f"rng must be a NumPy Generator; got {type(rng).__name__}. "
        "Make one with numpy.random.default_rng(seed)."
    )
