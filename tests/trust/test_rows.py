"""Rows of which each follows one of several sources, and heads too unskilled to deny."""

from dataclasses import replace

import numpy as np
import pytest

from bers import Demonstrations, ModelConfig, fit, rank
from bers.trust.odds import _heard, drawn_odds, odds
from bers.trust.rows import rows_of_several


def _shared(shares, n=200, N=None, noise=0.1, seed=0):
    """Labels of which each follows one of some random functions, and the functions."""
    rng = np.random.default_rng(seed)
    f = rng.standard_normal((n, N or len(shares)))
    who = rng.choice(len(shares), n, p=shares)
    return f[np.arange(n), who] + noise * rng.standard_normal(n), f, who


def _all(f):
    return np.ones(len(f)), np.ones(f.shape[1], bool)


# ---- shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", [(0.6, 0.4), (0.5, 0.3, 0.2), (0.2, 0.2, 0.2, 0.2, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_the_rows(shares, seed):
    y, f, who = _shared(shares, seed=seed)
    found = rows_of_several(y, f, *_all(f))
    true = np.bincount(who, minlength=len(shares)) / len(y)
    np.testing.assert_allclose(found.shares, true, atol=0.06)
    assert found.shares.sum() == pytest.approx(1)
    assert found.members == len(shares)


def test_the_gain_of_one_source_is_that_of_its_residuals():
    rng = np.random.default_rng(0)
    f = rng.standard_normal((100, 1))
    y = f[:, 0] + 0.2 * rng.standard_normal(100)
    found = rows_of_several(y, f, *_all(f))
    left = np.mean((y - f[:, 0]) ** 2)
    assert found.shares.tolist() == [1.0]
    assert found.gain == pytest.approx(-0.5 * np.log(left / np.var(y)), abs=1e-9)


def test_the_gain_is_the_log_density_above_that_of_a_constant():
    y, f, _ = _shared((0.6, 0.4), n=250)
    found = rows_of_several(y, f, *_all(f))
    square = (y[:, None] - f) ** 2

    def density(noise):
        each = np.exp(-0.5 * square / noise) / np.sqrt(2 * np.pi * noise)
        return np.mean(np.log(each @ found.shares))

    best = max(density(noise) for noise in np.geomspace(1e-3, 1, 2000))
    constant = -0.5 * np.log(2 * np.pi * np.var(y)) - 0.5
    assert found.gain == pytest.approx(best - constant, abs=1e-3)


def test_a_row_that_counts_twice_is_two_rows():
    y, f, _ = _shared((0.6, 0.4), n=90)
    twice = np.arange(90) < 30
    counted = rows_of_several(y, f, np.where(twice, 2.0, 1.0), np.ones(2, bool))
    y2, f2 = np.concatenate([y, y[twice]]), np.concatenate([f, f[twice]])
    repeated = rows_of_several(y2, f2, *_all(f2))
    np.testing.assert_allclose(counted.shares, repeated.shares, atol=1e-9)
    assert counted.gain == pytest.approx(repeated.gain, abs=1e-9)


def test_a_source_without_rows_gets_no_share():
    y, f, _ = _shared((0.5, 0.5))
    f = np.column_stack([y, f])  # it would fit exactly
    found = rows_of_several(y, f, np.ones(len(y)), np.array([False, True, True]))
    assert found.shares[0] == 0.0
    assert found.members == 2


def test_a_share_below_a_tenth_does_not_count():
    y, f, _ = _shared((0.96, 0.04))
    found = rows_of_several(y, f, *_all(f))
    assert found.shares.tolist() == [1.0, 0.0]
    assert found.members == 1


