"""BersSampler for OptunaHub's registry."""

from bers.integrations.optuna import BersSampler

__all__ = ["BersSampler"]
