"""The marginal likelihood of a mini-batch, and its gradient in the features, in closed form.

Enters: features Φ and labels y of one mini-batch of one head. Leaves: log p(y | Φ), which the
encoder is trained on. Implements [Eq. nig_ll] in float32, with a gradient that needs no
derivative of a Cholesky factor. [Eq. nig_ll_gradient]

    ∂ log p / ∂Φ = (α/β) (y − Φμ) μᵀ − Φ Λ⁻¹

The first term follows because μ minimises β, so moving μ changes nothing to first order.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

Rows = Float[Array, "b D"]
Labels = Float[Array, " b"]
Scalar = float | Float[Array, ""]


@jax.custom_vjp
def log_evidence(
    Phi: Rows, y: Labels, n: Scalar, Lam0: Float[Array, " D"], alpha0: Scalar, beta0: Scalar
) -> Scalar:
    """log p(y | Φ) of n rows under a zero-mean prior with diagonal precision Λ⁰. [Eq. nig_ll]

    Rows of zeros with a zero label say nothing: pad with them, and count the others in n.
    """
    return _forward(Phi, y, n, Lam0, alpha0, beta0)[0]


def _forward(Phi, y, n, Lam0, alpha0, beta0):
    C = jnp.linalg.cholesky(jnp.diag(Lam0) + Phi.T @ Phi)
    Sigma = cho_solve((C, True), jnp.eye(len(Lam0), dtype=Phi.dtype))
    mu = Sigma @ (Phi.T @ y)
    residual = y - Phi @ mu
    alpha = alpha0 + 0.5 * n
    beta = beta0 + 0.5 * (residual @ residual + mu @ (Lam0 * mu))
    value = (
        -0.5 * n * jnp.log(2 * jnp.pi)
        + 0.5 * jnp.log(Lam0).sum()
        - jnp.log(jnp.diagonal(C)).sum()
        + alpha0 * jnp.log(beta0)
        - alpha * jnp.log(beta)
        + gammaln(alpha)
        - gammaln(alpha0)
    )
    return value, (Phi, Sigma, mu, residual, alpha / beta)


def _backward(saved, g):
    Phi, Sigma, mu, residual, precision = saved
    return (
        g * (precision * jnp.outer(residual, mu) - Phi @ Sigma),
        None,
        None,
        None,
        None,
        None,
    )


log_evidence.defvjp(_forward, _backward)
