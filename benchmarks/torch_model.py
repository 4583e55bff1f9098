"""The peer: the same model, written plainly in PyTorch.

One float32 encoder and, per head, a Normal-Inverse-Gamma posterior in float64 by a Cholesky
factor. Autograd differentiates the marginal likelihood; torch.optim.Adam climbs it. Mini-batches
of all heads go through the encoder in one call, then a loop visits the heads; `batched=True`
stacks the heads too, which a careful user might do. Inputs are standardised once, beforehand.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bers import Model
from bers.data.source import Source
from bers.model.config import ModelConfig
from bers.model.scaling import Memory, label_scales


@dataclass(frozen=True)
class Head:
    """The rows of one source, and the scale of its labels."""

    x: torch.Tensor
    y: torch.Tensor
    loc: float
    scale: float


@dataclass(frozen=True)
class Posterior:
    """w | σ² ~ N(mu, σ² Lam⁻¹), σ² ~ InvGamma(alpha, beta)."""

    mu: torch.Tensor
    Lam: torch.Tensor
    alpha: float
    beta: torch.Tensor


class TorchModel:
    """Starts from the weights of a fitted model, with a fresh optimiser."""

    def __init__(self, model: Model, sources: Sequence[Source], *, batched: bool = False) -> None:
        self.config: ModelConfig = model.config
        self.batched = batched
        encoder = model.state.encoder
        self.layers = torch.nn.ModuleList(
            _linear(np.asarray(W), np.asarray(b))
            for W, b in zip(encoder.weights, encoder.biases, strict=True)
        )
        self.adam = torch.optim.Adam(self.layers.parameters(), lr=self.config.learning_rate)
        scales = label_scales(sources, config=self.config, memory=Memory())
        self.heads = [
            Head(
                torch.tensor(model.inputs.standardise(source.x)),
                torch.tensor(source.y),
                scale.loc,
                scale.scale,
            )
            for source, scale in zip(sources, scales, strict=True)
        ]
        self.Lam0 = torch.full(
            (encoder.features,), self.config.weight_precision, dtype=torch.float64
        )
        self.Lam0[-1] = self.config.bias_precision
        self.half_log_det0 = 0.5 * float(torch.log(self.Lam0).sum())

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """φ(x) and a constant 1, in float64 for the heads."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        x = torch.tanh(self.layers[-1](x))
        return torch.cat([x, torch.ones_like(x[..., :1])], dim=-1).double()

    def log_evidence(self, Phi: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """log p(y | Φ) of standardised labels; leading axes are heads."""
        n, alpha0, beta0 = y.shape[-1], self.config.alpha, self.config.beta
        C = torch.linalg.cholesky(torch.diag(self.Lam0) + Phi.mT @ Phi)
        mu = torch.cholesky_solve(Phi.mT @ y[..., None], C)[..., 0]
        residual = y - (Phi @ mu[..., None])[..., 0]
        alpha = alpha0 + 0.5 * n
        beta = beta0 + 0.5 * ((residual**2).sum(-1) + (self.Lam0 * mu**2).sum(-1))
        half_log_det = torch.log(torch.diagonal(C, dim1=-2, dim2=-1)).sum(-1)
        constant = (
            -0.5 * n * math.log(2 * math.pi)
            + alpha0 * math.log(beta0)
            + math.lgamma(alpha)
            - math.lgamma(alpha0)
            + self.half_log_det0
        )
        return constant - half_log_det - alpha * torch.log(beta)

    def objective(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Log evidence per row of batches (heads, b, k), less the penalty on the weights."""
        heads, b, k = x.shape
        Phi = self.features(x.reshape(heads * b, k)).reshape(heads, b, -1)
        if self.batched:
            evidence = self.log_evidence(Phi, y).sum()
        else:
            evidence = sum(self.log_evidence(Phi[i], y[i]) for i in range(heads))
        penalty = sum((layer.weight**2).sum() for layer in self.layers)
        return evidence / (heads * b) - self.config.l2 * penalty

    def step(self) -> None:
        """One mini-batch of every head, one step of Adam."""
        x, y = [], []
        for head in self.heads:
            rows = torch.randint(len(head.y), (self.config.batch_size,))
            x.append(head.x[rows])
            y.append((head.y[rows] - head.loc) / head.scale)
        loss = -self.objective(torch.stack(x), torch.stack(y))
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    def train(self, batches: int) -> None:
        """Step after step."""
        for _ in range(batches):
            self.step()

    @torch.no_grad()
    def posteriors(self, subset: int | None = None) -> list[Posterior]:
        """Every head on all its rows, or on random ones that speak for all."""
        return [self._posterior(head, subset) for head in self.heads]

    def refine(self, subset: int | None = None) -> list[Posterior]:
        """One mini-batch, then the posteriors."""
        self.step()
        return self.posteriors(subset)

    def _posterior(self, head: Head, subset: int | None) -> Posterior:
        n, x, y = len(head.y), head.x, head.y
        if subset is not None and subset < n:
            rows = torch.randint(n, (subset,))
            x, y = x[rows], y[rows]
        Phi, times = self.features(x), n / len(y)
        mu0 = torch.zeros_like(self.Lam0)
        mu0[-1] = head.loc
        Lam = torch.diag(self.Lam0) + times * (Phi.T @ Phi)
        right = self.Lam0 * mu0 + times * (Phi.T @ y)
        mu = torch.cholesky_solve(right[:, None], torch.linalg.cholesky(Lam))[:, 0]
        misfit = times * ((y - Phi @ mu) ** 2).sum() + (self.Lam0 * (mu - mu0) ** 2).sum()
        beta = self.config.beta * head.scale**2 + 0.5 * misfit
        return Posterior(mu, Lam, self.config.alpha + 0.5 * n, beta)


def _linear(W: np.ndarray, b: np.ndarray) -> torch.nn.Linear:
    layer = torch.nn.Linear(*W.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(W.T))
        layer.bias.copy_(torch.tensor(b))
    return layer
