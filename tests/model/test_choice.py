"""The encoder is chosen by held-out rows; every kind of encoder learns, predicts and is saved."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from bers import Demonstrations, ModelConfig, fit, load_model, refine, save_model
from bers.integrity import write_sealed
from bers.model import nig
from bers.model.choice import choose
from bers.model.encoder import Both, Network, network_of, new_encoder, with_network
from bers.model.model_files import model_parts
from bers.model.posteriors import features
from bers.model.scaling import InputScale, LabelScale, Memory, input_scale, label_scales
from bers.model.training import EarlyStopping, HeldOut, draw_batches, new_state
from bers.model.trees import Table, Trees, blank_trees, grow

SMALL = ModelConfig(hidden=(8,), latent_dim=4, batches=30, learning_rate=1e-2)
GOALS = (
    lambda x: np.sin(3 * x[:, 0]) + x[:, 1],
    lambda x: 2 * x[:, 2] - 1.5 * x[:, 0] ** 2,
    lambda x: np.cos(3 * x[:, 3]) - x[:, 1] * x[:, 2],
)


def _rows(rng, n, goal, columns):
    x = rng.uniform(-1, 1, (n, columns))
    return x, GOALS[goal](x) + 0.1 * rng.standard_normal(n)


def _stairs(rng, n, goal):
    x = rng.uniform(-1, 1, (n, 4))
    steps = np.where(x[:, goal] > 0.2, 2.0, 0.0) * np.where(x[:, 3] > -0.4, 1.0, -1.0)
    return x, steps + 0.05 * rng.standard_normal(n)


def _chosen(sources, config, seed=0):
    """What `choose` finds, and the score of held-out rows that it went by."""
    rng, memory = np.random.default_rng(seed), Memory()
    kept, held = zip(*(source.split(rng, config.held_out) for source in sources), strict=True)
    known = {
        "inputs": input_scale(sources, memory=memory),
        "labels": label_scales(sources, config=config, memory=memory),
        "config": config,
    }
    found = choose(rng, kept, held, **known, show=False)
    return found, HeldOut(rng, kept, held, **known)


# ---- which one -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    """Three sources of 250 rows, four columns that matter and 25 that do not."""
    rng = np.random.default_rng(0)
    sources = [Demonstrations(*_rows(rng, 250, g, 29), name) for g, name in enumerate("abc")]
    return fit(sources), sources


def test_columns_that_do_not_matter_are_not_looked_at(wide):
    model, _ = wide
    network = network_of(model.state.encoder)
    assert set(network.columns) >= {0, 1, 2, 3}
    assert len(network.columns) <= 6
    unseen = [c for c in range(29) if c not in network.columns]
    x = np.random.default_rng(1).uniform(-1, 1, (20, 29))
    other = x.copy()
    other[:, unseen] = 7.0
    np.testing.assert_array_equal(model.features(x), model.features(other))


def test_heads_explain_more_of_fresh_rows_than_boosted_trees_do(wide):
    model, sources = wide
    rng = np.random.default_rng(2)
    for goal, source in enumerate(sources):
        x, _ = _rows(rng, 1000, goal, 29)
        truth = GOALS[goal](x)
        rival = HistGradientBoostingRegressor(random_state=0).fit(source.x, source.y)
        ours = np.mean((model.predict(goal, x).mean - truth) ** 2)
        assert ours < 0.5 * np.mean((rival.predict(x) - truth) ** 2)
        assert ours < 0.05 * np.var(truth)


def test_stairs_are_seen_by_trees_and_no_encoder_that_was_tried_scores_higher():
    rng = np.random.default_rng(1)
    stairs = [Demonstrations(*_stairs(rng, 150, g), name) for g, name in enumerate("ab")]
    found, score = _chosen(stairs, ModelConfig(batches=100, latent_dim=8))
    assert isinstance(found.state.encoder, Trees | Both)
    assert score(found.state.encoder) > found.scores[:, 1].max() + 0.1


def test_without_batches_there_is_a_fresh_network():
    rng = np.random.default_rng(1)
    source = Demonstrations(*_rows(rng, 100, 0, 4), "a")
    model = fit([source], config=ModelConfig(batches=0, latent_dim=4))
    assert isinstance(model.state.encoder, Network)
    assert model.batches == len(model.history.objective) == 0


def test_one_row_and_no_rows_are_enough_to_choose():
    rng = np.random.default_rng(1)
    x, y = _rows(rng, 40, 0, 4)
    one, none = (Demonstrations(x[:n], y[:n], f"{n}") for n in (1, 0))
    model = fit([one, none], config=ModelConfig(batches=20, latent_dim=4))
    assert model.rows.tolist() == [1, 0]
    assert np.isnan(model.skill.r2).all()
    assert np.isfinite(model.predict(0, x).mean).all()


# ---- every kind of encoder -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def line():
    x = np.random.default_rng(0).uniform(-1, 1, (120, 5))
    return [Demonstrations(x, np.sin(3 * x[:, i]), f"s{i}") for i in (1, 3)]


def _trees(sources, columns=(1, 3)):
    x = np.concatenate([s.x for s in sources]).astype(np.float32)
    y = np.concatenate([s.y / s.y.std() for s in sources])
    source = np.repeat(np.arange(len(sources)), [s.n for s in sources])
    table = Table(x, y, source, np.arange(len(y)) % 4 == 0)
    rng = np.random.default_rng(0)
    return grow(rng, table, np.array(columns), trees=20, patience=5, most=4)


@pytest.fixture(scope="module", params=["some columns", "trees", "both", "both, some columns"])
def model(request, line):
    """A model with each kind of encoder in turn."""
    columns = [3, 1] if "some" in request.param else None
    network = new_encoder(np.random.default_rng(1), 5, config=SMALL, columns=columns)
    trees = _trees(line)
    kinds = {"some columns": network, "trees": trees}
    encoder = kinds.get(request.param, Both(network, trees))
    first = fit(line, config=replace(SMALL, batches=0))
    changed = replace(first, state=new_state(encoder, config=SMALL))
    return refine(changed, line, batches=0)


def test_a_network_on_some_columns_is_one_on_those_columns_alone(line):
    few = new_encoder(np.random.default_rng(1), 2, config=replace(SMALL, skip=True))
    some = new_encoder(
        np.random.default_rng(1), 5, config=replace(SMALL, skip=True), columns=[3, 1]
    )
    x = jnp.asarray(line[0].x, jnp.float32)
    np.testing.assert_array_equal(some(x), few(x[:, jnp.array([3, 1])]))
    assert (some.inputs, some.features) == (5, 4 + 2 + 1)


def test_both_are_the_features_of_each_and_one_constant(line):
    network, trees = new_encoder(np.random.default_rng(1), 5, config=SMALL), _trees(line)
    both, x = Both(network, trees), jnp.asarray(line[0].x, jnp.float32)
    got = np.asarray(both(x))
    np.testing.assert_array_equal(got[:, :4], network(x)[:, :4])
    np.testing.assert_array_equal(got[:, 4:], trees(x))
    assert both.features == got.shape[1] == 4 + trees.features
    assert network_of(both) is network
    other = new_encoder(np.random.default_rng(2), 5, config=SMALL)
    np.testing.assert_array_equal(with_network(both, other)(x), Both(other, trees)(x))
    assert with_network(network, other) is other
    assert network_of(trees) is None


def test_training_moves_the_network_and_leaves_the_trees(model, line):
    after = refine(model, line, batches=5)
    network, moved = network_of(model.state.encoder), network_of(after.state.encoder)
    if network is None:
        assert after.batches == model.batches
        assert bool(eqx.tree_equal(after.state.encoder, model.state.encoder))
        return
    assert after.batches == model.batches + 5
    for a, b in zip(network.weights, moved.weights, strict=True):
        assert np.abs(np.asarray(a - b)).max() > 1e-4
    assert moved.columns == network.columns
    if isinstance(model.state.encoder, Both):
        assert bool(eqx.tree_equal(after.state.encoder.trees, model.state.encoder.trees))


def test_saved_and_loaded_every_encoder_has_the_same_bits(model, line, tmp_path):
    save_model(model, tmp_path / "m.bers")
    back = load_model(tmp_path / "m.bers")
    assert type(back.state.encoder) is type(model.state.encoder)
    assert jax.tree.structure(back.state) == jax.tree.structure(model.state)
    for a, b in zip(jax.tree.leaves(model.state), jax.tree.leaves(back.state), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    x = np.random.default_rng(3).uniform(-2, 2, (50, 5))
    np.testing.assert_array_equal(model.features(x), back.features(x))
    one, two = refine(model, line, batches=3), refine(back, line, batches=3)
    np.testing.assert_array_equal(one.heads.mu, two.heads.mu)


def test_files_from_before_encoders_were_chosen_still_load(line, tmp_path):
    model = fit(line, config=replace(SMALL, batches=0))
    arrays, about = model_parts(model)
    del about["encoder"]
    arrays = {name: array for name, array in arrays.items() if not name.startswith("skill.")}
    write_sealed(tmp_path / "old.bers", "bers-model-1", arrays, about)
    back = load_model(tmp_path / "old.bers")
    np.testing.assert_array_equal(back.features(line[0].x), model.features(line[0].x))
    assert np.isnan(back.skill.r2).tolist() == [True, True]
    assert back.skill.rows.tolist() == [0, 0]


def test_skill_is_in_the_file(line, tmp_path):
    model = fit(line, config=replace(SMALL, patience=100, batches=0))
    save_model(model, tmp_path / "m.bers")
    back = load_model(tmp_path / "m.bers")
    assert model.skill.rows.tolist() == [24, 24]
    for part in ("r2", "coverage", "rows"):
        np.testing.assert_array_equal(getattr(back.skill, part), getattr(model.skill, part))


# ---- batches, held-out rows, stopping ------------------------------------------------------------


@pytest.mark.parametrize(("sources", "heads", "count"), [(30, 7, 60), (9, 8, 90), (5, 5, 13)])
def test_every_head_takes_part_equally_often(sources, heads, count):
    runs = [Demonstrations(np.full((3, 1), float(i)), np.zeros(3), f"{i}") for i in range(sources)]
    config = ModelConfig(hidden=(4,), batch_size=2, heads_per_batch=heads)
    drawn = draw_batches(
        np.random.default_rng(0),
        runs,
        count,
        inputs=InputScale(np.zeros(1), np.ones(1)),
        labels=[LabelScale()] * sources,
        config=config,
    )
    assert drawn.x.shape == (count, heads, 2, 1)
    assert drawn.used.all()
    who = drawn.x[:, :, 0, 0].astype(int)
    np.testing.assert_array_equal(drawn.x[..., 0], np.repeat(who[..., None], 2, axis=2))
    times = np.bincount(who.ravel(), minlength=sources)
    assert times.sum() == count * heads
    assert times.max() - times.min() <= 1


def test_the_score_is_the_log_density_of_held_out_rows_given_the_others(line):
    encoder, rng = new_encoder(np.random.default_rng(0), 5, config=SMALL), np.random.default_rng(1)
    kept, held = zip(*(source.split(rng, 0.25) for source in line), strict=True)
    scale, labels = InputScale(np.full(5, 0.1), np.full(5, 0.7)), [LabelScale(0.3, 2.0)] * 2
    score = HeldOut(rng, kept, held, inputs=scale, labels=labels, config=SMALL)
    total = 0.0
    for seen, rest, label in zip(kept, held, labels, strict=True):
        x = np.concatenate([seen.x, rest.x])
        y = label.standardise(np.concatenate([seen.y, rest.y]))
        Phi = features(encoder, scale.standardise(x))
        prior = LabelScale().prior(Phi.shape[1], config=SMALL)
        evidence = [
            nig.log_evidence(prior, nig.condition(prior, nig.summarise(Phi[:n], y[:n])))
            for n in (seen.n, len(y))
        ]
        total += evidence[1] - evidence[0]
    assert score.rows == 60
    assert score(encoder) == pytest.approx(total / 60, abs=2e-3)


class _Told(HeldOut):
    """Scores of encoders that are known by how many features they have."""

    def __init__(self, scores):
        self.told = scores

    def __call__(self, encoder):
        return self.told[encoder.features - 2]


@pytest.mark.parametrize(("patience", "stops"), [(200, 500), (300, 600), (None, None)])
def test_the_best_encoder_is_kept_and_patience_runs_out(patience, stops):
    watch = EarlyStopping(_Told([1.0, 2.0, 5.0, 3.0, 4.0, 2.0]), patience)
    encoders = [blank_trees(1, r, 1) for r in range(1, 7)]
    stopped = [100 * (i + 1) for i in range(6) if watch.check(encoders[i], 100 * (i + 1))]
    assert watch.best is encoders[2]
    assert watch.best_score == 5.0
    assert watch.scores[:2] == [(100, 1.0), (200, 2.0)]
    assert (stopped[0] if stopped else None) == stops


# ---- settings ------------------------------------------------------------------------------------


def test_settings_that_are_left_open_follow_from_how_the_encoder_is_made():
    chosen, described = ModelConfig(), ModelConfig(hidden=(8,))
    assert chosen.chosen
    assert not described.chosen
    assert (chosen.activation, chosen.learning_rate, chosen.patience) == ("silu", 3e-3, 300)
    assert (described.activation, described.learning_rate) == ("relu", 1e-4)
    assert described.patience is None
    assert (chosen.units, described.units) == ((64, 64), (8,))
    given = ModelConfig(activation="tanh", learning_rate=0.5, patience=7)
    assert (given.activation, given.learning_rate, given.patience) == ("tanh", 0.5, 7)
    assert ModelConfig(hidden=(8,), patience=7).patience == 7
    for config in (chosen, described, given):
        assert ModelConfig(**config.to_dict()) == config


def test_the_papers_settings_are_as_printed():
    paper = ModelConfig.paper()
    assert paper.hidden == (200, 200)
    assert (paper.latent_dim, paper.activation, paper.skip) == (20, "relu", False)
    assert (paper.learning_rate, paper.l2, paper.batches) == (1e-4, 1e-4, 4000)
    assert (paper.batch_size, paper.heads_per_batch, paper.patience) == (64, 64, None)
    assert (paper.weight_precision, paper.bias_precision) == (1.0, 1.0)
    assert (paper.noise_prior, paper.labels) == ((1.0, 1.0), "raw")
    assert ModelConfig.paper(hidden=(300, 200)).hidden == (300, 200)
