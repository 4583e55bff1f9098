"""Sums over trials: against SciPy, against brute force, and where there is no answer."""

import itertools
import math

import numpy as np
import pytest
from bers_studies.report.statistics import (
    evaluations_to,
    interquartile_mean,
    interval,
    probability_of_improvement,
    standard_error,
)
from scipy import stats

from bers.errors import ConfigError, DataError


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 20, 21])
def test_interquartile_mean_is_scipys_trimmed_mean(n):
    values = np.random.default_rng(n).standard_normal(n)
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-14)
    assert interquartile_mean(values) == interquartile_mean(values[::-1])


@pytest.mark.parametrize("n", [1, 3, 4, 8, 20, 21])
def test_infinite_only_if_more_than_a_quarter_is(n):
    for censored in range(n + 1):
        values = [1.0] * (n - censored) + [math.inf] * censored
        expected = math.inf if censored > n / 4 else 1.0
        assert interquartile_mean(values) == expected


def test_an_interval_is_that_of_all_resamples():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    everything = [np.mean(s) for s in itertools.product(values, repeat=4)]  # 256, equally likely
    found = interval(values, np.mean, level=0.8, draws=20_000)
    low, high = np.quantile(everything, [0.1, 0.9])
    assert found.low == pytest.approx(low, abs=0.26)  # the next possible mean
    assert found.high == pytest.approx(high, abs=0.26)


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(150):
        low, high = interval(rng.standard_normal(40), np.mean, level=0.9, draws=200, rng=rng)
        held += low <= 0 <= high
    assert 0.83 < held / 150 < 0.96


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(1).standard_normal(15)
    assert interval(values) == interval(values)
    assert interval(values, rng=1) != interval(values, rng=2)
    wide, narrow = interval(values, level=0.99), interval(values, level=0.5)
    assert wide.low < narrow.low < interquartile_mean(values) < narrow.high < wide.high


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0], [math.inf, math.inf]])
def test_no_interval_where_trials_cannot_tell(values):
    assert np.isnan(interval(values)).all()
    assert np.isnan(probability_of_improvement(values, values)[1:]).all()
    assert probability_of_improvement(values, values).value == 0.5


def test_an_interval_can_end_at_infinity():
    low, high = interval([1.0, 2.0, 3.0, 4.0, math.inf])
    assert 1 <= low < 4
    assert high == math.inf


def test_probability_of_improvement_by_brute_force():
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 6, 11), rng.integers(1, 7, 14)
    pairs = [1.0 if a < b else 0.5 if a == b else 0.0 for a in x for b in y]
    found = probability_of_improvement(x, y)
    assert found.value == pytest.approx(np.mean(pairs), abs=1e-14)
    u = stats.mannwhitneyu(y, x).statistic
    assert found.value == pytest.approx(u / (11 * 14), abs=1e-14)
    drawn = []
    for _ in range(4000):
        a, b = rng.choice(x, 11)[:, None], rng.choice(y, 14)
        drawn.append((a < b).mean() + (a == b).mean() / 2)
    np.testing.assert_allclose(found[1:], np.quantile(drawn, [0.025, 0.975]), atol=0.02)
    other = probability_of_improvement(y, x)
    assert found.value + other.value == pytest.approx(1, abs=1e-14)


def test_lower_is_better_and_infinity_is_worst():
    assert probability_of_improvement([1, 2, 2], [3, 4, 5]) == (1, 1, 1)
    assert probability_of_improvement([math.inf, 5, 6], [3, 4, 4]) == (0, 0, 0)
    assert probability_of_improvement([math.inf, 1], [math.inf, 2]).value == 0.625
    assert np.isnan(probability_of_improvement([1], [3, 4]).low)


def test_standard_error_is_scipys():
    values = np.random.default_rng(4).standard_normal(9)
    assert standard_error(values) == pytest.approx(stats.sem(values), rel=1e-14)
    assert standard_error([2.0, 2.0]) == 0
    assert math.isnan(standard_error([1.0]))
    assert math.isnan(standard_error([1.0, math.inf]))


def test_evaluations_to():
    curve, counts = [9.0, math.nan, 3.0, 3.0, 1.0], [40, 80, 120, 160, 200]
    assert evaluations_to(curve, counts, 3.0) == 120
    assert evaluations_to(curve, counts, 100) == 40
    assert evaluations_to(curve, counts, 0.5) == math.inf
    assert evaluations_to([], [], 0.5) == math.inf
    with pytest.raises(DataError, match=r"shapes \(5,\) and \(4,\). Give one count per value"):
        evaluations_to(curve, counts[:4], 1)


@pytest.mark.parametrize("function", [interquartile_mean, standard_error, interval])
def test_bad_scores_are_refused(function):
    with pytest.raises(DataError, match=r"one or more scores; got shape \(0,\)"):
        function([])
    with pytest.raises(DataError, match=r"got shape \(1, 2\). Give one score per trial"):
        function([[1.0, 2.0]])
    with pytest.raises(DataError, match="2 scores that are NaN or -inf, the first at position 1"):
        function([1.0, math.nan, -math.inf])


def test_bad_settings_are_refused():
    with pytest.raises(ConfigError, match="level must lie between 0 and 1; got 95"):
        interval([1.0, 2.0], level=95)
    with pytest.raises(ConfigError, match="draws must be at least 1; got 0"):
        probability_of_improvement([1.0, 2.0], [1.0], draws=0)
