"""The type checker that executes shapes in tests: beartype, with an int allowed for a float.

In each test the first calls of a function are checked. A loop that calls it some thousand times
would otherwise spend most of its time on saying the same again.
"""

import sys
from functools import wraps
from types import FunctionType

from beartype import BeartypeConf, beartype

CALLS = 100  # of each function, in each test

_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))
_count: dict[tuple[str, str], int] = {}
_excused: list = []


def checked(function):
    """What jaxtyping calls for whatever it decorates."""
    made = _beartype(function)
    if isinstance(function, type) or not hasattr(function, "__qualname__"):
        return made
    where = (function.__module__, function.__qualname__)

    @wraps(made)
    def counted(*args, **kwargs):
        _count[where] = _count.get(where, 0) + 1
        if _count[where] == 2 * CALLS:  # arguments are checked once, and once more with the result
            _excuse(*where)
        return made(*args, **kwargs)

    return counted


def check_again():
    """Begin to count anew: a new test has begun."""
    _count.clear()
    while _excused:
        del _excused.pop().__no_type_check__


def _excuse(module, qualname):
    """Let jaxtyping hand on further calls as they are."""
    found = sys.modules.get(module)
    for name in qualname.split("."):
        found = None if found is None else vars(found).get(name)
    found = getattr(found, "__func__", found)  # of a classmethod
    if isinstance(found, FunctionType):
        found.__no_type_check__ = True
        _excused.append(found)
