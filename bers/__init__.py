"""Bayesian Experience Reuse: which demonstrators should a new task learn from, and how much?

The names below are the public ones. Each is loaded when it is first used, so `import bers` is
quick and brings in neither JAX nor any optional package.
"""

from importlib import import_module
from importlib.metadata import version as _version

_WHERE = {
    "Trust": "bers.trust.trust",
    "rank": "bers.trust.trust",
    "Ranking": "bers.trust.ranking",
    "minimize": "bers.optimise.minimize",
    "minimize_many": "bers.optimise.multitask",
    "Optimizer": "bers.optimise.ask_tell",
    "Campaign": "bers.optimise.campaign",
    "Space": "bers.optimise.space",
    "CMAES": "bers.learners.cma_es",
    "DE": "bers.learners.differential_evolution",
    "AskTell": "bers.learners.ask_and_tell",
    "ReuseConfig": "bers.algorithm",
    "Demonstrations": "bers.data.demonstrations",
    "Shards": "bers.data.shards",
    "CSV": "bers.data.formats.delimited",
    "as_sources": "bers.data.given",
    "load": "bers.data.storage",
    "save": "bers.data.storage",
    "save_page": "bers.pages",
    "ModelConfig": "bers.model.config",
    "Model": "bers.model.neural_linear",
    "fit": "bers.model.neural_linear",
    "refine": "bers.model.neural_linear",
    "load_model": "bers.model.model_files",
    "save_model": "bers.model.model_files",
}
_MODULES = ("rules", "schedules", "transforms")
"""What users choose from: `bers.rules.RULES`, `bers.schedules.Power`, `bers.transforms.Log1p`."""

__all__ = sorted(_WHERE)  # pyright: ignore[reportUnsupportedDunderAll]
__version__ = _version("bers")


def __getattr__(name: str) -> object:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name in _MODULES:
        return import_module(f"bers.{name}")
    raise AttributeError(f"module 'bers' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, *_MODULES]
