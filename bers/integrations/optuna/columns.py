"""A search space whose parameters need not all be active, as columns of numbers.

Enters: distributions by name, and parameters of trials. Leaves: rows of the unit cube in which a
parameter that a trial does not have stands in the middle, or at no choice of a category, and which
parameters each row has; points that the space really has; and parameters of a row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from bers.integrations.optuna.space import fitting, row

_ABSENT = 0.5


@dataclass(frozen=True)
class Columns:
    """The columns of a space.

    Examples
    --------
    >>> kinds = {"C": FloatDistribution(1e-2, 1e2, log=True), "k": CategoricalDistribution("ab")}
    >>> columns = Columns(kinds)
    >>> rows, active = columns.rows([{"C": 1.0, "k": "b"}, {"k": "a"}])
    >>> rows.round(6).tolist(), active.tolist()
    ([[0.5, 0.0, 1.0], [0.5, 1.0, 0.0]], [[True, True], [False, True]])
    >>> columns.params(rows[0], active[0])
    {'C': 1.0, 'k': 'b'}
    """

    space: Mapping[str, BaseDistribution]

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """The columns of each parameter."""
        found, at = [], 0
        for kind in self.space.values():
            width = len(kind.choices) if isinstance(kind, CategoricalDistribution) else 1
            found.append(slice(at, at + width))
            at += width
        return tuple(found)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return self.slices[-1].stop if self.slices else 0

    @cached_property
    def categories(self) -> Bool[np.ndarray, " P"]:
        """Which parameters are categories."""
        return np.array([isinstance(k, CategoricalDistribution) for k in self.space.values()], bool)

    def rows(
        self, params: Sequence[Mapping[str, Any]]
    ) -> tuple[Float64[np.ndarray, "n D"], Bool[np.ndarray, "n P"]]:
        """Rows of trials, and which parameters each has in a form that fits."""
        x = np.full((len(params), self.width), _ABSENT)
        active = np.zeros((len(params), len(self.space)), bool)
        for p, ((name, kind), at) in enumerate(zip(self.space.items(), self.slices, strict=True)):
            if self.categories[p]:
                x[:, at] = 0.0
            known: dict[Any, Any] = {}  # values of trials repeat: categories, whole numbers
            for i, one in enumerate(params):
                if name not in one:
                    continue
                value = one[name]
                try:
                    if value not in known:
                        known[value] = row({name: value}, {name: kind})
                    found = known[value]
                except TypeError:  # a value that cannot be hashed
                    found = row({name: value}, {name: kind})
                if found is not None:
                    x[i, at], active[i, p] = found, True
        return x, active

    def snapped(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, "n D"]:
        """The nearest points that the space has; rows of the cube in which all is active."""
        x = np.clip(x, 0, 1)
        for kind, at in zip(self.space.values(), self.slices, strict=True):
            if isinstance(kind, CategoricalDistribution):
                continue
            assert isinstance(kind, FloatDistribution | IntDistribution)
            if kind.step is not None and not (kind.log and isinstance(kind, FloatDistribution)):
                x[:, at] = _on_grid(x[:, at], kind)
        return x

    def params(
        self, x: Float64[np.ndarray, " D"], active: Bool[np.ndarray, " P"]
    ) -> dict[str, Any]:
        """Parameters of a row, as a trial takes them; those that are not active are left out."""
        found = {}
        for p, ((name, kind), at) in enumerate(zip(self.space.items(), self.slices, strict=True)):
            if not active[p]:
                continue
            if isinstance(kind, CategoricalDistribution):
                found[name] = kind.choices[int(np.argmax(x[at]))]
                continue
            assert isinstance(kind, FloatDistribution | IntDistribution)
            found[name] = fitting(float(_value(x[at], kind)[0]), kind)
        return found


def _value(u: np.ndarray, kind: FloatDistribution | IntDistribution) -> np.ndarray:
    low, high = float(kind.low), float(kind.high)
    if kind.log:
        return np.exp(math.log(low) + u * (math.log(high) - math.log(low)))
    return low + u * (high - low)


def _on_grid(u: np.ndarray, kind: FloatDistribution | IntDistribution) -> np.ndarray:
    low, high, step = float(kind.low), float(kind.high), float(kind.step or 1)
    if not high > low:
        return np.full_like(u, _ABSENT)
    value = np.clip(low + np.rint((_value(u, kind) - low) / step) * step, low, high)
    if kind.log:
        return (np.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)
