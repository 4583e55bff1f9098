"""Labels that nothing foretells, of source and target: by how they are spread, and how surely."""

from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit
from bers.trust.beliefs import beliefs
from bers.trust.odds import drawn_odds, odds
from bers.trust.shape import alike_in_shape, shape_of
from bers.trust.trust import Trust

KINDS = {
    "long": lambda rng, n: rng.exponential(size=n),
    "heaps": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.3 * rng.standard_normal(n),
    "even": lambda rng, n: rng.uniform(-1, 1, n),
    "normal": lambda rng, n: rng.standard_normal(n),
}


def _alike(source, target, n=200):
    rng = np.random.default_rng(3)
    shape, y = shape_of(KINDS[source](rng, 500)), KINDS[target](rng, n)
    return alike_in_shape(shape, y, np.ones(n))


@pytest.mark.parametrize("target", ["long", "heaps", "even"])
def test_the_same_kind_is_the_likeliest_and_beats_the_normal_distribution(target):
    found = {source: _alike(source, target) for source in KINDS}
    assert max(found, key=found.get) == target
    assert found[target] > 0.02


def test_normal_labels_speak_for_no_source():
    found = {source: _alike(source, "normal") for source in KINDS}
    assert abs(found["normal"]) < 0.02
    assert max(found[source] for source in ("long", "heaps")) < -0.05


@pytest.mark.parametrize(("scale", "offset"), [(1e-9, 0.0), (1e6, 0.0), (3.0, 1e4)])
def test_offset_and_scale_drop_out(scale, offset):
    rng = np.random.default_rng(0)
    theirs, y = rng.exponential(size=300), rng.exponential(size=100)
    before = alike_in_shape(shape_of(theirs), y, np.ones(100))
    after = alike_in_shape(shape_of(scale * theirs + offset), offset - 5 + y / scale, np.ones(100))
    assert after == pytest.approx(before, abs=1e-5)


def test_rows_count_as_often_as_they_are_said_to():
    rng = np.random.default_rng(0)
    shape, y = shape_of(rng.exponential(size=300)), rng.exponential(size=20)
    counts = np.arange(20) % 3 + 1.0
    twice = np.repeat(y, counts.astype(int))
    found = alike_in_shape(shape, y, counts)
    assert found == pytest.approx(alike_in_shape(shape, twice, np.ones(len(twice))))


@pytest.mark.parametrize("y", [np.zeros(0), np.full(9, 3.0)])
def test_a_constant_has_no_shape(y):
    assert shape_of(y) is None
    assert alike_in_shape(np.linspace(-1, 1, 64), np.full(9, 3.0), np.ones(9)) == 0


# ---- in the odds ---------------------------------------------------------------------------------


@pytest.fixture
def silent(goals, made):
    """Heads that say nothing of labels of some kinds -> beliefs without these labels, and with.

    The target's labels have a signal, or not.
    """

    def make(kinds, target, *, n=150, skill=0.0, seed=0, signal=0.0):
        rng = np.random.default_rng([seed, 5])
        labels = [KINDS[kind](rng, 400) for kind in kinds]
        w = signal * np.array([1.0, -1.0, 1.0, 0.5, 0.5, 0.0])
        case = goals(w, np.zeros((len(kinds), 6)), n=n, m=400, seed=seed)
        heads = [(Phi, y) for (Phi, _), y in zip(case.sources, labels, strict=True)]
        known = made(case.Phi, case.y + KINDS[target](rng, n), heads).known
        known = replace(known, skill=np.full(len(kinds), skill))
        return known, replace(known, theirs=labels.__getitem__)

    return make


@pytest.mark.parametrize("right", [0, 1, 2])
def test_the_source_with_such_labels_is_on_top_but_has_no_more_than_nobody(silent, right):
    kinds = ["long", "heaps", "even"]
    for seed in range(3):
        without, known = silent(kinds, kinds[right], seed=seed)
        found = odds(known).a
        assert found.argmax() == right
        assert 0.2 < found[right] < 0.55
        assert odds(without).a[right] < 0.1


def test_normal_noise_is_still_mostly_nobody(silent):
    for seed in (1, 2, 3):
        _, known = silent(["normal"] * 3, "normal", seed=seed)
        assert odds(known).a.sum() < 0.4


def test_a_target_that_can_be_foretold_is_not_like_those_that_cannot(silent):
    without, known = silent(["long", "heaps", "even"], "long", signal=3.0)
    np.testing.assert_allclose(odds(known).a, odds(without).a, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("skill", "rows"), [(0.3, 400), (np.nan, 400), (0.0, 60)])
def test_only_sources_that_are_known_to_say_nothing(silent, skill, rows):
    without, known = silent(["long", "heaps", "even"], "long", skill=skill)
    few = {"rows": np.full(3, rows)}
    np.testing.assert_array_equal(odds(replace(known, **few)).a, odds(replace(without, **few)).a)


def test_other_rows_are_asked_the_same(silent):
    _, known = silent(["long", "heaps", "even"], "heaps")
    rng = np.random.default_rng(0)
    drawn = np.concatenate([drawn_odds(rng, known.resampled(rng), 2).a for _ in range(20)])
    assert drawn.shape == (40, 3)
    assert np.mean(drawn.argmax(1) == 1) > 0.9


def test_a_trust_compares_the_labels_of_its_sources():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (300, 2))
    runs = [
        Demonstrations(x, np.sin(3 * x[:, 0]), "smooth"),
        Demonstrations(x, rng.exponential(size=300), "long"),
        Demonstrations(x, KINDS["heaps"](rng, 300), "heaps"),
    ]
    model = fit(runs, config=ModelConfig(hidden=(16,), latent_dim=4, batches=100, patience=50))
    assert model.skill.r2[1:].max() < 0.1
    new = Demonstrations(rng.uniform(-1, 1, (100, 2)), 7 - 3 * KINDS["heaps"](rng, 100), "new")
    trust = Trust(runs, model=model, robust=False).observe(new.x, new.y)
    assert trust.weights.argmax() == 2
    assert trust.weights.sum() <= 0.55
    assert beliefs(trust._judge, trust.target).theirs is None
