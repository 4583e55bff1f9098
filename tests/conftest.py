"""Shapes written in the model's signatures are executed while the tests run."""

from jaxtyping import install_import_hook

_WITH_SHAPES = (
    "calibration encoder early_stopping evidence neural_linear nig posteriors scaling student "
    "training"
)
install_import_hook([f"bers.model.{name}" for name in _WITH_SHAPES.split()], "shape_checks.checked")
