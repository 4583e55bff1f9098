"""Posteriors of known functions, without an encoder, so that they are exact and quick."""

from dataclasses import dataclass

import numpy as np
import pytest

from bers import ModelConfig
from bers.model import nig
from bers.model.scaling import LabelScale
from bers.trust.beliefs import Beliefs


@dataclass(frozen=True)
class Case:
    """The rows, and the beliefs that they lead to."""

    Phi: np.ndarray
    y: np.ndarray
    sources: list[tuple[np.ndarray, np.ndarray]]
    known: Beliefs


def rows(rng, n, d=6):
    """Features of n rows, the constant bias last; they are neither centred nor uncorrelated."""
    Phi = np.tanh(rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((n, 1)) + 0.2)
    Phi[:, -1] = 1.0
    return Phi


def head(Phi, y):
    """The posterior that the library's settings give, with a prior in the labels' own units."""
    scale = LabelScale(float(np.mean(y)), float(np.std(y)) or 1.0) if len(y) else LabelScale()
    prior = scale.prior(Phi.shape[1], config=ModelConfig())
    return prior, nig.condition(prior, nig.summarise(Phi, y))


def case(Phi, y, sources):
    """All that the rows of target and sources say."""
    return Case(
        Phi,
        y,
        sources,
        Beliefs(
            sources=nig.stack([head(*source)[1] for source in sources]),
            target=head(Phi, y)[1],
            prior=head(Phi, y)[0],
            skill=np.full(len(sources), np.nan),
            rows=np.array([len(labels) for _, labels in sources]),
            summary=nig.summarise(Phi, y),
            look=lambda: (Phi[:256], y[:256]),
        ),
    )


@pytest.fixture
def made():
    """Rows of target and sources -> Case."""
    return case


@pytest.fixture
def goals():
    """Weights of the target and of the sources -> Case, with a little noise in all labels."""

    def make(target, sources, *, n=300, m=500, noise=0.1, seed=0):
        rng = np.random.default_rng(seed)
        target, sources = np.asarray(target, float), np.asarray(sources, float)
        counts = np.broadcast_to(m, len(sources))
        seen = [(rows(rng, k, target.size), w) for k, w in zip(counts, sources, strict=True)]
        seen = [(Phi, Phi @ w + noise * rng.standard_normal(len(Phi))) for Phi, w in seen]
        Phi = rows(rng, n, target.size)
        return case(Phi, Phi @ target + noise * rng.standard_normal(n), seen)

    return make


@pytest.fixture
def three(goals):
    """Three sources, of which the target is most like the second."""
    rng = np.random.default_rng(7)
    w = rng.standard_normal((3, 6))
    return goals(w[1] + 0.2 * w[0], w)


@pytest.fixture
def relabelled():
    """Case with the labels of one source ("target" or its position) mapped."""

    def change(before, which, function):
        if which == "target":
            return case(before.Phi, function(before.y), before.sources)
        sources = list(before.sources)
        sources[which] = (sources[which][0], function(sources[which][1]))
        return case(before.Phi, before.y, sources)

    return change


@pytest.fixture
def small():
    """A model that trains in a blink."""
    return ModelConfig(hidden=(16,), latent_dim=6, batches=200, learning_rate=1e-2)
