import jax
import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.model import training
from bers.model.calibration import score


def _leaves(model):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(model.state)]


def test_training_raises_the_evidence(sources, small):
    model = fit(sources, config=small)
    first, last = model.history.objective[:20].mean(), model.history.objective[-20:].mean()
    assert last > first + 0.5
    assert model.batches == len(model.history.objective) == 200


def test_same_seed_same_bits_other_seed_other_bits(sources, small):
    one, two, other = fit(sources, config=small), fit(sources, config=small), None
    other = fit(sources, config=small, rng=1)
    for a, b in zip(_leaves(one), _leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.heads.mu, two.heads.mu)
    assert not np.array_equal(one.heads.mu, other.heads.mu)


def test_refining_draws_new_batches_every_time(sources, small):
    start = fit(sources, config=small)
    once = refine(start, sources, batches=1)
    again = refine(start, sources, batches=1)
    twice = refine(once, sources, batches=1)
    np.testing.assert_array_equal(once.heads.mu, again.heads.mu)
    assert twice.history.objective[-1] != once.history.objective[-1]
    assert twice.batches == start.batches + 2


def test_one_compilation_serves_all_stretches(sources, small):
    training.climb.clear_cache()
    model = fit(sources, config=small)
    refine(model, sources, batches=300)
    assert training.climb._cache_size() == 1


def test_the_model_given_to_refine_is_not_changed(sources, small):
    model = fit(sources, config=small)
    before = [leaf.copy() for leaf in _leaves(model)]
    refine(model, sources, batches=5)
    for a, b in zip(before, _leaves(model), strict=True):
        np.testing.assert_array_equal(a, b)


def test_small_heads_are_not_repeated_and_not_padded_with_copies(sources, small):
    batch = training.draw_batches(
        np.random.default_rng(0),
        sources,
        3,
        inputs=fit(sources, config=small).inputs,
        labels=[training.LabelScale()] * 3,
        config=small,
    )
    assert batch.x.shape == (3, 3, 64, 3)
    assert batch.used[:, 2].sum(axis=1).tolist() == [40, 40, 40]  # carol has 40 rows
    assert len(np.unique(batch.y[0, 2][batch.used[0, 2]])) == 40
    assert np.all(batch.x[~batch.used] == 0)


def test_what_is_drawn_at_once_is_bounded(small):
    wide = [Demonstrations(np.zeros((10, 500)), np.zeros(10), f"d{i}") for i in range(32)]
    few = [Demonstrations(np.zeros((10, 3)), np.zeros(10), "d")]
    assert training._per_draw(wide, small) == 100
    assert training._per_draw(few, small) == 1000
    middle = [Demonstrations(np.zeros((10, 100)), np.zeros(10), f"d{i}") for i in range(3)]
    assert training._per_draw(middle, small) == 400


def test_many_heads_are_trained_a_choice_at_a_time():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (20, 2))
    many = [Demonstrations(x, x[:, 0] * i, f"d{i}") for i in range(30)]
    config = ModelConfig(hidden=(8,), latent_dim=4, batches=120, heads_per_batch=5)
    model = fit(many, config=config)
    assert model.heads.mu.shape == (30, 5)
    assert np.isfinite(model.log_evidence).all()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("skip", [False, True])
def test_every_kind_of_encoder_learns(sources, activation, skip):
    config = ModelConfig(
        hidden=(32, 32), latent_dim=8, batches=600, learning_rate=3e-3,
        activation=activation, skip=skip,
    )  # fmt: skip
    rng = np.random.default_rng(5)
    seen, held_out = sources[0].split(rng, 0.2)
    model = fit([seen, sources[1]], config=config)
    assert score(model, "alice", held_out).r2 > 0.95


def test_early_stopping_keeps_the_best_encoder(sources):
    # noise labels: every batch beyond the first few overfits
    rng = np.random.default_rng(0)
    noise = [Demonstrations(rng.standard_normal((200, 4)), rng.standard_normal(200), "noise")]
    config = ModelConfig(batches=4000, learning_rate=3e-3, patience=300, held_out=0.3)
    model = fit(noise, config=config)
    done, scores = model.history.scores.T
    assert model.batches < 4000
    assert model.batches == done[-1] == done[np.argmax(scores)] + 300
    longer = fit(noise, config=ModelConfig(batches=int(model.batches), learning_rate=3e-3))
    fresh = Demonstrations(rng.standard_normal((2000, 4)), rng.standard_normal(2000), "noise")
    assert score(model, 0, fresh).log_density > score(longer, 0, fresh).log_density
