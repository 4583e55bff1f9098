"""The whole model: heads that come later, labels of any size, and what goes wrong."""

from dataclasses import dataclass

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, refine
from bers.errors import ConfigError, DataError
from bers.model.calibration import score


@pytest.fixture
def model(sources, small):
    return fit(sources, config=small)


def _target(n=400, seed=9, name="target"):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return Demonstrations(x, np.sin(2 * x[:, 1]) + x[:, 2] ** 2, name)


def test_a_target_head_added_later_learns_its_task(model, sources):
    target, held_out = _target(), _target(seed=10)
    grown = refine(model, [*sources, target], batches=50)
    assert grown.names == ("alice", "bob", "carol", "target")
    assert score(grown, "target", held_out).r2 > 0.95
    # bob wanted the same: his head knows it already
    assert score(model, "bob", held_out).r2 > 0.9


def test_a_head_can_be_left_out(model, sources):
    fewer = refine(model, sources[:1], batches=0)
    assert fewer.names == ("alice",)
    np.testing.assert_array_equal(fewer.heads.mu[0], model.heads.mu[0])


def test_predictions_widen_away_from_the_rows(model):
    near = model.predict("alice", np.zeros((1, 3))).scale
    far = model.predict("carol", np.full((1, 3), 0.99)).scale
    assert np.isfinite([*near, *far]).all()
    low, high = model.predict("alice", np.zeros((1, 3))).interval(0.9)
    assert low < high


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_size_of_the_labels_does_not_matter(sources, small, factor):
    plain = fit(sources, config=small)
    scaled = fit(
        [Demonstrations(s.x, s.y * factor, s.name) for s in sources], config=small
    )  # fmt: skip
    x = sources[0].x[:50]
    for i in range(3):
        first, second = plain.predict(i, x), scaled.predict(i, x)
        np.testing.assert_allclose(second.mean / factor, first.mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(second.scale / factor, first.scale, rtol=1e-6)


def test_an_offset_of_a_million_does_not_inflate_the_noise(sources, small):
    moved = [Demonstrations(s.x, s.y + 1e6, s.name) for s in sources]
    plain, offset = fit(sources, config=small), fit(moved, config=small)
    np.testing.assert_allclose(offset.heads.noise, plain.heads.noise, rtol=0.05)


@pytest.mark.parametrize("constant", [0.0, 5.0, 1e6])
def test_constant_labels_are_finite(sources, small, constant):
    flat = Demonstrations(sources[0].x, np.full(sources[0].n, constant), "flat")
    model = fit([flat, sources[1]], config=small)
    predicted = model.predict("flat", sources[0].x[:20])
    np.testing.assert_allclose(predicted.mean, constant, atol=1e-3 * max(1, constant))
    assert np.isfinite(predicted.scale).all()
    only = fit([flat], config=small)
    assert np.isfinite(only.predict(0, sources[0].x[:5]).mean).all()


def test_sources_with_no_row_and_one_row(sources, small):
    none = Demonstrations(np.zeros((0, 3)), [], "none")
    one = Demonstrations(np.zeros((1, 3)), [0.5], "one")
    model = fit([*sources, none, one], config=small)
    assert model.rows.tolist() == [800, 300, 40, 0, 1]
    assert model.head("none").noise == np.inf
    np.testing.assert_allclose(model.head("none").mu[:-1], 0, atol=1e-12)
    assert model.log_evidence[3] == 0
    assert np.isfinite(model.predict("one", np.zeros((1, 3))).mean).all()


def test_inputs_of_very_different_scale(small):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (500, 2))
    y = x[:, 0] + x[:, 1]
    source = Demonstrations(x * [1e-8, 1e8], y, "a")
    seen, held_out = source.split(rng, 0.2)
    assert score(fit([seen], config=small), "a", held_out).r2 > 0.99


