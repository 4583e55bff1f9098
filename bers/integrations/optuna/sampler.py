"""Optuna with the help of earlier studies: `BersSampler`. [Algorithm bers]

Enters: earlier studies, and a new study as Optuna shows it to a sampler. Leaves: for some trials,
good points of earlier studies, as a person would enqueue them; for all others, what a base sampler
suggests. Which study is believed, and how much, follows from the new trials. All that was tried is
read from the study itself, so that threads, processes and sessions can share it.
"""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bers.algorithm import ReuseConfig
from bers.data.transforms import transform_named
from bers.deprecated import old_words
from bers.errors import ConfigError, DataError, DataWarning
from bers.integrations.optuna.space import (
    Earlier,
    as_earlier,
    fitting,
    row,
    rows_of,
    say_what_is_missing,
    shared,
)
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.old_words import old_settings
from bers.schedules import Power
from bers.trust.rules import without_gains
from bers.trust.trust import Trust

KEY = "bers"
"""Where a trial keeps what was believed, and whose point it is: `trial.user_attrs[KEY]`."""
_START = 4  # trials with the best point of one study each, before weights are asked
_APART = 0.05  # of a parameter's range: nearer points have been tried
_MORE = 4  # times as many points to choose from, if the new study's head picks them
_SUBSET = 256  # rows of a study that refresh its head
_BEFORE = 9.0
"""The odds take a source for one of any kind, which helps with a chance of 1/4. Studies that a user
has chosen for a new one help more often: 3/4 before any trial, nine times the odds."""
_REUSE = ReuseConfig(schedule=Power(0.95), pick="predicted")
_SMALL = ModelConfig(hidden=(64,), latent_dim=8, batches=500, learning_rate=3e-3)
_OLD = {"metric", "schedule", "elites", "pick", "transform", "config"}


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
        return self.now.predict(x).mean if self.now is not None and self.now.has_target else None


