"""Labels far off are named and left out, and nothing else is."""

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, rank
from bers.trust.robust import odd_rows, told_by_inputs, with_explained, without_far_labels
from bers.trust.trust import Trust

CONFIG = ModelConfig(
    hidden=(32, 32), activation="silu", learning_rate=5e-3, batches=400, patience=300
)


def _wanted(x, goal):
    return (np.sin(3 * x[:, 0]) + x[:, 1], 2 * x[:, 2] - x[:, 0], np.cos(3 * x[:, 3]))[goal]


def _run(goal, n, name, seed=0):
    rng = np.random.default_rng([seed, goal])
    x = rng.uniform(-1, 1, (n, 4))
    return Demonstrations(x, _wanted(x, goal) + 0.1 * rng.standard_normal(n), name)


def _changed(source, rows, offset):
    """The same rows, some labels moved by so many of their standard deviations."""
    y = source.y.copy()
    y[np.asarray(rows)] += offset * y.std()
    return Demonstrations(source.x, y, source.name)


@pytest.fixture(scope="module")
def runs():
    return [_run(i, 250, name) for i, name in enumerate("abc")]


@pytest.fixture(scope="module")
def model(runs):
    return fit(runs, config=CONFIG)


@pytest.fixture(scope="module")
def target():
    return _run(1, 60, "new", seed=1)


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 30, 300])
def test_normal_noise_has_hardly_any_row_far_off(n):
    rng, odd = np.random.default_rng(n), 0
    for _ in range(200):
        odd += len(odd_rows(rng.standard_normal(n), rng.standard_normal((n, 2))))
    assert odd <= {8: 12, 30: 1, 300: 0}[n]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("sign", [-1, 1])
def test_rows_far_off_are_found_in_any_unit(unit, sign):
    rng = np.random.default_rng(0)
    f = rng.standard_normal((50, 2))
    y = 3 * f[:, 1] + 0.1 * rng.standard_normal(50)
    y[[4, 31]] += sign * 30
    assert odd_rows(unit * (y + 7), f).tolist() == [4, 31]


def test_a_label_that_a_source_foresees_is_not_far_off():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((50, 2))
    f[7, 0] = 40.0
    y = 2 * f[:, 0] + 5 + 0.1 * rng.standard_normal(50)
    assert odd_rows(y, f).tolist() == []
    assert odd_rows(y, f[:, 1:]).tolist() == [7]
    assert odd_rows(y, f[:, :0]).tolist() == [7]


def test_where_a_tenth_is_far_off_that_is_how_labels_are():
    y = np.random.default_rng(0).standard_normal(40)
    f = np.zeros((40, 1))
    for many, found in ((4, 4), (5, 0)):
        moved = y.copy()
        moved[:many] += 50
        assert len(odd_rows(moved, f)) == found


def test_where_half_of_the_labels_are_equal_nothing_is_far_off():
    y = np.zeros(30)
    y[:3] = [5.0, -2.0, 100.0]
    assert odd_rows(y, np.random.default_rng(0).standard_normal((30, 1))).tolist() == []


# ---- sources -------------------------------------------------------------------------------------


def test_labels_of_a_source_are_left_out_only_where_few_are_far():
    y = np.random.default_rng(0).standard_normal(100)
    x = np.random.default_rng(1).permutation(np.arange(100.0))
    for many, left in ((0, 100), (1, 99), (10, 90), (11, 100)):
        moved = y.copy()
        moved[:many] += 100
        assert without_far_labels(Demonstrations(x, moved, "a")).n == left
    few = Demonstrations(x[:19], np.append(y[:18], 100.0), "few")
    assert without_far_labels(few) is few


def test_a_narrow_peak_is_kept_and_slips_beside_it_are_not():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 5))
    y = 80 * np.exp(-np.sum((x[:, :2] - 0.3) ** 2, axis=1) / 0.05) + rng.normal(0, 1, 400)
    far = np.flatnonzero(
        np.abs(y - np.median(y)) > 8 * 1.4826 * np.median(np.abs(y - np.median(y)))
    )
    assert 15 < len(far) < 40
    kept = without_far_labels(Demonstrations(x, y, "peak"))
    assert kept.n >= 400 - len(far) // 4
    slips = rng.choice(np.setdiff1d(np.arange(400), far), 6, replace=False)
    y[slips] -= 500
    kept = without_far_labels(Demonstrations(x, y, "peak"))
    assert (kept.y < -400).sum() <= 1
    assert kept.y.max() > 70


def test_a_peak_of_the_target_is_no_slip():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 3))
    rows = np.flatnonzero(np.sum(x[:, :2] ** 2, 1) < 0.1)
    assert told_by_inputs(x, rows).mean() > 0.7
    assert not told_by_inputs(x, rng.choice(300, len(rows), replace=False)).any()
    assert not told_by_inputs(x, rows[:2]).any()  # two rows are too few to say
    assert not told_by_inputs(np.ones((300, 2)), rows).any()


def test_a_label_that_the_head_foresees_comes_back(runs, model):
    x = np.concatenate([np.full((40, 4), 0.2), np.full((1, 4), -0.9)])
    x[:40] += 0.01 * np.random.default_rng(0).standard_normal((40, 4))
    y = model.predict(1, x).mean
    steep = Demonstrations(x, y, "b")
    near = without_far_labels(steep)
    assert near.n == 40
    assert with_explained(model, 1, steep, near) is steep
    wrong = Demonstrations(x, np.append(y[:40], y[40] + 50), "b")
    kept = with_explained(model, 1, wrong, without_far_labels(wrong))
    np.testing.assert_array_equal(kept.y, y[:40])


