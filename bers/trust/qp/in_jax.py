"""The weights as part of a compiled JAX program.

Enters: rows, target and penalties as JAX arrays, traced or not. Leaves: the weights of simplex.py,
in the precision of the rows. The program calls back to the host, where all problems under `vmap`
are solved together, in double precision. There is no gradient.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from bers.errors import ConfigError, DataError
from bers.trust.qp.simplex import FEASIBLE, Feasible, solve


def weights_in_jax(
    M: Array | ArrayLike, t: Array | ArrayLike, s: Array | ArrayLike, feasible: Feasible = "simplex"
) -> Float[Array, " N"]:
    """The `a` of `solve` for one problem, under `jit`, `vmap` and `scan`. [Eq. qp]

    M: (N, d), t: (d,), s: (N,). More problems: `vmap`, several times if need be. What is not
    vmapped is shared, not copied.

    >>> M = jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    >>> targets = jnp.array([[0.8, 0.2], [-1.0, 0.0]])
    >>> both = jax.jit(jax.vmap(weights_in_jax, (None, 0, None)))(M, targets, jnp.full(3, 0.1))
    >>> np.asarray(both, np.float64).round(3).tolist()
    [[0.772, 0.217, 0.01], [0.002, 0.043, 0.954]]
    """
    with np.errstate(over="ignore"):  # what single precision cannot hold is refused on the host
        M, t, s = jnp.asarray(M), jnp.asarray(t), jnp.asarray(s)
    if feasible not in FEASIBLE:
        raise ConfigError(
            f"weights_in_jax(feasible=...) must be one of {', '.join(FEASIBLE)}; got {feasible!r}."
        )
    if M.ndim != 2 or t.shape != M.shape[1:] or s.shape != M.shape[:1] or len(M) == 0:
        raise DataError(
            "weights_in_jax(M, t, s) needs M (N, d), t (d,) and s (N,) with N at least 1, and vmap "
            f"for more than one problem; got {M.shape}, {t.shape} and {s.shape}."
        )
    dtype = M.dtype if jnp.issubdtype(M.dtype, jnp.floating) else jnp.result_type(float)
    return jax.pure_callback(
        partial(_on_the_host, feasible=feasible, dtype=dtype),
        jax.ShapeDtypeStruct(s.shape, dtype),
        M,
        t,
        s,
        vmap_method="expand_dims",
    )


def _on_the_host(
    M: ArrayLike, t: ArrayLike, s: ArrayLike, feasible: Feasible, dtype: np.dtype
) -> np.ndarray:
    """Each vmap leads with one more axis, of size 1 for what it shares; `solve` takes one."""
    M, t, s = (np.asarray(x, np.float64) for x in (M, t, s))
    batch = np.broadcast_shapes(M.shape[:-2], t.shape[:-1], s.shape[:-1])
    flat = [_flat(x, own, batch) for x, own in ((M, 2), (t, 1), (s, 1))]
    return solve(*flat, feasible=feasible).a.reshape(*batch, s.shape[-1]).astype(dtype)


def _flat(x: np.ndarray, own: int, batch: tuple[int, ...]) -> np.ndarray:
    shape = x.shape[-own:]
    if np.prod(x.shape[:-own]) == 1:
        return x.reshape(shape)
    return np.broadcast_to(x, (*batch, *shape)).reshape(-1, *shape)