def believed(a: Float64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
    """Weights for sources that were chosen for the task. [Eq. odds]

    >>> believed(np.array([0.25])).tolist(), believed(np.array([0.5, 0.5])).tolist()
    ([0.75], [0.5, 0.5])
    """
    total = float(a.sum())
    return a * _BEFORE / (_BEFORE * total + max(0.0, 1.0 - total))


def _of_now(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The sampler's words of the version before as those of now.

    What to write instead is said in full: a `ReuseConfig` has other defaults than this sampler.

    >>> _of_now({"seed": 1, "elites": 4})[1]["elites"]
    "reuse=ReuseConfig(schedule=Power(rho=0.95), elites=4, pick='predicted')"
    """
    if words.get("schedule", 1.0) is None:  # that was the default
        words = {name: value for name, value in words.items() if name != "schedule"}
    ours = {name: words[name] for name in words if name in {*_OLD, "reuse", "model"}}
    found, said = old_settings(DE(), _REUSE)(ours)
    for old in said.keys() - {"config"}:
        said[old] = f"reuse={_written(found['reuse'])}"
    return {name: words[name] for name in words if name not in ours} | found, said


def _written(reuse: ReuseConfig) -> str:
    """How one writes these settings."""
    pairs = [(one.name, getattr(reuse, one.name)) for one in fields(reuse)]
    usual = ReuseConfig()
    changed = [f"{name}={value!r}" for name, value in pairs if value != getattr(usual, name)]
    return f"ReuseConfig({', '.join(changed)})"


class BersSampler(BaseSampler):
    """A sampler that learns from earlier studies of the same parameters.

    With no sources, or a schedule of 0, trials are those of the base sampler, bit for bit.

    Parameters
    ----------
    sources
        A list of studies, or a mapping by name. A study is an `optuna.Study`, a list of its
        trials, which then have the new study's direction, or `Demonstrations` with the parameters
        as x_names, the less the better.
    base
        The sampler for all other trials; TPE with this `seed` unless given.
    seed
        The same one gives the same trials.
    reuse
        How earlier studies are used; unless given,
        `ReuseConfig(schedule=bers.schedules.Power(0.95), pick="predicted")`: p_m is the chance
        that trial m asks the studies, and they hand over what the new study's head expects to be
        best. The guard is of no effect here.
    model
        Settings of the model; a small one unless given.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def near(best):
    ...     return lambda trial: (trial.suggest_float("x", 0, 10) - best) ** 2
    >>> first = optuna.create_study(sampler=TPESampler(seed=0))
    >>> first.optimize(near(7.0), n_trials=30)
    >>> sampler = BersSampler({"first": first}, seed=1)
    >>> study = optuna.create_study(sampler=sampler)
    >>> study.optimize(near(7.1), n_trials=6)
    >>> study.trials[0].params == first.best_params, list(sampler.weights)
    (True, ['first', 'nobody'])
    """

    @old_words(_of_now)
    def __init__(
        self,
        sources: Any = (),
        *,
        base: BaseSampler | None = None,
        seed: int | None = None,
        reuse: ReuseConfig | None = None,
        model: ModelConfig | None = None,
    ) -> None:
        reuse = _REUSE if reuse is None else reuse
        if base is not None and not isinstance(base, BaseSampler):
            raise ConfigError(f"base must be a sampler of Optuna; got {type(base).__name__}.")
        self.base = TPESampler(seed=seed) if base is None else base
        self.reuse = replace(reuse, rule=without_gains(reuse.rule, "BersSampler"))
        self.transform = transform_named(reuse.transform)
        self.model = model or _SMALL
        self._given = as_earlier(sources)
        self._entropy: Any = np.random.SeedSequence(seed).entropy
        self._trust: _Believed | None = None
        self._fitted_for: tuple[Any, ...] = ()
        self._followed: dict[int, dict[str, Any]] = {}
        self._warned = False
        self._lock = threading.Lock()
        if self._given and not any(one.params for one in self._given):
            warnings.warn(
                "no earlier study has a completed trial, so the base sampler does everything.",
                DataWarning,
                stacklevel=2,
            )

    # what is known

    @property
    def weights(self) -> dict[str, float]:
        """The share of each earlier study now, and of "nobody"; equal before the first trial."""
        if not self._given:
            return {"nobody": 1.0}
        some = np.array([bool(one.params) for one in self._given])
        a = some / max(int(some.sum()), 1) if self._trust is None else self._trust.a
        names = [one.name for one in self._given]
        nobody = max(0.0, 1.0 - float(a.sum()))
        return {**dict(zip(names, a.tolist(), strict=True)), "nobody": nobody}

    # for Optuna

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Decide whether the trial takes a point of an earlier study.

        Parameters
        ----------
        study, trial
            As Optuna hands them over.
        """
        if len(study.directions) > 1:
            raise ConfigError(
                f"BersSampler is for one objective; the study has {len(study.directions)}. Use "
                "optuna.samplers.TPESampler or NSGAIISampler for several."
            )
        point = None
        if self._given and "fixed_params" not in trial.system_attrs:
            point = self._decide(study, trial)
        if point is None:
            self.base.before_trial(study, trial)
        else:
            self._followed[trial._trial_id] = point

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """That of the base sampler; none where an earlier study's point is taken.

        Parameters
        ----------
        study, trial
            As Optuna hands them over.

        Returns
        -------
        dict
            Distributions by name.
        """
        if trial._trial_id in self._followed:
            return {}
        return self.base.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """What the base sampler suggests; nothing where an earlier study's point is taken.

        Parameters
        ----------
        study, trial, search_space
            As Optuna hands them over.

        Returns
        -------
        dict
            Values by name.
        """
        if trial._trial_id in self._followed:
            return {}
        return self.base.sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A parameter of the earlier study's point; the base sampler's where it has none that fits.

        Parameters
        ----------
        study, trial, param_name, param_distribution
            As Optuna hands them over.

        Returns
        -------
        object
            The parameter's value.
        """
        point = self._followed.get(trial._trial_id, {})
        if param_name in point:
            try:
                return fitting(point[param_name], param_distribution)
            except DataError:
                pass  # another type or other choices: the base sampler knows them
        return self.base.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Hand over to the base sampler.

        Parameters
        ----------
        study, trial, state, values
            As Optuna hands them over.
        """
        self._followed.pop(trial._trial_id, None)
        self.base.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        """Of the base sampler; our own draws depend on the seed and on the trial's number."""
        self.base.reseed_rng()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in {**state, "_lock": threading.Lock()}.items():
            setattr(self, name, value)

    # the decision

    def _decide(self, study: Study, trial: FrozenTrial) -> dict[str, Any] | None:
        maximised = study.direction == StudyDirection.MAXIMIZE
        sources = [one.towards(maximised) for one in self._given]
        trials = study.get_trials(deepcopy=False)
        with self._lock:  # threads share the model
            self._look(sources, trials, maximised)
            trust = self._trust
        rng = np.random.default_rng([self._entropy, trial.number])
        found = self._chosen(rng, sources, trust, trials, trial.number, maximised)
        told: dict[str, Any] = {"source": None, "weights": self.weights}
        if found is not None:
            told |= {"source": sources[found[0]].name, "point": found[1]}
        study._storage.set_trial_user_attr(trial._trial_id, KEY, told)
        return None if found is None else sources[found[0]].params[found[1]]

    def _look(self, sources: list[Earlier], trials: list[FrozenTrial], maximised: bool) -> None:
        """Weights from the completed trials; the model is fitted when parameters are known."""
        done = [t for t in trials if t.state == TrialState.COMPLETE and t.params]
        if not done:
            self._trust = None
            return
        whole_space = intersection_search_space(done)
        if not self._warned:
            say_what_is_missing(whole_space, sources)
            self._warned = True
        space = shared(whole_space, sources)
        key = (tuple(space.items()), maximised)
        if self._trust is None or key != self._fitted_for:
            rng = np.random.default_rng([self._entropy, 2**63])
            self._trust = self._learned(rng, sources, space)
            self._fitted_for = key
        sign = -1.0 if maximised else 1.0
        rows = [(row(t.params, space), sign * t.values[0]) for t in done] if space else []
        fine = [(x, y) for x, y in rows if x is not None]
        if fine:
            x, y = np.array([x for x, _ in fine]), np.array([y for _, y in fine])
            if self._trust.start is not None:
                self._trust = replace(self._trust, now=self._trust.start.observe(x, y))

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
        trust: _Believed | None,
        trials: list[FrozenTrial],
        number: int,
        maximised: bool,
    ) -> tuple[int, int] | None:
        """Which point of which study to try, if any."""
        told = [t.user_attrs[KEY] for t in trials if KEY in t.user_attrs]
        used = [(one["source"], one["point"]) for one in told if one.get("source") is not None]
        asked = {name for name, _ in used}
        a = np.array([self.weights[one.name] for one in sources])
        start = len(asked) < min(_START, sum(bool(one.params) for one in sources))
        if start:  # each study's best point first, whatever a trial or two say of weights
            a = np.array([float(bool(one.params) and one.name not in asked) for one in sources])
        else:
            a = a * pays([one.name for one in sources], trials, maximised)
        if rng.random() >= self.reuse.schedule(number + 1) * min(float(a.sum()), 1.0):
            return None
        while a.sum() > 0:
            i = int(rng.choice(len(a), p=a / a.sum()))
            j = self._point(sources[i], i, trust, trials, used, first=start)
            if j is not None:
                return i, j
            a[i] = 0.0
        return None

    def _point(
        self,
        source: Earlier,
        i: int,
        trust: _Believed | None,
        trials: list[FrozenTrial],
        used: list[tuple[str, int]],
        *,
        first: bool,
    ) -> int | None:
        """The next point of a study: best first, or as the new study's head expects."""
        if trust is None or not trust.space or not trust.sources[i].n:
            return 0 if source.params and (source.name, 0) not in used else None
        count = self.reuse.elites * (1 if self.reuse.pick == "best" else _MORE)
        x, places = np.clip(trust.sources[i].x[:count], 0, 1), trust.places[i][:count]
        tried = [row(t.params, trust.space) for t in trials if t.state != TrialState.FAIL]
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
