import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit
from bers.errors import DataError
from bers.model.calibration import LEVELS, coverage, score


def _noisy(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 2))
    return Demonstrations(x, x[:, 0] - x[:, 1] + 0.3 * rng.standard_normal(n), "noisy")


def test_a_model_of_noisy_rows_is_calibrated_on_others():
    config = ModelConfig(hidden=(16,), latent_dim=4, batches=300, learning_rate=1e-3)
    result = score(fit([_noisy(2000, 0)], config=config), 0, _noisy(4000, 1))
    assert result.rows == 4000
    np.testing.assert_allclose(result.rmse, 0.3, rtol=0.05)
    np.testing.assert_allclose(result.r2, 1 - 0.09 / (2 / 3 + 0.09), atol=0.02)
    np.testing.assert_allclose(result.log_density, -0.5 * np.log(2 * np.pi * 0.09) - 0.5, atol=0.05)
    assert np.abs(result.coverage - LEVELS).max() < 0.03


def test_coverage_counts_central_intervals():
    pit = np.array([0.5, 0.5, 0.01, 0.99])
    assert coverage(pit)[LEVELS.searchsorted(0.5)] == 0.5
    assert coverage(pit)[-1] == 0.5
    assert coverage(np.array([0.03, 0.5]))[-1] == 1.0


def test_no_rows_are_refused():
    model = fit([_noisy(50, 0)], config=ModelConfig(hidden=(4,), latent_dim=2, batches=5))
    with pytest.raises(DataError, match="needs held-out rows"):
        score(model, 0, Demonstrations(np.zeros((0, 2)), [], "none"))
