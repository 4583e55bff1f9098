"""Points of earlier studies by chance: the paper's way, for `BersSampler(reuse=...)`.

Enters: earlier studies, and all trials of the new one. Leaves: a good point of an earlier study, or
word that the base sampler shall have the trial. Trial m asks the studies with chance p_m times
their weights. [Algorithm bers]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from optuna.distributions import BaseDistribution
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, TrialState

from bers.algorithm import ReuseConfig
from bers.data.transforms import transform_named
from bers.integrations.optuna.space import (
    KEY,
    Earlier,
    params_of,
    row,
    rows_of,
    say_what_is_missing,
    shared,
)
from bers.model.config import ModelConfig
from bers.schedules import Power
from bers.trust.rules import without_gains
from bers.trust.trust import Trust

REUSE = ReuseConfig(schedule=Power(0.95), pick="predicted")
"""Unless some is given with an old word."""
SMALL = ModelConfig(hidden=(64,), latent_dim=8, batches=500, learning_rate=3e-3)
"""The model, unless given."""
_START = 4  # trials with the best point of one study each, before weights are asked
_APART = 0.05  # of a parameter's range: nearer points have been tried
_MORE = 4  # times as many points to choose from, if the new study's head picks them
_SUBSET = 256  # rows of a study that refresh its head
_BEFORE = 9.0
"""The odds take a source for one of any kind, which helps with a chance of 1/4. Studies that a user
has chosen for a new one help more often: 3/4 before any trial, nine times the odds."""


@dataclass(frozen=True)
class _Believed:
    """What is known after some trials."""

    space: dict[str, BaseDistribution]
    """The parameters that the model looks at."""
    sources: tuple[Any, ...]
    """Rows of the unit cube, best first."""
    places: tuple[Int[np.ndarray, " n"], ...]
    """Where each of these rows stands in its earlier study."""
    start: Trust | None
    """Before any trial; None where no study has a row that can be compared."""
    now: Trust | None = None

    @property
    def a(self) -> Float64[np.ndarray, " N"]:
        """Weights of the earlier studies."""
        some = np.array([one.n > 0 for one in self.sources])
        if self.now is None:
            return some / max(int(some.sum()), 1)
        return believed(self.now.weights) if self.now.has_target else self.now.weights

    def expected(self, x: Float64[np.ndarray, "n D"]) -> Float64[np.ndarray, " n"] | None:
        """What the new study's head expects of points; None before it has one."""
        return self.now.relabel(x) if self.now is not None and self.now.has_target else None