def test_two_of_thirty_sources_are_found_wherever_they_stand():
    y, f, _ = _shared((0.6, 0.4), N=30)
    order = np.random.default_rng(5).permutation(30)
    here, there = rows_of_several(y, f, *_all(f)), rows_of_several(y, f[:, order], *_all(f))
    np.testing.assert_allclose(here.shares[:2], [0.6, 0.4], atol=0.1)
    assert here.shares[:2].sum() == pytest.approx(1)
    np.testing.assert_allclose(here.shares[order], there.shares, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_labels_does_not_matter(unit):
    y, f, _ = _shared((0.6, 0.4))
    one, other = rows_of_several(y, f, *_all(f)), rows_of_several(unit * y, unit * f, *_all(f))
    np.testing.assert_allclose(one.shares, other.shares, atol=1e-9)
    assert one.gain == pytest.approx(other.gain, abs=1e-9)


# ---- odds ----------------------------------------------------------------------------------------


@pytest.fixture
def split(goals, made):
    """A share of the target's rows -> beliefs; the others follow the second source."""
    w = np.random.default_rng(3).standard_normal((3, 6))

    def make(share, n=150):
        one, two = goals(w[0], w, n=n), goals(w[1], w, n=n)
        first = np.arange(n) < round(share * n)
        return made(one.Phi, np.where(first, one.y, two.y), one.sources).known

    return make


@pytest.mark.parametrize("share", [0.5, 0.6, 0.75])
def test_rows_of_two_sources_are_shared_between_them(split, share):
    found = odds(split(share))
    assert found.apiece > 0.99
    np.testing.assert_allclose(found.shares, [share, 1 - share, 0], atol=0.05)
    np.testing.assert_allclose(found.a, [share, 1 - share, 0], atol=0.05)


def test_rows_of_one_source_are_not_shared(split):
    found = odds(split(1.0))
    assert found.apiece < 0.01
    assert found.a[0] > 0.9


def test_nine_rows_are_too_few_to_be_shared(split):
    assert odds(split(0.6, n=9)).apiece == 0.0
    assert odds(split(0.6, n=60)).apiece > 0.9


def test_draws_have_shares_of_their_own(split):
    drawn = drawn_odds(np.random.default_rng(0), split(0.6), 20)
    assert drawn.apiece.shape == (20,)
    assert drawn.shares.shape == (20, 3)
    np.testing.assert_allclose(drawn.shares.mean(0), [0.6, 0.4, 0], atol=0.05)
    np.testing.assert_allclose(drawn.shares.sum(-1), 1)
    assert np.ptp(drawn.shares[:, 0]) > 0


# ---- heads that are not heard --------------------------------------------------------------------


@pytest.fixture
def flipped(goals):
    """One source, and a target that wants the opposite."""
    w = np.random.default_rng(0).standard_normal(6)
    return goals(-w, [w], n=200).known


@pytest.mark.parametrize("skill", [0.0, -3.0])
def test_a_head_without_skill_says_nothing_against_and_hardly_for(flipped, skill):
    found = odds(replace(flipped, skill=np.array([skill]))).a[0]
    chance = 0.1 * 0.86 / 0.14 * np.exp(-3.3)  # a tenth of its own, less what is known of the deaf
    assert found == pytest.approx(chance / (1 + chance), abs=1e-4)


def test_a_source_of_noise_has_a_tenth_of_the_chance_to_go_along(goals):
    w = np.random.default_rng(0).standard_normal((2, 6))
    weak = goals(w[0] + 1.5 * w[1], w[:1], n=20, noise=1.0).known
    a = [odds(replace(weak, skill=np.array([skill]))).a[0] for skill in (0.03, 0.015, 0.0, -1.0)]
    assert a[0] > a[1] > a[2] == pytest.approx(a[3], rel=1e-6)
    assert a[2] / (1 - a[2]) < 0.2 * a[0] / (1 - a[0])


def test_the_more_skill_the_more_a_head_says_against(flipped):
    weights = [odds(replace(flipped, skill=np.array([s]))).a[0] for s in (0.1, 0.3, 0.5)]
    assert np.all(np.diff(weights) < 0)
    assert weights[-1] < 0.01
    assert odds(replace(flipped, skill=np.array([0.9]))).a[0] == pytest.approx(weights[-1], rel=0.1)


def test_a_head_that_was_not_measured_is_taken_at_its_word(flipped):
    skill = np.array([np.nan, -1.0, 0.0, 0.25, 0.5, 1.0])
    known = replace(flipped, skill=skill, rows=np.full(6, 10))
    np.testing.assert_allclose(_heard(known), [1, 0, 0, 0.5, 1, 1])
    assert odds(flipped).a[0] < 0.01


def test_a_head_without_skill_does_not_take_from_the_right_source(goals):
    w = np.random.default_rng(1).standard_normal((2, 6))
    known = replace(goals(w[0], w).known, skill=np.array([0.95, 0.0]))
    assert odds(known).a[0] > 0.99


# ---- end to end ----------------------------------------------------------------------------------


def test_sixty_and_forty_rows_of_two_sources_are_told_apart():
    rng = np.random.default_rng(0)
    goals = (
        lambda x: np.sin(3 * x[:, 0]) + x[:, 1],
        lambda x: 2 * x[:, 2] - 1.5 * x[:, 0] ** 2,
        lambda x: np.cos(3 * x[:, 3]) - x[:, 1] * x[:, 2],
    )
    x = rng.uniform(-1, 1, (3, 250, 4))
    runs = [
        Demonstrations(x[i], goal(x[i]) + 0.1 * rng.standard_normal(250), name)
        for i, (goal, name) in enumerate(zip(goals, "abc", strict=True))
    ]
    new = rng.uniform(-1, 1, (100, 4))
    y = np.where(np.arange(100) < 60, goals[0](new), goals[1](new))
    target = Demonstrations(new, y + 0.1 * rng.standard_normal(100), "new")
    config = ModelConfig(hidden=(32, 32), activation="silu", learning_rate=5e-3, batches=500)
    found = rank(runs, target, model=fit(runs, config=config), draws=100)
    np.testing.assert_allclose(found.weights, [0.6, 0.4, 0.0], atol=0.15)
    assert found.verdict == "a and b"
    assert any("no single source" in note for note in found.warnings)
    assert "Answer: a and b." in repr(found)
