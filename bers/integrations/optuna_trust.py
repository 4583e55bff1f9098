"""How far earlier studies are believed, given the trials of a new one.

Enter: earlier studies, the new study's parameters and its completed trials. Leaves: `Trust`: the
shared model, a weight for each earlier study, and the points that it can hand over. [Eq. odds]
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from optuna.distributions import BaseDistribution

from bers.algorithm import rows_seen
from bers.data.demonstrations import Demonstrations
from bers.data.transforms import Transform
from bers.errors import DataWarning
from bers.integrations.optuna_space import Earlier, Space, columns, row
from bers.model.config import ModelConfig
from bers.model.neural_linear import Model, fit, refine
from bers.text import printable
from bers.trust.beliefs import Counts, beliefs
from bers.trust.rules import is_blind, weigh

_ROWS = 1000  # of an earlier study that the model is shown: the best, and some of all others
_SUBSET = 256  # rows of a study that refresh its head
_BEFORE = 9.0
"""The odds take a source for one of any kind, which helps with a chance of 1/4. Studies that a user
has chosen for a new one help more often: 3/4 before any trial, nine times the odds."""


@dataclass(frozen=True)
class Trust:
    """What is known after some trials."""

    space: dict[str, BaseDistribution]
    """The parameters that the model looks at."""
    sources: tuple[Demonstrations, ...]
    """Rows of the unit cube, best first."""
    places: tuple[Int[np.ndarray, " n"], ...]
    """Where each of these rows stands in its earlier study."""
    fitted: Model | None
    """None where no model is needed, or none can be had."""
    a: Float64[np.ndarray, " N"]
    now: Model | None = None
    """The model with a head for the new study."""

    def expected(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, " n"] | None:
        """What the new study's head expects of points; None before it has one."""
        return None if self.now is None else self.now.predict(-1, x).mean


def shared(space: Space, sources: Sequence[Earlier]) -> dict[str, BaseDistribution]:
    """The parameters of a new study that the earlier ones have, too.

    Studies without trials, or with none of the parameters, do not count.

    >>> from optuna.distributions import FloatDistribution
    >>> space = {name: FloatDistribution(0, 1) for name in ("a", "b")}
    >>> list(shared(space, [Earlier("first", ({"a": 0.5},), np.zeros(1))]))
    ['a']
    """
    related = [own for one in sources if (own := one.names & set(space))]
    common = set(space).intersection(*related) if related else set()
    return {name: space[name] for name in space if name in common}


def say_what_is_missing(space: Space, sources: Sequence[Earlier]) -> None:
    """Warn of parameters and studies that are left out of the model."""
    for one in sources:
        lost = sorted(set(space) - one.names)
        if not one.params:
            told = "has no completed trials, so it gets no weight. Leave it out."
        elif len(lost) == len(space):
            told = "has none of the new study's parameters. Leave it out, or rename its parameters."
        elif lost:
            told = (
                f"does not have {printable(', '.join(lost), 80)}; studies are compared by shared "
                "parameters only. Add trials that have all, if there are any."
            )
        else:
            continue
        warnings.warn(f"'{printable(one.name)}' {told}", DataWarning, stacklevel=2)


def learn(
    rng: np.random.Generator,
    sources: Sequence[Earlier],
    space: Space,
    *,
    rule: str,
    transform: Transform | None,
    config: ModelConfig,
) -> Trust:
    """Fit the model on the earlier studies.

    >>> from optuna.distributions import FloatDistribution
    >>> studies = [Earlier("first", ({"a": 0.5}, {"a": 0.1}), np.array([1.0, 2.0]))]
    >>> trust = learn(np.random.default_rng(0), studies, {"a": FloatDistribution(0, 1)},
    ...               rule="equal", transform=None, config=ModelConfig())
    >>> trust.a.tolist(), trust.sources[0].x.tolist()
    ([1.0], [[0.5], [0.1]])
    """
    space = shared(space, sources)
    rows, places = zip(*(_rows(one, space, transform) for one in sources), strict=True)
    some = np.array([one.n > 0 for one in rows])
    a = some / max(int(some.sum()), 1)
    model = None
    if some.any() and not is_blind(rule):
        model = fit(rows, config=config, rng=rng, progress=False)
    return Trust(space, rows, places, model, a)


def look(trust: Trust, x: np.ndarray, y: np.ndarray, rule: str, transform: Any) -> Trust:
    """New weights, from all rows of the new study."""
    target = rows_seen(x, y, "new", transform)
    if not target.n or not any(one.n for one in trust.sources):
        return trust
    if trust.fitted is None:
        counts = Counts(np.array([one.n for one in trust.sources]), target.n)
        return replace(trust, a=weigh(counts, rule))
    every = [*trust.sources, target]
    model = refine(trust.fitted, every, batches=0, subset=_SUBSET, progress=False)
    a = weigh(beliefs(model, target, subset=_SUBSET), rule)
    return replace(trust, a=believed(a), now=model)


def believed(a: Float64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """Weights for sources that were chosen for the task. [Eq. odds]

    >>> believed(np.array([0.25])).tolist(), believed(np.array([0.5, 0.5])).tolist()
    ([0.75], [0.5, 0.5])
    """
    total = float(a.sum())
    return a * _BEFORE / (_BEFORE * total + max(0.0, 1.0 - total))


def _rows(one: Earlier, space: Space, transform: Transform | None):
    """The trials of an earlier study as rows of the unit cube, and where they stand in it."""
    n = len(one.params)
    chosen = np.arange(n)
    if n > _ROWS:
        rest = np.linspace(_ROWS // 2, n - 1, _ROWS - _ROWS // 2)
        chosen = np.unique(np.concatenate([chosen[: _ROWS // 2], rest.astype(int)]))
    found = [row(one.params[j], space) if space else None for j in chosen]
    places = chosen[[x is not None for x in found]]
    x = np.array([x for x in found if x is not None]).reshape(len(places), max(columns(space), 1))
    made = Demonstrations(x, one.y[places], one.name)
    return (made.transformed(transform) if transform is not None and made.n else made), places
