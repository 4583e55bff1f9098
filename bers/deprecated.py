"""Old names that still work in this version, and say what they are called now.

Enters: an old name and the new one. Leaves: a decorator for functions, a property for records. Both
warn with a `DeprecationWarning` whose advice can be followed at once.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def warn_old(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that `old` is called `new` now.

    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_old("far", "extrapolation")
    >>> str(said[0].message)
    'far is called extrapolation now; the old name goes with the next version.'
    """
    told = f"{old} is called {new} now; the old name goes with the next version."
    warnings.warn(told, DeprecationWarning, stacklevel=stacklevel)


def old_name(old: str, new: str) -> Any:
    """A property for a field that has got another name."""

    def get(self: Any) -> Any:
        warn_old(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    get.__doc__ = f"The old name of `{new}`."
    return property(get)


def old_words(translate: Callable[[dict[str, Any]], tuple[dict[str, Any], dict[str, str]]]) -> Any:
    """A decorator: `translate` gets the keyword arguments of a call, and gives back those of now,
    and the new form of every old word that it found.

    >>> def loud(words):
    ...     new = {"progress" if k == "progress_bar" else k: v for k, v in words.items()}
    ...     return new, {"progress_bar": "progress"} if "progress_bar" in words else {}
    >>> run = old_words(loud)(lambda *, progress: progress)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     run(progress_bar=True)
    True
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **words: Any) -> Any:
            words, said = translate(words)
            for old, new in said.items():
                warn_old(f"{old}=", new)
            return function(*args, **words)

        return call  # pyright: ignore[reportReturnType]

    return decorate


def old_config(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """`config=` is `model=` now; a model that is given beside it counts.

    >>> old_config({"config": 1, "rng": 0})
    ({'rng': 0, 'model': 1}, {'config': 'model='})
    """
    if words.get("config") is None:
        return {name: value for name, value in words.items() if name != "config"}, {}
    words = dict(words)
    config = words.pop("config")
    if words.get("model") is None:
        words["model"] = config
    return words, {"config": "model="}
