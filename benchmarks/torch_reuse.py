"""The peer of a generation of reuse: PyTorch for the model, cvxopt for the weights.

As the paper describes it: the target's new rows join in, one mini-batch of every head, posteriors
from all rows, and the quadratic program of their means and variances.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from qp_peers import cvxopt_as_in_the_paper
from torch_model import Head, Posterior, TorchModel

from bers import Demonstrations, Model


class TorchReuse:
    """Starts from a fitted model, its sources, and the first rows of the target."""

    def __init__(
        self,
        model: Model,
        sources: Sequence[Demonstrations],
        first: Demonstrations,
        subset: int | None = None,
    ) -> None:
        self.model, self.sources = model, sources
        self.subset = subset  # rows per head that refresh its posterior; None: all
        self.solve = cvxopt_as_in_the_paper(len(sources), model.state.encoder.features)
        self.restart(first)

    def restart(self, first: Demonstrations) -> None:
        """Back to a target of the first rows alone."""
        self.twin = TorchModel(self.model, [*self.sources, first])

    def after(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """One generation later: the weights. Labels come as they are to be modelled."""
        self.add(x, y)
        return self.weights(self.twin.refine(self.subset))

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        """Rows that join the target; its labels are standardised anew."""
        head = self.twin.heads[-1]
        rows = torch.tensor(self.model.inputs.standardise(x))
        labels = torch.cat([head.y, torch.tensor(y)])
        joined = Head(torch.cat([head.x, rows]), labels, head.loc, head.scale)
        if self.model.config.labels == "standardised":
            spread = float(labels.std(correction=0))
            joined = replace(joined, loc=float(labels.mean()), scale=spread)
        self.twin.heads[-1] = joined

    @torch.no_grad()
    def weights(self, posteriors: Sequence[Posterior]) -> np.ndarray:
        """Of the sources, by the paper's program: means of w, and traces of its covariances."""
        *sources, target = posteriors
        means = torch.stack([head.mu for head in sources]).numpy()
        spreads = np.array([_spread(head) for head in sources])
        return self.solve(means, target.mu.numpy(), spreads)


def _spread(head: Posterior) -> float:
    """E[σ²] tr(Λ⁻¹)."""
    trace = torch.cholesky_inverse(torch.linalg.cholesky(head.Lam)).trace()
    return float(head.beta) / (head.alpha - 1) * float(trace)
