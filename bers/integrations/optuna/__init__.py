"""Optuna with the help of earlier studies: what a user imports.

from bers.integrations.optuna import BersSampler

study = optuna.create_study(sampler=BersSampler({"first": first, "second": second}))
"""

from bers.errors import ConfigError

try:
    import optuna  # noqa: F401
except ImportError as error:
    raise ConfigError(
        "bers.integrations.optuna needs Optuna: pip install 'bers[optuna]'."
    ) from error

from bers.integrations.optuna.handing import pays
from bers.integrations.optuna.report import HEADS, helped
from bers.integrations.optuna.sampler import BersSampler
from bers.integrations.optuna.space import KEY

__all__ = ["HEADS", "KEY", "BersSampler", "helped", "pays"]
