import jax.numpy as jnp
import numpy as np
import pytest

from bers.model.config import ModelConfig
from bers.model.encoder import new_encoder


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("skip", [False, True])
def test_features_are_the_equation(activation, skip):
    config = ModelConfig(hidden=(7, 5), latent_dim=3, activation=activation, skip=skip)
    encoder = new_encoder(np.random.default_rng(0), 4, config=config)
    x = np.random.default_rng(1).standard_normal((6, 4)).astype("f4")
    squash = np.tanh if activation == "tanh" else lambda h: np.maximum(h, 0)
    h = x
    for W, b in zip(encoder.weights[:-1], encoder.biases[:-1], strict=True):
        h = squash(h @ np.asarray(W) + np.asarray(b))
    learned = np.tanh(h @ np.asarray(encoder.weights[-1]) + np.asarray(encoder.biases[-1]))
    wanted = np.column_stack([learned, x, np.ones(6)] if skip else [learned, np.ones(6)])
    np.testing.assert_allclose(encoder(jnp.asarray(x)), wanted, rtol=1e-5, atol=1e-6)
    assert encoder.features == wanted.shape[1]


def test_weights_are_glorot_uniform():
    encoder = new_encoder(np.random.default_rng(0), 10, config=ModelConfig.paper())
    assert [W.shape for W in encoder.weights] == [(10, 200), (200, 200), (200, 20)]
    for W, b in zip(encoder.weights, encoder.biases, strict=True):
        bound = np.sqrt(6 / sum(W.shape))
        assert np.abs(W).max() <= bound
        np.testing.assert_allclose(np.std(W), bound / np.sqrt(3), rtol=0.05)
        assert np.all(np.asarray(b) == 0)


def test_seeds_differ():
    first, second = (new_encoder(np.random.default_rng(s), 3, config=ModelConfig()) for s in (0, 1))
    assert not np.array_equal(first.weights[0], second.weights[0])
