"""Optuna with the help of earlier studies: `BersSampler`.

Enters: earlier studies, and a new study as Optuna shows it to a sampler. Leaves: points that a
surrogate of the new study proposes, which begins with what the earlier ones have in common; for
some trials, what a base sampler suggests. All that was tried is read from the study itself, so that
threads, processes and sessions can share it.
"""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from bers.algorithm import ReuseConfig
from bers.deprecated import old_words
from bers.errors import ConfigError, DataError, DataWarning
from bers.integrations.optuna.handing import REUSE, Handing
from bers.integrations.optuna.proposing import Proposing
from bers.integrations.optuna.space import KEY, POINT, Earlier, as_earlier, fitting
from bers.learners.differential_evolution import DE
from bers.model.config import ModelConfig
from bers.optimise.old_words import old_settings

_OLD = {"metric", "schedule", "elites", "pick", "transform", "config"}


def _of_now(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The sampler's words of the version before as those of now.

    What to write instead is said in full: a `ReuseConfig` has other defaults than this sampler.

    >>> _of_now({"seed": 1, "elites": 4})[1]["elites"]
    "reuse=ReuseConfig(schedule=Power(rho=0.95), elites=4, pick='predicted')"
    """
    if words.get("schedule", 1.0) is None:  # that was the default
        words = {name: value for name, value in words.items() if name != "schedule"}
    ours = {name: words[name] for name in words if name in {*_OLD, "reuse", "model"}}
    found, said = old_settings(DE(), REUSE)(ours)
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

    A surrogate of the new study proposes points from the first trial on. It begins with what the
    earlier studies have in common, and the new trials decide how much of that to keep. One early
    trial, and one in ten of the later ones, are the base sampler's. With no sources, all are.

    Parameters
    ----------
    sources
        A list of studies, or a mapping by name. A study is an `optuna.Study`, a list of its
        trials, which then have the new study's direction, or `Demonstrations` with the parameters
        as x_names, the less the better. None: no studies.
    base
        The sampler for some trials, and for parameters that no study has; TPE with this `seed`
        unless given.
    seed
        The same one gives the same trials.
    reuse
        Leave it out. With a `ReuseConfig`, there is no surrogate: trial m takes a good point of an
        earlier study with chance p_m times its weight, and all other trials are the base sampler's,
        as in the paper. The guard is of no effect here.
    model
        Settings of the model behind those weights; with it, `reuse` may be left out.
    odds
        That the earlier studies help, to one that they do not, before the first trial.

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
    >>> abs(study.trials[0].params["x"] - 7) < 0.5, list(sampler.weights)
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
        odds: float = 1.0,
    ) -> None:
        if base is not None and not isinstance(base, BaseSampler):
            raise ConfigError(f"base must be a sampler of Optuna; got {type(base).__name__}.")
        self.base = TPESampler(seed=seed) if base is None else base
        if not odds > 0:
            raise ConfigError(f"odds must be above 0; got {odds}. Give 1 if in doubt.")
        handed = reuse is not None or model is not None
        way = Handing(REUSE if reuse is None else reuse, model) if handed else Proposing(odds)
        self._way: Handing | Proposing = way
        self.reuse = way.reuse if isinstance(way, Handing) else None
        self.model = way.model if isinstance(way, Handing) else None
        self._given = as_earlier(sources)
        self._entropy: Any = np.random.SeedSequence(seed).entropy
        self._turned: list[Earlier] | None = None
        self._followed: dict[int, dict[str, Any]] = {}
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
        a = self._way.weights(self._given)
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
        with self._lock:  # threads share the model, and see what the others were given
            trials = study.get_trials(deepcopy=False)
            sources = self._towards(maximised)
            point, told = self._way.decide(sources, trials, trial.number, maximised, self._entropy)
            study._storage.set_trial_user_attr(trial._trial_id, KEY, told)
            if point is not None:
                study._storage.set_trial_system_attr(trial._trial_id, POINT, point)
        return point

    def _towards(self, maximised: bool) -> list[Earlier]:
        """The earlier studies for this direction."""
        if not maximised:
            return self._given
        if self._turned is None:
            self._turned = [one.towards(True) for one in self._given]
        return self._turned