def test_labels_far_off_in_a_source_are_counted_in_a_note(runs, target):
    spoiled = [runs[0], _changed(runs[1], [3, 90, 200], 40), runs[2]]
    found = rank(spoiled, target, model=CONFIG, draws=40)
    assert found.weights[1] > 0.9
    assert found.sources[1].skill > 0.9
    assert any("left out of 'b': 3 labels" in note for note in found.warnings)
    cleared = np.delete(runs[1].y, [3, 90, 200])
    assert found.sources[1].value == pytest.approx(
        cleared.mean()
    )  # these three are not in its mean
    assert not any("'a'" in note or "'c'" in note for note in found.warnings)


# ---- the target ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 17, 59])
def test_one_label_twenty_deviations_off_is_named_and_the_right_source_keeps_its_weight(
    runs, model, target, row
):
    found = rank(runs, _changed(target, [row], 20), model=model, draws=40)
    assert found.outliers == (row,)
    assert found.weights[1] > 0.9
    assert found.verdict == "b"
    assert any(f"row {row}, counted from 0" in note for note in found.warnings)
    assert found.target_rows == 59
    without = np.delete(np.arange(60), row)
    clean = rank(runs, target.take(without), model=model, draws=40)
    np.testing.assert_array_equal(found.weights, clean.weights)


def test_a_target_without_such_labels_is_left_alone(runs, model, target):
    found = rank(runs, target, model=model, draws=40)
    assert found.outliers == ()
    assert found.target_rows == 60
    assert not any("left out" in note for note in found.warnings)


def test_many_rows_are_named_by_the_first_five(runs, model):
    long = _run(1, 120, "new", seed=2)
    rows = [2, 20, 40, 60, 80, 100, 110]
    found = rank(runs, _changed(long, rows, 30), model=model, draws=40)
    assert found.outliers == tuple(rows)
    assert any("rows 2, 20, 40, 60, 80 and 2 more" in note for note in found.warnings)


def test_where_it_is_not_wanted_every_row_counts(runs, model, target):
    spoiled = _changed(target, [17], 20)
    plain = Trust(runs, model=model, robust=False).observe(spoiled)
    assert plain.outliers == ()
    assert plain.target.n == 60
    careful = Trust(runs, model=model).observe(spoiled)
    assert careful.outliers == (17,)
    assert careful.target.n == 59
    assert len(careful.y) == 60  # what was seen is kept
    assert careful.weights[1] > plain.weights[1]


def test_sources_keep_their_labels_where_it_is_not_wanted(runs):
    spoiled = [runs[0], _changed(runs[1], [3], 40)]
    config = ModelConfig(hidden=(4,), latent_dim=2, batches=0)
    rows = [Trust(spoiled, model=config, robust=r).model.rows.tolist() for r in (False, True)]
    assert rows == [[250, 250], [250, 249]]


def test_seven_rows_are_too_few_to_tell(runs, model, target):
    short = _changed(target.take(np.arange(8)), [3], 30)
    assert Trust(runs, model=model).observe(short).outliers == (3,)
    assert Trust(runs, model=model).observe(short.take(np.arange(7))).outliers == ()


def test_more_rows_are_looked_at_together_with_those_before(runs, model, target):
    first = Trust(runs, model=model).observe(target.x[:20], target.y[:20])
    assert first.outliers == ()
    y = target.y[20:].copy()
    y[5] += 30
    later = first.observe(target.x[20:], y)
    assert later.outliers == (25,)
    assert later.target.n == 59


def test_a_label_that_more_rows_explain_comes_back(runs, model, target, tmp_path):
    y = target.y.copy()
    y[7] += 30
    first = Trust(runs, model=model).observe(target.x[:10], y[:10])
    assert first.outliers == (7,)
    later = first.observe(target.x[10:], y[10:] + 30)
    assert later.outliers == later.ranking(draws=5).outliers == ()
    assert later.target.n == 60
    later.save(tmp_path / "t.bers")
    np.testing.assert_array_equal(Trust.load(tmp_path / "t.bers", runs).target.y, later.target.y)


def test_rows_that_failed_are_counted_too(runs, model, target, tmp_path):
    y = target.y.copy()
    y[[0, 5]], y[17] = np.nan, y[17] + 30
    trust = Trust(runs, model=model).observe(target.x, y)
    assert trust.outliers == (17,)
    assert trust.target.n == 57
    trust.save(tmp_path / "t.bers")
    back = Trust.load(tmp_path / "t.bers", runs)
    assert back.outliers == (17,)
    np.testing.assert_array_equal(back.target.y, trust.target.y)


def test_outliers_survive_a_file_and_more_rows_give_the_same_bits(runs, model, target, tmp_path):
    spoiled = _changed(target, [17], 20)
    trust = Trust(runs, model=model).observe(spoiled.x[:40], spoiled.y[:40])
    trust.save(tmp_path / "t.bers")
    back = Trust.load(tmp_path / "t.bers", runs)
    assert back.outliers == trust.outliers == (17,)
    assert back.target.n == 39
    assert back.ranking(draws=20).to_json() == trust.ranking(draws=20).to_json()
    one, two = (t.observe(spoiled.x[40:], spoiled.y[40:]) for t in (trust, back))
    assert one.outliers == two.outliers == (17,)
    np.testing.assert_array_equal(one.weights, two.weights)
