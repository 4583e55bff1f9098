"""Shapes written in signatures are executed while the tests run."""

from jaxtyping import install_import_hook

_WITH_SHAPES = {
    "model": "calibration encoder early_stopping evidence neural_linear nig posteriors scaling "
    "student training",
    "trust": "beliefs objective odds rules ranking",
    "reuse": "guard guide",
    "learners": "base camps differential_evolution",
}
install_import_hook(
    [f"bers.{room}.{name}" for room, names in _WITH_SHAPES.items() for name in names.split()],
    "shape_checks.checked",
)