def test_equal_empty_and_long_names_are_kept_apart(sources, small):
    names = ["same", "same", ""]
    renamed = [s.renamed(name) for s, name in zip(sources, names, strict=True)]
    model = fit(renamed, config=small)
    with pytest.raises(DataError, match="2 heads are named 'same'.*A position works too"):
        model.head("same")
    with pytest.raises(DataError, match="there is no head named 'bob'"):
        model.head("bob")
    with pytest.raises(DataError, match="there is no head 3; the model has 3"):
        model.head(3)
    assert model.rows[model.index("")] == 40
    long = fit([sources[0].renamed("x" * 10_000)], config=small)
    assert len(repr(long)) < 200


def test_errors_say_what_to_do(model, sources, small):
    with pytest.raises(DataError, match="at least one source"):
        fit([], config=small)
    with pytest.raises(DataError, match="all sources are empty. Collect"):
        fit([Demonstrations(np.zeros((0, 3)), [], "none")], config=small)
    with pytest.raises(DataError, match="takes 3 inputs, the sources have 2"):
        refine(model, [Demonstrations(np.zeros((4, 2)), np.zeros(4), "a")])
    with pytest.raises(DataError, match=r"rows of 3 inputs; got shape \(5, 2\)"):
        model.features(np.zeros((5, 2)))
    with pytest.raises(
        ConfigError, match=r"refine\(batches=...\) must be a whole number of at least 0"
    ):
        refine(model, sources, batches=-1)


def test_columns_are_found_by_name(sources, small):
    x, y = sources[0].x, sources[0].y
    named = Demonstrations(x, y, "named", x_names=("a", "b", "c"))
    other = Demonstrations(x[:, [1, 0, 2]], y, "other", x_names=("b", "a", "c"))
    both = fit([named, other], config=small)
    np.testing.assert_array_equal(both.heads.mu[0], both.heads.mu[1])
    model = fit([sources[1], named], config=small)  # arrays without names go with anything
    assert model.x_names == ("a", "b", "c")
    again = refine(model, [other, named], batches=0)
    np.testing.assert_array_equal(again.heads.mu[0], again.heads.mu[1])
    assert refine(model, [sources[1]], batches=0).x_names == ("a", "b", "c")


def test_inputs_to_predict_are_checked(model):
    with pytest.raises(DataError, match="column 'x1': 1 of 2 values are not finite.*row 1"):
        model.predict(0, [[0, 0, 0], [0, np.nan, 0]])
    with pytest.raises(DataError, match="number"):
        model.predict(0, [["a", "b", "c"]])
    with pytest.raises(ConfigError, match="level=.*between 0 and 1; got 2"):
        model.predict(0, np.zeros((1, 3))).interval(2)


def test_numpy_integers_are_whole_numbers(model, sources):
    assert ModelConfig(batches=np.int64(5), hidden=8).hidden == (8,)
    assert model.index(np.int64(1)) == 1
    one, two = (refine(model, sources, rng=rng) for rng in (np.int64(3), 3))
    np.testing.assert_array_equal(one.heads.mu, two.heads.mu)


def test_a_source_of_the_users_own(sources, small):
    """Not hashable, and it grows: nothing about it may be remembered."""

    @dataclass
    class Log:
        rows: Demonstrations

        def __getattr__(self, name):
            return getattr(self.rows, name)

    log = Log(sources[1])
    model = refine(fit(sources, config=small), [log], batches=1, subset=100)
    np.testing.assert_array_equal(model.rows, [300])
    log.rows = sources[0]
    assert refine(model, [log], batches=0, subset=100).rows.tolist() == [800]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden", (0,)), ("latent_dim", 0), ("batch_size", 1), ("batches", -1),
        ("weight_precision", 0.0), ("bias_precision", -1.0), ("noise_prior", (float("nan"), 1.0)),
        ("noise_prior", (1.0, float("inf"))), ("noise_prior", 1.0), ("learning_rate", 0.0),
        ("l2", -1e-4), ("held_out", 1.0),
        ("patience", 0), ("activation", "gelu"), ("labels", "log"), ("skip", 1),
        ("latent_dim", 2.5), ("batches", True),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_named(field, value):
    with pytest.raises(ConfigError, match=rf"ModelConfig\({field}=...\) must be"):
        ModelConfig(**{field: value})
