"""All studies by name: what makes them, how many trials they have, and how long they take.

Enters: a name. Leaves: an experiment that the runner can run, as reported or as a quick look.
Nothing of a study is imported until it is asked for.
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from bers.errors import ConfigError
from bers_studies.runner.run import Experiment


@dataclass(frozen=True)
class Study:
    """What is known of a study before it is imported."""

    module: str
    trials: int
    seconds: float | None = None
    """Of one part on one core, where it was measured; a part is a trial or one of its targets."""
    parts: int = 1
    """Of a trial, run one by one."""
    quick_trials: int = 2
    given: str | None = None
    """What fixes the number of trials, if it cannot be chosen."""
    needs: tuple[str, ...] = ()
    """Packages that do not come with bers alone."""

    @property
    def missing(self) -> list[str]:
        """Those of them that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]

    def experiment(self, name: str, *, quick: bool = False) -> Experiment:
        """For the runner."""
        if self.missing:
            raise ConfigError(
                f"{name} needs {', '.join(self.missing)}. `make venv` installs what studies need."
            )
        module = import_module(f"bers_studies.{self.module}.study")
        return Experiment(name, module.QUICK if quick else module.CONFIG, module.trial)

    def seeds(self, trials: int | None, *, quick: bool = False) -> range:
        """One number for each part."""
        if trials is not None and self.given is not None:
            raise ConfigError(f"{self.module} has one trial per {self.given}; leave --trials out.")
        usual = self.quick_trials if quick and self.given is None else self.trials
        return range((trials or usual) * self.parts)


_AGENTS = ("gymnasium", "stable_baselines3", "torch")
_TUNING = ("optuna", "sklearn", "cmaes")
STUDIES: dict[str, Study] = {
    "static": Study("static", 20, 90, needs=("cmaes",)),
    "safety": Study("safety", 20, 120),
    "growth": Study("growth", 20, 150),
    "options": Study("options", 20, 72),
    "paper-metric": Study("paper_metric", 5, 144),
    "latent": Study("latent", 5, 24),
    "supply": Study("supply", 5, 1020, parts=4, quick_trials=1),
    "supply-options": Study("supply_options", 5, 1080, parts=2, quick_trials=1),
    "supply-flows": Study("supply_flows", 1, 120, parts=4, quick_trials=1),
    "reacher": Study("reacher", 5, 520, parts=2, quick_trials=1),
    "reacher-map": Study("reacher_map", 1, 240, quick_trials=1),
    "agents": Study("agents", 5, 150, parts=5, quick_trials=1, needs=_AGENTS),
    "tuning": Study("tuning", 20, 15, parts=5, quick_trials=1, needs=_TUNING),
    "heads": Study("heads", 5, 72),
    "trust": Study("trust", 20, 72),
    "nobody": Study("nobody", 20, 42),
    "grunfeld": Study("grunfeld", 11, 22, given="firm", needs=("statsmodels",)),
}
"""In the order in which they are run."""


def study_named(name: str) -> Study:
    """One of them.

    >>> study_named("nobody").trials
    20
    """
    if name not in STUDIES:
        raise ConfigError(f"there is no experiment {name!r}. Known: {', '.join(STUDIES)}.")
    return STUDIES[name]
