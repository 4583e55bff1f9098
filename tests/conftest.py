"""Shapes written in the model's signatures are executed while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("bers.model", "shape_checks.checked")
