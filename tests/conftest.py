"""Shapes written in signatures are executed; what JAX compiles is kept for all test processes."""

import os

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


def pytest_configure(config):
    """Workers, and programs that tests start, share one folder: nothing is compiled twice."""
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