def believed(a: Float64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """Weights for sources that were chosen for the task. [Eq. odds]

    >>> believed(np.array([0.25])).tolist(), believed(np.array([0.5, 0.5])).tolist()
    ([0.75], [0.5, 0.5])
    """
    total = float(a.sum())
    return a * _BEFORE / (_BEFORE * total + max(0.0, 1.0 - total))


class Handing:
    """What is believed of earlier studies, and which point is next."""

    def __init__(self, reuse: ReuseConfig, model: ModelConfig | None) -> None:
        self.reuse = replace(reuse, rule=without_gains(reuse.rule, "BersSampler"))
        self.transform = transform_named(reuse.transform)
        self.model = model or SMALL
        self.trust: _Believed | None = None
        self._fitted_for: tuple[Any, ...] = ()
        self._warned = False

    def weights(self, sources: Sequence[Earlier]) -> Float64[np.ndarray, " N"]:
        """Of the earlier studies now; equal before the first trial."""
        some = np.array([bool(one.params) for one in sources])
        return some / max(int(some.sum()), 1) if self.trust is None else self.trust.a

    def decide(
        self,
        sources: list[Earlier],
        trials: list[FrozenTrial],
        number: int,
        maximised: bool,
        entropy: Any,
    ) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """Parameters of the next trial, if an earlier study has it, and what the trial keeps."""
        self._look(sources, trials, maximised, entropy)
        rng = np.random.default_rng([entropy, number])
        found = self._chosen(rng, sources, trials, number, maximised)
        weights = self.weights(sources)
        shares = dict(zip([one.name for one in sources], weights.tolist(), strict=True))
        nobody = max(0.0, 1.0 - float(weights.sum()))
        told: dict[str, Any] = {"source": None, "weights": {**shares, "nobody": nobody}}
        if found is None:
            return None, told
        told |= {"source": sources[found[0]].name, "point": found[1]}
        return sources[found[0]].params[found[1]], told

    def _look(
        self,
        sources: list[Earlier],
        trials: list[FrozenTrial],
        maximised: bool,
        entropy: Any,
    ) -> None:
        """Weights from the completed trials; the model is fitted when parameters are known."""
        done = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
        if not done:
            self.trust = None
            return
        whole_space = intersection_search_space(done)
        if not self._warned:
            say_what_is_missing(whole_space, sources)
            self._warned = True
        space = shared(whole_space, sources)
        key = (tuple(space.items()), maximised)
        if self.trust is None or key != self._fitted_for:
            rng = np.random.default_rng([entropy, 2**63])
            self.trust = self._learned(rng, sources, space)
            self._fitted_for = key
        sign = -1.0 if maximised else 1.0
        rows = [(row(t.params, space), sign * t.values[0]) for t in done] if space else []
        fine = [(x, y) for x, y in rows if x is not None]
        if fine:
            x, y = np.array([x for x, _ in fine]), np.array([y for _, y in fine])
            if self.trust.start is not None:
                self.trust = replace(self.trust, now=self.trust.start.observe(x, y))

    def _learned(
        self,
        rng: np.random.Generator,
        sources: Sequence[Earlier],
        space: dict[str, BaseDistribution],
    ) -> _Believed:
        """The model of the earlier studies."""
        rows, places = zip(*(rows_of(one, space) for one in sources), strict=True)
        start = None
        if any(one.n for one in rows):
            start = Trust(
                rows, rule=self.reuse.rule, model=self.model, robust=False, subset=_SUBSET,
                transform=self.transform, predicts=self.reuse.pick == "predicted", rng=rng,
                progress=False,
            )  # fmt: skip
        return _Believed(space, rows, places, start)

    def _chosen(
        self,
        rng: np.random.Generator,
        sources: list[Earlier],
        trials: list[FrozenTrial],
        number: int,
        maximised: bool,
    ) -> tuple[int, int] | None:
        """Which point of which study to try, if any."""
        told = [t.user_attrs[KEY] for t in trials if KEY in t.user_attrs]
        used = [(one["source"], one["point"]) for one in told if one.get("source") is not None]
        asked = {name for name, _ in used}
        a = self.weights(sources)
        start = len(asked) < min(_START, sum(bool(one.params) for one in sources))
        if start:  # each study's best point first, whatever a trial or two say of weights
            a = np.array([float(bool(one.params) and one.name not in asked) for one in sources])
        else:
            a = a * pays([one.name for one in sources], trials, maximised)
        if rng.random() >= self.reuse.schedule(number + 1) * min(float(a.sum()), 1.0):
            return None
        while a.sum() > 0:
            i = int(rng.choice(len(a), p=a / a.sum()))
            j = self._point(sources[i], i, trials, used, first=start)
            if j is not None:
                return i, j
            a[i] = 0.0
        return None

    def _point(
        self,
        source: Earlier,
        i: int,
        trials: list[FrozenTrial],
        used: list[tuple[str, int]],
        *,
        first: bool,
    ) -> int | None:
        """The next point of a study: best first, or as the new study's head expects."""
        trust = self.trust
        if trust is None or not trust.space or not trust.sources[i].n:
            return 0 if source.params and (source.name, 0) not in used else None
        count = self.reuse.elites * (1 if self.reuse.pick == "best" else _MORE)
        x, places = np.clip(trust.sources[i].x[:count], 0, 1), trust.places[i][:count]
        tried = [row(params_of(t), trust.space) for t in trials if t.state != TrialState.FAIL]
        tried = [point for point in tried if point is not None]
        open_ = np.array([(source.name, int(j)) not in used for j in places])
        if tried:
            open_ &= np.abs(x[:, None] - np.array(tried)).max(-1).min(1) > _APART
        if not open_.any():
            return None
        expected = None if first or self.reuse.pick == "best" else trust.expected(x)
        if expected is None:
            return int(places[np.argmax(open_)])
        return int(places[np.argmin(np.where(open_, expected, np.inf))])


def pays(
    names: Sequence[str], trials: Sequence[FrozenTrial], maximised: bool = False
) -> Bool[np.ndarray, " N"]:
    """Which earlier studies may go on: their best point so far is no worse than the middle of the
    trials that the base sampler made. Without any such trial, none: there is nothing to compare.

    >>> from optuna.trial import create_trial
    >>> trials = [create_trial(value=y, user_attrs={KEY: {"source": source}})
    ...           for y, source in [(1.0, None), (3.0, None), (0.5, "a"), (9.0, "b")]]
    >>> pays(["a", "b", "c"], trials).tolist()
    [True, False, True]
    """
    sign = -1.0 if maximised else 1.0
    own: list[float] = []
    theirs: dict[str, list[float]] = {}
    for one in trials:
        if not one.state.is_finished():
            continue
        source = one.user_attrs.get(KEY, {}).get("source")
        fine = one.state == TrialState.COMPLETE and np.isfinite(one.values[0])
        value = sign * one.values[0] if fine else np.inf  # failed and pruned are no use
        if source is not None:
            theirs.setdefault(source, []).append(value)
        elif fine:  # what a pruned trial would have been worth is not known
            own.append(value)
    if not own:
        return np.zeros(len(names), bool)
    middle = float(np.quantile(own, 0.5, method="higher"))
    return np.array([min(theirs.get(name, [-np.inf])) <= middle for name in names])
