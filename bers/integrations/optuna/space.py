"""Optuna's studies and search spaces, as rows of numbers.

Enter: earlier studies, lists of trials or demonstrations, and the distributions of the new study's
parameters. Leave: `Earlier` records, values the less the better; rows in the unit cube, one column
per number (in logarithms where the new study has them) and one per choice of a category; and values
of a single parameter as the new study takes them.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from optuna import Study
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bers.data.checks import usable
from bers.data.demonstrations import Demonstrations
from bers.errors import DataError, DataWarning
from bers.text import printable, unique

Space = Mapping[str, BaseDistribution]
KEY = "bers"
"""Where a trial keeps what was believed, and whose point it is: `trial.user_attrs[KEY]`."""
POINT = "bers:point"
"""Where a trial keeps the point that it was given, for all that are asked meanwhile:
`trial.system_attrs[POINT]`."""
_ROWS = 1000  # of an earlier study that the model is shown: the best, and some of all others


@dataclass(frozen=True)
class Earlier:
    """One earlier study: parameters of its trials and what these were worth."""

    name: str
    params: tuple[dict[str, Any], ...]
    """Best first."""
    y: Float64[np.ndarray, " n"]
    """Their values, the less the better."""
    direction: StudyDirection | None = StudyDirection.MINIMIZE
    """Of the study it was; None if that is not known."""
    kinds: Mapping[str, BaseDistribution] = field(default_factory=dict)
    """The distribution of every parameter, as it was last."""
    trials: tuple[FrozenTrial, ...] = ()
    """What it was made of, while the direction is not known."""

    @cached_property
    def names(self) -> set[str]:
        """Of all parameters that any trial has."""
        return {name for params in self.params for name in params}

    @cached_property
    def sometimes(self) -> set[str]:
        """Of parameters that some trials have and others do not."""
        every = set(self.params[0]).intersection(*self.params) if self.params else set()
        return self.names - every

    def towards(self, maximised: bool) -> "Earlier":
        """The same for a new study; if no direction is known, it is the new study's.

        >>> one = Earlier("a", ({"x": 1}, {"x": 2}), np.array([3.0, 4.0]), None)
        >>> one.towards(True).params, one.towards(True).y.tolist()
        (({'x': 2}, {'x': 1}), [-4.0, -3.0])
        """
        if self.direction is not None or not maximised:
            return self
        if self.trials:
            turned = _of_trials(self.name, self.trials, StudyDirection.MAXIMIZE, quiet=True)
            return replace(turned, direction=None)
        return replace(self, params=self.params[::-1], y=-self.y[::-1])


def as_earlier(given: Any) -> list[Earlier]:
    """Earlier studies from whatever a user has; what cannot be used is refused by name.

    >>> found = as_earlier([Demonstrations([[0.1], [0.2]], [5.0, 3.0], "a", x_names=("lr",))])
    >>> found[0].params, found[0].y.tolist()
    (({'lr': 0.2}, {'lr': 0.1}), [3.0, 5.0])
    """
    given = () if given is None else given
    if isinstance(given, str | Study | Demonstrations) or not isinstance(given, Mapping | Sequence):
        raise DataError(
            f"sources must be a list of earlier studies; got {type(given).__name__}. Put it in [ ]."
        )
    if isinstance(given, Sequence) and given and all(isinstance(t, FrozenTrial) for t in given):
        raise DataError("sources must be a list of studies; got one list of trials. Put it in [ ].")
    pairs = list(given.items() if isinstance(given, Mapping) else enumerate(given))
    found = [_earlier(one, key) for key, one in pairs]
    names = unique([one.name for one in found])
    return [replace(one, name=name) for name, one in zip(names, found, strict=True)]


def _earlier(one: Any, key: Any) -> Earlier:
    name = key if isinstance(key, str) else f"study {key}"
    if isinstance(one, Demonstrations):
        columns = [dict(zip(one.x_names, row, strict=True)) for row in one.x.tolist()]
        ends = zip(one.x_names, one.x.min(0).tolist(), one.x.max(0).tolist(), strict=True)
        kinds = {key: FloatDistribution(low, high) for key, low, high in ends} if one.n else {}
        found = _sorted(name if isinstance(key, str) else one.name, columns, one.original_y)
        return replace(found, kinds=kinds)
    if isinstance(one, Study):
        if len(one.directions) > 1:
            raise DataError(
                f"'{printable(name)}' has {len(one.directions)} objectives; one is needed. Make a "
                "list of its trials with the value that matters: optuna.trial.create_trial(...)."
            )
        if not isinstance(key, str) and not one.study_name.startswith("no-name-"):
            name = one.study_name
        return _of_trials(name, one.get_trials(deepcopy=False), one.direction)
    if isinstance(one, Sequence) and all(isinstance(trial, FrozenTrial) for trial in one):
        return _of_trials(name, one, None)
    raise DataError(
        f"'{printable(name)}' must be a study, a list of its trials or demonstrations; "
        f"got {type(one).__name__}. optuna.load_study(...) reads a stored study."
    )


def _of_trials(
    name: str,
    trials: Sequence[FrozenTrial],
    direction: StudyDirection | None,
    quiet: bool = False,
) -> Earlier:
    """Trials with a value; what was pruned is worth no less than the middle of them."""
    done = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
    if any(len(trial.values) != 1 for trial in done):
        raise DataError(f"'{printable(name)}' has trials with several values; one is needed.")
    sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
    values = np.array([sign * trial.values[0] for trial in done], np.float64)
    fine = values[usable(values)]
    if len(fine):
        broken = np.array([constrained(t) for t in done], bool)
        values[broken & usable(values)] = fine.max()
        middle = float(np.median(fine))
        pruned = [t for t in trials if t.state == TrialState.PRUNED and t.params]
        for t in pruned:
            last = last_value(t)
            if last is not None:
                done.append(t)
                values = np.append(values, max(middle, sign * last))
    kinds = {key: kind for t in done for key, kind in t.distributions.items()}
    found = _sorted(name, [dict(trial.params) for trial in done], values, quiet=quiet)
    kept = tuple(trials) if direction is None else ()
    return replace(found, direction=direction, kinds=kinds, trials=kept)


def params_of(trial: FrozenTrial) -> dict[str, Any]:
    """Its parameters; while it is under way, also those that it was given and has not asked for.

    >>> from optuna.trial import create_trial
    >>> params_of(create_trial(state=TrialState.RUNNING, system_attrs={POINT: {"x": 0.5}}))
    {'x': 0.5}
    """
    if trial.state != TrialState.RUNNING:
        return trial.params
    given = trial.system_attrs.get(POINT) or trial.system_attrs.get("fixed_params") or {}
    return {**given, **trial.params}


def usable_value(value: float) -> bool:
    """Whether a value can be learned from.

    >>> usable_value(1.0), usable_value(float("inf")), usable_value(1e200)
    (True, False, False)
    """
    return bool(usable(np.array([value]))[0])


def last_value(trial: FrozenTrial) -> float | None:
    """What a trial reported last, if it is a number."""
    if not trial.intermediate_values:
        return None
    value = float(trial.intermediate_values[max(trial.intermediate_values)])
    return value if usable_value(value) else None


def constrained(trial: FrozenTrial) -> bool:
    """Whether a trial breaks a constraint."""
    found = trial.system_attrs.get("constraints") or ()
    found = found.values() if isinstance(found, Mapping) else found
    found = [*found, *(getattr(trial, "constraints", None) or {}).values()]
    return any(value > 0 for value in found)


def _sorted(name: str, params: list[dict[str, Any]], y: np.ndarray, quiet: bool = False) -> Earlier:
    fine = np.flatnonzero(usable(y))
    if len(fine) < len(y) and not quiet:
        warnings.warn(
            f"'{printable(name)}': {len(y) - len(fine)} of {len(y)} values are not finite or "
            "beyond 1e150; these trials are left out.",
            DataWarning,
            stacklevel=6,
        )
    best = fine[np.argsort(y[fine], kind="stable")]
    return Earlier(name, tuple(params[i] for i in best), np.asarray(y, np.float64)[best])


def fitting(value: Any, distribution: BaseDistribution) -> Any:
    """A value of another study as a distribution takes it; an error if there is none.

    Numbers are moved into the range, to the nearest step; a category must have the choice.

    >>> fitting(0.27, FloatDistribution(0.0, 1.0, step=0.25)), fitting(900, IntDistribution(1, 64))
    (0.25, 64)
    >>> fitting("adam", FloatDistribution(0.0, 1.0))
    Traceback (most recent call last):
    bers.errors.DataError: 'adam' is no number; give the parameter the same type in all studies.
    """
    if isinstance(distribution, CategoricalDistribution):
        try:
            return distribution.choices[int(distribution.to_internal_repr(value))]
        except ValueError as error:
            raise DataError(
                f"{error} Give the parameter the same choices in all studies."
            ) from None
    if not isinstance(value, Real) or not math.isfinite(value):
        raise DataError(f"{value!r} is no number; give the parameter the same type in all studies.")
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    inside = min(max(float(value), low), high)
    if step is not None:
        inside = min(max(low + round((inside - low) / step) * step, low), high)
    return int(inside) if isinstance(distribution, IntDistribution) else float(inside)


def columns(space: Space) -> int:
    """How many numbers a row of a space has.

    >>> columns({"C": FloatDistribution(1e-3, 1e3, log=True),
    ...          "kernel": CategoricalDistribution(["rbf", "poly"])})
    3
    """
    return sum(_width(distribution) for distribution in space.values())


def row(params: Mapping[str, Any], space: Space) -> Float64[np.ndarray, " D"] | None:
    """Parameters as a row of the unit cube; None where one is missing or has no place there.

    Numbers beyond the range lie outside the cube, so that they still teach the model.

    >>> space = {"C": FloatDistribution(1e-3, 1e3, log=True),
    ...          "kernel": CategoricalDistribution(["rbf", "poly"])}
    >>> row({"C": 1.0, "kernel": "poly"}, space).round(6).tolist()
    [0.5, 0.0, 1.0]
    """
    found: list[float] = []
    for name, distribution in space.items():
        if name not in params:
            return None
        try:
            inside = fitting(params[name], distribution)
        except DataError:
            return None
        if isinstance(distribution, CategoricalDistribution):
            place = int(distribution.to_internal_repr(inside))
            found.extend(float(place == i) for i in range(_width(distribution)))
            continue
        assert isinstance(distribution, FloatDistribution | IntDistribution)
        low, high, at = float(distribution.low), float(distribution.high), float(params[name])
        if distribution.log:
            if at <= 0:
                return None
            low, high, at = math.log(low), math.log(high), math.log(at)
        found.append((at - low) / (high - low) if high > low else 0.5)
    return np.clip(np.array(found), -1.0, 2.0)


def _width(distribution: BaseDistribution) -> int:
    return len(distribution.choices) if isinstance(distribution, CategoricalDistribution) else 1


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
        other = sorted(name for name in set(space) & one.names if not _fits(one, name, space[name]))
        if not one.params:
            told = "has no completed trials, so it gets no weight. Leave it out."
        elif len(lost) == len(space):
            told = "has none of the new study's parameters. Leave it out, or rename its parameters."
        elif other:
            told = (
                f"has no value of {printable(', '.join(other), 80)} that the new study could take, "
                "so nothing is learned from it there. Give a parameter the same type and choices "
                "in all studies."
            )
        elif lost:
            told = (
                f"does not have {printable(', '.join(lost), 80)}; studies are compared by shared "
                "parameters only. Add trials that have all, if there are any."
            )
        else:
            continue
        warnings.warn(f"'{printable(one.name)}' {told}", DataWarning, stacklevel=2)


def _fits(one: Earlier, name: str, kind: BaseDistribution) -> bool:
    """Whether any value that an earlier study tried of a parameter has a place in the new one."""
    tried = (params for params in one.params if name in params)
    return any(row(params, {name: kind}) is not None for params in tried)


def rows_of(one: Earlier, space: Space) -> tuple[Demonstrations, Int[np.ndarray, " n"]]:
    """The trials of an earlier study as rows of the unit cube, and where they stand in it."""
    n = len(one.params)
    chosen = np.arange(n)
    if n > _ROWS:
        rest = np.linspace(_ROWS // 2, n - 1, _ROWS - _ROWS // 2)
        chosen = np.unique(np.concatenate([chosen[: _ROWS // 2], rest.astype(int)]))
    found = [row(one.params[j], space) if space else None for j in chosen]
    places = chosen[[x is not None for x in found]]
    x = np.array([x for x in found if x is not None]).reshape(len(places), max(columns(space), 1))
    return Demonstrations(x, one.y[places], one.name), places
