"""What scipy's users write, as records: bounds, past runs, transforms, streams.

Enter: pairs (low, high) or scipy's Bounds; past runs as arrays (X, y), demonstrations, frames,
files or earlier results, in a list or a mapping by name. Leave: arrays low and high;
`Demonstrations` in the user's own units. Bounds have no names, so past runs whose columns are named
need only agree with one another. What cannot be used is refused by name.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float64

from bers.data.checks import random_numbers, usable
from bers.data.demonstrations import Demonstrations
from bers.data.frames import is_frame
from bers.data.source import Source
from bers.data.transforms import undo
from bers.errors import ConfigError, DataError, DataWarning
from bers.text import printable


def box(bounds: Any) -> tuple[Float64[np.ndarray, " D"], Float64[np.ndarray, " D"]]:
    """Low and high of every variable; equal ones fix it.

    >>> box([(-1, 1), (0, 0)])
    (array([-1.,  0.]), array([1., 0.]))
    """
    try:
        pair = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else np.array(bounds, float).T
        low, high = (np.atleast_1d(np.asarray(end, np.float64)) for end in pair)
        low, high = np.broadcast_arrays(low, high)
    except (ValueError, TypeError) as error:
        raise ConfigError("bounds must be pairs (low, high), one per variable.") from error
    if low.ndim != 1 or not len(low):
        raise ConfigError("bounds must be pairs (low, high), one per variable.")
    with np.errstate(over="ignore", invalid="ignore"):
        bad = ~(np.isfinite(low) & np.isfinite(high - low) & (low <= high))
    if bad.any():
        j = int(np.argmax(bad))
        raise ConfigError(
            f"bounds must be finite with low <= high; variable {j} has ({low[j]}, {high[j]})."
        )
    return low.copy(), high.copy()


def as_sources(given: Any, low: np.ndarray, high: np.ndarray) -> list[Demonstrations]:
    """Past runs in the user's own units; labels are those of the function itself.

    >>> runs = as_sources({"alice": ([[0.0], [1.0]], [1.0, 5.0])}, np.zeros(1), np.ones(1))
    >>> runs[0].name, runs[0].y.tolist()
    ('alice', [1.0, 5.0])
    """
    given = () if given is None else given
    if isinstance(given, str | os.PathLike | Demonstrations) or not isinstance(
        given, Mapping | Sequence
    ):
        raise DataError(f"sources must be a list of past runs; got {type(given).__name__}.")
    if isinstance(given, Mapping) and {"x", "fun"} <= set(given):
        raise DataError("sources must be a list of past runs; got one result. Put it in [ ].")
    named = given.items() if isinstance(given, Mapping) else enumerate(given)
    sources = [_source(one, key, len(low)) for key, one in named]
    for source in sources:
        if source.dim != len(low):
            raise DataError(
                f"'{printable(source.name)}' has {source.dim} inputs, bounds have {len(low)}. "
                "Give the same variables in the same order."
            )
    sources = _in_one_order(sources)
    for source in sources:
        if source.n == 0:
            continue
        outside = int(np.sum(np.any((source.x < low) | (source.x > high), axis=1)))
        if outside:
            warnings.warn(
                f"'{printable(source.name)}': {outside} of {source.n} points lie outside the "
                "bounds. They teach the model; as points to try they are clipped to the bounds.",
                DataWarning,
                stacklevel=4,
            )
    return sources


def _source(one: Any, key: str | int, D: int) -> Demonstrations:
    name = key if isinstance(key, str) else f"run {key}"
    pair = isinstance(one, tuple | list) and len(one) == 2
    if is_frame(one) or (pair and is_frame(one[0])):
        from bers.data.given import as_source

        return _in_own_units(as_source(_as_tuple(one), name=name, drop_nonfinite=True), name)
    first = one[0] if isinstance(one, tuple | list) and one else one
    if isinstance(first, str | os.PathLike):
        from bers.data.given import as_source  # the readers of files, which few runs need

        found = as_source(one)
        return _in_own_units(found, name if isinstance(key, str) else found.name)
    if isinstance(one, Demonstrations | Source):
        return _in_own_units(one, name if isinstance(key, str) else one.name)
    if isinstance(one, Mapping):  # an OptimizeResult is one
        return _of_result(one, name, D)
    if pair:
        return _finite(one[0], one[1], name, D)
    raise DataError(
        f"'{printable(name)}' must be (X, y), demonstrations, a file or an earlier result; "
        f"got {type(one).__name__}. Give one of these, or a frame with the values in a column."
    )


def _as_tuple(one: Any) -> Any:
    """A pair in a list is a pair."""
    return tuple(one) if isinstance(one, list) else one


def _in_one_order(sources: list[Demonstrations]) -> list[Demonstrations]:
    """Columns as the first run has them that names them."""
    if len({source.x_names for source in sources}) < 2:
        return sources
    from bers.data.given import as_sources as agreeing

    return cast("list[Demonstrations]", agreeing(sources)[0])


def _of_result(result: Mapping[str, Any], name: str, D: int) -> Demonstrations:
    for x, y in (("x_all", "fun_all"), ("population", "population_energies")):
        if x in result and y in result:
            return _finite(result[x], result[y], name, D)
    if "x" in result and "fun" in result:
        return _finite([result["x"]], [result["fun"]], name, D)
    raise DataError(
        f"'{printable(name)}' is a mapping without x and fun; give a result, or (X, y)."
    )


def _in_own_units(source: Any, name: str) -> Demonstrations:
    if isinstance(source, Demonstrations):
        return Demonstrations(source.x, source.original_y, name, x_names=source.x_names)
    blocks = list(source.blocks())
    x = np.concatenate([np.zeros((0, source.dim)), *(block for block, _ in blocks)])
    y = np.concatenate([np.zeros(0), *(y for _, y in blocks)])
    y = undo(getattr(source, "transforms", ()), y)
    return Demonstrations(x, y, name, x_names=getattr(source, "x_names", ()))


def _finite(x: Any, y: Any, name: str, D: int) -> Demonstrations:
    """Rows whose value is a number; a run in which some evaluations failed is still a run."""
    try:
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64).ravel()
    except (ValueError, TypeError) as error:
        raise DataError(f"'{printable(name)}' must hold numbers: {error}.") from error
    if x.size == 0 or (x.ndim == 1 and D == 1):
        x = x.reshape(len(y), D)
    if x.ndim == 2 and len(x) != len(y):
        raise DataError(
            f"'{printable(name)}' has {len(x)} points but {len(y)} values; give one each."
        )
    if x.ndim != 2:
        raise DataError(
            f"'{printable(name)}' must have points of shape (rows, {D}); got {x.shape}."
        )
    fine = usable(y)
    if not fine.all():
        warnings.warn(
            f"'{printable(name)}': {int(np.sum(~fine))} of {len(y)} values are not finite or "
            "beyond 1e150; these rows are left out.",
            DataWarning,
            stacklevel=5,
        )
    return Demonstrations(x[fine], y[fine], name)


def two_streams(rng: Any) -> tuple[np.random.Generator, np.random.Generator]:
    """The user's generator, and one for the use of sources.

    The second draws nothing from the first, so that plain bits stay plain; only a legacy
    RandomState, which cannot be split, has to give a number.

    >>> [int(stream.integers(100)) for stream in two_streams(0)]
    [85, 80]
    """
    first = random_numbers(rng)
    try:
        return first, first.spawn(1)[0]
    except TypeError:
        return first, np.random.default_rng(int(first.integers(2**62)))
