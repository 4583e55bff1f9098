"""Shapes in signatures are executed; JAX compiles once for all; Ray has a token of its own."""

import os
import secrets

from jaxtyping import install_import_hook

_WITH_SHAPES = {
    "model": "calibration encoder neural_linear nig posteriors scaling training",
    "trust": "beliefs objective odds rules ranking",
    "reuse": "points transitions",
    "learners": "base ask_and_tell differential_evolution",
}
install_import_hook(
    [f"bers.{room}.{name}" for room, names in _WITH_SHAPES.items() for name in names.split()],
    "shape_checks.checked",
)

# clusters of the tests have a token of their own; Ray reads these when it is first imported
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def pytest_runtest_setup(item):
    """Every test has its shapes checked."""
    import shape_checks

    shape_checks.check_again()


def pytest_configure(config):
    """Workers, and programs that tests start, share one folder: nothing is compiled twice.

    Each computes with one thread: there are as many workers as cores.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if config.pluginmanager.has_plugin("cacheprovider"):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
