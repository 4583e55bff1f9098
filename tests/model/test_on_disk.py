"""Sources on disk give the same model as sources in memory."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, Shards, fit, load, refine, save
from bers.model import nig
from bers.model.calibration import score
from bers.model.posteriors import summarise_rows


@pytest.fixture
def pair(tmp_path):
    """One source, in memory and as a folder of Parquet files of several row groups each."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (5000, 3))
    whole = Demonstrations(x, np.sin(2 * x[:, 0]) + 0.05 * rng.standard_normal(5000), "alice")
    folder = tmp_path / "alice"
    folder.mkdir()
    for i in range(4):
        part = whole.take(np.arange(1250 * i, 1250 * (i + 1)))
        save(part, folder / f"{i}.parquet", rows_per_group=300)
    return whole, load(folder, stream=True)


def test_the_posterior_is_the_same(pair, small):
    whole, shards = pair
    assert isinstance(shards, Shards)
    assert len(shards.parts()) > 10
    model = fit([whole], config=small)
    other = refine(model, [shards], batches=0)
    # not to 1e-10: the encoder's float32 products round by the size of a block
    np.testing.assert_allclose(other.heads.mu, model.heads.mu, rtol=1e-6)
    np.testing.assert_allclose(other.heads.beta, model.heads.beta, rtol=1e-6)
    assert other.rows.tolist() == [5000]


def test_raw_columns_are_summarised_side_by_side(pair):
    whole, shards = pair
    one, many = summarise_rows(whole), summarise_rows(shards)
    np.testing.assert_allclose(many.R, one.R, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(one.R, nig.summarise(whole.x, whole.y).R, rtol=1e-10, atol=1e-10)


def test_training_from_disk_learns_and_repeats(pair):
    whole, shards = pair
    config = ModelConfig(hidden=(16, 16), latent_dim=6, batches=400, learning_rate=3e-3)
    kept, held_out = shards.split(np.random.default_rng(0), 0.2)
    model = fit([kept, whole], config=config)
    assert score(model, 0, held_out).r2 > 0.95
    np.testing.assert_array_equal(model.heads.mu, fit([kept, whole], config=config).heads.mu)


def test_early_stopping_and_subsets_from_disk(pair):
    _, shards = pair
    config = ModelConfig(hidden=(16,), latent_dim=6, batches=300, learning_rate=3e-3, patience=100)
    model = fit([shards], config=config)
    assert len(model.history.scores) >= 1
    part = refine(model, [shards], batches=0, subset=1000)
    x = next(shards.blocks())[0]
    difference = part.predict(0, x).mean - model.predict(0, x).mean
    assert np.sqrt(np.mean(difference**2)) < 0.05
