"""One thread for every library of a process that is started inside the block.

By the environment, since these libraries count the cores when they are loaded.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_ONE = {
    "OMP_NUM_THREADS": "1",  # PyTorch
    "OPENBLAS_NUM_THREADS": "1",  # NumPy, SciPy, cvxopt
    "NPROC": "1",  # JAX
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes that start in the block have it; this one stays as it is."""
    before = {name: os.environ.get(name) for name in _ONE}
    os.environ.update(_ONE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
